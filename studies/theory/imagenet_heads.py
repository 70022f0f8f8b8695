"""Heads on fixed ImageNet features, trained to training error 0 as Liu et al. (2019, Table 1) train them.

    TRANSFERSCOPE_DATA=FOLDER python studies/theory/imagenet_heads.py [TARGET ...]   # default all
    python studies/runs_csv.py runs/imagenet-heads.sqlite docs/results/runs/imagenet-heads.csv \\
        --diagnostics weight_deviation

Each study is the head alone for 100 passes over the first 600 images of a target, the same for all seeds, so that a
seed is the head's start and its batches, and the features are computed once. The network has no dropout before its
head, as the paper's has none. Finished seeds are not run again. The verdict's predicate is `liu_table_1` in
studies/theory/verdicts.py.
"""

import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import tomli_w
from torch import nn

from transferscope.models import NetworkInput

HERE = Path(__file__).parents[1]
SEEDS = 5
EPOCHS = 100
STEPS = 19 * EPOCHS
TARGETS = ("usps", "mnist", "fashion-mnist", "cifar10", "svhn")

FURTHER = {
    "cifar10-animals": ("npz:cifar10_18k.npz", ["classes:2-8", "train-rows:0-600"]),
    "glyphs": ("glyphs", ["train-rows:0-600"]),
    "glyphs-texture": ("glyphs?texture=with", ["train-rows:0-600"]),
    "cifar10-brightness": ("npz:cifar10_18k.npz", ["relabel:brightness", "train-rows:0-600"]),
    "mnist-first": ("mnist", ["classes:0-5", "train-rows:0-600"]),
    "mnist-last": ("mnist", ["classes:5-10", "train-rows:0-600"]),
    "fashion-mnist-first": ("fashion-mnist", ["classes:0-5", "train-rows:0-600"]),
    "fashion-mnist-last": ("fashion-mnist", ["classes:5-10", "train-rows:0-600"]),
    "usps-first": ("usps", ["classes:0-5", "train-rows:0-600"]),
    "usps-last": ("usps", ["classes:5-10", "train-rows:0-600"]),
    "cifar10-first": ("npz:cifar10_18k.npz", ["classes:0-5", "train-rows:0-600"]),
    "cifar10-last": ("npz:cifar10_18k.npz", ["classes:5-10", "train-rows:0-600"]),
}
"""Further targets for `liu_figure_2`, of one seed each."""


def efficientnet_lite0() -> nn.Module:
    """Return EfficientNet-lite0 with ImageNet weights, and no dropout between features and head."""
    network: nn.Module = runpy.run_path(str(HERE.parent / "examples" / "imagenet.py"))["efficientnet_lite0"]()
    network._dropout = nn.Identity()
    return network


efficientnet_lite0.input = NetworkInput(size=224, mean=127, std=128, scale=1, channels=3)  # type: ignore[attr-defined]


def study_of(target: str) -> dict[str, object]:
    """The study of a target, with the paper's training of the head."""
    study = tomllib.loads((HERE / f"imagenet-why-{target if target in TARGETS else 'usps'}.toml").read_text("utf-8"))
    own = study["target"] | {"transforms": ["train-rows:0-600"]}
    if target in FURTHER:
        data, transforms = FURTHER[target]
        own |= {"data": data, "transforms": transforms}
    network = f"{Path(__file__).resolve()}:efficientnet_lite0"
    return {
        "name": f"imagenet-heads-{target}",
        "recipe": "equal",
        "store": "imagenet-heads.sqlite",
        "seeds": 1 if target in FURTHER else SEEDS,
        "target": own,
        "sources": {"imagenet": {**study["sources"]["imagenet"], "network": network}},
        "network": {**study["network"], "name": network},
        "training": {
            "batch_norm": "source",
            "epochs": EPOCHS,
            "batch_size": 32,
            "lr": 0.01,
            "schedule": "constant",
            "weight_decay": 0.0,
            "eval_every": STEPS,
        },
        "methods": {"fixed": study["methods"]["fixed"]},
        "diagnostics": {"weights": {"every": STEPS}},
    }


def main() -> None:
    """Write the studies beside their store and run what is missing."""
    folder = HERE.parent / "runs"
    folder.mkdir(exist_ok=True)
    for target in sys.argv[1:] or (*TARGETS, *FURTHER):
        file = folder / f"imagenet-heads-{target}.toml"
        file.write_text(tomli_w.dumps(study_of(target)), encoding="utf-8")
        subprocess.run(["transferscope", "run", str(file), "--workers", "0", "--quiet"], check=True)


if __name__ == "__main__":
    main()
