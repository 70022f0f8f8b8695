"""Runs of a Hugging Face Trainer: a folder each, with all_results.json, or trainer_state.json alone.

The path below the folder names the run: its last part is the seed where it is a number or seed with a number, as in
bert/seed-3 or bert-seed3, and what is left is the arm. Where it names no seed, that in the model card is read.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from transferscope.data.frame import Frame
from transferscope.files import json_object

_RESULTS, _STATE = "all_results.json", "trainer_state.json"
_SCORE = re.compile(r"(eval|test|predict)_(?!runtime$|samples|steps_per|jit_|model_prep|num_input)\w+")
_SEED = re.compile(r"(?P<rest>.*?)[-_.]?(?:seed[-_=]?)(?P<seed>\d+)|(?P<number>\d+)")
_IN_CARD = re.compile(r"^- seed: (\d+)$", re.MULTILINE)


def holds(place: Path) -> bool:
    """See `readers.RunsReader`."""
    return place.is_dir() and next(_runs(place), None) is not None


def read(place: Path) -> Frame:
    """See `readers.RunsReader`."""
    return Frame(pd.DataFrame([_row(run, place) for run in _runs(place)]), ())


def _runs(place: Path) -> Iterator[Path]:
    """Folders of runs; those of checkpoints within them are none."""
    folders = {path.parent for name in (_RESULTS, _STATE) for path in place.rglob(name)}
    yield from sorted(run for run in folders if not re.fullmatch(r"checkpoint-\d+", run.name))


def _row(run: Path, place: Path) -> dict[str, Any]:
    parts = list(run.relative_to(place).parts) or [run.resolve().name]
    seed = ""
    if named := _SEED.fullmatch(parts[-1]):
        seed, parts[-1] = named["seed"] or named["number"], named["rest"] or ""
    card = run / "README.md"
    if not seed and card.is_file() and (told := _IN_CARD.search(card.read_text(encoding="utf-8", errors="replace"))):
        seed = told[1]
    numbers = _json(run / _RESULTS) if (run / _RESULTS).is_file() else _last(_json(run / _STATE))
    row: dict[str, Any] = {"arm": "/".join(part for part in parts if part) or place.resolve().name}
    row |= {"seed": seed} if seed else {}
    row |= {ours: numbers[theirs] for ours, theirs in _KNOWN.items() if theirs in numbers}
    return row | {key: value for key, value in numbers.items() if _SCORE.fullmatch(key)}


_KNOWN = {"labels": "train_samples", "seconds": "train_runtime"}


def _last(state: dict[str, Any]) -> dict[str, Any]:
    entries = state.get("log_history", [])
    return {key: value for entry in entries if isinstance(entry, dict) for key, value in entry.items()}


def _json(path: Path) -> dict[str, Any]:
    return json_object(path, "what a Trainer writes", "write it again, or leave it out")
