"""Stores whose keys, paths, JSON and arrays somebody has edited, by seed: read, refused in a sentence, or run within.

TRANSFERSCOPE_EDITED_STORES sets how many are drawn, TRANSFERSCOPE_EDITED_FROM from which seed on (docs/results/trust.md
has a thousand); checksums are made anew, as whoever edits a store on purpose would.
"""

import io
import json
import os
import random
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transferscope.cli import main
from transferscope.store import Store
from transferscope.store.checksums import checksum
from transferscope.study.run import run_study
from transferscope.study.spec import read_spec

N = int(os.environ.get("TRANSFERSCOPE_EDITED_STORES", "30"))
FIRST = int(os.environ.get("TRANSFERSCOPE_EDITED_FROM", "0"))

STUDY = """
name = "s"
seeds = 3
store = "s.sqlite"
[target]
data = "digits"
labels = [20]
[sources.flipped]
data = "digits"
transforms = ["upside-down"]
[network]
name = "linear"
[pretraining]
steps = 3
[training]
steps = 3
[engine]
workers = 0
[methods.scratch]
[methods.fine-tune]
[methods.linear-probe]
[tuning]
[tuning.grid.fine-tune]
lr_scale = [1.0, 0.1]
[diagnostics.weights]
"""

COMMANDS = [
    "status s.sqlite",
    "status s.sqlite --json",
    "report s.sqlite --json",
    "report s.sqlite --table csv",
    "run s.sqlite --join",
    "export s.sqlite --out best",
    "rank s.sqlite --scores logme",
    "plan s.sqlite",
    "scaling s.sqlite",
]

ODD = [None, True, False, -1, 0, 1, 7, 1.5, "", "x", "../../OUT", "/tmp/OUT", "\x1b[2J", [], {}, [1], ["x"], {"a": 1}]

JSON = {
    "studies": ("spec", "facts"),
    "payloads": ("content",),
    "study_cells": ("labels",),
    "outcomes": ("notes",),
    "study_arrays": ("content",),
}

TYPES = [np.float32, np.bool_, np.complex64, np.int8, np.uint64, "U8", "M8[s]", ">i8"]

ARRAYS: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda array: array[:-1],
    lambda array: array[:0],
    lambda array: array[:1],
    lambda array: np.concatenate([array, array]),
    lambda array: array[:, None],
    lambda array: array.reshape(1, *array.shape),
    lambda array: array.sum(),
    lambda array: array - 1000,
    lambda array: array.astype(np.int64) + 2**62,
    lambda array: array.astype(np.float64) * np.nan,
    *(partial(np.ndarray.astype, dtype=kind) for kind in TYPES),
    lambda array: np.asfortranarray(np.stack([array, array], axis=-1)),
]
"""What an array can be edited to, by length, shape, type and values."""


def _edited(value: Any, draw: random.Random) -> Any:
    """The value with one part of it replaced, renamed or taken away, at any depth."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(sorted(value))
        rest = {name: one for name, one in value.items() if name != key}
        action = draw.random()
        if action < 0.15:
            return rest
        return {**rest, "x" if action < 0.2 else key: _edited(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.8:
        place = draw.randrange(len(value))
        return [*value[:place], _edited(value[place], draw), *value[place + 1 :]]
    return draw.choice(ODD)


def _edit_array(raw: sqlite3.Connection, draw: random.Random) -> str:
    """Replace an array of a run or of the study by an edited one; what was done, in words."""
    table = draw.choice(["arrays", "arrays", "study_arrays"])
    rows = raw.execute(f"SELECT rowid, name, content FROM {table}").fetchall()
    row, name, content = draw.choice([row for row in rows if row[2].startswith(b"\x93NUMPY")])
    action = draw.randrange(len(ARRAYS) + 1)
    if action == len(ARRAYS):
        new = bytes(draw.randrange(256) if draw.random() < 0.02 else one for one in content)
    else:
        file = io.BytesIO()
        np.save(file, ARRAYS[action](np.load(io.BytesIO(content))))
        new = file.getvalue()
    raw.execute(f"UPDATE {table} SET content = ?, checksum = ? WHERE rowid = ?", [new, checksum(new), row])
    return f"{table} {row} {name}: edit {action}"


def edit(path: Path, draw: random.Random) -> str:
    """Edit a store in one place or a few; what was done, in words."""
    done = []
    with closing(sqlite3.connect(path)) as raw, raw:
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            if draw.random() < 0.2:
                key = draw.choice(["../../OUT", "../outside/OUT", "/tmp/OUT", "..", "a/b", "*", "x", "\x1b[2J", ""])
                one = "(SELECT id FROM cells ORDER BY random() LIMIT 1)"
                with suppress(sqlite3.IntegrityError):
                    raw.execute(f"UPDATE cells SET key = ? WHERE id = {one}", [key])
                done.append(f"key {key!r}")
                continue
            if draw.random() < 0.3:
                done.append(_edit_array(raw, draw))
                continue
            table, columns = draw.choice(list(JSON.items()))
            column = draw.choice(columns)
            where = "cell_id" if table == "study_cells" else "rowid"
            rows = raw.execute(f"SELECT {where}, {column} FROM {table}").fetchall()
            rows = [row for row in rows if not (isinstance(row[1], bytes) and row[1].startswith(b"\x93NUMPY"))]
            if not rows:
                continue
            row, text = draw.choice(rows)
            new = json.dumps(_edited(json.loads(text), draw))
            content: str | bytes = new.encode() if table == "study_arrays" else new
            raw.execute(f"UPDATE {table} SET {column} = ? WHERE {where} = ?", [content, row])
            if table == "study_arrays":
                raw.execute("UPDATE study_arrays SET checksum = ? WHERE rowid = ?", [checksum(content), row])
            if table == "outcomes":
                costs = "seconds, peak_memory, trained_parameters, examples_seen, steps, notes"
                values = raw.execute(f"SELECT {costs} FROM outcomes WHERE rowid = ?", [row]).fetchone()
                raw.execute("UPDATE outcomes SET checksum = ? WHERE rowid = ?", [checksum(*values), row])
            done.append(f"{table}.{column} {row}: {new[:2000]}")
        if draw.random() < 0.5:
            for table in ("outcomes", "records", "arrays"):
                raw.execute(f"DELETE FROM {table} WHERE cell_id % 3 = 0")
            raw.execute("UPDATE cells SET state = 'planned' WHERE id % 3 = 0")
    return "; ".join(done)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    (folder / "s.toml").write_text(STUDY)
    spec = read_spec(folder / "s.toml")
    with Store.open(spec.store) as store:
        run_study(spec, store)
        store.put_study_document("s", "race", {"end": "settled", "not_begun": []})
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


def _called(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    out = io.StringIO()
    monkeypatch.setattr(sys, "argv", ["transferscope", *words])
    with redirect_stdout(out), redirect_stderr(out), pytest.raises(SystemExit) as ended:
        main.main()
    code = ended.value.code or 0
    return code if isinstance(code, int) else 1, out.getvalue()


@pytest.mark.long
def test_an_edited_store_ends_in_an_answer_or_a_sentence_and_writes_nothing_outside(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSFERSCOPE_DEBUG", "1")
    monkeypatch.setenv("TRANSFERSCOPE_CACHE", str(tmp_path / "cache"))
    outside = tmp_path / "outside"
    (outside / "OUT.run").mkdir(parents=True)
    for name in ("OUT.safetensors", "OUT.partial", "OUT.output.txt", "OUT.run/kept"):
        (outside / name).write_text("of the user")
        (tmp_path / Path(name).name).write_text("of the user")
    before, faults, codes = tree(outside), [], dict.fromkeys(range(3), 0)
    around = {path.name for path in tmp_path.iterdir()} | {"sent", "cache"}
    for seed in range(FIRST, FIRST + N):
        draw = random.Random(seed)
        sent = tmp_path / "sent"
        shutil.rmtree(sent, ignore_errors=True)
        shutil.copytree(finished, sent)
        monkeypatch.chdir(sent)
        what, command = edit(sent / "s.sqlite", draw), draw.choice(COMMANDS)
        code, said = _called(command.split(), monkeypatch)
        codes[code] = codes.get(code, 0) + 1
        written = {path.name for path in tmp_path.iterdir()} - around
        if code not in (0, 1, 2) or "Traceback" in said or "this is a bug" in said:
            last = [line for line in said.splitlines() if line.strip()]
            where = [line.strip() for line in last if "transferscope/" in line][-1:]
            faults.append(f"{seed} {command}: {last[-1][:200] if last else code} {where}\n    {what[:300]}")
        if tree(outside) != before or written or (tmp_path / "OUT.safetensors").read_text() != "of the user":
            faults.append(f"{seed} {command}: wrote outside {written}\n    {what[:300]}")
    print(f"{N} edited stores: exit codes {codes}, {len(faults)} faults")
    assert not faults, "\n".join(faults)
