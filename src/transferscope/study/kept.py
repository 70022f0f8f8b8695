"""Which trained networks of a study are kept on disk: those of the best runs, of all runs, or of none."""

import contextlib
import json
import math
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transferscope.data.input_form import InputForm
from transferscope.data.task import Dataset
from transferscope.data.unlabelled import input_form
from transferscope.errors import DataError
from transferscope.estimate import Estimate
from transferscope.models import input_of
from transferscope.models.weights import read_notes
from transferscope.once import made_once
from transferscope.settings.data import DataSettings
from transferscope.settings.engine import Keep
from transferscope.store import PlannedCell, Store
from transferscope.study.cell import MethodRecipe
from transferscope.study.context import CELL_NOTE
from transferscope.study.decisions import arms_by_key, decisions
from transferscope.study.facts import read_data
from transferscope.study.fitting import number
from transferscope.study.frames import read_study
from transferscope.study.status import keep_of
from transferscope.trained import ModelCard

ABANDONED = 3600.0
"""Seconds after which an unfinished file is abandoned."""


def keys_to_keep(cells: Sequence[PlannedCell], keep: Keep) -> set[str]:
    """Return the cells that write their network; for "winners" those that may win: the lowest seed of every arm."""
    fits = [cell for cell in cells if cell.role in ("method", "command")]
    if keep == "all":
        return {cell.key for cell in fits}
    first: dict[tuple[object, ...], PlannedCell] = {}
    for cell in fits if keep == "winners" else ():
        if cell.labels.get("pretrain_step") is None:
            way = tuple(cell.labels.get(name) for name in ("method", "source", "n_source", "n_target"))
            earlier = first.setdefault(way, cell)
            if int(str(cell.labels["seed"])) < int(str(earlier.labels["seed"])):
                first[way] = cell
    return {cell.key for cell in first.values()}


def tidy(store: Store, study: str) -> None:
    """Delete the networks of finished runs, and the folders of commands, that no study needs.

    Only files that identify their run are deleted, and only once the study is finished. Files of pretraining, and those
    needed by unfinished runs of any study in the store, are kept. Partial files of killed processes are deleted after
    ABANDONED seconds.
    """
    counts = store.counts(study)
    if counts.planned or counts.running:
        return
    own = list(store.files.glob("*.run"))
    for file in list(store.files.glob("*.safetensors")):
        if file.name.startswith("."):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - file.stat().st_mtime > ABANDONED:
                    file.unlink()  # what a process that was killed left (see `files.written_whole`)
        elif _is_of_run(file):
            own.append(file)
    if not own:
        return
    wanted: set[str] = set()
    whole: set[str] = set()  # with the networks on the way
    under_way: set[str] = set()  # commands, or to be made again
    for row in store.studies():
        keep, cells = keep_of(row.spec), store.cells(row.name)
        whole |= {need for stored in cells if stored.state != "done" for need in stored.cell.needs}
        under_way |= {stored.cell.key for stored in cells if stored.cell.role == "command" and stored.state != "done"}
        if keep == "all":
            whole |= {stored.cell.key for stored in cells}
        elif any(stored.state in ("planned", "running") for stored in cells):  # who wins is not known yet
            wanted |= keys_to_keep([stored.cell for stored in cells], keep)
        elif keep == "winners":
            wanted |= winners(store, row.name)
    for file in own:
        key, _, rest = file.name.removeprefix(".").partition(".")
        unfinished = file.name.startswith(".")  # of a command that was killed
        if key in under_way or (
            not unfinished and (key in whole or (key in wanted and rest in ("safetensors", "run")))
        ):
            continue
        with contextlib.suppress(FileNotFoundError):  # another runner was here first
            shutil.rmtree(file) if file.is_dir() and not file.is_symlink() else file.unlink()


def winners(store: Store, study: str) -> set[str]:
    """Return the lowest seed of the best source of every method and number of labels, by the means of the decisions.

    The lowest seed, not the best one: choosing a run by its test score would bias that score.
    """
    frames = read_study(store, study)
    arms, decided = arms_by_key(frames), decisions(frames)
    means = {(n, arm.name): arm.mean for n, decision in decided.items() for arm in decision.arms}
    done = frames.method_cells[frames.method_cells["state"] == "done"]
    best: dict[tuple[str, int], tuple[float, int, str]] = {}
    for key, method, n, seed in zip(done["key"], done["method"], done["n_target"], done["seed"], strict=True):
        mean = means[n, arms[key]]
        own = (-math.inf if mean is None else mean, -seed, key)
        best[method, n] = max(best.get((method, n), own), own, key=lambda one: one[:2])
    return {key for _, _, key in best.values()}


def card_of(
    cell: PlannedCell, recipe: MethodRecipe, target: Dataset, *, study: str, metric: str, score: Estimate
) -> ModelCard:
    """Return the model card of a run's network; the target is as the network read it.

    Raises:
        TransferscopeError: The data can no longer be read.
    """
    if target.train.grid is not None:
        raise DataError(
            f"{target.name} has a grid of labels, which exported networks do not support; open the network of the "
            "store with transferscope.models.open_network"
        )
    known, source = input_of(recipe.network), cell.labels["source"]
    own = () if known is None else known.transforms
    return ModelCard(
        network=recipe.network,
        n_outputs=target.train.n_outputs,
        classes=target.train.classes,
        multi_label=target.train.kind == "multi-label",
        label_units=tuple((o, u) for o, u in json.loads(target.provenance.get("label_units", "[]"))),
        inputs=_input_form(recipe.target, own, target.train.input_shape, recipe.contents.get("target")),
        study=study,
        cell=cell.key,
        method=str(cell.labels["method"]),
        source=None if source is None else str(source),
        n_labels=number(cell, "n_target"),
        seed=number(cell, "seed"),
        metric=metric,
        score=score.value,
        stderr=score.stderr,
        mean_score=score.value,
        n_runs=1,
        code=recipe.network.code,
    )


@made_once(lambda *asked: asked)
def _input_form(data: DataSettings, own: tuple[str, ...], shape: tuple[int, ...], content: str | None) -> InputForm:
    """Return the input form of inputs with this shape after the transforms of data and network.

    `content` is the fingerprint of the data, since data of the same name may differ in a later study of this process.
    """
    return replace(input_form(data.data, (*data.transforms, *own), read_data(data)), input_shape=shape)


def _is_of_run(file: Path) -> bool:
    try:
        return CELL_NOTE in read_notes(file)
    except DataError:
        return False
