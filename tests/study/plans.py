"""Plans without data."""

import numpy as np

from transferscope.store import PlannedCell, StudyRow
from transferscope.store.rows import Label
from transferscope.study.plan import StudyPlan, cell_key


def small_plan(seeds: int = 3, *, sizes: tuple[int, ...] = (10, 20), name: str = "small") -> StudyPlan:
    """Per seed a pretraining cell, a cell for each size that needs it, and one that does not."""
    cells: list[PlannedCell] = []
    for seed in range(seeds):
        first = _cell("pretrain", "pretrain", seed, None)
        cells += [first, _cell("method", "scratch", seed, sizes[0])]
        cells += [_cell("method", "fine-tune", seed, size, needs=(first.key,)) for size in sizes]
    study = StudyRow(name, {"name": name}, {}, "2026-01-01T00:00:00+00:00")
    return StudyPlan(study, tuple(cells), {"target_test_labels": np.arange(20)})


def _cell(role: str, method: str, seed: int, n_target: int | None, needs: tuple[str, ...] = ()) -> PlannedCell:
    key = cell_key(method, seed=seed, n_target=n_target, needs=needs)
    labels: dict[str, Label] = {"source": "s", "method": method, "n_target": n_target, "n_source": None, "seed": seed}
    return PlannedCell(key, "pretrain" if role == "pretrain" else "method", labels, {}, needs)
