"""Ranking networks from files, on features that are known: those of a linear network are its inputs."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy.special import softmax
from typer.testing import CliRunner

from transferscope.analyses.diagnose import diagnose
from transferscope.analyses.rank import rank
from transferscope.analyses.rank.ranking import RANDOM, LeftOut, Ranking
from transferscope.analyses.rank.statements import answer
from transferscope.cli.main import app
from transferscope.data.load import load
from transferscope.data.splits import few_shot
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import (
    CorruptDataError,
    DataError,
    MissingDataError,
    NetworkError,
    SettingsError,
    UnknownNameError,
)
from transferscope.models import Network, NetworkSettings, build_network, save_weights
from transferscope.models.weights import read_notes, read_tensors
from transferscope.scores import SCORES, TargetView, with_error
from transferscope.settings.data import DataSettings
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec
from transferscope.training import stream_seed

D, N_CLASSES, N_LABELS = 6, 3, 60
MLP = NetworkSettings("mlp", (12,))


def write_data(folder: Path, *, test_seed: int = 9) -> DataSettings:
    """Classes that lie apart in the first two of six inputs."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % N_CLASSES
    x = rng.normal(size=(240, D))
    x[:, :2] += 2 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    test = np.random.default_rng(test_seed).normal(size=(60, D))
    file = folder / f"target{test_seed}.npz"
    np.savez(file, x_train=x, y_train=y, x_test=test, y_test=y[:60])
    return DataSettings(f"npz:{file}")


def write_network(file: Path, change: Callable[[Network], None], settings: NetworkSettings = MLP) -> Path:
    """A network for the data, with four source classes."""
    network = build_network(settings, (D,), 4, seed=5)
    with torch.no_grad():
        change(network)
    save_weights(network, file)
    return file


def informed(network: Network) -> None:
    """Features that hold the two inputs which matter, and nothing else."""
    weights = dict(network.features.named_parameters())["hidden1.0.weight"]
    weights.zero_()
    weights[:4, :2] = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


def blind(network: Network) -> None:
    """Features that hold everything but these two."""
    dict(network.features.named_parameters())["hidden1.0.weight"][:, :2] = 0.0


def unchanged(network: Network) -> None:
    """The network as it is."""


def sharpened(network: Network) -> None:
    """A source head with three times the weights."""
    network.head.get_parameter("weight").mul_(3.0)


def diverged(network: Network) -> None:
    """A source head that is no more."""
    network.head.get_parameter("weight").fill_(float("nan"))


@dataclass(frozen=True)
class Question:
    """What is asked of `rank`."""

    files: tuple[Path, ...]
    data: DataSettings | Dataset
    network: NetworkSettings = MLP
    labels: int | None = N_LABELS
    seeds: int = 2
    scores: tuple[str, ...] = ()

    def ranked(self, **options: Any) -> Ranking:
        """The ranking."""
        asked = {name: value for name, value in vars(self).items() if name not in ("files", "data")}
        found = rank(self.data, self.files, device="cpu", **asked, **options).ranking
        (ranking,) = found.rankings
        return ranking


@pytest.fixture
def question(tmp_path: Path) -> Question:
    files = (
        write_network(tmp_path / "blind.safetensors", blind),
        write_network(tmp_path / "informed.safetensors", informed),
    )
    return Question(files, write_data(tmp_path))


def test_the_network_that_sees_the_classes_is_first(question: Question) -> None:
    seen: list[tuple[int, int]] = []
    asked = replace(question, scores=("h-score", "knn", "ridge-probe"))
    ranking = asked.ranked(on_progress=lambda *step: seen.append(step))
    assert ranking.candidates == ("blind.safetensors", "informed.safetensors", RANDOM)
    assert (ranking.n_target, ranking.seeds) == (N_LABELS, (0, 1))
    for score in ranking.scores:
        assert score.of("informed.safetensors").place == 1
        behind = score.of("blind.safetensors").behind
        assert behind.sign == 1
        assert score.of("blind.safetensors").place == 3  # even random features see what it does not
    assert (answer(ranking).kind, answer(ranking).facts["first"]) == ("start with", "informed.safetensors")
    assert seen == [(done, 18) for done in range(19)]


def test_values_are_those_of_the_scores_on_features_computed_by_hand(tmp_path: Path) -> None:
    linear, data = NetworkSettings("linear"), write_data(tmp_path)
    files = tuple(
        write_network(tmp_path / f"{name}.safetensors", change, linear)
        for name, change in (("once", unchanged), ("thrice", sharpened))
    )
    scores = ("ridge-probe", "leep", "nce")
    ranking = Question(files, data, linear, seeds=1, scores=scores).ranked()
    with np.load(data.data.removeprefix("npz:")) as arrays:
        train = LabelledSet(arrays["x_train"].astype(np.float32), arrays["y_train"], ("0", "1", "2"))
    subset = few_shot(train, N_LABELS, seed=stream_seed(0, "subset"))
    x = subset.inputs.astype(np.float64)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    state = build_network(linear, (D,), 4, seed=5).state_dict()
    weight, bias = state["head.weight"].double().numpy(), state["head.bias"].double().numpy()
    for candidate, c in (("once.safetensors", 1.0), ("thrice.safetensors", 3.0)):
        view = TargetView(x, subset.labels.astype(np.int64), softmax(c * x @ weight.T + bias, axis=1))
        for score in ranking.scores:
            expected = with_error(SCORES[score.score], view)
            found = score.of(candidate).score
            assert found.value == pytest.approx(expected.value, rel=1e-4)
            assert found.stderr == pytest.approx(expected.stderr, rel=1e-2)


@pytest.mark.long
def test_test_examples_are_not_read(question: Question, tmp_path: Path) -> None:
    other = replace(question, data=write_data(tmp_path, test_seed=10))
    assert repr(question.ranked()) == repr(other.ranked())


def test_all_labels_are_drawn_once(question: Question) -> None:
    ranking = replace(question, labels=None, scores=("h-score",)).ranked()
    assert (ranking.n_target, ranking.seeds) == (240, (0,))


def test_files_without_heads_leave_out_what_reads_heads(question: Question) -> None:
    for file in question.files:
        weights = build_network(MLP, (D,), 4, seed=1).state_dict()
        torch.save(
            {name: tensor for name, tensor in weights.items() if not name.startswith("head")}, file.with_suffix(".pt")
        )
    files = tuple(file.with_suffix(".pt") for file in question.files)
    ranking = replace(question, files=files, scores=("leep", "h-score")).ranked()
    assert [score.score for score in ranking.scores] == ["h-score"]
    assert ranking.left_out == (LeftOut("leep", "no source head"),)


def test_numbers_leave_out_what_is_for_classes(question: Question, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(90, D)).astype(np.float32)
    np.savez(tmp_path / "numbers.npz", x_train=x[:60], y_train=x[:60, :1] ** 2, x_test=x[60:], y_test=x[60:, :1] ** 2)
    numbers = replace(question, data=DataSettings(f"npz:{tmp_path}/numbers.npz"), labels=40)
    ranking = numbers.ranked()
    said, left_out = {one.score for one in ranking.scores}, {one.score for one in ranking.left_out}
    assert said == {name for name, score in SCORES.items() if "regression" in score.kinds}
    assert left_out == set(SCORES) - said
    assert LeftOut("leep", "for classes") in ranking.left_out
    with pytest.raises(DataError, match=r"^the scores leep do not support .* labels; choose among logme"):
        replace(numbers, scores=("leep",)).ranked()


def test_one_network_alone_is_held_against_random_features(question: Question) -> None:
    alone = replace(question, files=question.files[:1], scores=("logme", "knn")).ranked()
    both = replace(question, scores=("logme", "knn")).ranked()
    assert alone.candidates == (question.files[0].name, "random features")
    for one, other in zip(alone.scores, both.scores, strict=True):
        own, beside = one.of(question.files[0].name), other.of(question.files[0].name)
        assert replace(own.score, interval=None) == replace(beside.score, interval=None)
        assert own.above_random.value == beside.above_random.value


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"files": ()}, SettingsError, "^there is no pretrained network; give at least one"),
        ({"files": "twice"}, SettingsError, r"blind\.safetensors is given twice; give each file once$"),
        ({"files": "absent"}, MissingDataError, r"^there is no file of weights .*absent\.safetensors; expected"),
        ({"files": "diverged"}, NetworkError, r"diverged\.safetensors has NaN or infinity in head\.weight: "),
        ({"labels": 0}, SettingsError, "^labels = 0 is out of range; expected at least 1$"),
        ({"labels": 5}, DataError, r"^labels = 5 is out of range; expected at least 6 \(2 for each class\)$"),
        ({"labels": 999}, DataError, "^labels = 999 is out of range; expected at most 240"),
        ({"scores": ("logmee",)}, UnknownNameError, r"^unknown score 'logmee': did you mean 'logme' or 'leep'\?"),
        (
            {"network": NetworkSettings("mlp", (7,))},
            NetworkError,
            r"does not fit the network: .* It was read as mlp of widths \(7,\) for inputs",
        ),
    ],
)
def test_mistakes_are_one_sentence(
    question: Question, tmp_path: Path, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    first = question.files[0]
    others = {"twice": first, "absent": tmp_path / "absent.safetensors"}
    others["diverged"] = write_network(tmp_path / "diverged.safetensors", diverged)
    if changes.get("files"):
        changes = {"files": (first, others[changes["files"]])}
    with pytest.raises(error, match=message):
        replace(question, **changes).ranked()


def test_a_data_set_in_memory_is_a_target_as_its_name_is(question: Question) -> None:
    with pytest.raises(SettingsError, match=r"give them after the target, as in rank\(target, networks\)"):
        rank(question.data)
    assert isinstance(question.data, DataSettings)
    data = load(question.data.data, transforms=question.data.transforms)
    assert replace(question, data=data).ranked() == question.ranked()


def test_files_of_one_name_are_told_apart_by_their_paths(question: Question, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    twin = write_network(tmp_path / "other" / "blind.safetensors", blind)
    ranking = replace(question, files=(question.files[0], twin), scores=("h-score",)).ranked()
    assert ranking.candidates[:2] == (str(question.files[0]), str(twin))
    assert [one.place for one in ranking.scores[0].rated[:2]] in ([1, 1], [2, 2])


@pytest.mark.parametrize("broken", [False, True])
def test_a_file_of_a_study_says_its_own_network(tmp_path: Path, broken: bool) -> None:
    """Pretrained networks are ranked, shown and diagnosed without a word of their architecture."""
    data = write_data(tmp_path).data
    spec = parse_spec(
        {
            "name": "kept",
            "store": f"{tmp_path}/kept.sqlite",
            "target": {"data": data, "labels": [30]},
            "sources": {"own": {"data": data}},
            "network": {"name": "mlp", "widths": [7, 5]},
            "pretraining": {"steps": 2},
            "training": {"steps": 2},
            "methods": {"fine-tune": {}},
            "engine": {"workers": 0, "device": "cpu", "keep": "all"},
            "seeds": 1,
        }
    )
    with Store.open(spec.store) as store:
        run_study(spec, store)
    files = sorted(tmp_path.rglob("*.safetensors"))
    assert files
    for file in files if broken else ():
        tensors, notes = read_tensors(file), read_notes(file) | {"transferscope.network": '{"name": 1}'}
        save_file(tensors, file, metadata=notes)
    with pytest.raises(CorruptDataError, match="says that its network is") if broken else nullcontext():
        (ranking,) = rank(data, files, labels=20, seeds=1, scores=["logme"]).ranking.rankings
        assert len(ranking.candidates) == len(files) + 1
    if not broken:
        shown = json.loads(CliRunner().invoke(app, ["show", str(files[0]), "--shape", f"{D}", "--json"]).stdout)
        assert [one["parameters"] for one in shown["result"]["blocks"]] == [7 * (D + 1), 5 * 8]
        assert diagnose(files[-1], data, against=files[0], diagnostics=["weights"]).verdict


def test_a_target_in_memory_is_ranked_as_its_file_is_and_its_groups_go_to_the_draw(tmp_path: Path) -> None:
    """Arrays with both parts give the numbers of the file; few-shot labels of groups differ from those of rows."""
    file = write_data(tmp_path).data.removeprefix("npz:")
    held = dict(np.load(file))
    networks = [write_network(tmp_path / f"{one.__name__}.safetensors", one) for one in (informed, blind)]
    asked: dict[str, Any] = {"network": MLP, "labels": N_LABELS, "seeds": 2, "scores": ["logme"]}
    parts = (held["x_train"], held["y_train"], held["x_test"], held["y_test"])
    of_file = rank(f"npz:{file}", networks, **asked).table()
    of_arrays = rank(parts, networks, **asked).table()
    columns = [name for name in of_file if of_file[name].dtype.kind == "f"]
    assert columns
    np.testing.assert_allclose(of_arrays[columns], of_file[columns])
    whole = (held["x_train"], held["y_train"])
    plain, grouped = (rank(whole, networks, group=group, **asked).table() for group in (None, np.arange(240) // 8))
    assert not np.allclose(plain[columns], grouped[columns], equal_nan=True)
