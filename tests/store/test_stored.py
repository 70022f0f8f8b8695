"""Stores that released versions wrote open, are migrated with a copy kept, and go on.

`stored/formatN.sql` was written by the last version whose stores had format N: a finished study of six cells. A version
with a further format leaves these files alone and adds its own.
"""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transferscope.analyses.stored import open_result
from transferscope.cli.status import summary
from transferscope.errors import StoreError
from transferscope.store import Owner, Store
from transferscope.store.schema import SCHEMA_VERSION
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec
from transferscope.study.status import study_status

FOLDER = Path(__file__).parent / "stored"
FORMATS = sorted(int(path.stem.removeprefix("format")) for path in FOLDER.glob("*.sql"))


def restored(folder: Path, number: int) -> Path:
    """The store of a format as a file."""
    path = folder / "small.sqlite"
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript((FOLDER / f"format{number}.sql").read_text(encoding="utf-8"))
    return path


def dumped(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as raw:
        return sorted(raw.iterdump())


def format_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as raw:
        return str(raw.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()[0])


def test_every_format_up_to_the_present_one_is_kept() -> None:
    assert list(range(1, SCHEMA_VERSION + 1)) == FORMATS


@pytest.mark.parametrize("number", FORMATS)
def test_a_store_of_every_format_is_read_as_it_is(number: int, tmp_path: Path) -> None:
    """Held against the numbers that the version which wrote it printed."""
    path = restored(tmp_path, number)
    before = path.read_bytes()
    with Store.open(path, create=False) as store:
        assert summary(study_status(store, "small")) == "small: 6 of 6 cells done"
        records = store.records("small")
        final = [
            value
            for name, part, step, value in zip(records.name, records.part, records.step, records.value, strict=True)
            if (name, part, step) == ("accuracy", "target_test", None)
        ]
        assert sorted(final) == [0.4, 0.4, 0.55, 0.55]
        assert len(store.arrays("small", "predictions")) == 4
    table = open_result(path).table().set_index("method")
    assert table["mean"].round(9).to_dict() == {"scratch": 0.475, "fine-tune": 0.475}
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", FORMATS)
def test_whoever_works_on_it_migrates_it_and_keeps_a_copy(
    number: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = restored(tmp_path, number)
    before = dumped(path)
    for _ in range(2):
        with caplog.at_level(logging.WARNING), Store.open(path) as store:
            store.claim("small", Owner.current())
    assert format_of(path) == str(SCHEMA_VERSION)
    copy = tmp_path / f"small.format{number}.sqlite"
    if number == SCHEMA_VERSION:
        assert not copy.exists()
        assert dumped(path) == before
        assert caplog.records == []
        return
    assert dumped(copy) == before
    assert format_of(copy) == str(number)
    said = f"the store {path} is brought to format {SCHEMA_VERSION}; it is kept as it was in {copy}"
    assert [record.getMessage() for record in caplog.records] == [said]
    assert {found.name for found in tmp_path.glob("*.sqlite")} == {path.name, copy.name}
    with Store.open(path) as store:
        assert summary(study_status(store, "small")) == "small: 6 of 6 cells done"


@pytest.mark.parametrize("number", FORMATS)
def test_a_study_goes_on_in_it(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one more seed; runs whose numbers would be others today are made again."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(40, 3)).astype(np.float32), np.arange(40) % 2
    x[:, 0] += 2 * y
    np.savez("data.npz", x_train=x[:20], y_train=y[:20], x_test=x[20:], y_test=y[20:])
    tables: dict[str, Any] = {
        "name": "small",
        "seeds": 3,
        "store": "small.sqlite",
        "target": {"data": "npz:data.npz", "labels": [12]},
        "sources": {"same": {"data": "npz:data.npz"}},
        "network": {"name": "mlp", "widths": [3]},
        "pretraining": {"steps": 4},
        "training": {"steps": 4, "eval_every": 2},
        "methods": {"scratch": {}, "fine-tune": {"lr_scale": 0.1}},  # the rate of its day
        "engine": {"workers": 0, "device": "cpu"},
    }
    path = restored(tmp_path, number)
    with Store.open(path) as store:
        status = run_study(parse_spec(tables), store)
        assert (status.counts.done, status.counts.total) == (9, 9)


def test_without_room_for_a_copy_nothing_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = restored(tmp_path, 1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "touch", full)
    with Store.open(path) as store, pytest.raises(StoreError, match="No space left on device; free some space"):
        store.claim("small", Owner.current())
    assert format_of(path) == "1"
    assert [found.name for found in tmp_path.glob("*.sqlite")] == [path.name]


def test_a_copy_never_replaces_another(tmp_path: Path) -> None:
    path = restored(tmp_path, 1)
    earlier = tmp_path / "small.format1.sqlite"
    earlier.write_bytes(b"of another time")
    with Store.open(path) as store:
        store.claim("small", Owner.current())
    assert earlier.read_bytes() == b"of another time"
    assert format_of(tmp_path / "small.format1-2.sqlite") == "1"
