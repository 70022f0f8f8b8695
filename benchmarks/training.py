"""The training loop against the loop that most people write; a MeRLin step against a joint step.

Run as `python benchmarks/training.py [--images 6400] [--device cpu]`. Every ratio is of two runs in this process, in
turn, on the same images of the shape of Fashion-MNIST; the aims are 3 (throughput) and 1.3 (MeRLin).
"""

import argparse
import time
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from transferscope.data.task import Dataset as Problem
from transferscope.data.task import LabelledSet, TransferTask
from transferscope.methods import FitOptions, Joint, Merlin, Method, Scratch
from transferscope.models import build_network
from transferscope.training import TrainingSettings

BATCH = 64
ROUNDS = 3


class Images(Dataset):  # type: ignore[type-arg]
    """A plain data set: one image at a time, scaled as torchvision's ToTensor and Normalize do."""

    def __init__(self, data: LabelledSet) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = torch.from_numpy(self.data.inputs[index]).float().div(255)
        return (image - 0.2860) / 0.3530, int(self.data.labels[index])


def images(n: int) -> LabelledSet:
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 256, size=(n, 1, 28, 28), dtype=np.uint8)
    return LabelledSet(pixels, generator.integers(0, 10, n), tuple("0123456789"))


def plain_loop(data: LabelledSet, device: str) -> None:
    """One pass with Dataset, DataLoader and a default network."""
    network = nn.Sequential(
        nn.Conv2d(1, 20, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 500),
        nn.ReLU(),
        nn.Linear(500, 10),
    ).to(device)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    for inputs, labels in DataLoader(Images(data), batch_size=BATCH, shuffle=True):
        optimiser.zero_grad()
        loss = F.cross_entropy(network(inputs.to(device)), labels.to(device))
        loss.backward()
        optimiser.step()
        loss.item()


def our_loop(
    method: Method, task: TransferTask, steps: int, device: str, precision: Literal["float32", "bfloat16"] = "float32"
) -> None:
    training = TrainingSettings(steps=steps, batch_size=BATCH, precision=precision)
    options = FitOptions(training, device=device, curve_examples=0)
    method.fit(task, build_network("lenet", (1, 28, 28), 10, seed=0), options)


def seconds(run: Callable[[], None], device: str) -> float:
    """Processor seconds on a CPU, which other processes do not disturb much; wall-clock seconds on a GPU."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    started = clock()
    run()
    if device != "cpu":
        torch.cuda.synchronize()
    return clock() - started


def best_of_rounds(runs: dict[str, Callable[[], None]], device: str) -> dict[str, float]:
    """The least seconds of each run, all taking turns, so that a busy moment hits them alike."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            times[name].append(seconds(run, device))
    return {name: min(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=6400)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = images(options.images)
    task = TransferTask(Problem("target", data, images(10)), Problem("source", data, images(10)))
    steps = options.images // BATCH
    best = best_of_rounds(
        {
            "plain Dataset + DataLoader loop": lambda: plain_loop(data, options.device),
            "this loop, from scratch": lambda: our_loop(Scratch(), task, steps, options.device),
            "this loop, from scratch, mixed precision": lambda: our_loop(
                Scratch(), task, steps, options.device, "bfloat16"
            ),
            "this loop, joint training": lambda: our_loop(Joint(), task, steps, options.device),
            "this loop, MeRLin": lambda: our_loop(Merlin(target_batch=BATCH), task, steps, options.device),
        },
        options.device,
    )
    print(f"LeNet, {steps} steps of {BATCH} images, {options.device}, one thread, best of {ROUNDS}\n")
    print("| loop | ms per step | images per second |\n|---|---|---|")
    for name, value in best.items():
        print(f"| {name} | {1000 * value / steps:.1f} | {options.images / value:,.0f} |")
    plain, ours, mixed, joint, merlin = best.values()
    print(f"\nthroughput of this loop / plain loop: {plain / ours:.2f}; in mixed precision {plain / mixed:.2f}")
    print(f"a MeRLin step / a joint step with equal batches: {merlin / joint:.2f}")


if __name__ == "__main__":
    main()
