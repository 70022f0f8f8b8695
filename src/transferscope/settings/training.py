"""Training settings for pretraining and every method, and the learning rate of each step."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Lt

from transferscope.errors import SettingsError
from transferscope.records import Count, NotNegative, Positive, Says, check_settings

LEAST_LR = 1e-12
"""With a smaller learning rate a gradient 60,000 times its weight would not yet move that weight in float32."""

STEP_FACTOR = 0.1
"""What the rate of the step schedule is multiplied by after a third of the run, as in torchvision's reference."""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """The recipe and budget of one training run.

    The defaults follow section A.2 of "Meta-learning Transferable Representations with a Single Target Domain"
    (Liu et al. 2020): SGD with momentum 0.9, learning rate 0.01, weight decay 5e-4, batch size 64.

    Raises:
        SettingsError: A value is out of its range, or not exactly one of `steps` and `epochs` is given.
    """

    steps: Annotated[Count | None, Says("Optimiser steps", "None to give `epochs` instead.")] = None
    epochs: Annotated[
        Positive | None,
        Says(
            "Passes over a training set",
            "The source's in pretraining, the target's in every method, so that all methods take the same number of "
            "steps. None to give `steps`.",
        ),
    ] = None
    batch_size: Annotated[Count, Says("Examples per step", "A smaller set gives smaller batches.")] = 64
    optimiser: Annotated[Literal["sgd", "adamw"], Says("Optimiser", '"sgd" has momentum.')] = "sgd"
    lr: Annotated[float, Ge(LEAST_LR), Says("Initial learning rate")] = 0.01
    momentum: Annotated[float, Ge(0), Lt(1), Says("Momentum of SGD, or beta_1 of AdamW")] = 0.9
    weight_decay: Annotated[NotNegative, Says("Strength of the L2 penalty (SGD) or decoupled decay (AdamW)")] = 5e-4
    schedule: Annotated[
        Literal["constant", "step", "linear", "cosine"],
        Says(
            "How the rate changes",
            '"step": a tenth after every third of the run; "linear": to 0 in a line; "cosine": to 0.',
        ),
    ] = "cosine"
    warmup: Annotated[float, Ge(0), Lt(1), Says("Share of the steps over which the rate rises linearly from 0")] = 0.0
    augment: Annotated[
        Literal["none", "warp", "flip", "flip-crop", "strong"],
        Says(
            "How images are augmented",
            '"warp": small random shifts, rotations and scales, which keep characters readable; "flip": random '
            'horizontal flips; "flip-crop": flips and crops after padding by 4 pixels; "strong": these and '
            "one strong change of each image, as in TrivialAugment.",
        ),
    ] = "none"
    eval_every: Annotated[
        Count | None, Says("Steps between two points of the training curve", "None for 20 points in all.")
    ] = None
    precision: Annotated[
        Literal["float32", "bfloat16", "auto"],
        Says(
            "Precision of the computation",
            '"bfloat16" is mixed precision; "auto" is "bfloat16" where the device computes it faster, see '
            "`tensors.choose_precision`. A study has the one that it was planned with.",
        ),
    ] = "float32"
    batch_norm: Annotated[
        Literal["train", "source", "auto"],
        Says(
            "Statistics of batch normalisation in a pretrained network",
            '"train": those of each batch, and predicts with their running means; "source": the running means of '
            'pretraining, which stay as they are; "auto": like "source", also where the network has no batch '
            'normalisation, which "source" refuses. Scales and shifts are trained in any case.',
        ),
    ] = "train"
    early_stopping: Annotated[
        Count | None,
        Says(
            "Points of the training curve without a better risk on held-out labels after which training ends",
            "The weights of the best point are kept. A stratified quarter of the training examples is held out, none "
            "where there are fewer than four for each class (or 16 in all). None trains on all of them to the end.",
        ),
    ] = None
    class_weights: Annotated[
        Literal["none", "balanced"],
        Says(
            "Weights of classes in the loss",
            '"balanced" weighs the loss of an example by N / (K n_c), of N training examples, K classes that occur '
            "and n_c examples of its own class; of several labels each by N / (2 n), of the n examples that have it, "
            "or do not have it. Not for regression.",
        ),
    ] = "none"

    def __post_init__(self) -> None:
        check_settings(self)
        if (self.steps is None) == (self.epochs is None):
            seen = "both" if self.steps is not None else "neither"
            raise SettingsError(f"{seen} of steps and epochs are given; give exactly one, as in steps = 3000")

    def check_labels(self, *, on_grid: bool) -> None:
        """Refuse augmentation for labels on a grid over each image, which would move images but not labels.

        Raises:
            SettingsError: Labels are on a grid and images are augmented.
        """
        if on_grid and self.augment != "none":
            raise SettingsError(f"augment = {self.augment!r} moves pixels but not the grid of labels; leave it out")

    def n_steps(self, n_examples: int) -> int:
        """Return the number of optimiser steps over `n_examples` training examples (at least 1)."""
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        return max(1, round(self.epochs * batches_per_epoch(n_examples, self.batch_size)))


def batches_per_epoch(n_examples: int, batch_size: int) -> int:
    """Return the number of batches in one pass over the examples.

    The last batch has the remaining examples; a single one joins the batch before it, because batch normalisation and
    penalties on a batch's features need two.
    """
    return n_examples // batch_size + (n_examples % batch_size > 1) or 1


def lr_factor(settings: TrainingSettings, step: int, n_steps: int) -> float:
    """Return the learning rate of a step relative to the initial rate, in [0, 1]: linear warm-up times the schedule.

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
            return warm * STEP_FACTOR ** math.floor(3 * progress)
        case "linear":
            return warm * (1.0 - progress)
        case "cosine":
            return warm * 0.5 * (1.0 + math.cos(math.pi * progress))
