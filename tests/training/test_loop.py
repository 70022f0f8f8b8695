"""The loop against a naive one, and its resumption."""

import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from methods.by_hand import KilledError
from transferscope.data.task import LabelledSet
from transferscope.estimate import Estimate
from transferscope.records import Record
from transferscope.training import (
    Batch,
    BatchStream,
    Draw,
    Learner,
    ParameterGroup,
    RunOptions,
    TrainingSettings,
    pixel_scale,
    stream_seed,
    task_loss,
    to_tensors,
    train,
)
from transferscope.training.checkpoint import CheckpointFile, RunState
from transferscope.training.loop import TrainingRun

SETTINGS = TrainingSettings(steps=30, batch_size=8, lr=0.05, schedule="cosine", eval_every=10)
OPTIONS = RunOptions(seed=4)


def data() -> LabelledSet:
    generator = np.random.default_rng(0)
    return LabelledSet(generator.normal(size=(21, 4)).astype(np.float32), generator.integers(0, 3, 21), ("a", "b", "c"))


def module() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.2), nn.Linear(6, 3))


def learner_of(network: nn.Module, before: Callable[[int], None] = lambda step: None) -> Learner:
    tensors = to_tensors(data(), pixel_scale(data()))

    def objective(batches: Mapping[str, Batch], step: int) -> torch.Tensor:
        before(step)
        return task_loss(network(batches["target"].inputs), batches["target"].labels)

    return Learner(network, [ParameterGroup(list(network.parameters()))], {"target": Draw(tensors)}, objective)


def run(
    network: nn.Module,
    options: RunOptions = OPTIONS,
    settings: TrainingSettings = SETTINGS,
    *,
    n_steps: int = 30,
    before: Callable[[int], None] = lambda step: None,
) -> TrainingRun:
    """Training of a network with a curve of the norm of its weights."""

    def curve(step: int) -> tuple[Record, ...]:
        return (Record("norm", Estimate(float(weights(network).norm())), "", step),)

    return train(learner_of(network, before), settings, options, n_steps=n_steps, curve=curve)


def weights(network: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
def test_it_is_the_loop_one_would_write_by_hand(optimiser: str) -> None:
    ours, theirs = module(), module()
    run(ours, settings=replace(SETTINGS, optimiser=optimiser))  # type: ignore[arg-type]

    scale = pixel_scale(data())
    inputs = torch.from_numpy((data().inputs - scale.mean) / scale.std)
    labels = torch.from_numpy(data().labels)
    kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[optimiser]
    momentum = {"momentum": 0.9} if optimiser == "sgd" else {}
    by_hand = kind(theirs.parameters(), lr=0.05, weight_decay=5e-4, **momentum)
    stream = BatchStream(21, 8, seed=stream_seed(4, "target", "order"))
    torch.manual_seed(stream_seed(4, "dropout"))
    for step in range(30):
        by_hand.param_groups[0]["lr"] = 0.05 * 0.5 * (1 + np.cos(np.pi * step / 30))
        index = stream.indices(step)
        by_hand.zero_grad()
        F.cross_entropy(theirs(inputs[index]), labels[index]).backward()  # type: ignore[no-untyped-call]
        by_hand.step()
    assert weights(ours).numpy() == pytest.approx(weights(theirs).numpy(), abs=1e-5)


@pytest.mark.parametrize("cut", [1, 17, 29])
def test_a_run_that_is_killed_goes_on_bit_for_bit(cut: int, tmp_path: Path) -> None:
    whole, first, second = module(), module(), module()
    expected = run(whole)

    def dies(step: int) -> None:
        if step == cut:
            raise KilledError

    options = replace(OPTIONS, checkpoint=tmp_path / "run", checkpoint_seconds=0.0)
    with pytest.raises(KilledError):
        run(first, options, before=dies)
    resumed = run(second, options)

    assert torch.equal(weights(second), weights(whole))
    assert resumed.history == expected.history
    assert resumed.cost.examples_seen == expected.cost.examples_seen
    assert resumed.cost.steps == 30


def test_a_run_that_is_stopped_at_a_check_keeps_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transferscope.training.loop._TELL_SECONDS", float("inf"))
    whole, first, second = module(), module(), module()
    run(whole, n_steps=60)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    options = replace(OPTIONS, checkpoint=tmp_path / "run", checkpoint_seconds=1e6)
    with pytest.raises(KeyboardInterrupt):
        run(first, replace(options, on_progress=stop), n_steps=60)
    steps: list[int] = []
    run(second, options, n_steps=60, before=steps.append)
    assert steps == list(range(50, 60))
    assert torch.equal(weights(second), weights(whole))


@pytest.mark.parametrize("damage", [b"", b"not a checkpoint", None])
def test_a_damaged_or_foreign_checkpoint_is_started_over(damage: bytes | None, tmp_path: Path) -> None:
    options = replace(OPTIONS, checkpoint=tmp_path / "run", checkpoint_seconds=0.0)
    if damage is None:
        run(module(), replace(options, seed=5))
    else:
        (tmp_path / "run").write_bytes(damage)
    ours, fresh = module(), module()
    run(ours, options)
    run(fresh)
    assert torch.equal(weights(ours), weights(fresh))


def test_a_checkpoint_with_any_damaged_byte_is_started_over(tmp_path: Path) -> None:
    path = tmp_path / "run"
    file = CheckpointFile(path, tag="ours")
    network = module()
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    file.save(RunState(step=7), network, optimiser, torch.device("cpu"))
    whole, before = path.read_bytes(), weights(network).clone()
    loaded = file.load(network, optimiser, torch.device("cpu"))
    assert loaded is not None
    assert loaded.step == 7
    for seed in range(200):
        generator, content = random.Random(seed), bytearray(whole)
        content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        path.write_bytes(bytes(content))
        assert file.load(network, optimiser, torch.device("cpu")) is None
    for length in (0, 1, 31, 32, 33, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert file.load(network, optimiser, torch.device("cpu")) is None
    assert torch.equal(weights(network), before)


def test_a_whole_checkpoint_of_something_else_changes_nothing(tmp_path: Path) -> None:
    file, other = CheckpointFile(tmp_path / "run", tag="ours"), nn.Linear(2, 2)
    file.save(RunState(), other, torch.optim.Adam(other.parameters()), torch.device("cpu"))
    network = module()
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    before, state = weights(network).clone(), torch.get_rng_state()
    assert file.load(network, optimiser, torch.device("cpu")) is None
    assert torch.equal(weights(network), before)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_curve_has_its_points_and_leaves_training_as_it_was() -> None:
    network, plain = module(), module()
    history = run(network).history
    train(learner_of(plain), SETTINGS, OPTIONS, n_steps=30)
    assert [record.step for record in history] == [0, 10, 20, 30]
    assert torch.equal(weights(network), weights(plain))


def test_weights_of_the_least_held_out_risk_are_kept_and_two_points_without_a_lower_one_end_the_run() -> None:
    """Read every ten steps, a tie of the first number by the second: the least is that after 40 steps."""
    risks = [(0.9, 0.0), (0.5, 0.0), (0.7, 0.0), (0.4, 0.2), (0.4, 0.1), (0.4, 0.1), (0.6, 0.0), (0.1, 0.0)]
    network, read = module(), list[torch.Tensor]()

    def held_out() -> tuple[float, ...]:
        read.append(weights(network).clone())
        return risks[len(read) - 1]

    settings = replace(SETTINGS, early_stopping=2)
    found = train(learner_of(network), settings, OPTIONS, n_steps=100, held_out=held_out)
    assert (found.best_step, found.cost.steps, found.status) == (40, 60, "converged")
    assert torch.equal(weights(network), read[4])


def test_what_has_nothing_to_train_is_measured_once_at_its_start() -> None:
    tensors = to_tensors(data(), pixel_scale(data()))
    learner = Learner(nn.Identity(), [], {"target": Draw(tensors)}, lambda batches, step: torch.zeros(()))
    watched = list[int]()

    def curve(step: int) -> tuple[Record, ...]:
        return (Record("norm", Estimate(1.0), "", step),)

    found = train(learner, SETTINGS, OPTIONS, n_steps=30, curve=curve, watch=watched.append)
    assert [one.step for one in found.history] == watched == [0]
    assert (found.status, found.cost.steps, found.cost.examples_seen) == ("converged", 0, 21)


def test_a_loss_that_is_not_finite_ends_the_run_with_a_status() -> None:
    found = run(module(), settings=replace(SETTINGS, lr=1e30), n_steps=500)
    assert found.status == "non_finite"
    assert found.cost.steps < 500


class Skipping(nn.Module):
    """A layer that is left out of the first two steps, as stochastic depth leaves layers out."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.calls = nn.Linear(4, 3), nn.Linear(3, 3), 0

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        hidden: torch.Tensor = self.first(inputs)
        return hidden if self.calls < 3 else hidden + self.second(hidden)


def test_a_layer_may_begin_to_be_trained_late() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network, by_hand = Skipping(), Skipping()
    by_hand.load_state_dict(network.state_dict())
    settings = TrainingSettings(steps=5, batch_size=8, lr=0.05, weight_decay=0.0, schedule="constant")
    run(network, settings=settings, n_steps=5)
    tensors, stream = to_tensors(data(), pixel_scale(data())), BatchStream(21, 8, stream_seed(4, "target", "order"))
    optimiser = torch.optim.SGD(by_hand.parameters(), lr=0.05, momentum=0.9, fused=False)
    for step in range(5):
        batch = tensors.batch(stream.indices(step))
        optimiser.zero_grad()
        torch.autograd.backward(F.cross_entropy(by_hand(batch.inputs), batch.labels))
        optimiser.step()
    assert torch.allclose(weights(network), weights(by_hand), atol=1e-7)


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transferscope.training.loop._TELL_SECONDS", float("inf"))  # a slow machine tells more often
    told: list[tuple[int, int]] = []
    run(module(), replace(OPTIONS, on_progress=lambda done, total: told.append((done, total))), n_steps=120)
    assert told == [(50, 120), (100, 120), (120, 120)]


@pytest.mark.long
def test_training_does_not_import_the_compiler_of_torch() -> None:
    """It takes a second in each process, and is not used."""
    code = """
import sys, torch
from transferscope.training import *
head = torch.nn.Linear(2, 2)
one = torch.ones(1)
draw = Draw(TensorSet(torch.randn(8, 2), torch.arange(8) % 2, 0 * one, one, 2))
loss = lambda batches, step: task_loss(head(batches["target"].inputs), batches["target"].labels)
learner = Learner(head, [ParameterGroup(list(head.parameters()))], {"target": draw}, loss)
for optimiser in ("sgd", "adamw"):
    train(learner, TrainingSettings(steps=3, optimiser=optimiser), RunOptions(), n_steps=3)
    assert "torch._dynamo" not in sys.modules, optimiser
"""
    subprocess.run([sys.executable, "-c", code], check=True)
