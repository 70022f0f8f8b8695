"""Sending every finished or failed cell of a study to its trackers, once, by following the store."""

import logging
import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from transferscope.errors import UnknownNameError, missing_extra
from transferscope.settings.engine import TrackSettings
from transferscope.store import Store, StoredCell
from transferscope.study.track.tracker import Tracked, Tracker
from transferscope.wording import cell_words

_LOG = logging.getLogger(__name__)

_LOOK_SECONDS = 5.0
_REST = 20.0
"""Wait after a look at the store, in multiples of the time it took: reading very many cells is slow."""
_END_SECONDS = 60.0
"""Seconds that the end of a study waits for its trackers."""
_CANCEL_SECONDS = 5.0
"""Seconds that a stopped study waits for its trackers."""


def _tracker(name: str, place: str, study: str, files: Path) -> Tracker:
    module = import_module(f"transferscope.study.track.{name}")
    made: Tracker = {
        "mlflow": lambda: module.MLflowTracker(place, study),
        "tensorboard": lambda: module.TensorBoardTracker(Path(place), study),
        "wandb": lambda: module.WandbTracker(place, study, files),
    }[name]()
    return made


@contextmanager
def followed(settings: TrackSettings | None, store: Store, study: str) -> Iterator[None]:
    """Send the stored runs of a study to its trackers, in a thread, until the block ends.

    Raises:
        MissingExtraError: A tracker's package is not installed; the block is not entered.
    """
    wanted = {} if settings is None else settings.places
    for name in wanted:
        if find_spec(name) is None:
            raise missing_extra(name, name, f"[track] {name}")
    if not wanted:
        yield
        return
    follower = _Follower(wanted, store, study)
    thread = threading.Thread(target=follower.run, daemon=True, name="transferscope trackers")
    thread.start()
    try:
        yield
        follower.over.set()
        thread.join(_END_SECONDS)
    finally:
        follower.abandoned = True  # after Ctrl-C: the next run of the study sends the rest
        follower.over.set()
        thread.join(_CANCEL_SECONDS)
        if thread.is_alive():
            _LOG.warning("the trackers of %s take too long to end and are left alone", study)


class _Follower:
    """The thread that looks for new runs in the store and sends them."""

    def __init__(self, wanted: Mapping[str, str], store: Store, study: str) -> None:
        self.over, self.abandoned = threading.Event(), False
        self._wanted, self._store, self._study = wanted, store, study
        self._trackers: dict[str, Tracker] = {}
        self._sent: set[tuple[str, str]] = set()

    def run(self) -> None:
        for name, place in self._wanted.items():
            with self._said(name):
                self._trackers[name] = _tracker(name, place, self._study, self._store.files)
        over = False
        while not over and self._trackers and not self.abandoned:
            over = self.over.is_set()  # what was stored before the end is sent in this last look
            began = time.monotonic()
            try:
                with suppress(UnknownNameError):  # until it is planned
                    self._look()
            except Exception as error:
                _LOG.warning("the trackers of %s cannot read its store: %s", self._study, error)
            if not over:
                self.over.wait(max(_LOOK_SECONDS, _REST * (time.monotonic() - began)))

    def _look(self) -> None:
        settled = [row.key for row in self._store.standings(self._study) if row.state in ("done", "failed")]
        if all((name, key) in self._sent for key in settled for name in self._trackers):
            return
        runs = tracked_runs(self._store, self._study)
        for name, tracker in list(self._trackers.items()):
            with self._said(name):
                for run in runs:
                    if self.abandoned:
                        return
                    if (name, run.id) not in self._sent and not tracker.has(run.id):
                        tracker.add(run)
                    self._sent |= {(name, run.id), (name, run.id.removesuffix("-failed"))}

    @contextmanager
    def _said(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._trackers.pop(name, None)
            reason = next(iter(str(error).splitlines()), "") or type(error).__name__
            _LOG.warning(
                "the tracker %s is left out from here on: %s; the study continues, and its store has everything",
                name,
                reason,
            )


def tracked_runs(store: Store, study: str) -> list[Tracked]:
    """Return every finished or failed cell of a study, for trackers."""
    numbers: dict[str, list[tuple[str, int | None, float]]] = {}
    records = store.records(study)
    for key, name, part, step, value in zip(
        records.key, records.name, records.part, records.step, records.value.tolist(), strict=True
    ):
        if math.isfinite(value):
            numbers.setdefault(key, []).append((f"{part}/{name}" if part else name, step, value))
    return [
        _tracked(cell, study, numbers.get(cell.cell.key, []))
        for cell in store.cells(study)
        if cell.state in ("done", "failed")
    ]


def _tracked(stored: StoredCell, study: str, numbers: list[tuple[str, int | None, float]]) -> Tracked:
    cell, cost = stored.cell, stored.cost
    settings: dict[str, str | int | float] = {"role": cell.role, "cell": cell.key[:12]}
    settings |= {name: value for name, value in cell.labels.items() if isinstance(value, str | int | float)}
    if cost is not None:
        spent = {"seconds": cost.seconds, "peak_memory": cost.peak_memory, "steps": cost.steps}
        numbers = [*numbers, *((f"cost/{name}", None, float(value)) for name, value in spent.items())]
    failed = stored.failure is not None
    return Tracked(
        id=f"{cell.key}-failed" if failed else cell.key,
        name=cell_words(cell.role, cell.labels),
        study=study,
        settings=settings,
        numbers=numbers,
        failure=stored.failure.message if stored.failure is not None else None,
    )
