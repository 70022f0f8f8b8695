"""What features are worth: held against scikit-learn and SciPy; and what follows for transfer."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file
from scipy import stats
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score

from studies import tables
from transferscope.analyses.diagnose import DiagnosisResult, diagnose
from transferscope.analyses.diagnose.reach import Reach, points_of
from transferscope.errors import SettingsError, StoreError
from transferscope.models import Network, NetworkSettings, build_network
from transferscope.models.weights import open_network
from transferscope.numerics.leave_one_out import RIDGE_GRID
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec

SQUARES: list[list[float]] = [[1, 1, 0, 0], [-1, -1, 0, 0], [1, -1, 0, 0], [-1, 1, 0, 0]]
"""Hidden units from which the sign of the product of two inputs is linear: |a + b| > |a - b|."""


def network(path: Path, hidden: list[list[float]]) -> Path:
    state = {
        "features.hidden1.0.weight": torch.tensor(hidden, dtype=torch.float32),
        "features.hidden1.0.bias": torch.zeros(len(hidden)),
        "head.weight": torch.zeros(2, len(hidden)),
        "head.bias": torch.zeros(2),
    }
    assert state.keys() == build_network(NetworkSettings("mlp", (len(hidden),)), (4,), 2, seed=0).state_dict().keys()
    save_file(state, path)
    return path


@pytest.fixture
def data(tmp_path: Path) -> str:
    """Inputs whose class is the sign of the product of the first two, which no linear model of the inputs tells."""
    x = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    np.savez(tmp_path / "data.npz", x_train=x[:300], y_train=y[:300], x_test=x[300:], y_test=y[300:])
    return f"npz:{tmp_path}/data.npz"


def asked(file: Path, data: str, **more: Any) -> DiagnosisResult:
    settings = NetworkSettings("mlp", (4,))
    return diagnose(
        file, data, network=settings, diagnostics=["class-separation"], scaling="none", device="cpu", **more
    )


def test_the_measure_is_that_of_ridge_regression_on_the_features(tmp_path: Path, data: str) -> None:
    result = asked(network(tmp_path / "net.safetensors", SQUARES), data)
    with np.load(data.removeprefix("npz:")) as arrays:
        train, test = (np.maximum(arrays[f"x_{part}"] @ np.array(SQUARES).T, 0) for part in ("train", "test"))
        y, truth = arrays["y_train"], arrays["y_test"]
    scale = np.square(train - train.mean(axis=0)).sum() / len(train)
    model = RidgeCV(alphas=RIDGE_GRID * scale).fit(train, np.eye(2)[y] - 0.5)
    right = model.predict(test).argmax(axis=1) == truth
    np.testing.assert_array_equal(result.reach.each["end"], 100.0 * right)
    rows = result.table().set_index(["diagnostic", "at"])["value"]
    assert rows["linear-model", "end"] == pytest.approx(100 * right.mean())
    assert right.mean() > 0.9
    paired = stats.ttest_rel(result.reach.each["end"], result.reach.each["random"]).confidence_interval(0.95)
    gain = result.reach.gain("end", "random")
    assert (gain.low, gain.high) == pytest.approx((paired.low, paired.high))


def test_features_that_carry_over_are_told_from_those_that_do_not(tmp_path: Path, data: str) -> None:
    good = network(tmp_path / "good.safetensors", SQUARES)
    blind = network(tmp_path / "blind.safetensors", [[0, 0, 1, 0], [0, 0, -1, 0], [0, 0, 0, 1], [0, 0, 0, -1]])
    alone, trained, spoilt = asked(good, data), asked(good, data, against=blind), asked(blind, data, against=good)
    assert alone.reach.call("end", "random") == "better"
    assert [one.kind for one in alone.said()][:2] == ["features", "no start"]
    kinds = [(one.kind, one.facts["call"]) for one in list(trained.said())[:2]]
    assert kinds[1] == ("training", "better")
    assert kinds[0][0] == "features"
    assert kinds[0][1] != "better"  # the start sees nothing of the two inputs
    first, second, *_ = spoilt.said()
    assert (first.facts["call"], second.facts["call"]) == ("better", "worse")
    assert first.facts["file"] == "good.safetensors"


def test_the_best_draw_of_random_weights_is_the_one_to_beat(tmp_path: Path, data: str) -> None:
    result = asked(network(tmp_path / "net.safetensors", SQUARES), data)
    train, test = result.looked_at.train, result.looked_at.test
    reached = []
    for one in result.looked_at.random:
        with torch.no_grad():
            seen, held_out = (one.features(part.inputs).numpy() for part in (train, test))
        scale = np.square(seen - seen.mean(axis=0)).sum() / len(seen)
        model = RidgeCV(alphas=RIDGE_GRID * scale).fit(seen, np.eye(2)[train.labels.numpy()] - 0.5)
        reached.append(100 * (model.predict(held_out).argmax(axis=1) == test.labels.numpy()).mean())
    assert len(set(reached)) > 1
    assert result.reach.each["random"].mean() == pytest.approx(max(reached))


@pytest.mark.parametrize(
    ("right", "call"), [((60, 80, 80), "worse"), ((60, 55, 80), ""), ((60, 20, 20), "better"), ((60, 60, 20), "same")]
)
def test_random_weights_are_beaten_by_all_draws_and_win_by_all(right: tuple[int, ...], call: str) -> None:
    """Of 200 examples so many are right for the network and two draws of random weights, the same ones first."""
    own, *draws = (100.0 * (np.arange(200) < 2 * n) for n in right)
    best = max(draws, key=lambda points: points.mean())
    reach = Reach("accuracy", 50, {"end": own, "random": best}, tuple(draws))
    assert reach.call("end", "random") == call
    assert reach.gain("end", "random").value == pytest.approx(right[0] - max(right[1:]))


def test_a_handful_of_examples_tells_nothing(tmp_path: Path, data: str) -> None:
    """Five that are all right for one network and wrong for another would have an interval of no width."""
    with np.load(data.removeprefix("npz:")) as arrays:
        parts = dict(arrays)
    for n, known in ((5, False), (6, True)):
        np.savez(tmp_path / f"few{n}.npz", **parts | {name: parts[name][:n] for name in ("x_test", "y_test")})
        result = asked(network(tmp_path / "net.safetensors", SQUARES), f"npz:{tmp_path}/few{n}.npz")
        assert (result.reach is not None) == known


def test_points_are_shares_of_right_labels_and_of_explained_variance() -> None:
    truth = torch.tensor([[True, False, True], [False, False, True]])
    outputs = torch.tensor([[1.0, -1.0, -1.0], [-1.0, -2.0, 3.0]])
    assert points_of(outputs, truth).tolist() == pytest.approx([200 / 3, 100])
    generator = np.random.default_rng(0)
    numbers = generator.normal(size=(50, 2)).astype(np.float32)
    predicted = numbers + generator.normal(size=(50, 2)).astype(np.float32)
    mean = points_of(torch.from_numpy(predicted), torch.from_numpy(numbers)).mean()
    assert mean == pytest.approx(100 * r2_score(numbers, predicted, multioutput="uniform_average"), rel=1e-4)


def test_the_best_transfer_arm_of_a_study_is_asked_with_its_start(tmp_path: Path) -> None:
    study = tables(
        tmp_path,
        store=f"{tmp_path}/small.sqlite",
        engine={"workers": 0, "device": "cpu", "keep": "all"},
        methods={"scratch": {}, "fine-tune": {}},
    )
    with Store.open(tmp_path / "small.sqlite") as store:
        run_study(parse_spec(study), store)
        cells = [one.cell for one in store.cells("small") if one.cell.role == "method"]
        records = pd.DataFrame(store.records("small").columns())
        own = records[(records["name"] == "accuracy") & (records["part"] == "target_test") & records["step"].isna()]
        scores = dict(zip(own["key"], own["value"], strict=True))
        of_arm = [cell for cell in cells if cell.labels["method"] == "fine-tune"]
        best = max(of_arm, key=lambda cell: (cell.labels["n_target"], scores[cell.key]))
        folder = store.files
    result = diagnose(tmp_path / "small.sqlite", diagnostics=["weights"], device="cpu")
    assert result.question.checkpoint == folder / f"{best.key}.safetensors"
    settings = NetworkSettings("mlp", (8,))
    for whose, key in (("end", best.key), ("start", best.needs[0])):
        kept = open_network(build_network(settings, (4,), 3, seed=0), folder / f"{key}.safetensors", head="either")
        looked_at = result.looked_at.subject
        asked_of = looked_at.network if whose == "end" else looked_at.start
        assert isinstance(asked_of, Network)
        for name, weight in kept.network.features.state_dict().items():
            assert torch.equal(asked_of.features.state_dict()[name], weight), (whose, name)
    assert list(result.reach.each) == ["end", "start", "random"]
    with pytest.raises(StoreError, match="kept no network of a transfer arm with 13 labels"):
        diagnose(tmp_path / "small.sqlite", labels=13)
    with pytest.raises(SettingsError, match="a finished study alone"):
        diagnose(tmp_path / "small.sqlite", "digits")
