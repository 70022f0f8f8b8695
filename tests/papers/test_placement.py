"""Whole studies on the diagram: a target whose share outside the features, noise and dimension are known."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from remembered import REMEMBERED
from studies import classification
from transferscope.analyses.finished_study import finished_cells
from transferscope.errors import DataError
from transferscope.models import NetworkSettings, build_network, save_weights
from transferscope.store import Store
from transferscope.study.frames import read_study
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec
from transferscope_papers.from_study import FinishedStudy
from transferscope_papers.made import FigureMade
from transferscope_papers.problems import teachers_at_angle
from transferscope_papers.tahir2024.placement import placement

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


def drawn(tables: Mapping[str, Any], folder: Path) -> FigureMade:
    spec = parse_spec(tables)
    with Store.open(folder / "store.sqlite") as store:
        run_study(spec, store, work=REMEMBERED)
        cells = finished_cells(store, spec.name, before="it is drawn")
        return placement(FinishedStudy(store, spec.name, cells, read_study(store, spec.name)))


def rows(figure: FigureMade) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in figure.tables["pairs"].to_dict("records")]


@pytest.mark.long
def test_what_is_known_of_two_teachers_is_covered(tmp_path: Path) -> None:
    write_regression(tmp_path)
    figure = drawn(regression(tmp_path), tmp_path)
    first, second = rows(figure)
    assert [(one["source"], one["n_target"]) for one in (first, second)] == [("file", 30), ("file", 60)]
    known = {"outside": math.sin(THETA) ** 2, "noise": SIGMA, "gamma": 30 / D}
    for name, value in known.items():
        assert first[f"{name}_low"] <= value <= first[f"{name}_high"], name
    assert first["scratch"] > 0
    assert figure.claims == ()  # of three seeds no sign is told
    assert figure.sentences[0].startswith("the model has ")
    assert len(figure.drawings[0].data) == 2


@pytest.mark.long
def test_a_classification_has_a_place_for_every_source_size(tmp_path: Path) -> None:
    found = rows(drawn(classification(tmp_path), tmp_path))
    assert [one["source"] for one in found] == ["source (50 examples)", "source (100 examples)"]
    for one in found:
        assert one["n_target"] == 12
        assert 0 <= one["outside_low"] <= one["outside"] <= one["outside_high"] <= 1


@pytest.mark.long
def test_the_gain_is_that_of_the_store(tmp_path: Path) -> None:
    found = rows(drawn(classification(tmp_path), tmp_path))
    with Store.open(tmp_path / "store.sqlite") as store:
        columns, labels = store.records("small"), {cell.cell.key: cell.cell.labels for cell in store.cells("small")}
    accuracy: dict[str, list[float]] = {}
    for key, name, part, step, value in zip(
        columns.key, columns.name, columns.part, columns.step, columns.value, strict=True
    ):
        if (name, part, step) == ("accuracy", "target_test", None) and labels[key]["n_source"] in (0, 100):
            accuracy.setdefault(str(labels[key]["method"]), []).append(value)
    gain = np.mean(accuracy["linear-probe"]) - np.mean(accuracy["scratch"])
    assert abs(found[1]["measured"] - 2 * gain / (2 / 3)) < 1e-9  # three equal classes: 1 - 3/9


@pytest.mark.long
def test_signs_are_held_against_one_sign_for_all_from_four_seeds_on(tmp_path: Path) -> None:
    write_regression(tmp_path)
    figure = drawn({**regression(tmp_path), "seeds": 4}, tmp_path)
    told = [one for one in rows(figure) if not one["measured_low"] <= 0 <= one["measured_high"]]
    right = sum(one["measured"] * one["modelled"] > 0 for one in told)
    assert told
    (claim,) = figure.claims
    assert claim.words.endswith(
        f"right in {right} of {len(told)} cases whose sign is measured, one sign in {len(told)}"
    )
    assert claim.holds is False  # two cases of one sign


def test_what_was_not_measured_is_no_number(tmp_path: Path) -> None:
    (one,) = rows(drawn(classification(tmp_path, methods={"fine-tune": {}}), tmp_path))[1:]
    assert math.isnan(one["measured"])


@pytest.mark.parametrize(
    ("methods", "gone", "message"),
    [
        (
            {"scratch": {}, "joint": {}},
            False,
            r"^no method of small starts from a pretrained network, so there are no features to place; add \[methods",
        ),
        ({"linear-probe": {}}, True, r"is gone; put the folder of networks back beside the store, or run the "),
    ],
)
def test_mistakes_are_answered_in_a_sentence(tmp_path: Path, methods: dict[str, Any], gone: bool, message: str) -> None:
    tables = classification(tmp_path, methods=methods)
    with Store.open(tmp_path / "store.sqlite") as store:
        run_study(parse_spec(tables), store, work=REMEMBERED)
        for file in store.files.glob("*.safetensors") if gone else ():
            file.unlink()
    with pytest.raises(DataError, match=message):
        drawn(tables, tmp_path)
