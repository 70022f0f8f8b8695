"""What a stranger's code might return or raise for a cell, and a study that does such cells."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from study.plans import small_plan
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.settings.engine import EngineSettings
from transferscope.store import Outcome, PlannedCell, Store
from transferscope.study.context import WorkContext
from transferscope.study.run import CellFailed, Event, run_plan
from transferscope.study.status import study_status


class OddError(Exception):
    """An exception whose message cannot be made."""

    def __str__(self) -> str:
        raise ValueError("no message")


def _raise(error: BaseException) -> Any:
    raise error


def _outcome(**changes: Any) -> Any:
    whole: dict[str, Any] = {
        "records": (Record("accuracy", Estimate(0.5)),),
        "cost": Cost(seconds=0.1, steps=1),
        "arrays": {},
        "notes": {},
    }
    return Outcome(**{**whole, **changes})


class _Loop(dict[str, Any]):
    """A dictionary that holds itself."""

    def __init__(self) -> None:
        super().__init__()
        self["again"] = self


RETURNS: dict[str, Callable[[], Any]] = {
    "fine": lambda: _outcome(),
    "nothing": lambda: None,
    "a number": lambda: 3.0,
    "a dict": lambda: {"accuracy": 0.5},
    "a surrogate in a note": lambda: _outcome(notes={"status": "\udcff"}),
    "a NUL in a note": lambda: _outcome(notes={"status": "a\x00b"}),
    "a set in a note": lambda: _outcome(notes={"status": {1, 2}}),
    "an array in a note": lambda: _outcome(notes={"x": np.arange(3)}),
    "an integer key in a note": lambda: _outcome(notes={3: {None: 1, (1, 2): 3}}),
    "a loop in a note": lambda: _outcome(notes=_Loop()),
    "a NaN in a note": lambda: _outcome(notes={"x": float("nan")}),
    "notes that are none": lambda: _outcome(notes=None),
    "an object array": lambda: _outcome(arrays={"predictions": np.array([{}, None], dtype=object)}),
    "an array of text": lambda: _outcome(arrays={"predictions": np.array(["\udcff"])}),
    "a list as array": lambda: _outcome(arrays={"predictions": [1, 2]}),
    "an array named NUL": lambda: _outcome(arrays={"a\x00": np.arange(3)}),
    "an array without a name": lambda: _outcome(arrays={None: np.arange(3)}),
    "a huge step": lambda: _outcome(records=(Record("accuracy", Estimate(0.5), step=2**70),)),
    "a huge count": lambda: _outcome(records=(Record("accuracy", Estimate(0.5, n=2**70)),)),
    "a huge cost": lambda: _outcome(cost=Cost(seconds=1.0, steps=2**70)),
    "an infinite cost": lambda: _outcome(cost=Cost(seconds=float("inf"), steps=1)),
    "a cost of text": lambda: _outcome(cost=Cost(seconds="long", steps="many")),  # type: ignore[arg-type]
    "no cost": lambda: _outcome(cost=None),
    "a value of text": lambda: _outcome(records=(Record("accuracy", Estimate("good")),)),  # type: ignore[arg-type]
    "a complex value": lambda: _outcome(records=(Record("accuracy", Estimate(1j)),)),  # type: ignore[arg-type]
    "a NaN": lambda: _outcome(records=(Record("accuracy", Estimate(float("nan"))),)),
    "an infinity": lambda: _outcome(records=(Record("accuracy", Estimate(float("inf"))),)),
    "a NumPy value": lambda: _outcome(records=(Record("accuracy", Estimate(np.float32(0.5))),)),  # type: ignore[arg-type]
    "a NumPy step": lambda: _outcome(records=(Record("accuracy", Estimate(0.5), step=np.int64(3)),)),  # type: ignore[arg-type]
    "a surrogate as name": lambda: _outcome(records=(Record("\udcff", Estimate(0.5)),)),
    "a NUL as name": lambda: _outcome(records=(Record("a\x00", Estimate(0.5)),)),
    "no name": lambda: _outcome(records=(Record(None, Estimate(0.5)),)),  # type: ignore[arg-type]
    "records that are none": lambda: _outcome(records=None),
    "records of another kind": lambda: _outcome(records=(1, "two")),
    "the same record twice": lambda: _outcome(records=(Record("accuracy", Estimate(0.5)),) * 2),
    "an exception": lambda: _raise(ValueError("the number is odd")),
    "an exception without a message": lambda: _raise(ValueError()),
    "an exception of surrogates": lambda: _raise(ValueError("\udcff")),
    "an exception with NUL": lambda: _raise(ValueError("a\x00b")),
    "an exception of a megabyte": lambda: _raise(ValueError("x" * 2**20)),
    "an exception that cannot be shown": lambda: _raise(OddError()),
    "a KeyError of an integer": lambda: _raise(KeyError(3)),
    "a StopIteration": lambda: _raise(StopIteration()),
    "a SystemExit": lambda: _raise(SystemExit(3)),
    "a GeneratorExit": lambda: _raise(GeneratorExit()),
    "a RecursionError": lambda: _raise(RecursionError("too deep")),
    "an ExceptionGroup": lambda: _raise(ExceptionGroup("several", [ValueError("a"), KeyError("b")])),
}


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """One of `RETURNS` for each cell, in turn."""
    names = sys.argv[2:]
    if cell.role == "pretrain":
        return RETURNS["fine"]()  # type: ignore[no-any-return]
    place = int(str(cell.labels["seed"])) + (cell.labels["method"] == "scratch")
    return RETURNS[names[place % len(names)]]()  # type: ignore[no-any-return]


def main() -> int:
    """Do a study of such cells in this process; every cell must end as done or failed."""

    def tell(event: Event) -> None:
        if isinstance(event, CellFailed):
            print(f"failed: {event.failure.kind}", flush=True)

    with Store.open(Path("strangers.sqlite")) as store:
        run_plan(small_plan(2), store, engine=EngineSettings(workers=0), work="fuzz.strangers:work", on_event=tell)
        counts = study_status(store, "small").counts
        print(f"{counts.done} done, {counts.failed} failed of {counts.total}")
        if counts.done + counts.failed + counts.blocked != counts.total:
            return 3
        for cell in study_status(store, "small").failed:
            assert cell.failure is not None
            assert cell.failure.message.strip()
    return 0
