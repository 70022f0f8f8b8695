"""Points of a landscape in a second, against loss-landscapes 3.0.6 in the same batches.

    python benchmarks/landscape.py [--resolution R] [--examples N ...] [--rounds R]

LeNet trained on scanned digits, and two untrained networks on images of noise. The two packages take turns, and the
least of the rounds counts; seconds are those that this process used. Says how much of a point is the multiplications
behind the first layer, which neither can leave out. Freed memory is kept for both, as in `diagnose`. It needs the
extra "bench".
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import loss_landscapes
import loss_landscapes.metrics
import torch
from lenet import Trained, trained_lenet
from torch import nn

from transferscope.diagnostics import Examples, Landscape, Subject
from transferscope.machine import keep_freed_memory
from transferscope.models import build_network


def seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def ours(case: Trained, diagnostic: Landscape) -> None:
    diagnostic.losses(Subject(case.network, Examples(case.inputs, case.labels)))


def theirs(case: Trained, diagnostic: Landscape) -> None:
    batches = [part.split(diagnostic.batch_size) for part in (case.inputs, case.labels)]
    parts = [
        (len(labels) / len(case.labels), loss_landscapes.metrics.Loss(nn.functional.cross_entropy, images, labels))
        for images, labels in zip(*batches, strict=True)
    ]

    def loss(wrapper: object) -> object:
        return sum(share * part(wrapper) for share, part in parts)

    loss_landscapes.random_plane(case.network, loss, distance=1, steps=diagnostic.resolution)


def multiplying(case: Trained, batch_size: int) -> float:
    """Return the least seconds of the layers behind the first that multiply, for all examples."""
    layers = [module for module in case.network.modules() if isinstance(module, nn.Conv2d | nn.Linear)][1:]
    seen: list[tuple[nn.Module, torch.Tensor]] = []
    handles = [
        layer.register_forward_pre_hook(lambda module, inputs: seen.append((module, inputs[0]))) for layer in layers
    ]
    with torch.no_grad():
        case.network(case.inputs[:batch_size].contiguous(memory_format=torch.channels_last))
        for handle in handles:
            handle.remove()
        least = sum(min(seconds(partial(module, x)) for _ in range(20)) for module, x in seen)
    return least * len(case.inputs) / batch_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resolution", type=int, default=7)
    parser.add_argument("--examples", type=int, nargs="+", default=[300, 1000])
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    diagnostic = Landscape(resolution=arguments.resolution, radius=0.5)
    cases = {f"LeNet, {n} images": trained_lenet(n) for n in arguments.examples}
    for name in ("conv4", "resnet20"):
        network = build_network(name, (3, 32, 32), 10, seed=0).eval()
        generator = torch.Generator().manual_seed(0)
        images = torch.randn(100, 3, 32, 32, generator=generator)
        with torch.no_grad():  # loss-landscapes fails on biases that are zero
            for parameter in network.parameters():
                parameter += 1e-3 * torch.randn(parameter.shape, generator=generator)
        cases[f"{name}, 100 images of 32 x 32"] = Trained(network, images, torch.arange(100) % 10)
    points = arguments.resolution**2
    print("| | ms a point | loss-landscapes | ratio | multiplications behind the first layer |\n" + "|---" * 5 + "|")
    for name, case in cases.items():
        turns = [[seconds(partial(way, case, diagnostic)) for way in (ours, theirs)] for _ in range(arguments.rounds)]
        own, peer = (min(column) / points for column in zip(*turns, strict=True))
        share = multiplying(case, diagnostic.batch_size) / own
        print(f"| {name} | {1e3 * own:.1f} | {1e3 * peer:.1f} | {peer / own:.2f} | {share:.2f} |", flush=True)


if __name__ == "__main__":
    main()
