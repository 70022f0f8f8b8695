"""A map of the networks of a study: which are on it, and at which distances."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

from studies import tables
from transferscope.analyses.diagnose import map_weights, weight_map
from transferscope.analyses.diagnose.weight_map import Trajectory, draw_weight_map, map_study, weight_distances
from transferscope.errors import DataError, NetworkError, StoreError
from transferscope.report.figures.style import drawing, new_figure
from transferscope.store import Store
from transferscope.study.plan import plan_study
from transferscope.study.run import run_study
from transferscope.study.spec import StudySpec, parse_spec
from transferscope.testing.diagnostics import mlp

METHODS = {"scratch": {}, "fine-tune": {}, "merlin": {"target_batch": 8}}


def spec(folder: Path, **changes: object) -> StudySpec:
    engine = {"workers": 0, "device": "cpu", "keep": changes.pop("keep", "all")}
    study = tables(folder, seeds=2, store=f"{folder}/small.sqlite", engine=engine, methods=METHODS)
    return parse_spec({**study, "diagnostics": {"weights": {"every": 5}}, **changes})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("study")
    with Store.open(folder / "small.sqlite") as opened:
        run_study(spec(folder), opened)
        yield opened


@pytest.mark.long
def test_networks_of_a_cell_are_joined_from_start_to_end(store: Store) -> None:
    mapped = map_study(store, "small")
    trajectories = mapped.trajectories()
    assert [(one.source, one.method) for one in trajectories] == 2 * [
        ("", "scratch"),
        ("source", "fine-tune"),
        ("source", "merlin"),
    ]
    assert all(one.has_start for one in trajectories)
    assert [network.step for network in mapped.networks[:3]] == [0, 5, None]  # 10 steps of training
    assert mapped.positions.shape == (len(mapped.networks), 2)


def test_distances_are_those_between_all_weights_in_the_files(store: Store) -> None:
    mapped = map_study(store, "small")
    states = [load_file(network.file) for network in mapped.networks]
    names = sorted(set().union(*states))  # the head of MeRLin has no bias, which is a bias of zero
    biases = {name: np.zeros(3) for name in names if name == "head.bias"}
    rows = [np.concatenate([{**biases, **state}[name].ravel().astype(float) for name in names]) for state in states]
    expected = np.linalg.norm(np.array(rows)[:, None] - np.array(rows), axis=2)
    np.testing.assert_allclose(mapped.distances, expected, rtol=1e-6, atol=1e-9)


def test_snapshots_are_left_out_where_there_is_no_room_the_start_last(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight_map, "MOST_NETWORKS", 12)
    assert [network.step for network in map_study(store, "small").networks] == 6 * [0, None]
    monkeypatch.setattr(weight_map, "MOST_NETWORKS", 6)
    assert [network.step for network in map_study(store, "small").networks] == 6 * [None]


@pytest.mark.drawn
def test_figure_and_tables_are_written(store: Store, tmp_path: Path) -> None:
    mapped = map_weights(store.place)
    assert mapped.verdict.headline.startswith("6 trained networks (18 points, ")
    mapped.write(tmp_path)
    table = pd.read_csv(tmp_path / "small-weight-map.csv")
    distances = pd.read_csv(tmp_path / "small-weight-distances.csv", index_col="network")
    assert list(table.columns) == ["key", "source", "method", "n_target", "seed", "step", "x", "y"]
    assert distances.shape == (len(table), len(table))
    svg = (tmp_path / "small-weight-map.svg").read_text(encoding="utf-8")
    for word in ("from scratch", "source", "fine-tune", "merlin", "start"):
        assert f">{word}</text>" in svg


def test_a_study_without_results_or_networks_is_not_mapped(tmp_path: Path) -> None:
    small = spec(tmp_path, diagnostics={}, keep="none", methods={"scratch": {}}, seeds=1)
    with Store.open(tmp_path / "small.sqlite") as store:
        plan = plan_study(small)
        store.plan(plan.study, plan.cells)
        with pytest.raises(StoreError, match="no method of small is done; run it with"):
            map_study(store, "small")
        run_study(small, store)
        with pytest.raises(DataError, match=r"small kept 0 networks in .*; expected at least 4: add keep ="):
            map_study(store, "small")


def test_networks_of_other_parameters_have_no_distance() -> None:
    with pytest.raises(NetworkError, match=r"^network 1 has other parameters than network 0; expected "):
        weight_distances([mlp(), mlp(width=8)])


@pytest.mark.drawn
def test_marks_grow_with_the_number_of_labels_and_are_hollow_at_a_start_that_is_known() -> None:
    cases = {
        (100,): ["mnist", "fine-tune"],
        (100, 600, 100): ["mnist", "fine-tune", "100 labels", "600 labels", "start"],
    }
    for counts, words in cases.items():
        many = len(counts) > 1
        trajectories = [Trajectory("mnist", "fine-tune", n, np.full((2, 2), float(n)), has_start=many) for n in counts]
        with drawing():
            canvas = new_figure(4, 3)
        draw_weight_map(canvas, trajectories, "Weights")
        assert [text.get_text() for text in canvas.legends[0].get_texts()] == words
        ends = [line.get_markersize() for line in canvas.axes[0].lines[3 if many else 2 :: 4 if many else 3]]
        assert not many or ends[0] == ends[2] < ends[1]
