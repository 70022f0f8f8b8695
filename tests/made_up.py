"""Studies made of scores that are given outright, without a store: for tests of what is decided and said of them."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd

from transferscope.methods import METHODS, called_of
from transferscope.records import Cost, Failure
from transferscope.store import PlannedCell, StoredCell, StudyRow
from transferscope.study.frames import RECORD_COLUMNS, StudyFrames, cells_frame, records_frame

CALLED = called_of({name: METHODS[name]() for name in METHODS.own})
"""What our methods are called."""

Arm = tuple[str, str]
"""Method and source, "" for none."""


def made_up(
    scores: Mapping[tuple[Arm, int], np.ndarray],
    *,
    seconds: Mapping[Arm, float] | None = None,
    failed: frozenset[tuple[Arm, int, int]] = frozenset(),
    rising: frozenset[Arm] = frozenset(),
    margin: float | None = None,
) -> StudyFrames:
    """A study of accuracies by seed, NaN where a run is missing; the loss of rising arms still fell at the end."""
    cells: list[StoredCell] = []
    rows: list[tuple[object, ...]] = []
    for ((method, source), n_target), values in scores.items():
        arm = (method, source)
        for seed, value in enumerate(values):
            key = f"{method}-{source}-{n_target}-{seed}"
            labels = {"source": source or None, "method": method, "n_target": n_target, "n_source": None, "seed": seed}
            planned = PlannedCell(key=key, role="method", labels=labels, payload={})
            if (arm, n_target, seed) in failed:
                cells.append(StoredCell(planned, "failed", failure=Failure("exception", "it broke", "")))
            elif np.isnan(value):
                cells.append(StoredCell(planned, "planned"))
            else:
                cells.append(StoredCell(planned, "done", Cost(seconds=(seconds or {}).get(arm, 10.0))))
                rows += [(key, "accuracy", "target_test", np.nan, float(value), np.nan, "ok")]
                rows += _training(key, rising=arm in rising)
    table = cells_frame(cells)
    methods: dict[str, object] = {method: {} for (method, _), _ in scores}
    spec = {"name": "made-up", "methods": methods, **({} if margin is None else {"decision": {"margin": margin}})}
    return StudyFrames(
        study=StudyRow("made-up", spec, {"names": CALLED}, "2026-11-25T09:00:00+00:00"),
        cells=table,
        records=records_frame(pd.DataFrame(rows, columns=RECORD_COLUMNS), table),
        predictions={},
        test_labels=None,
        documents={},
    )


def _training(key: str, *, rising: bool) -> list[tuple[object, ...]]:
    """A loss that has levelled off, with all own labels right; or one that falls to the end, with half of them."""
    losses = {0: 2.0, 50: 1.5, 100: 1.0} if rising else {0: 2.0, 50: 0.01, 100: 0.01}
    curve = [(key, "loss", "target_train", float(step), value, np.nan, "ok") for step, value in losses.items()]
    return [*curve, (key, "accuracy", "target_train", np.nan, 0.5 if rising else 1.0, np.nan, "ok")]


def drawn(seed: int) -> StudyFrames:
    """A study at random: kinds, sizes, seeds, noise, effects, missing and failed runs, rising and unstable arms."""
    rng = np.random.default_rng(seed)
    controls = [(name, "") for name in ("scratch", "ridge", "boosting", "tf-idf")[: rng.integers(0, 4)]]
    names = ("linear-probe", "fine-tune", "merlin")
    ways = list(product(names[: rng.integers(0, 4)], ("a", "b")[: rng.integers(1, 3)]))
    arms = [*controls, *ways] or [("scratch", "")]
    sizes, n_seeds = (50, 200)[: rng.integers(1, 3)], int(rng.integers(1, 8))
    sd, spread = rng.choice([0.003, 0.01, 0.03]), rng.choice([0.0, 0.02, 0.06])
    scores: dict[tuple[Arm, int], np.ndarray] = {}
    failed = set()
    for n in sizes:
        shared = rng.normal(0, sd, n_seeds)
        for arm in arms:
            values = 0.8 + rng.normal(0, spread) + shared + rng.normal(0, sd, n_seeds)
            if rng.random() < 0.15:
                values[rng.integers(n_seeds)] -= 0.3
            missing = rng.random(n_seeds) < rng.choice([0.0, 0.0, 0.3])
            failed |= {(arm, n, int(s)) for s in np.flatnonzero(missing) if rng.random() < 0.5}
            scores[arm, n] = np.where(missing, np.nan, np.clip(values, 0, 1))
    if all(np.isnan(values).all() for values in scores.values()):
        scores[arms[0], sizes[0]][:] = 0.8
        failed = {(arm, n, s) for arm, n, s in failed if (arm, n) != (arms[0], sizes[0])}
    rising = frozenset(arm for arm in arms if rng.random() < 0.1)
    seconds = {arm: float(10 ** rng.uniform(-1, 3)) for arm in arms}
    return made_up(scores, seconds=seconds, failed=frozenset(failed), rising=rising)
