"""What a step of each method costs beside a step of fine-tuning, all taking turns in this process.

Run as `python benchmarks/methods.py [--images 640] [--steps 20] [--network lenet] [--device cpu]`. Two fits of each
method, of so many and of twice as many steps, on the same images of the shape of Fashion-MNIST: their difference is
what the further steps take, and the rest of the shorter one what is paid once (a probe, weighing channels, a closed
form). Methods that make several runs of the whole budget take that many in both.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.methods import METHODS, Control, FitOptions, Method
from transferscope.models import build_network
from transferscope.training import TrainingSettings

BATCH = 64
ROUNDS = 3


def images(n: int, seed: int) -> LabelledSet:
    generator = np.random.default_rng(seed)
    pixels = generator.integers(0, 256, size=(n, 1, 28, 28), dtype=np.uint8)
    return LabelledSet(pixels, np.arange(n) % 10, tuple("0123456789"))


def fit(method: Method, task: TransferTask, network: str, steps: int, device: str) -> None:
    options = FitOptions(TrainingSettings(steps=steps, batch_size=BATCH), device=device, curve_examples=0)
    method.fit(task, build_network(network, (1, 28, 28), 10, seed=0), options)


def seconds(run: Callable[[], None], device: str) -> float:
    """Processor seconds on a CPU, which other processes do not disturb much; wall-clock seconds on a GPU."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    started = clock()
    run()
    if device != "cpu":
        torch.cuda.synchronize()
    return clock() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=640)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--network", default="lenet")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(1)
    part = Dataset("target", images(given.images, 0), images(10, 1))
    task = TransferTask(part, replace(part, name="source"))
    methods = {name: METHODS[name]() for name in METHODS.own}
    times: dict[tuple[str, int], list[float]] = {}
    for _ in range(ROUNDS):
        for name, method in methods.items():
            for times_steps in (1, 2):
                steps = times_steps * given.steps
                taken = seconds(lambda m=method, n=steps: fit(m, task, given.network, n, given.device), given.device)  # type: ignore[misc]
                times.setdefault((name, times_steps), []).append(taken)
    least = {key: min(values) for key, values in times.items()}
    of_step = {name: max(least[name, 2] - least[name, 1], 0.0) / given.steps for name in methods}
    unit = of_step["fine-tune"]
    shown = f"{given.network}, {given.images} examples, batches of {BATCH}, {given.device}, one thread"
    print(f"{shown}; a step of fine-tuning takes {1000 * unit:.1f} ms; least of {ROUNDS} rounds\n")
    print("| method | a step, in steps of fine-tuning | once, in steps of fine-tuning |\n|---|---|---|")
    for name, method in methods.items():
        once = max(least[name, 1] - of_step[name] * given.steps, 0.0)
        step = "–" if isinstance(method, Control) or of_step[name] < 0.05 * unit else f"{of_step[name] / unit:.2f}"
        print(f"| `{name}` | {step} | {once / unit:.0f} |")


if __name__ == "__main__":
    main()
