"""The usual training recipe of each method for each family of networks: one table of plain data.

`recipe = "field"` uses the rows of `RECIPES`, "equal" gives every method the same budget, as in papers that compare
methods. Keys set in the study override either. No value was chosen on the evaluation data of
docs/results/competence.md, which names the data used for each choice.
"""

import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from transferscope.data.task import LabelledSet
from transferscope.errors import SettingsError
from transferscope.methods.method import Method, Value
from transferscope.models.families import Family
from transferscope.settings.training import TrainingSettings

Protocol = Literal["field", "equal"]

LARGEST_CHARACTER = 40
"""Side in pixels up to which grey images are treated like characters, whose class a flip may change."""

MANY_BATCHES = 10
"""Batches per pass from which a partial batch at its end does not matter."""

LEAST_FAST = 50
"""Labels from which small networks on grey images use the higher learning rate: with 10 and 20 labels of MNIST, LeNet
ends with a constant prediction at 0.05."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A row of the table.

    Attributes:
        training: Keys of [training].
        steps: Optimiser steps by the smallest number of labels; the first is for 0.
        settings: Settings of the method.
        source: Origin of these defaults.
        grey: Keys of [training] for grey images, which override the others.
    """

    training: Mapping[str, Value]
    steps: Mapping[int, int]
    source: str
    settings: Mapping[str, Value] = field(default_factory=dict)
    grey: Mapping[str, Value] = field(default_factory=dict)

    def n_steps(self, n_labels: int) -> int:
        """Return the number of steps for a number of labels."""
        return self.steps[max(least for least in self.steps if least <= n_labels)]


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of network and data on which a recipe depends.

    Attributes:
        augment: Augmentation of the target's images if the row does not set it; see `augmentation_of`.
        is_own: Whether the study pretrains the initial network itself.
        on_grid: Whether labels lie on a grid over each image.
        is_grey: Whether images have one channel.
    """

    family: Family
    augment: str = "none"
    is_own: bool = False
    on_grid: bool = False
    is_grey: bool = False


_SGD: Mapping[str, Value] = {
    "optimiser": "sgd",
    "lr": 0.02,
    "schedule": "cosine",
    "warmup": 0.05,
    "batch_size": 64,
    "augment": "by data",
}
_BUDGET = {0: 600, 1000: 1500, 10000: 3000}
_OF_OWN = "torchvision's reference training: SGD with momentum, cosine, warm-up; rates by held-out MNIST"

_ADAMW: Mapping[str, Value] = {
    "optimiser": "adamw",
    "schedule": "cosine",
    "warmup": 0.1,
    "weight_decay": 0.01,
    "batch_size": 16,
}
_IMAGES: Mapping[str, Value] = {**_ADAMW, "lr": 0.003, "augment": "by data", "batch_norm": "auto"}
_TEXTS: Mapping[str, Value] = {**_ADAMW, "lr": 0.01, "schedule": "linear"}
_SHORT = {0: 200, 500: 500, 5000: 2000}
_HEAD_FIRST: Mapping[str, Value] = {"head": "probe", "lr_scale": 0.1, "head_lr_scale": 1.0}

_OWN_CNN = Recipe({**_SGD, "augment": "by labels"}, {**_BUDGET, 0: 1000}, _OF_OWN, {"lr_scale": 1.0})
_OWN_RESNET = Recipe({**_SGD, "lr": 0.05}, _BUDGET, _OF_OWN, {"lr_scale": 1.0})
_MLP = Recipe(
    {"optimiser": "sgd", "lr": 0.01, "schedule": "cosine", "batch_size": 64},
    {0: 100, 100: 300, 2000: 1000},
    "SGD with momentum, cosine; steps by tables held out, on which AdamW for longer fits the noise of few labels",
    {"lr_scale": 1.0},
)
_MLP_ROWS = {"pretrain": replace(_MLP, steps={0: 2000}), "fine-tune": replace(_MLP, settings={"lr_scale": 0.5})}
_CNN = Recipe(_IMAGES, _SHORT, "timm's fine-tuning: AdamW, cosine, warm-up; LP-FT for the head", _HEAD_FIRST)
_VIT = replace(
    _CNN,
    training={**_IMAGES, "lr": 0.001, "weight_decay": 0.05},
    settings={**_HEAD_FIRST, "layer_decay": 0.75},
    source="BEiT's and timm's fine-tuning of ViTs: AdamW, layer-wise decay 0.75, weight decay 0.05",
)
_ENCODER = Recipe(
    {**_TEXTS, "lr": 0.001},
    _SHORT,
    "transformers' run_glue.py: AdamW at 5e-5, linear decay; LP-FT for the head",
    {"head": "probe", "lr_scale": 0.05, "head_lr_scale": 1.0},
)
_SENTENCES = Recipe(_TEXTS, _SHORT, "SetFit: AdamW, head 1e-2", {"lr_scale": 0.01, "head_lr_scale": 1.0})
_LORA: Mapping[str, Value] = {"lr_scale": 1.0, "rank": 8, "alpha": 16.0}
_LORA_READING: Mapping[str, Value] = {**_LORA, "dropout": 0.1, "targets": "auto"}
_OF_PEFT = "PEFT's LoraConfig: r = 8, alpha = 16; rates of its examples of sequence classification"
_LORA_IMAGES = Recipe(_IMAGES, _SHORT, _OF_PEFT, {**_LORA, "head": "probe"})
_LORA_TEXTS = Recipe({**_TEXTS, "lr": 0.002}, _SHORT, _OF_PEFT, {**_LORA_READING, "head": "probe"})
_LORA_SENTENCES = Recipe(_TEXTS, _SHORT, _OF_PEFT, {**_LORA_READING, "lr_scale": 0.2, "head_lr_scale": 1.0})
_FROM_RANDOM = Recipe({**_IMAGES, "lr": 0.001, "batch_size": 64}, {0: 1000, 5000: 3000}, "timm's train: AdamW, cosine")
_TEXTS_FROM_RANDOM = replace(_FROM_RANDOM, training={**_TEXTS, "lr": 0.0005, "batch_size": 32})


def _of_others(tuned: Recipe, lora: Recipe, random: Recipe) -> dict[str, Recipe]:
    block = (
        tuned if "augment" not in tuned.training else replace(tuned, training={**tuned.training, "augment": "mirrors"})
    )
    return {"pretrain": random, "scratch": random, "fine-tune": tuned, "last-block": block, "lora": lora}


def _of_own(row: Recipe, *, faster: float = 1.0) -> dict[str, Recipe]:
    """Return the settings of all methods without augmentation, which pretraining on its own labels does not need.

    Args:
        faster: Factor on the rate of what learns from target labels alone, but for fine-tuning. Of grey images, on
            which it was chosen: on colour images of 32 pixels LeNet ends with a constant prediction at 0.05.
    """
    pretrain = replace(row, training={**row.training, "augment": "none"}, steps={0: 3000})
    fast = replace(row, grey={"lr": faster * float(row.training["lr"])})
    return {"pretrain": pretrain, "scratch": fast, "merlin-ft": fast} | dict.fromkeys(
        ("fine-tune", "lora", "joint", "merlin"), row
    )


RECIPES: Mapping[Family, Mapping[str, Recipe]] = {
    "small-cnn": _of_own(_OWN_CNN, faster=2.5),
    "small-resnet": _of_own(_OWN_RESNET),
    "mlp": _of_own(_MLP) | _MLP_ROWS,
    "cnn-batch-norm": _of_others(_CNN, _LORA_IMAGES, _FROM_RANDOM),
    "cnn": _of_others(_CNN, _LORA_IMAGES, _FROM_RANDOM),
    "vision-transformer": _of_others(_VIT, _LORA_IMAGES, _FROM_RANDOM),
    "text-encoder": _of_others(_ENCODER, _LORA_TEXTS, _TEXTS_FROM_RANDOM),
    "sentence-encoder": _of_others(_SENTENCES, _LORA_SENTENCES, _TEXTS_FROM_RANDOM),
    "text-decoder": _of_others(_ENCODER, _LORA_TEXTS, _TEXTS_FROM_RANDOM),
}
"""The rows by family and by `Method.recipe`; where a family has no row of that name, that of `ROWS_OF_OTHERS`."""

ROWS_OF_OTHERS: Mapping[str, str] = {
    "last-block": "fine-tune",
    "l2-sp": "fine-tune",
    "merlin-ft": "fine-tune",
    "bitfit": "lora",
    "joint": "scratch",
    "merlin": "scratch",
}

EQUAL: Mapping[str, Mapping[str, Value]] = {
    name: {"lr_scale": 0.5} for name in ("fine-tune", "last-block", "l2-sp", "merlin-ft")
}
"""Settings of methods under equal budgets that start from a network which the study trains itself.

It is stable at about the rate that it was trained with; a given network may not be (EfficientNet-lite0 of ImageNet ends
with a constant prediction at half the rate of 0.01 and loses 18 points at .3). On images held out from training data
half the rate had a better mean than the tenth that methods take by themselves, for four small networks
(docs/results/methods.md).
"""

RATE_OF: Mapping[str, float] = {"sgd": 0.01, "adamw": 0.001}
"""Default learning rate of an optimiser that replaces that of the recipe."""


def augmentation_of(train: LabelledSet) -> str:
    """Return the augmentation that keeps the labels of images: "warp", "flip-crop" or "none".

    Flips change characters: small grey images, and images whose class names are single characters, are warped. Numeric
    labels, and labels on a grid, may change with the image.
    """
    if not train.is_image or train.classes is None or train.grid is not None:
        return "none"
    channels, *sides = train.input_shape
    small_and_grey = channels == 1 and max(sides) <= LARGEST_CHARACTER
    return "warp" if small_and_grey or all(len(name) == 1 for name in train.classes) else "flip-crop"


_AUGMENTATIONS: Mapping[str, Mapping[str, str]] = {
    "none": {"flip-crop": "none", "warp": "none"},
    "by data": {},
    "by labels": {},
    "mirrors": {"flip-crop": "flip", "warp": "none"},
}
"""Augmentation of recipes, by kind of data. "by labels" changes images strongly, if they may be flipped, from
`LEAST_STRONG` labels on. "mirrors" only flips images: outputs of fixed blocks are computed once per image and mirror
image.
"""

LEAST_STRONG = 500
"""Labels from which a small convolutional network gains by strong changes of images (docs/results/competence.md)."""


def even_batch(wanted: int, n: int) -> int:
    """Return about the requested batch size, so that the last batch of a pass over `n` is not small.

    With a hundred examples, batches of 16 leave a batch of 4, whose step takes as long with a quarter of the
    information. More examples than `wanted` are split into at least two batches: steps on all of 20 labels scored 2.5
    points below those on halves.
    """
    if n <= wanted:
        return n
    return wanted if n > MANY_BATCHES * wanted else -(-n // max(2, round(n / wanted)))


def row_of(family: Family, name: str) -> Recipe:
    """Return the recipe of a family for methods of a kind."""
    rows = RECIPES[family]
    return rows[name] if name in rows else rows[ROWS_OF_OTHERS[name]]


def trained_as(
    protocol: Protocol,
    training: TrainingSettings,
    traits: Traits,
    n_labels: int,
    *,
    name: str,
    given: Collection[str] = (),
) -> TrainingSettings:
    """Return the training of one run.

    Args:
        training: Training settings of the study.
        name: Name of the row: `Method.recipe`, or "pretrain".
        given: Keys set in the study, which override the recipe.
    """
    if protocol == "equal":
        return training
    row = row_of(traits.family, name)
    wanted: dict[str, Any] = {**row.training, **(row.grey if traits.is_grey and n_labels >= LEAST_FAST else {})}
    if "augment" in wanted:
        rule = str(wanted["augment"])
        wanted["augment"] = _AUGMENTATIONS[rule].get(traits.augment, traits.augment)
        if rule == "by labels" and wanted["augment"] == "flip-crop" and n_labels >= LEAST_STRONG:
            wanted["augment"] = "strong"
    if "optimiser" in given and training.optimiser != wanted["optimiser"]:  # rate and decay are of the row's optimiser
        wanted = {key: one for key, one in wanted.items() if key not in ("lr", "weight_decay", "momentum")}
        wanted["lr"] = RATE_OF[training.optimiser]
    wanted["batch_size"] = even_batch(wanted["batch_size"], n_labels)
    if "epochs" not in given:
        wanted["steps"] = row.n_steps(n_labels)
    else:
        training = replace(training, steps=None, epochs=training.epochs)
    return replace(training, **{key: one for key, one in wanted.items() if key not in given})


def with_recipe(protocol: Protocol, method: Method, traits: Traits, *, given: Collection[str] = ()) -> Method:
    """Return the method with the settings of its recipe, except those of the study (`given`).

    A class that redefines a setting keeps its own default, unless it names the row (`Method.recipe`).
    """
    if not method.takes_steps:
        return method
    if protocol == "equal":
        settings = EQUAL.get(method.recipe, {}) if traits.is_own else {}
    else:
        settings = row_of(traits.family, method.recipe).settings
    classes = type(method).__mro__
    named = next(place for place, kind in enumerate(classes) if "recipe" in vars(kind))
    anew = {key for kind in classes[:named] for key in inspect.get_annotations(kind)}
    free = {one.name for one in fields(method)} - anew - set(given)  # type: ignore[arg-type]
    free -= {"head"} if traits.on_grid else set()  # a probe reads whole inputs
    wanted = {key: one for key, one in settings.items() if key in free}
    try:
        return replace(method, **wanted)  # type: ignore[type-var]
    except SettingsError:  # a probe has no hidden units
        return replace(method, **{key: one for key, one in wanted.items() if key != "head"})  # type: ignore[type-var]


_WORDS = {
    "warp": "shifts and rotations",
    "flip": "flips",
    "flip-crop": "flips and crops",
    "strong": "flips, crops and one strong change of each",
}


def recipe_in_words(method: Method, training: TrainingSettings) -> str:
    """Describe the training of a method: "SGD 0.02, 1,000 steps of 64, cosine, shifts and rotations"."""
    settings = {one.name: getattr(method, one.name) for one in fields(method)}  # type: ignore[arg-type]
    rate, head = settings.get("lr_scale", 1.0) * training.lr, settings.get("head_lr_scale")
    parts = [
        f"{'SGD' if training.optimiser == 'sgd' else 'AdamW'} {rate:g}"
        + (f" (head {head * training.lr:g})" if head is not None and head * training.lr != rate else ""),
        f"{training.steps:,} steps of {training.batch_size}"
        if training.steps is not None
        else f"{training.epochs:g} epochs in batches of {training.batch_size}",
        training.schedule,
    ]
    parts += [_WORDS[training.augment]] if training.augment != "none" else []
    parts += ["head from the probe"] if settings.get("head") == "probe" else []
    parts += [f"layer decay {decay:g}"] if (decay := settings.get("layer_decay", 1.0)) != 1 else []
    parts += [f"rank {settings['rank']}"] if method.recipe == "lora" else []
    return ", ".join(parts)
