"""What is saved by computing the outputs of fixed first blocks once, beside running them in every step.

Run as `python benchmarks/fixed_blocks.py [--examples 512] [--steps 48] [--rounds 3] [--networks NAME ...]`: fine-tuning
with the first blocks frozen, with and without what `training/fixed_blocks.py` keeps, taking turns in this process.
conv4 and resnet20 read images of 64 x 64 pixels, bert (an encoder of transformers with random weights, six layers of
width 128; left out where the package is missing) texts of 10 to 48 tokens, and bert-pairs two of them, read apart.
Seconds are those of the processor for a whole run, the computing of the outputs included, without a training curve;
the weights that come out are compared, too.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.methods import FineTune, FitOptions
from transferscope.models import Network, adapt, build_network
from transferscope.training import TrainingSettings, loop

SIDE, LONGEST, VOCABULARY = 64, 48, 1000
CLASSES = tuple("0123456789")


def images(n: int) -> LabelledSet:
    pixels = np.random.default_rng(0).integers(0, 256, size=(n, 3, SIDE, SIDE), dtype=np.uint8)
    return LabelledSet(pixels, np.arange(n) % 10, CLASSES)


def texts(n: int) -> LabelledSet:
    generator = np.random.default_rng(0)
    tokens = np.full((n, 2, LONGEST), -1, dtype=np.int32)
    for text in tokens:
        length = generator.integers(10, LONGEST + 1)
        text[0, :length], text[1, :length] = generator.integers(5, VOCABULARY, length), 0
    return LabelledSet(tokens, np.arange(n) % 10, CLASSES)


def pairs(n: int) -> LabelledSet:
    first = texts(n)
    return replace(first, inputs=np.concatenate([first.inputs, first.inputs[::-1]], axis=1))


def bert(n_rows: int = 2) -> Network:
    import transformers

    config = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=128, num_hidden_layers=6, num_attention_heads=4, intermediate_size=512
    )
    torch.manual_seed(0)
    return adapt(transformers.BertModel(config, add_pooling_layer=False), "none", input_shape=(n_rows, LONGEST))


def own(name: str) -> Callable[[], Network]:
    return lambda: build_network(name, (3, SIDE, SIDE), 10, seed=0)


NETWORKS: dict[str, tuple[Callable[[], Network], Callable[[int], LabelledSet], tuple[int, ...]]] = {
    "conv4": (own("conv4"), images, (2, 3)),
    "resnet20": (own("resnet20"), images, (5, 8)),
    "bert": (bert, texts, (4, 6)),
    "bert-pairs": (lambda: bert(4), pairs, (4, 6)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=512)
    parser.add_argument("--steps", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    training = TrainingSettings(steps=given.steps, batch_size=64)
    options = FitOptions(training, device="cpu", curve_examples=0)
    computed = loop.fixed_blocks
    for name in given.networks:
        make, data, frozen = NETWORKS[name]
        try:
            network = make()
        except ImportError as error:
            print(f"{name}: left out: {error}")
            continue
        part = Dataset("target", data(given.examples), data(10))
        task = TransferTask(part, replace(part, name="source"))
        for n_blocks in frozen:
            seconds: dict[bool, list[float]] = {True: [], False: []}
            weights: dict[bool, torch.Tensor] = {}
            for _ in range(given.rounds):
                for once in (True, False):
                    loop.fixed_blocks = computed if once else lambda *_: None
                    started = time.process_time()
                    fitted = FineTune(frozen_blocks=n_blocks).fit(task, network, options)
                    seconds[once].append(time.process_time() - started)
                    weights[once] = torch.cat([p.detach().flatten() for p in fitted.network.parameters()])
            once, always = min(seconds[True]), min(seconds[False])
            distance = float((weights[True] - weights[False]).norm() / weights[False].norm())
            print(
                f"{name}: {n_blocks} of {len(network.blocks())} blocks frozen, {given.examples} examples, "
                f"{given.steps} steps: {once:.2f} s, and {always:.2f} s with all blocks in every step: "
                f"{once / always:.2f} of it; weights differ by {distance:.1g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
