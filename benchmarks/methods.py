"""What a step of each method costs beside a step of fine-tuning, all taking turns in this process.

Run as `python benchmarks/methods.py [--images 640] [--steps 20] [--network lenet] [--methods NAME ...]`. Two fits of
each method, of so many and of twice as many steps, on the same images of the shape of Fashion-MNIST: the difference is
what the further steps take, and the rest of the shorter one what is paid once (a probe, weighing channels, a closed
form). Steps are those of all runs that a method makes; how many these are is shown beside them.
"""

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np
import torch

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError
from transferscope.methods import METHODS, FitOptions, Method
from transferscope.models import build_network
from transferscope.training import TrainingSettings

BATCH = 64
ROUNDS = 3


def images(n: int, seed: int) -> LabelledSet:
    generator = np.random.default_rng(seed)
    pixels = generator.integers(0, 256, size=(n, 1, 28, 28), dtype=np.uint8)
    return LabelledSet(pixels, np.arange(n) % 10, tuple("0123456789"))


@dataclass(frozen=True)
class Taken:
    """One fit: its seconds, and its optimiser steps in all runs that it made."""

    seconds: float
    steps: int


def fit(method: Method, task: TransferTask, network: str, steps: int, device: str) -> Taken:
    """Processor seconds on a CPU, which other processes do not disturb much; wall-clock seconds on a GPU."""
    options = FitOptions(TrainingSettings(steps=steps, batch_size=BATCH), device=device, curve_examples=0)
    clock = time.process_time if device == "cpu" else time.perf_counter
    start = build_network(network, (1, 28, 28), 10, seed=0)
    started = clock()
    fitted = method.fit(task, start, options)
    if device != "cpu":
        torch.cuda.synchronize()
    return Taken(clock() - started, fitted.cost.steps)


def reads(method: Method, task: TransferTask) -> bool:
    """Whether images are for it: methods of tables refuse them."""
    try:
        method.check_task(task.target, task.source)
    except DataError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=640)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--network", default="lenet")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--methods", nargs="*", default=[], help="some of them; fine-tune is always there")
    given = parser.parse_args()
    torch.set_num_threads(1)
    part = Dataset("target", images(given.images, 0), images(10, 1))
    task = TransferTask(part, replace(part, name="source"))
    asked = ("fine-tune", *(given.methods or METHODS.own))
    named = {name: METHODS[name]() for name in METHODS.own if name in asked}
    methods = {name: method for name, method in named.items() if reads(method, task)}
    made: dict[tuple[str, int], list[Taken]] = {}
    for _ in range(ROUNDS):
        for name, method in methods.items():
            for steps in (given.steps, 2 * given.steps):
                taken = fit(method, task, given.network, steps, given.device)
                made.setdefault((name, steps), []).append(taken)
                if not taken.steps:
                    break
    least = {key: min(values, key=lambda taken: taken.seconds) for key, values in made.items()}

    def of_step(name: str) -> float:
        short, long = least[name, given.steps], least[name, 2 * given.steps]
        return (long.seconds - short.seconds) / (long.steps - short.steps)

    unit = of_step("fine-tune")
    shown = f"{given.network}, {given.images} examples, batches of {BATCH}, {given.device}, one thread"
    print(f"{shown}; a step of fine-tuning takes {1000 * unit:.1f} ms; least of {ROUNDS} rounds\n")
    print("| method | a step, in steps of fine-tuning | runs | once, in steps of fine-tuning |\n|---|---|---|---|")
    for name in methods:
        short = least[name, given.steps]
        if not short.steps:
            print(f"| `{name}` | – | – | {short.seconds / unit:.0f} |")
            continue
        once = max(short.seconds - of_step(name) * short.steps, 0.0)
        print(f"| `{name}` | {of_step(name) / unit:.2f} | {short.steps // given.steps} | {once / unit:.0f} |")


if __name__ == "__main__":
    main()
