"""Heads on fixed ImageNet features, trained to training error 0 as Liu et al. (2019, Table 1) train them.

    TRANSFERSCOPE_DATA=FOLDER python studies/theory/imagenet_heads.py [TARGET ...]   # default all
    python studies/runs_csv.py runs/imagenet-heads.sqlite docs/results/runs/imagenet-heads.csv \\
        --diagnostics weight_deviation

Each study is imagenet-why-TARGET.toml with the head alone, 100 passes and five seeds. The verdict's predicate is
`liu_table_1` in studies/theory/verdicts.py.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import tomli_w

HERE = Path(__file__).parents[1]
TARGETS = ("cifar10", "svhn", "fashion-mnist", "usps", "mnist", "glyphs")


def study_of(target: str) -> dict[str, object]:
    """The study of a target, with the paper's training of the head."""
    study = tomllib.loads((HERE / f"imagenet-why-{target}.toml").read_text(encoding="utf-8"))
    network = str((HERE.parent / "examples" / "imagenet.py").resolve()) + ":efficientnet_lite0"
    return {
        "name": f"imagenet-heads-{target}",
        "recipe": "equal",
        "store": "imagenet-heads.sqlite",
        "seeds": 5,
        "target": study["target"],
        "sources": {"imagenet": {**study["sources"]["imagenet"], "network": network}},
        "network": {**study["network"], "name": network},
        "training": {
            "batch_norm": "source",
            "epochs": 100,
            "batch_size": 32,
            "lr": 0.01,
            "schedule": "constant",
            "weight_decay": 0.0,
            "eval_every": 1900,
        },
        "methods": {"fixed": study["methods"]["fixed"]},
        "diagnostics": {"weights": {"every": 475}},
    }


def main() -> None:
    """Write the studies beside their store and run them."""
    folder = HERE.parent / "runs"
    folder.mkdir(exist_ok=True)
    for target in sys.argv[1:] or TARGETS:
        file = folder / f"imagenet-heads-{target}.toml"
        file.write_text(tomli_w.dumps(study_of(target)), encoding="utf-8")
        subprocess.run(["transferscope", "run", str(file), "--quiet"], check=True)


if __name__ == "__main__":
    main()
