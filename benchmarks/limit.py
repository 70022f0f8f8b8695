"""Share of what this machine can multiply that passes of networks reach: floating-point operations by torch's count.

    python benchmarks/limit.py [FOLDER of a text encoder]

One thread, processor seconds, the least of several calls; the limit is the better of a large float32 matrix product and
a large convolution. Says which kernels of linear algebra run, and what they reach in other precisions.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from threadpoolctl import threadpool_info
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from transferscope.models import build_network


def speed(run: Callable[[], object], rounds: int = 5) -> float:
    """Operations in a second, in 1e9."""
    with FlopCounterMode(display=False) as counted:
        run()
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        run()
        least = min(least, time.process_time() - began)
    return counted.get_total_flops() / least / 1e9


def numpy_speed(a: np.ndarray, rounds: int = 5) -> float:
    """The same of a product of NumPy."""
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        a @ a
        least = min(least, time.process_time() - began)
    return float(2 * len(a) ** 3 / least / 1e9)


def main() -> None:
    torch.set_num_threads(1)
    a = torch.randn(1024, 1024)
    half, array, doubles = a.bfloat16(), a.numpy(), a.double().numpy()
    images = torch.randn(16, 128, 28, 28).to(memory_format=torch.channels_last)
    convolution = nn.Conv2d(128, 128, 3, padding=1).to(memory_format=torch.channels_last)
    with torch.no_grad():
        products, convolutions = speed(lambda: a @ a), speed(lambda: convolution(images))
        halves = speed(lambda: half @ half)
    limit = max(products, convolutions)
    blas = [one for one in threadpool_info() if one["user_api"] == "blas"]
    kernels = sorted({f"{one['internal_api']} {one['version']} ({one['architecture']})" for one in blas})
    print(f"NumPy: {', '.join(kernels)}; torch: {torch.backends.cpu.get_cpu_capability()}")
    for name, own in {"float32": array, "float64": doubles}.items():
        print(f"numpy, {name}: {numpy_speed(own):.0f} GFLOP/s")
    print(f"torch, bfloat16: {halves:.0f} GFLOP/s")
    print(f"limit: products {products:.0f}, convolutions {convolutions:.0f} GFLOP/s\n")
    print("| | frozen: GFLOP/s | share | training step: GFLOP/s | share |\n|---|---|---|---|---|")
    jobs: dict[str, tuple[nn.Module, torch.Tensor]] = {}
    for name, shape, n in (("lenet", (1, 28, 28), 64), ("conv4", (3, 32, 32), 64), ("resnet20", (3, 32, 32), 64)):
        network = build_network(name, shape, 10, seed=0).to(memory_format=torch.channels_last)
        jobs[f"{name}, {n} images of {shape}"] = (network, torch.randn(n, *shape))
    for folder in sys.argv[1:]:
        from transferscope.models import NetworkSettings, Pretrained, open_pretrained

        network = open_pretrained(Pretrained(NetworkSettings(f"hf:{folder}")), (2, 48)).network
        tokens = torch.stack([torch.randint(5, 20_000, (16, 48)), torch.zeros(16, 48, dtype=torch.int64)], dim=1)
        jobs["encoder, 16 texts of 48 tokens"] = (network, tokens.int())
    for name, (module, inputs) in jobs.items():

        def step(module: nn.Module = module, inputs: torch.Tensor = inputs) -> None:
            module.zero_grad()
            module(inputs).sum().backward()

        module.eval()
        with torch.no_grad():
            frozen = speed(lambda module=module, inputs=inputs: module(inputs))
        module.train()
        trained = speed(step)
        print(f"| {name} | {frozen:.0f} | {frozen / limit:.2f} | {trained:.0f} | {trained / limit:.2f} |", flush=True)


if __name__ == "__main__":
    main()
