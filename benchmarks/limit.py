"""Share of what this machine can multiply that passes of networks reach: floating-point operations by torch's count.

    python benchmarks/limit.py [--lite0] [--compile]

One thread, processor seconds, the least of several calls; the limit is the better of a large float32 matrix product and
a large convolution, or for encoders of the matrix product. Says which kernels of linear algebra run, and what they
reach in other precisions. Freed memory is kept, as in workers. Weights are random: MiniLM and ViT have the shapes of
all-MiniLM-L6-v2 and of ViT-Ti/16.

`--lite0` shows instead what a frozen pass of EfficientNet-lite0 takes with freed memory returned and kept, with batch
normalisation folded into the convolutions, with larger batches and at smaller resolutions, and the shares of its
layers; `--compile` what `torch.compile` does to a pass and a step of MiniLM. Both take turns with the plain pass.
"""

import argparse
import copy
import importlib.util
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
import torch
from threadpoolctl import threadpool_info
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
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


def encoders() -> dict[str, tuple[nn.Module, torch.Tensor]]:
    """Return encoders of transformers, where it is installed."""
    if importlib.util.find_spec("transformers") is None:
        return {}
    sys.modules.setdefault("torchvision", None)  # type: ignore[arg-type]  # of another torch, transformers fails by it
    import transformers as t

    minilm = t.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    vit = t.ViTConfig(hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768)
    return {
        "MiniLM, 16 texts of 48 tokens": (Outputs(t.BertModel(minilm)), torch.randint(5, 20_000, (16, 48))),
        "ViT, 16 images of 224 x 224": (Outputs(t.ViTModel(vit)), torch.randn(16, 3, 224, 224)),
    }


class Outputs(nn.Module):
    """An encoder whose output is one tensor."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the vectors of all tokens."""
        outputs: torch.Tensor = self.encoder(inputs).last_hidden_state
        return outputs


def step(module: nn.Module, inputs: torch.Tensor) -> None:
    """Take a training step without an optimiser."""
    module.zero_grad()
    module(inputs).sum().backward()


def seconds() -> float:
    """Return the seconds of this process and of those that it started and that have ended."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def least(runs: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, tuple[float, int]]:
    """Return the least seconds of each, in turn, and the page faults of its last call."""
    found = dict.fromkeys(runs, (float("inf"), 0))
    for _ in range(rounds):
        for name, run in runs.items():
            began, faults = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            run()
            seconds = time.process_time() - began
            found[name] = (min(found[name][0], seconds), resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults)
    return found


def folded(network: nn.Module) -> nn.Module:
    """Return a copy for inference whose batch normalisation is part of the convolution before."""
    network, last = copy.deepcopy(network), None
    for parent in network.modules():
        for name, child in parent.named_children():
            if isinstance(child, nn.BatchNorm2d) and last is not None:
                convolution = last[0]._modules[last[1]]
                last[0]._modules[last[1]] = fuse_conv_bn_eval(cast(nn.Conv2d, convolution), child)
                parent._modules[name] = nn.Identity()
            last = (parent, name) if isinstance(child, nn.Conv2d) else last
    return network


@torch.no_grad()
def lite0() -> None:
    """Print ms an image of frozen passes of EfficientNet-lite0."""
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0").to(memory_format=torch.channels_last).eval()

    def images(n: int, side: int) -> torch.Tensor:
        return torch.randn(n, 3, side, side).contiguous(memory_format=torch.channels_last)

    def row(name: str, n: int, took: tuple[float, int]) -> None:
        print(f"| {name} | {1e3 * took[0] / n:.1f} | {took[1] / n:,.0f} |", flush=True)

    print("| | ms an image | page faults an image |\n|---|---|---|")
    photos, fused = images(16, 224), folded(network)
    torch.testing.assert_close(network(photos), fused(photos), rtol=1e-3, atol=1e-3)
    row("16 images of 224 x 224, freed memory returned", 16, least({"": lambda: network(photos)})[""])
    keep_freed_memory()
    ways: dict[str, Callable[[], object]] = {
        "freed memory kept": lambda: network(photos),
        "batch normalisation folded as well": lambda: fused(photos),
    }
    for name, took in least(ways).items():
        row(name, 16, took)
    for n, side in ((64, 224), (16, 160), (16, 128), (16, 96), (16, 64)):
        given = images(n, side)
        row(f"{n} images of {side} x {side}", n, least({"": lambda given=given: network(given)}, 3)[""])
    print(f"\nTime of a pass of 16 images of 224 x 224: {parts(network, photos)}")


def compiled() -> None:
    """Print seconds of a pass and a step of MiniLM, plain and compiled, and what compiling takes."""
    (network, tokens), *_ = encoders().values()
    fast = torch.compile(network)

    def frozen(module: nn.Module) -> None:
        with torch.no_grad():
            module(tokens)

    print("| | plain | compiled | compiling |\n|---|---|---|---|")
    for name, run in {"frozen": frozen, "step": lambda module: step(module, tokens)}.items():
        network.train(name == "step")
        began = seconds()
        run(fast)
        compiling = seconds() - began
        found = least({"plain": lambda run=run: run(network), "compiled": lambda run=run: run(fast)})
        print(f"| {name} | {found['plain'][0]:.3f} | {found['compiled'][0]:.3f} | {compiling:.0f} |", flush=True)


def shares() -> None:
    """Print the limit, and what passes and steps of networks reach of it."""
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
    if importlib.util.find_spec("efficientnet_lite_pytorch") is not None:
        from efficientnet_lite_pytorch import EfficientNet

        lite = EfficientNet.from_name("efficientnet-lite0").to(memory_format=torch.channels_last)
        photos = torch.randn(16, 3, 224, 224).contiguous(memory_format=torch.channels_last)
        jobs["EfficientNet-lite0, 16 images of 224 x 224"] = (lite, photos)
    jobs |= encoders()
    for name, (module, inputs) in jobs.items():
        most = products if name.startswith(("MiniLM", "ViT")) else limit
        module.eval()
        with torch.no_grad():
            frozen = speed(partial(module, inputs))
        module.train()
        trained = speed(partial(step, module, inputs), of=partial(module, inputs))
        print(f"| {name} | {frozen:.0f} | {frozen / most:.2f} | {trained:.0f} | {trained / most:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lite0", action="store_true")
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.lite0:
        lite0()
        return
    keep_freed_memory()
    if arguments.compile:
        compiled()
    else:
        shares()


if __name__ == "__main__":
    main()
