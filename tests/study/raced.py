"""Work whose answers are known: accuracies of arms with given effects and noise, nothing trained."""

import time
import zlib
from dataclasses import replace

import numpy as np

from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, PlannedCell
from transferscope.study.context import WorkContext

N_TEST = 4000
CLASSES = 2
EFFECTS = {
    "good": {"fine-tune": 0.12, "linear-probe": 0.115, "l2-sp": 0.02, "knn": 0.04},
    "bad": {"fine-tune": -0.1},
    "None": {"raw": 0.03, "strong": 0.125},
}
"""Gains by source and method; none elsewhere. "strong" is a variant of raw."""


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """An accuracy of 0.7, plus the effect of the arm, plus noise of the seed and of the arm."""
    if cell.role == "pretrain":
        context.network(cell.key).write_bytes(b"")
        return Outcome((), Cost(seconds=3.0), {}, {"status": "max_steps"})
    labels = cell.labels
    shared = np.random.default_rng([11, int(str(labels["seed"]))]).normal()
    own = np.random.default_rng(
        [zlib.crc32(f"{labels['source']} {labels['method']}".encode()), int(str(labels["seed"]))]
    )
    effect = EFFECTS.get(str(labels["source"]), {}).get(str(labels["method"]), 0.0)
    n_right = round(N_TEST * (0.7 + effect + 0.01 * shared + 0.004 * own.normal()))
    truth = np.arange(N_TEST, dtype=np.int32) % CLASSES
    predictions = np.where(np.arange(N_TEST) < n_right, truth, 1 - truth).astype(np.int32)
    cost = Cost(seconds=0.2 if labels["method"] == "linear-probe" else 1.0, steps=10)
    record = Record("accuracy", Estimate(n_right / N_TEST), part="target_test")
    return Outcome((record,), cost, {"predictions": predictions}, {"status": "max_steps"})


def work_without_bad(cell: PlannedCell, context: WorkContext) -> Outcome:
    """The same, where nothing can be learnt from the source "bad", and l2-sp fails in its first seed."""
    if cell.role == "pretrain" and cell.labels["source"] == "bad":
        raise ValueError("the source is odd")
    if cell.labels["method"] == "l2-sp" and cell.labels["seed"] == 0:
        raise ValueError("the first seed is odd")
    return work(cell, context)


def work_by_labels(cell: PlannedCell, context: WorkContext) -> Outcome:
    """The same, where transfer from "good" gains nothing with 40 labels."""
    if cell.labels["n_target"] != 40:
        return work(cell, context)
    return work(replace(cell, labels={**cell.labels, "source": "as scratch"}), context)


def work_dear(cell: PlannedCell, context: WorkContext) -> Outcome:
    """The same, where all is quick but fine-tuning."""
    done = work(cell, context)
    return replace(done, cost=replace(done.cost, seconds=120.0 if cell.labels["method"] == "fine-tune" else 0.1))


def work_slow(cell: PlannedCell, context: WorkContext) -> Outcome:
    """The same, where all takes 20 times as long."""
    done = work(cell, context)
    return replace(done, cost=replace(done.cost, seconds=20 * done.cost.seconds))


def work_with_an_endless_source(cell: PlannedCell, context: WorkContext) -> Outcome:
    """The same, where pretraining on "bad" ends once there is a file "go"; its checkpoint counts the checks."""
    if cell.role == "pretrain" and cell.labels["source"] == "bad":
        partial = context.checkpoint(cell.key)
        step = int(partial.read_text()) if partial.exists() else 0
        while not (context.files / "go").exists():
            step += 1
            partial.write_text(str(step))
            time.sleep(0.02)
            context.progress(step, 2 * step)
        (context.files / f"{cell.key}.checks").write_text(str(step))
    done = work(cell, context)
    return replace(done, cost=replace(done.cost, seconds=0.01))
