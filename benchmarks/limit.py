"""Share of what this machine can multiply that passes of networks reach: floating-point operations by torch's count.

    python benchmarks/limit.py [FOLDER of a text encoder]

One thread, processor seconds, the least of several calls; the limit is the better of a large float32 matrix product and
a large convolution. Says which kernels of linear algebra run, and what they reach in other precisions. Freed memory is
kept, as in workers. EfficientNet-lite0 takes images of 224 x 224, 16 at a time; the shares of its
depthwise convolutions, and of what multiplies nothing, are printed.
"""

import importlib.util
import sys
import time
from collections.abc import Callable
from typing import cast

import numpy as np
import torch
from threadpoolctl import threadpool_info
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from transferscope.machine import keep_freed_memory
from transferscope.models import build_network


def speed(run: Callable[[], object], rounds: int = 5, *, of: Callable[[], object] | None = None) -> float:
    """Operations in a second, in 1e9; three times those of the forward pass `of` where one is given.

    torch counts the backward passes of a depthwise convolution as those of a full one.
    """
    with FlopCounterMode(display=False) as counted, torch.set_grad_enabled(of is None):
        (of or run)()
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        run()
        least = min(least, time.process_time() - began)
    return (1 if of is None else 3) * counted.get_total_flops() / least / 1e9


def numpy_speed(a: np.ndarray, rounds: int = 5) -> float:
    """The same of a product of NumPy."""
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        a @ a
        least = min(least, time.process_time() - began)
    return float(2 * len(a) ** 3 / least / 1e9)


def parts(module: nn.Module, inputs: torch.Tensor) -> str:
    """Return how the time of a frozen pass is divided."""
    spent, began = {"depthwise": 0.0, "others": 0.0}, {}

    def before(layer: nn.Module, _: object) -> None:
        began[layer] = time.process_time()

    def after(layer: nn.Module, *_: object) -> None:
        spent["depthwise" if cast(nn.Conv2d, layer).groups > 1 else "others"] += time.process_time() - began[layer]

    layers = [layer for layer in module.modules() if isinstance(layer, nn.Conv2d)]
    handles = [
        hook for one in layers for hook in (one.register_forward_pre_hook(before), one.register_forward_hook(after))
    ]
    start = time.process_time()
    module(inputs)
    whole = time.process_time() - start
    for handle in handles:
        handle.remove()
    shares = ", ".join(f"{name} convolutions {seconds / whole:.2f}" for name, seconds in spent.items())
    return f"{shares}, the rest {1 - sum(spent.values()) / whole:.2f}"


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
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
    if importlib.util.find_spec("efficientnet_lite_pytorch") is not None:
        from efficientnet_lite_pytorch import EfficientNet

        lite = EfficientNet.from_name("efficientnet-lite0").to(memory_format=torch.channels_last)
        photos = torch.randn(16, 3, 224, 224).contiguous(memory_format=torch.channels_last)
        jobs["EfficientNet-lite0, 16 images of 224 x 224"] = (lite, photos)
    for name, (module, inputs) in jobs.items():

        def step(module: nn.Module = module, inputs: torch.Tensor = inputs) -> None:
            module.zero_grad()
            module(inputs).sum().backward()

        module.eval()
        with torch.no_grad():
            frozen = speed(lambda module=module, inputs=inputs: module(inputs))
        module.train()
        trained = speed(step, of=lambda module=module, inputs=inputs: module(inputs))
        print(f"| {name} | {frozen:.0f} | {frozen / limit:.2f} | {trained:.0f} | {trained / limit:.2f} |", flush=True)
        if name.startswith("Eff"):
            with torch.no_grad():
                print(f"\nTime of its frozen pass: {parts(module.eval(), inputs)}")


if __name__ == "__main__":
    main()
