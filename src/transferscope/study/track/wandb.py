"""Weights & Biases: a run for each cell, grouped by study; without an API key on the disk, for `wandb sync`."""

import netrc
import os
from itertools import groupby
from pathlib import Path

import wandb

from transferscope.study.track.tracker import Tracked


class WandbTracker:
    """See `Tracker`.

    Args:
        project: The project, or "ENTITY/PROJECT".
        study: Name of the group.
        folder: Folder of the runs on this machine, with a list of those added.
    """

    def __init__(self, project: str, study: str, folder: Path) -> None:
        self._entity, _, self._project = project.rpartition("/")
        self._study, self._folder = study, folder
        folder.mkdir(parents=True, exist_ok=True)
        self._list = folder / "tracked-by-wandb.txt"
        self._ids = set(self._list.read_text(encoding="utf-8").split()) if self._list.exists() else set()
        self._mode = os.environ.get("WANDB_MODE") or ("online" if _has_key() else "offline")  # it would ask for one

    def has(self, run_id: str) -> bool:
        """See `Tracker`."""
        return run_id in self._ids

    def add(self, run: Tracked) -> None:
        """See `Tracker`."""
        made = wandb.init(
            project=self._project,
            entity=self._entity or None,
            group=self._study,
            id=run.id,
            name=run.name,
            config=dict(run.settings),
            dir=str(self._folder),
            mode=self._mode,
            resume="allow",
            reinit="create_new",
            settings=wandb.Settings(silent=True, console="off"),
        )
        curves = sorted((step, name, value) for name, step, value in run.numbers if step is not None)
        for step, numbers in groupby(curves, key=lambda number: number[0]):
            made.log({name: value for _, name, value in numbers}, step=step)
        for name, step, value in run.numbers:
            if step is None:
                made.summary[name] = value
        if run.failure is not None:
            made.summary["failure"] = run.failure
        made.finish(exit_code=0 if run.failure is None else 1)
        self._ids.add(run.id)
        with self._list.open("a", encoding="utf-8") as ids:
            ids.write(f"{run.id}\n")


def _has_key() -> bool:
    """Return whether this machine has an API key, from `wandb login` or the environment."""
    try:
        kept = netrc.netrc(os.environ.get("NETRC")).hosts
    except (OSError, netrc.NetrcParseError):
        kept = {}
    return bool(os.environ.get("WANDB_API_KEY")) or any("wandb" in host for host in kept)
