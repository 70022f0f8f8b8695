"""A map of the networks of a study: which are on it, and at which distances."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

from study.test_work import tables
from transferscope.analyses.diagnose import map_weights, weight_map
from transferscope.analyses.diagnose.weight_map import map_study
from transferscope.errors import DataError, StoreError
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import StudySpec, parse_spec

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
    assert mapped.verdict.headline.startswith("6 trained networks, 6 of them joined with their start ")
    mapped.write(tmp_path)
    table = pd.read_csv(tmp_path / "small-weight-map.csv")
    distances = pd.read_csv(tmp_path / "small-weight-distances.csv", index_col="network")
    assert list(table.columns) == ["key", "source", "method", "n_target", "seed", "step", "x", "y"]
    assert distances.shape == (len(table), len(table))
    svg = (tmp_path / "small-weight-map.svg").read_text(encoding="utf-8")
    for word in ("from scratch", "source", "fine-tune", "merlin", "start"):
        assert f">{word}</text>" in svg


def test_a_study_that_kept_no_networks_says_how_to_keep_them(tmp_path: Path) -> None:
    with Store.open(tmp_path / "small.sqlite") as store:
        run_study(spec(tmp_path, diagnostics={}, keep="none"), store)
        with pytest.raises(DataError) as refused:
            map_study(store, "small")
    assert str(refused.value) == (
        f'small kept 0 networks in {tmp_path / "small.files"} and a map needs 4; all are kept with keep = "all" in '
        "[engine], those on the way with [diagnostics.weights] and every = 100: add both to its file and run it in a "
        "new store"
    )


def test_a_study_without_results_is_not_mapped(tmp_path: Path) -> None:
    from transferscope.study.plan import plan_study

    with Store.open(tmp_path / "small.sqlite") as store:
        plan = plan_study(spec(tmp_path))
        store.plan(plan.study, plan.cells)
        with pytest.raises(StoreError) as refused:
            map_study(store, "small")
    assert str(refused.value) == (
        "no method of small is done; run it with `transferscope run` before its networks are mapped"
    )
