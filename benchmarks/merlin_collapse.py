"""Whether clipped gradients, a smaller rate or a warm-up mend MeRLin's collapse in single seeds.

    python -m benchmarks.merlin_collapse FILE.csv [--seeds 6]

Every variant has the same labels and first weights by seed; 200 steps at a rate of .02, as in studies/methods-*.toml.
Gradients of a step are clipped to a norm over all weights. A run has collapsed where it lies more than 10 points below
the median of its row. Runs that FILE holds are not repeated. Table: docs/results/merlin.md.
"""

import argparse
import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from transferscope.data import TransferTask, few_shot, load
from transferscope.methods import METHODS, FitOptions, pretrain
from transferscope.models import Network, build_network
from transferscope.training import TrainingSettings

CIFAR = {"spec": "npz:cifar10_18k.npz"}
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, dict[str, Any]]]] = {
    "glyphs-digits, 20": (
        {"spec": "digits", "transforms": ["resize:16"]},
        {"spec": "glyphs?size=16", "limit": 10_000},
        {"merlin, rho 2": {"rho": 2.0}, "merlin, rho 8": {"rho": 8.0}, "merlin-ft, 2.5 of the rate": {"lr_scale": 2.5}},
    ),
    "cifar-classes, 100": (
        CIFAR | {"transforms": ["classes:5-10"]},
        CIFAR | {"transforms": ["classes:0-5"]},
        {"merlin, rho 8": {"rho": 8.0}},
    ),
}
"""Target, source and methods, by pair and number of labels."""

VARIANTS: dict[str, tuple[float, float | None, float]] = {
    "as it is": (1.0, None, 0.0),
    "a fifth of the rate": (0.2, None, 0.0),
    "clipped at 1": (1.0, 1.0, 0.0),
    "clipped at .1": (1.0, 0.1, 0.0),
    "warm-up of a fifth": (1.0, None, 0.2),
}
"""Share of the rate, largest norm of the gradient, share of the steps over which the rate rises."""


@contextmanager
def clipped(norm: float | None) -> Iterator[None]:
    """Within, every step of every optimiser has gradients of at most this norm."""

    def clip(optimiser: torch.optim.Optimizer, *_: Any) -> None:
        if norm is not None:
            torch.nn.utils.clip_grad_norm_([p for group in optimiser.param_groups for p in group["params"]], norm)

    handle = register_optimizer_step_pre_hook(clip)
    try:
        yield
    finally:
        handle.remove()


def runs(seed: int, made: set[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Accuracy in percent by pair, method and variant, of what is not made already."""
    for pair, (*described, methods) in PAIRS.items():
        target, source = (load(of["spec"], **{k: v for k, v in of.items() if k != "spec"}) for of in described)
        task = replace(target, train=few_shot(target.train, int(pair.split()[-1]), seed=seed))
        start = build_network("lenet", target.train.input_shape, target.train.n_outputs, seed=seed)
        options = FitOptions(TrainingSettings(steps=1000), seed=seed, device="cpu", curve_examples=0)
        pretrained: Network | None = None
        for (name, settings), (variant, (share, norm, warmup)) in product(methods.items(), VARIANTS.items()):
            if (key := (pair, name, variant, str(seed))) in made:
                continue
            method = METHODS[name.split(",")[0]](**settings)
            if method.start == "pretrained" and pretrained is None:
                start = pretrained = pretrain(source, start, options).network
            training = TrainingSettings(steps=200, lr=0.02 * share, warmup=warmup)
            with clipped(norm):
                fitted = method.fit(TransferTask(task, source), start, replace(options, training=training))
            yield key, 100 * float((fitted.predict(target.test) == target.test.labels).mean())


def main() -> None:
    """Make the runs that are missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, default=6)
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = list(csv.reader(given.file.open(encoding="utf-8"))) if given.file.exists() else []
    for seed in range(given.seeds):
        for key, value in runs(seed, {tuple(row[:4]) for row in rows}):
            rows.append([*key, f"{value:.2f}"])
            with given.file.open("a", encoding="utf-8") as file:
                csv.writer(file).writerow(rows[-1])
    print("| pair, labels, method | " + " | ".join(VARIANTS) + " |\n" + "|---" * (len(VARIANTS) + 1) + "|")
    for pair, name in ((pair, name) for pair, of in PAIRS.items() for name in of[2]):
        of = {way: [float(row[4]) for row in rows if row[:3] == [pair, name, way]] for way in VARIANTS}
        low = np.median(np.concatenate(list(of.values()))) - 10
        cells = [f"{np.mean(v):.1f}, least {min(v):.1f}, {sum(x < low for x in v)} of {len(v)}" for v in of.values()]
        print(f"| {pair}, {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
