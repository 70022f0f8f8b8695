from dataclasses import replace
from pathlib import Path

import pytest

from remembered import REMEMBERED
from studies import classification
from transferscope.analyses.finished_study import Origin, finished_cells, pretrained_of
from transferscope.errors import DataError, StoreError, UnknownNameError
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec


def test_networks_are_found_by_source_size_step_and_seed(tmp_path: Path) -> None:
    pretraining = {"steps": 20, "lr": 0.1, "sizes": [50, 100], "checkpoints": [5]}
    with Store.open(tmp_path / "store.sqlite") as store:
        with pytest.raises(StoreError) as empty:
            finished_cells(store, "small", before="it is placed")
        assert str(empty.value) == f"the store {store.place} has no study; run small with `transferscope run` first"
        run_study(parse_spec(classification(tmp_path, pretraining=pretraining)), store, work=REMEMBERED)
        with pytest.raises(UnknownNameError, match=r"'smal': did you mean 'small'\? known are small$"):
            finished_cells(store, "smal", before="it is placed")
        found = pretrained_of(finished_cells(store, "small", before="it is placed"), store.files, none="")
        cells = [cell.cell for cell in store.cells("small")]
    assert {(origin.n_source, origin.pretrain_step): name for origin, name in found.names.items()} == {
        (50, None): "source (50 examples)",
        (100, None): "source (100 examples)",
        (50, 5): "source (50 examples) after 5 steps",
        (100, 5): "source (100 examples) after 5 steps",
    }
    last, first = Origin("source", 50, None), Origin("source", 50, 5)
    pretrained = {
        cell.labels["seed"]: cell.key for cell in cells if cell.role == "pretrain" and cell.labels["n_source"] == 50
    }
    for seed in (0, 1):
        assert found.file(last, seed).name == f"{pretrained[seed]}.safetensors"
        assert found.file(first, seed).name == f"{pretrained[seed]}.step5.safetensors"
    found.files[last][1].unlink()
    with pytest.raises(DataError, match=r"^there is no network pretrained on source \(50 examples\) with seed 1"):
        found.file(last, 1)


def test_an_unfinished_study_and_one_without_networks_are_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.sqlite") as store:
        run_study(parse_spec(classification(tmp_path, methods={"scratch": {}, "joint": {}})), store, work=REMEMBERED)
        cells = [cell.cell for cell in store.cells("small")]
        with pytest.raises(DataError, match=r"^there is none$"):
            pretrained_of(finished_cells(store, "small", before="it is placed"), store.files, none="there is none")
        store.plan(store.study("small"), [*cells, replace(cells[0], key="new")])
        with pytest.raises(StoreError) as unfinished:
            finished_cells(store, "small", before="it is placed")
    n = len(cells)
    assert str(unfinished.value) == (
        f"{n} of the {n + 1} runs of small are done; finish it with `transferscope run` before it is placed"
    )
