"""How a network is trained: one frozen record for pre-training and every method, and the learning rate of each step."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt

from transferscope.data.task import LabelledSet
from transferscope.errors import DataError, SettingsError
from transferscope.records import Count, NotNegative, Positive, check_settings
from transferscope.training.stream import batches_per_epoch

LEAST_LR = 1e-12
"""With a smaller learning rate a gradient 60,000 times its weight would not yet move that weight in float32."""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """The recipe and budget of one training run.

    The defaults follow section A.2 of "Meta-learning Transferable Representations with a Single Target Domain"
    (Liu et al. 2020): SGD with momentum 0.9, learning rate 0.01, weight decay 5e-4, batch size 64.

    Attributes:
        steps: Optimiser steps, at least 1; None to give `epochs` instead.
        epochs: Passes over a training set, above 0: the source's in pre-training, the target's in every method, so that
            all methods take the same number of steps; None to give `steps`.
        batch_size: Examples per step, at least 1; a smaller set gives smaller batches.
        optimiser: "sgd" (with momentum) or "adamw".
        lr: Initial learning rate, at least `LEAST_LR`.
        momentum: Momentum of SGD (beta_1 of AdamW), in [0, 1).
        weight_decay: Strength of the L2 penalty (SGD) or decoupled decay (AdamW), at least 0.
        schedule: "constant", "step" (times `decay` after every third of the run) or "cosine" (to 0).
        decay: Factor of the step schedule, in (0, 1].
        warmup: Share of the steps over which the rate rises linearly from 0, in [0, 1).
        augment: "none"; "flip-crop": random horizontal flips and crops after padding by 4 pixels; or "standard": random
            parts of 8 to 100 % of the area, enlarged to the image's size, and flips (images only).
        eval_every: Steps between two points of the training curve; None for 20 points in all.
        precision: "float32", or "bfloat16" for mixed precision; "auto" is "bfloat16" where the device computes it
            natively, see `tensors.choose_precision`. A study has the one that it was planned with.
        batch_norm: With which statistics batch normalisation works where training starts from a pretrained network:
            "train" with those of each batch, and predicts with their running means; "source" with the running means of
            pre-training, which stay as they are; "target" with the means over the target's training inputs, computed
            once before training (AdaBN; Li, Wang, Shi, Liu, Hou 2017); "auto" like "source", also where the network has
            no batch normalisation, which the two refuse. Scales and shifts are trained in any case.
        early_stopping: Points of the training curve without a better risk on held-out training examples after which
            training ends, at least 1; the weights of the best point are kept. A stratified quarter of the training
            examples is held out, none where there are fewer than four for each class (or 16 in all). None trains on all
            of them to the end.
        class_weights: "balanced" weighs the loss of an example by N / (K n_c), of N training examples, K classes that
            occur and n_c examples of its own class; of several labels each by N / (2 n), of the n examples that have
            it, or do not have it. Not for regression.
        mix_up: alpha, at least 0. Above 0 each batch is blended with itself in another order, inputs and losses alike,
            with a share drawn from Beta(alpha, alpha) (mixup; Zhang, Cisse, Dauphin, Lopez-Paz 2018). Not for texts.

    Raises:
        SettingsError: A value is out of its range, or not exactly one of `steps` and `epochs` is given.
    """

    steps: Count | None = None
    epochs: Positive | None = None
    batch_size: Count = 64
    optimiser: Literal["sgd", "adamw"] = "sgd"
    lr: Annotated[float, Ge(LEAST_LR)] = 0.01
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.9
    weight_decay: NotNegative = 5e-4
    schedule: Literal["constant", "step", "cosine"] = "cosine"
    decay: Annotated[float, Gt(0), Le(1)] = 0.1
    warmup: Annotated[float, Ge(0), Lt(1)] = 0.0
    augment: Literal["none", "flip-crop", "standard"] = "none"
    eval_every: Count | None = None
    precision: Literal["float32", "bfloat16", "auto"] = "float32"
    batch_norm: Literal["train", "source", "target", "auto"] = "train"
    early_stopping: Count | None = None
    class_weights: Literal["none", "balanced"] = "none"
    mix_up: NotNegative = 0.0

    def __post_init__(self) -> None:
        check_settings(self)
        if (self.steps is None) == (self.epochs is None):
            seen = "both" if self.steps is not None else "neither"
            raise SettingsError(f"{seen} of steps and epochs were given; give exactly one, as in steps = 3000")

    def check_data(self, train: LabelledSet) -> None:
        """Refuse what cannot be done with training examples of their kind.

        Raises:
            DataError: Weights of classes were asked for examples that have none, or blends of texts.
        """
        if self.class_weights != "none" and train.kind == "regression":
            raise DataError(
                f'class_weights = "{self.class_weights}" weighs classes and the labels are numbers, which have none; '
                "leave class_weights out"
            )
        if self.class_weights != "none" and train.grid is not None:
            raise DataError(
                f'class_weights = "{self.class_weights}" weighs examples by their class and the labels lie on a grid '
                "over each image; leave class_weights out"
            )
        if self.mix_up and train.is_tokens:
            raise DataError(
                f"mix_up = {self.mix_up} blends inputs and the inputs are texts, whose tokens cannot be blended; leave "
                "mix_up out"
            )

    def check_labels(self, *, on_grid: bool) -> None:
        """Refuse augmentation for labels on a grid over each image: it would move images and leave labels behind.

        Raises:
            SettingsError: They do, and images are augmented.
        """
        if on_grid and self.augment != "none":
            raise SettingsError(
                f"augment = {self.augment!r} moves what images show, and the labels lie on a grid over them, which it "
                "would leave behind; leave it out"
            )

    def n_steps(self, n_examples: int) -> int:
        """Optimiser steps of a run over `n_examples` training examples (at least 1)."""
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        return max(1, round(self.epochs * batches_per_epoch(n_examples, self.batch_size)))


def lr_factor(settings: TrainingSettings, step: int, n_steps: int) -> float:
    """The learning rate of a step as a share of the initial rate, in [0, 1]: linear warm-up times the schedule.

    Args:
        step: Counted from 0.
        n_steps: Length of the run, at least 1.
    """
    warmup_steps = settings.warmup * n_steps
    warm = min(1.0, (step + 1) / warmup_steps) if warmup_steps > 0 else 1.0
    progress = step / n_steps
    match settings.schedule:
        case "constant":
            return warm
        case "step":
            return warm * settings.decay ** math.floor(3 * progress)
        case "cosine":
            return warm * 0.5 * (1.0 + math.cos(math.pi * progress))
