"""Features of frozen backbones on the disk: the same numbers, computed once, and never those of something else."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from transferscope.analyses.rank.candidates import CandidateNetwork, labelled_target
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.diagnostics import ClassSeparation, Examples, Subject
from transferscope.diagnostics.features import features_of
from transferscope.errors import SettingsError
from transferscope.methods import FineTune, FitOptions, Fitted, Knn, LinearProbe, Method
from transferscope.models import Network
from transferscope.study.fitting import spread_examples
from transferscope.study.work import measure_on
from transferscope.testing.methods import same, weights_of
from transferscope.training import (
    TensorSet,
    TrainingSettings,
    evaluate,
    feature_cache,
    frozen_features,
    outputs_of,
    to_tensors,
)
from transferscope.training.feature_cache import LOOKED_AT
from transferscope.training.tensors import pixel_scale


class Counted(nn.Module):
    """A backbone that counts the examples that it reads."""

    of_all = 0

    def __init__(self, power: int = 1) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 5)
        self.seen = 0
        self.power = power

    def forward(self, inputs: Tensor) -> Tensor:
        self.seen += len(inputs)
        Counted.of_all += len(inputs)
        return torch.tanh(self.layer(inputs)) ** self.power


@pytest.fixture(autouse=True)
def every_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_cache, "LEAST_PARAMETERS", 1)


def network(power: int = 1) -> Network:
    torch.manual_seed(0)
    return Network(Counted(power), nn.Linear(5, 3), 5)


def n_read(own: Network) -> int:
    assert isinstance(own.features, Counted)
    return own.features.seen


def data(n: int, seed: int = 0) -> LabelledSet:
    inputs = np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32)
    return LabelledSet(inputs, np.arange(n) % 3, ("a", "b", "c"))


def tensors(n: int = 1300, seed: int = 0) -> TensorSet:
    return to_tensors(data(n, seed), pixel_scale(data(n, seed)))


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache/features").glob("*"))


def test_features_are_computed_once_and_are_the_same_numbers(tmp_path: Path) -> None:
    own, examples = network(), tensors()
    plain = outputs_of(own.features, examples)
    seen = []
    for _ in range(3):
        before = n_read(own)
        assert torch.equal(frozen_features(own, examples), plain)
        seen.append(n_read(own) - before)
    assert seen == [1300 + LOOKED_AT, LOOKED_AT, LOOKED_AT]  # a few are looked at every time
    assert len(files(tmp_path)) == 1
    frozen_features(own, tensors(seed=1))
    with torch.no_grad():
        own.features.get_parameter("layer.bias").add_(1)
    assert not torch.equal(frozen_features(own, examples), plain)
    assert len(files(tmp_path)) == 3


def test_a_change_of_code_and_a_damaged_file_are_seen(tmp_path: Path) -> None:
    examples = tensors()
    frozen_features(network(), examples)
    other = network(power=2)  # the same weights and the same structure, as it is printed
    assert torch.equal(frozen_features(other, examples), outputs_of(other.features, examples))
    (file,) = files(tmp_path)
    file.write_bytes(file.read_bytes()[:-100] + bytes(100))
    assert torch.equal(frozen_features(other, examples), outputs_of(other.features, examples))
    file.write_bytes(b"nothing")
    assert torch.equal(frozen_features(other, examples), outputs_of(other.features, examples))


@pytest.mark.parametrize(
    ("method", "sets"),
    [
        (LinearProbe(), 2),
        (Knn(), 2),
        (FineTune(head="probe"), 2),
        (FineTune(layer_decay=0.0), 4),  # of the curve and of the last look at the outputs too
    ],
)
def test_methods_give_the_same_networks_and_outputs_with_it_and_without(
    method: Method, sets: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task = TransferTask(Dataset("target", data(40), data(1100, 1)))
    options = FitOptions(TrainingSettings(steps=3, batch_size=8), device="cpu")

    def outputs() -> tuple[Fitted, Tensor]:
        fitted = method.fit(task, network(), options)
        return fitted, fitted.outputs(task.target.test)

    monkeypatch.setenv("TRANSFERSCOPE_FEATURES", "0")
    plain, expected = outputs()
    assert not files(tmp_path)
    monkeypatch.delenv("TRANSFERSCOPE_FEATURES")
    for _ in range(2):
        fitted, found = outputs()
        assert torch.equal(found, expected)
        assert same(weights_of(plain.network), weights_of(fitted.network))
        assert fitted.history == plain.history
    assert len(files(tmp_path)) == sets


def test_before_the_first_step_the_curve_reads_what_a_probe_has_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "LEAST_PARAMETERS", 1)
    task = TransferTask(Dataset("target", data(40), data(900, 1)))
    options = FitOptions(TrainingSettings(steps=2, batch_size=8, eval_every=2), device="cpu")

    def read(method: Method, start: Network) -> int:
        before = Counted.of_all
        fitted = method.fit(task, start, options)
        measure_on(fitted.network, task.target, part="target_test")
        return Counted.of_all - before

    probed = read(LinearProbe(), network())
    assert probed > 900
    # at the start a few of each part; at the end all, and of the test examples a few more for the measure of the run
    assert 940 < read(FineTune(head="probe"), network()) < 2 * 940
    assert read(FineTune(layer_decay=0.0), network()) < 100  # its backbone stays as it is: the steps, and a few


def test_no_more_is_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = network()
    monkeypatch.setenv("TRANSFERSCOPE_FEATURES", str(3 * ((1300 + LOOKED_AT) * 5 * 4 + 500)))
    for seed in range(5):
        frozen_features(own, tensors(seed=seed))
    assert len(files(tmp_path)) == 3
    before = n_read(own)
    frozen_features(own, tensors(seed=4))  # the last one is among them
    assert n_read(own) - before == LOOKED_AT


def test_texts_are_put_back_in_their_order() -> None:
    class Lengths(nn.Module):
        def forward(self, tokens: Tensor) -> Tensor:
            return (tokens[:, 0] >= 0).sum(dim=1, keepdim=True).float()

    lengths = torch.tensor([3, 1, 4, 1, 5, 2] * 20)
    ids = torch.where(torch.arange(6) < lengths[:, None], 7, -1)
    inputs = torch.stack([ids, torch.zeros_like(ids)], dim=1).to(torch.int32)
    inputs[:, 1][inputs[:, 0] < 0] = -1
    examples = replace(tensors(120), inputs=inputs)
    own = Network(nn.Sequential(Lengths(), nn.Linear(1, 1)), nn.Linear(1, 3), 1)
    own.is_frozen = True
    plain = Network(own.features, own.head, 1)
    for _ in range(2):
        assert torch.equal(frozen_features(own, examples), outputs_of(own.features, examples))
        assert torch.equal(outputs_of(own, examples), outputs_of(plain, examples))


@pytest.mark.parametrize("given", ["4GB", "-1", ""])
def test_a_limit_that_is_no_number_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSFERSCOPE_FEATURES", given)
    with pytest.raises(SettingsError, match=r"^TRANSFERSCOPE_FEATURES = '.*'; expected a number of bytes"):
        frozen_features(network(), tensors())


def test_scores_and_diagnostics_read_what_a_probe_has_computed(tmp_path: Path) -> None:
    own, few = network(), data(40)
    task = TransferTask(Dataset("target", few, data(50, 1)))
    LinearProbe().fit(task, own, FitOptions(TrainingSettings(steps=3), device="cpu"))
    (file,) = files(tmp_path)
    plain = Examples(tensors(40).batch(torch.arange(40)).inputs, torch.from_numpy(few.labels))
    expected = features_of(own, plain)
    before = n_read(own)
    shown = spread_examples(few, scale=pixel_scale(few), at_most=600)
    assert torch.equal(features_of(own, shown), expected)
    assert ClassSeparation().measure(Subject(own, shown)) == ClassSeparation().measure(Subject(own, plain))
    assert n_read(own) - before <= 2 * LOOKED_AT + 40 + 2  # a few at a time, and the plain ones
    target = labelled_target(few, torch.device("cpu"))
    view = target.view_of(CandidateNetwork("mine", own, None))
    assert np.array_equal(view.features, expected.numpy())
    assert files(tmp_path) == [file]
