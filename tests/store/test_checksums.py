"""A finished run whose outcome is not what was stored is named and done again; a right one is never called damaged."""

import math
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from store.rows_for_tests import cell, change, outcome, study
from transferscope.errors import DamagedRunError, StoreError
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, Store, StudyCounts

READS: dict[str, Callable[[Store], object]] = {
    "records": lambda store: store.records("s"),
    "arrays": lambda store: store.arrays("s", "predictions"),
    "cells": lambda store: store.cells("s"),
    "notes": lambda store: store.notes(["a"]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    where = tmp_path / "s.sqlite"
    with Store.open(where) as store:
        store.plan(study(), [cell("a", method="probe", n_target=20), cell("b"), cell("c")])
        store.finish("a", outcome(0.5, 0.56))
        store.finish("b", Outcome((), Cost()))
        store.put_study_array("s", "target_test_labels", np.arange(3))
    return where


def flipped(value: float, bit: int) -> float:
    (whole,) = struct.unpack("<Q", struct.pack("<d", value))
    (other,) = struct.unpack("<d", struct.pack("<Q", whole ^ (1 << bit)))
    return float(other)


@pytest.mark.parametrize(
    ("change_of", "read"),
    [
        ("UPDATE records SET value = 0.6225 WHERE position = 1", "records"),
        ("UPDATE records SET stderr = NULL WHERE position = 0", "records"),
        ("UPDATE records SET n = n + 1 WHERE position = 0", "records"),
        ("UPDATE records SET name = 'loss' WHERE position = 0", "records"),
        ("UPDATE records SET part = 'x' WHERE position = 0", "records"),
        ("UPDATE records SET step = 0 WHERE position = 0", "records"),
        ("UPDATE records SET status = 'max_steps' WHERE position = 0", "records"),
        ("UPDATE records SET position = 1 - position + 10", "records"),
        ("DELETE FROM records WHERE position = 1", "records"),
        ("DELETE FROM records", "records"),
        ("UPDATE arrays SET content = flip(content)", "arrays"),
        ("UPDATE outcomes SET notes = '{}' WHERE notes <> '{}'", "cells"),
        ("UPDATE outcomes SET notes = '{}' WHERE notes <> '{}'", "notes"),
        ("UPDATE outcomes SET seconds = 2 * seconds WHERE seconds > 0", "cells"),
        ("UPDATE outcomes SET steps = 0 WHERE steps > 0", "cells"),
    ],
)
def test_what_was_changed_is_refused_with_the_run_and_done_again(path: Path, change_of: str, read: str) -> None:
    change(path, change_of)
    with Store.open(path) as store:
        with pytest.raises(DamagedRunError) as refused:
            READS[read](store)
        assert "probe, 20 labels, seed 0 (run a) do not match their checksum" in str(refused.value)
        assert "repeat them with `transferscope run STUDY.toml`" in str(refused.value)
        store.redo_damaged("s")
        assert store.counts("s") == StudyCounts(planned=2, done=1)
        for one in READS.values():
            one(store)
        store.finish("a", outcome(0.5, 0.56))
        assert store.records("s").value.tolist() == [0.5, 0.56]


def test_a_run_with_an_array_that_cannot_be_what_it_is_stored_as_is_damaged_and_done_again(path: Path) -> None:
    with Store.open(path) as store:
        (length,) = {len(array) for array in store.arrays("s", "predictions").values()}
        store.redo_damaged("s", fits={"predictions": lambda array: len(array) == length})
        assert store.arrays("s", "predictions", fits=lambda array: len(array) == length)
        with pytest.raises(DamagedRunError, match=r"the results of probe, 20 labels, seed 0 \(run a\) do not match"):
            store.arrays("s", "predictions", fits=lambda array: len(array) > length)
        with pytest.raises(StoreError, match="target_test_labels of s do not match"):
            store.study_array("s", "target_test_labels", fits=lambda array: len(array) > 3)
        store.redo_damaged("s", fits={"other": lambda array: False})
        assert store.counts("s") == StudyCounts(planned=1, done=2)
        store.redo_damaged("s", fits={"predictions": lambda array: len(array) > length})
        assert store.counts("s") == StudyCounts(planned=2, done=1)


@pytest.mark.parametrize("bit", [0, 1, 31, 51, 52, 62, 63])
def test_a_flipped_bit_of_a_score_is_seen(path: Path, bit: int) -> None:
    change(path, "UPDATE records SET value = ? WHERE position = 1", flipped(0.56, bit))
    with Store.open(path) as store, pytest.raises(DamagedRunError):
        store.records("s")


def test_several_damaged_runs_are_counted_and_the_array_of_a_study_is_named(path: Path) -> None:
    change(path, "UPDATE outcomes SET notes = '{\"a\": 1}'")
    change(path, "UPDATE study_arrays SET content = flip(content)")
    with Store.open(path) as store:
        with pytest.raises(DamagedRunError, match=r"\(run a\) and of 1 other run do not match"):
            store.cells("s")
        with pytest.raises(StoreError, match="target_test_labels of s do not match"):
            store.study_array("s", "target_test_labels")
        store.put_study_array("s", "target_test_labels", np.arange(3))
        assert store.study_array("s", "target_test_labels") is not None


def test_numbers_of_any_kind_are_no_damage(tmp_path: Path) -> None:
    odd = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.7e308, 0.1, float(np.float32(0.1)), 1.0, -(2.0**63)]
    with Store.open(tmp_path / "s.sqlite") as store:
        cells = [cell(f"{i}") for i in range(len(odd))]
        store.plan(study(), [*cells, cell("all")])
        records = [Record("é", Estimate(0.5), "")]
        for i, value in enumerate(odd):
            one = Record("accuracy", Estimate(value, None, i), step=None if i % 2 else -(2**59) * i)
            records.append(one)
            store.finish(f"{i}", Outcome((one,), Cost(seconds=float(i) / 3), {"a": np.array([value])}, {"x": "ü"}))
        store.finish("all", Outcome(tuple(records), Cost()))
        store.redo_damaged("s")
        assert store.counts("s").done == len(odd) + 1
        assert len(store.records("s")) == 2 * len(odd) + 1
