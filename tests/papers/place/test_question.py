"""Whole studies on the diagram: a target whose share outside the features, noise and dimension are known."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from analyses.small_study import classification
from remembered import REMEMBERED
from transferscope.errors import DataError, SettingsError, StoreError, UnknownNameError
from transferscope.models import NetworkSettings, build_network, save_weights
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec
from transferscope_papers.place import place
from transferscope_papers.place.placement import Placement
from transferscope_papers.problems import teachers_at_angle

D, THETA, SIGMA = 8, math.pi / 4, 0.5
NETWORK = {"name": "mlp", "widths": [2]}


def write_regression(folder: Path) -> None:
    """A target from a linear teacher, and a network whose two features are relu(u) and relu(-u) of the source's u."""
    generator = np.random.default_rng(0)
    pair = teachers_at_angle(D, theta=THETA, sigma=SIGMA, generator=generator)
    train, test = pair.sample(700, generator), pair.sample(300, generator)
    np.savez(
        folder / "target.npz",
        x_train=train.inputs,
        y_train=train.targets[:, None],
        x_test=test.inputs,
        y_test=test.targets[:, None],
    )
    network = build_network(NetworkSettings("mlp", (2,)), (D,), 1, seed=0)
    with torch.no_grad():
        layer = dict(network.features.named_parameters())
        layer["hidden1.0.weight"][:] = torch.from_numpy(np.stack([pair.source.weights, -pair.source.weights]))
        layer["hidden1.0.bias"].zero_()
    save_weights(network, folder / "source.safetensors")


def regression(folder: Path) -> dict[str, Any]:
    return {
        "name": "teachers",
        "seeds": 3,
        "store": str(folder / "teachers.sqlite"),
        "target": {"data": f"npz:{folder}/target.npz", "labels": [30, 60]},
        "sources": {"file": {"network": str(folder / "source.safetensors")}},
        "network": NETWORK,
        "training": {"steps": 20},
        "methods": {"scratch": {}, "linear-probe": {}},
        "engine": {"workers": 0, "device": "cpu"},
    }


def placed(tables: Mapping[str, Any], folder: Path, **options: Any) -> tuple[Placement, ...]:
    spec = parse_spec(tables)
    with Store.open(folder / "store.sqlite") as store:
        run_study(spec, store, work=REMEMBERED)
    return place(folder / "store.sqlite", **options).points


@pytest.mark.long
def test_what_is_known_of_two_teachers_is_covered(tmp_path: Path) -> None:
    write_regression(tmp_path)
    first, second = placed(regression(tmp_path), tmp_path)
    assert [(one.name, one.n_target) for one in (first, second)] == [("file", 30), ("file", 60)]
    assert (first.kind, first.method, first.n_source, first.n_examples) == ("regression", "linear-probe", None, 1000)
    eigenvalues = np.array([0.5, 0.5 - 1 / math.pi])  # of the covariance of relu(u) and relu(-u)
    known = {
        "outside_share": math.sin(THETA) ** 2,
        "noise_level": SIGMA,
        "input_dimension": float(D),
        "feature_dimension": float(eigenvalues.sum() ** 2 / (eigenvalues**2).sum()),
        "examples_per_dimension": 30 / D,
    }
    for name, value in known.items():
        interval = first.quantities[name].interval
        assert interval is not None
        assert not interval.excludes(value), name
    assert first.measured.n == 3
    assert first.scratch_measured.value > 0


@pytest.mark.long
def test_a_classification_has_a_place_for_every_source_size(tmp_path: Path) -> None:
    found = placed(classification(tmp_path), tmp_path)
    assert [one.name for one in found] == ["source (50 examples)", "source (100 examples)"]
    for one in found:
        assert (one.kind, one.n_target, one.measured.n) == ("classification", 12, 2)
        assert one.outside_share.interval is not None
        assert 0 <= one.outside_share.interval.low <= one.outside_share.value <= one.outside_share.interval.high <= 1


@pytest.mark.long
def test_the_gain_is_that_of_the_store(tmp_path: Path) -> None:
    found = placed(classification(tmp_path), tmp_path)
    with Store.open(tmp_path / "store.sqlite") as store:
        columns, labels = store.records("small"), {cell.cell.key: cell.cell.labels for cell in store.cells("small")}
    accuracy: dict[str, list[float]] = {}
    for key, name, part, step, value in zip(
        columns.key, columns.name, columns.part, columns.step, columns.value, strict=True
    ):
        if (name, part, step) == ("accuracy", "target_test", None) and labels[key]["n_source"] in (0, 100):
            accuracy.setdefault(str(labels[key]["method"]), []).append(value)
    gain = np.mean(accuracy["linear-probe"]) - np.mean(accuracy["scratch"])
    assert abs(found[1].measured.value - 2 * gain / (2 / 3)) < 1e-9  # three equal classes: 1 - 3/9


@pytest.mark.long
def test_directions_can_be_given(tmp_path: Path) -> None:
    write_regression(tmp_path)
    first, _ = placed(regression(tmp_path), tmp_path, input_dimension=100.0)
    assert first.examples_per_dimension.value == 0.3


def test_what_was_not_measured_is_no_number(tmp_path: Path) -> None:
    (_, one) = placed(classification(tmp_path, methods={"fine-tune": {}}), tmp_path)
    assert (one.method, one.measured.status) == ("", "undefined")


def test_mistakes_are_answered_in_a_sentence(tmp_path: Path) -> None:
    spec = parse_spec(classification(tmp_path))
    with Store.open(tmp_path / "store.sqlite") as store:
        run_study(spec, store, work=REMEMBERED)
        with pytest.raises(
            UnknownNameError, match=r"^unknown study in .*'smal': did you mean 'small'\? known are small$"
        ):
            place(store.place, study="smal")
        with pytest.raises(SettingsError) as few:
            place(store.place, examples=10)
        assert str(few.value) == "examples = 10; expected at least 40 to estimate from"
        gone = next(iter(sorted(store.files.glob("*.safetensors"))))
        for file in store.files.glob("*.safetensors"):
            file.unlink()
        with pytest.raises(DataError, match=r"is gone; put the folder of networks back beside the store, or run the "):
            place(store.place)
        assert not gone.exists()


def test_a_study_that_is_not_finished_is_refused(tmp_path: Path) -> None:
    spec = parse_spec(classification(tmp_path))
    with Store.open(tmp_path / "store.sqlite") as store:
        run_study(spec, store, work=REMEMBERED)
        more = parse_spec(classification(tmp_path, seeds=3))
        from transferscope.study.plan import plan_study

        plan = plan_study(more)
        store.plan(plan.study, plan.cells)
        with pytest.raises(StoreError) as unfinished:
            place(store.place)
    assert str(unfinished.value) == (
        "14 of the 21 cells of small are done; finish it with `transferscope run` before it is placed"
    )


def test_a_study_without_pretrained_networks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        placed(classification(tmp_path, methods={"scratch": {}, "joint": {}}), tmp_path)
    assert str(refused.value) == (
        "no method of small starts from a pretrained network, so there are no features to place; add "
        "[methods.linear-probe] to its file and run it again"
    )
