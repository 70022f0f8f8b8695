"""TensorBoard: a folder of events for each cell, `FOLDER/STUDY/CELL`."""

import re
import shutil
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from transferscope.study.track.tracker import Tracked

_LONGEST = 80


class TensorBoardTracker:
    """See `Tracker`; the folder is for `tensorboard --logdir`."""

    def __init__(self, folder: Path, study: str) -> None:
        self._folder = folder / study
        self._folder.mkdir(parents=True, exist_ok=True)
        self._ids = {path.name.rpartition("~")[2] for path in self._folder.glob("*~*") if path.suffix != ".unfinished"}

    def has(self, run_id: str) -> bool:
        """See `Tracker`."""
        return _short(run_id) in self._ids

    def add(self, run: Tracked) -> None:
        """See `Tracker`."""
        name = f"{re.sub(r'[^A-Za-z0-9.=,_-]+', '-', run.name)[:_LONGEST]}~{_short(run.id)}"
        unfinished = self._folder / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        last = max((step for _, step, _ in run.numbers if step is not None), default=0)
        with SummaryWriter(str(unfinished)) as writer:
            settings = "\n".join(f"| {key} | {value} |" for key, value in run.settings.items())
            writer.add_text("cell", f"| setting | value |\n|---|---|\n{settings}")
            if run.failure is not None:
                writer.add_text("failure", run.failure)
            for number, step, value in run.numbers:
                writer.add_scalar(number, value, last if step is None else step)
        unfinished.rename(self._folder / name)
        self._ids.add(_short(run.id))


def _short(run_id: str) -> str:
    key, failed, _ = run_id.partition("-failed")
    return f"{key[:16]}{failed}"
