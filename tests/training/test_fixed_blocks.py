"""Training that begins behind the fixed blocks against training that runs them in every step."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from torch import Tensor, nn

from methods.by_hand import KilledError, die
from methods.by_hand import images as images_of
from text_encoders import encoder, encoder_of_pairs, pairs, texts
from transferscope.data.task import TransferTask
from transferscope.methods import Delta, FineTune, FitOptions, L2Sp, MerlinFt, Method, Surgical
from transferscope.models import Network, NetworkSettings, build_network
from transferscope.testing.methods import same, weights_of
from transferscope.training import TrainingSettings, feature_cache, loop, outputs_of, pixel_scale, to_tensors
from transferscope.training.fixed_blocks import FixedBlocks, fixed_blocks

TRAINING = TrainingSettings(steps=6, batch_size=8, lr=0.05, eval_every=3)
OPTIONS = FitOptions(TRAINING, seed=7, device="cpu")
images = partial(images_of, 21)


def network(name: str = "conv4") -> Network:
    widths = {"resnet20": (2, 2, 3), "conv4": (3, 3, 3, 3), "lenet": (3, 4, 6)}[name]
    return build_network(NetworkSettings(name, widths), (3, 16, 16), 4, seed=0)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[FixedBlocks | None]:
    """What was found for each run."""
    noted: list[FixedBlocks | None] = []

    def note(*given: Any) -> FixedBlocks | None:
        noted.append(fixed_blocks(*given))
        return noted[-1]

    monkeypatch.setattr(loop, "fixed_blocks", note)
    return noted


def both(method: Method, task: TransferTask, start: Network, options: FitOptions = OPTIONS) -> tuple[Network, Network]:
    """The network that comes of training, and that of training with all blocks in every step."""
    once = method.fit(task, start, options).network
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loop, "fixed_blocks", lambda *_: None)
        return once, method.fit(task, start, options).network


@pytest.mark.parametrize(
    "method",
    [
        FineTune(frozen_blocks=2, lr_scale=1.0),
        FineTune(layer_decay=0.0, lr_scale=1.0),
        L2Sp(frozen_blocks=2),
        Surgical(block="conv4"),
        MerlinFt(frozen_blocks=2),
        Delta(frozen_blocks=1, attention="none"),
    ],
    ids=lambda method: method.name,
)
def test_weights_are_the_same_bit_for_bit(method: Method, found: list[FixedBlocks | None]) -> None:
    once, always = both(method, images(), network())
    assert found[0] is not None
    assert len(found[0].outputs[0]) == 21
    assert same(weights_of(once), weights_of(always))


@pytest.mark.parametrize("name", ["resnet20", "lenet"])
def test_other_networks_and_mixed_precision_give_the_same_bit_for_bit(
    name: str, found: list[FixedBlocks | None]
) -> None:
    mixed = replace(OPTIONS, training=replace(TRAINING, precision="bfloat16"))
    for options in (OPTIONS, mixed):
        once, always = both(FineTune(frozen_blocks=2, lr_scale=1.0), images(), network(name), options)
        assert same(weights_of(once), weights_of(always))
    assert [type(one) for one in found] == 2 * [FixedBlocks]
    assert [one.outputs[0].dtype for one in found if one is not None] == [torch.float32, torch.bfloat16]


def test_flips_begin_with_what_is_kept_of_each_image_and_its_mirror(found: list[FixedBlocks | None]) -> None:
    flips = replace(OPTIONS, training=replace(TRAINING, augment="flip", steps=12))
    plain = replace(flips, training=replace(flips.training, augment="none"))
    method = FineTune(frozen_blocks=2, lr_scale=1.0)
    once, always = both(method, images(), network(), flips)
    assert found[0] is not None
    assert len(found[0].outputs[0]) == 2 * 21
    assert same(weights_of(once), weights_of(always))
    assert not same(weights_of(once), weights_of(method.fit(images(), network(), plain).network))


READ: list[int] = []


class Counting(nn.Module):
    """A block that notes in `READ`, whichever copy it is, how many examples it reads at once."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, inputs: Tensor, **given: Tensor) -> Tensor:
        READ.append(len(inputs))
        outputs: Tensor = self.block(inputs, **given)
        return outputs


def test_a_frozen_block_runs_over_the_training_examples_once() -> None:
    task, start = images(), network()
    READ.clear()
    counted = start.copy()
    counted.features[2].register_forward_hook(lambda _, inputs, __: READ.append(len(inputs[0])))  # type: ignore[index]
    FineTune(frozen_blocks=3).fit(task, counted, replace(OPTIONS, curve_examples=0))
    assert sum(READ) >= 6 * 7  # someone looks at it, so that it runs in every step

    start.features[2] = Counting(start.features[2])  # type: ignore[index, operator]
    READ.clear()
    FineTune(frozen_blocks=3).fit(task, start, replace(OPTIONS, curve_examples=0))
    first_check, tried, computed, last_check = 1, 8 + 3 + 3, 3 * 8, 16  # 21 examples, filled up
    assert sum(READ) == first_check + tried + computed + last_check


@pytest.mark.parametrize("cut", [1, 4])
def test_a_run_that_is_killed_goes_on_bit_for_bit(cut: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method, options = FineTune(frozen_blocks=3, lr_scale=1.0), replace(OPTIONS, checkpoint_seconds=0.0)
    whole = method.fit(images(), network(), options).network

    options = replace(options, checkpoint=tmp_path / "run")
    monkeypatch.setattr(loop, "CHECK_EVERY", cut + 1)  # progress is told after that step, and the one before is kept
    with pytest.raises(KilledError):
        method.fit(images(), network(), replace(options, on_progress=die))
    assert (tmp_path / "run").exists()
    assert same(weights_of(method.fit(images(), network(), options).network), weights_of(whole))


@pytest.mark.parametrize(
    ("training", "n_examples"),
    [({"augment": "flip-crop"}, 21), ({"steps": 2}, 21), ({}, 48)],
    ids=["augmented", "less than a pass", "one pass"],
)
def test_inputs_that_change_or_are_read_once_run_through_all_blocks(
    training: Mapping[str, Any], n_examples: int, found: list[FixedBlocks | None]
) -> None:
    options = replace(OPTIONS, training=replace(TRAINING, **training), curve_examples=0)
    FineTune(frozen_blocks=2).fit(images_of(n_examples), network("conv4"), options)
    assert found == [None]


def test_outputs_that_take_more_than_a_quarter_of_the_free_memory_are_not_kept(
    found: list[FixedBlocks | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = 21 * 3 * 4 * 4 * 4  # conv4's second block, in float32
    for free in (4 * needed - 1, 4 * needed):
        memory = type("Memory", (), {"available": free})
        monkeypatch.setattr(psutil, "virtual_memory", lambda memory=memory: memory)
        FineTune(frozen_blocks=2).fit(images(), network("conv4"), replace(OPTIONS, curve_examples=0))
    assert [one is None for one in found] == [True, False]


def distance(one: Network, other: Network) -> float:
    values, expected = (torch.cat([p.detach().flatten() for p in net.parameters()]) for net in (one, other))
    return float((values - expected).double().norm() / expected.double().norm())


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("task", "start", "lengths"),
    [(texts(), encoder(), [9]), (pairs(), encoder_of_pairs(), [9, 7])],
    ids=["texts", "pairs"],
)
def test_texts_of_other_lengths_and_pairs_that_are_read_apart_give_the_same(
    n_blocks: int, task: TransferTask, start: Network, lengths: list[int], found: list[FixedBlocks | None]
) -> None:
    once, always = both(FineTune(frozen_blocks=n_blocks, lr_scale=1.0), task, start)
    assert found[0] is not None
    kept = [tuple(outputs.shape) for outputs in found[0].outputs]
    assert kept == ([(21, 8)] if n_blocks == 4 else [(21, length, 8) for length in lengths])
    assert distance(once, always) < 1e-6
    assert distance(once, start) > 1e-3
    with torch.no_grad():
        inputs = torch.from_numpy(task.target.test.inputs)
        assert torch.allclose(once.eval()(inputs), always.eval()(inputs), rtol=0, atol=1e-5)


def test_second_texts_may_be_shorter_than_those_that_are_tried_out(found: list[FixedBlocks | None]) -> None:
    task = pairs()
    tokens = task.target.train.inputs
    tokens[:, ::2], tokens[:, 1::2] = np.where(tokens[:, ::2] < 0, 3, tokens[:, ::2]), 0
    shorter = np.setdiff1d(np.arange(21), np.linspace(0, 20, 8).astype(int))  # all but those that are tried out
    tokens[shorter, 2:, 4:] = -1
    options = replace(OPTIONS, training=replace(TRAINING, steps=14, batch_size=2))
    once, always = both(FineTune(frozen_blocks=2, lr_scale=1.0), task, encoder_of_pairs(), options)
    assert found[0] is not None
    assert distance(once, always) < 1e-6


def test_a_frozen_block_reads_each_text_of_a_pair_once() -> None:
    READ.clear()
    start = encoder_of_pairs()
    layers = start.features.get_submodule("encoder.layers")
    assert isinstance(layers, nn.ModuleList)
    layers[0] = Counting(layers[0])
    FineTune(frozen_blocks=2).fit(pairs(), start, replace(OPTIONS, curve_examples=0))
    first_check, tried, computed = 2 * 1, 2 * (8 + 3 + 3), 2 * 3 * 8  # the last of 21 examples is filled up
    last_check = 2 * 16
    assert sum(READ) == first_check + tried + computed + last_check


class InTuples(nn.Module):
    """A layer as those of older versions of transformers, which return a tuple."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, hidden: tuple[Tensor, None] | Tensor, **given: Tensor) -> tuple[Tensor, None]:
        return self.layer(hidden[0] if isinstance(hidden, tuple) else hidden, **given), None


class First(nn.Module):
    """The tensor of a layer that returns a tuple."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, hidden: tuple[Tensor, None], **given: Tensor) -> Tensor:
        first: Tensor = self.layer(hidden, **given)[0]
        return first


def test_blocks_that_return_tuples_give_the_same(found: list[FixedBlocks | None]) -> None:
    start = encoder()
    layers = start.features.layers
    assert isinstance(layers, nn.ModuleList)
    start.features.layers = nn.ModuleList([InTuples(layers[0]), InTuples(layers[1]), First(InTuples(layers[2]))])
    once, always = both(FineTune(frozen_blocks=3, lr_scale=1.0), texts(), start)
    assert found[0] is not None
    assert [part.length for part in (*found[0].skipped, found[0].last)] == [0, 2, 2]
    assert distance(once, always) < 1e-6


def test_dropout_above_the_fixed_blocks_draws_the_same(found: list[FixedBlocks | None]) -> None:
    for start, task in ((encoder(drop=0.3), texts()), (encoder_of_pairs(drop=0.3), pairs())):
        dropout = next(name for name, _ in start.features.named_modules() if name in ("dropout", "encoder.dropout"))
        start.features.set_submodule(dropout, nn.Identity())
        once, always = both(FineTune(frozen_blocks=2, lr_scale=1.0), task, start)
        assert found[0] is not None
        assert distance(once, always) < 1e-6
        found.clear()


class Random(nn.Module):
    """Adds what is drawn anew in every pass, in training alone."""

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs + torch.randn_like(inputs) if self.training else inputs


class Skipping(nn.Module):
    """The last block reads the output of the first, too."""

    def __init__(self, blocks: nn.Sequential) -> None:
        super().__init__()
        self.blocks = blocks

    def forward(self, inputs: Tensor) -> Tensor:
        first = self.blocks[0](inputs)
        second = self.blocks[1](first)
        return self.blocks[4](self.blocks[3](self.blocks[2](second) + first.mean(dim=(2, 3), keepdim=True)))  # type: ignore[no-any-return]


class Twice(nn.Module):
    """Every block runs twice."""

    def __init__(self, blocks: nn.Sequential) -> None:
        super().__init__()
        self.blocks = blocks

    def forward(self, inputs: Tensor) -> Tensor:
        return self.blocks(inputs) + self.blocks(-inputs)  # type: ignore[no-any-return]


def with_between(between: nn.Module) -> Network:
    changed = network("conv4")
    parts = list(changed.features.named_children())
    changed.features = nn.Sequential()
    for name, part in (*parts[:1], ("between", between), *parts[1:]):
        changed.features.add_module(name, part)
    return changed


def wrapped(kind: Callable[[nn.Sequential], nn.Module]) -> Network:
    plain = network("conv4")
    assert isinstance(plain.features, nn.Sequential)
    names = tuple(f"blocks.conv{i}" for i in range(1, 5))
    return Network(kind(plain.features), plain.head, plain.n_features, block_names=names)


@pytest.mark.parametrize(
    ("start", "task"),
    [
        pytest.param(with_between(Random()), images(), id="noise"),
        pytest.param(with_between(nn.Dropout(0.5)), images(), id="dropout"),
        pytest.param(with_between(nn.Sequential(nn.BatchNorm2d(3, affine=False))), images(), id="statistics"),
        pytest.param(wrapped(Skipping), images(), id="skipping"),
        pytest.param(wrapped(Twice), images(), id="twice"),
        pytest.param(encoder(masked=False), texts(), id="no mask"),
        pytest.param(encoder(shared=True), texts(), id="embedding read again"),
        pytest.param(encoder_of_pairs(shared=True), pairs(), id="read again, pairs"),
        pytest.param(encoder_of_pairs(at_once=True), pairs(), id="pairs at once"),
        pytest.param(encoder(drop=0.3), texts(), id="dropout of texts"),
    ],
)
def test_a_backbone_that_cannot_be_cut_is_trained_as_ever(
    start: Network, task: TransferTask, found: list[FixedBlocks | None]
) -> None:
    once, always = both(FineTune(frozen_blocks=2, lr_scale=1.0), task, start)
    assert found == [None]
    assert same(weights_of(once), weights_of(always))


def test_in_mixed_precision_texts_run_through_all_blocks(found: list[FixedBlocks | None]) -> None:
    mixed = replace(OPTIONS, training=replace(TRAINING, precision="bfloat16"), curve_examples=0)
    FineTune(frozen_blocks=2).fit(texts(), encoder(), mixed)
    assert found == [None]


def test_features_of_a_backbone_that_is_fixed_as_a_whole_come_from_the_disk(
    found: list[FixedBlocks | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_cache, "LEAST_PARAMETERS", 1)
    task, start = images(), network()
    expected = outputs_of(start.features, to_tensors(task.target.train, pixel_scale(task.target.train)))
    once, always = both(FineTune(layer_decay=0.0, lr_scale=1.0), task, start)
    FineTune(layer_decay=0.0).fit(task, start, OPTIONS)
    first, second = found
    assert first is not None
    assert second is not None
    assert torch.equal(first.outputs[0], expected)
    assert torch.equal(second.outputs[0], expected)
    assert distance(once, always) < 1e-6
