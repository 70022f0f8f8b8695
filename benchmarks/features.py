"""Linear probes and nearest neighbours of one pretrained network: features kept on the disk, and computed every time.

    python -m benchmarks features

The runs of a small study (3 seeds, 2 numbers of labels, 2 methods) on a wide ResNet-20 of a million weights, each with
its measurement on the test set. The two ways take turns; the cache is empty at the start of every round. Times are
of the processor, in one thread.
"""

import os
import statistics
import tempfile
import time

import numpy as np
import torch

from transferscope.data.splits import few_shot
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.methods import FitOptions, Knn, LinearProbe, Method
from transferscope.models import Network, NetworkSettings, build_network
from transferscope.training import TrainingSettings
from transferscope.training.feature_cache import MOST_BYTES

ROUNDS = 2
N_TRAIN, N_TEST, SIDE = 60, 400, 24
OPTIONS = FitOptions(TrainingSettings(steps=1), device="cpu")


def images(n: int, seed: int) -> LabelledSet:
    inputs = np.random.default_rng(seed).integers(0, 256, size=(n, 3, SIDE, SIDE), dtype=np.uint8)
    return LabelledSet(inputs, np.arange(n) % 5, tuple("abcde"))


def study(network: Network, data: Dataset) -> list[torch.Tensor]:
    outputs: list[torch.Tensor] = []
    methods: tuple[Method, ...] = (LinearProbe(), Knn())
    for seed in range(3):
        for n in (20, 40):
            task = TransferTask(Dataset("few", few_shot(data.train, n, seed=seed), data.test))
            outputs += [method.fit(task, network, OPTIONS).outputs(data.test) for method in methods]
    return outputs


def main() -> None:
    torch.set_num_threads(1)
    network = build_network(NetworkSettings("resnet20", (32, 64, 128)), (3, SIDE, SIDE), 5, seed=0)
    data = Dataset("images", images(N_TRAIN, 0), images(N_TEST, 1))
    times: dict[str, list[float]] = {"computed": [], "kept": []}
    results: dict[str, list[torch.Tensor]] = {}
    for _ in range(ROUNDS):
        for way in times:
            with tempfile.TemporaryDirectory() as folder:
                os.environ["TRANSFERSCOPE_CACHE"] = folder
                os.environ["TRANSFERSCOPE_FEATURES"] = "0" if way == "computed" else str(MOST_BYTES)
                began = time.process_time()
                results[way] = study(network, data)
                times[way].append(time.process_time() - began)
    same = all(torch.equal(*pair) for pair in zip(results["computed"], results["kept"], strict=True))
    middle = {way: statistics.median(found) for way, found in times.items()}
    ratios = [a / b for a, b in zip(times["computed"], times["kept"], strict=True)]
    n_weights = sum(p.numel() for p in network.features.parameters())
    print(f"{n_weights:,} weights, 12 runs of 2 methods, {N_TEST} test images")
    print(f"computed every time {middle['computed']:.1f} s, kept {middle['kept']:.1f} s")
    print(f"ratios of the rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)}; outputs equal bit for bit: {same}")


if __name__ == "__main__":
    main()
