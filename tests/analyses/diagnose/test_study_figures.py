"""Figures of diagnostics of a study: dots, means and intervals are those of NumPy and SciPy."""

from dataclasses import asdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from scipy import stats

from transferscope.analyses.diagnose.study import diagnoses_of
from transferscope.analyses.diagnose.study_figures import draw_along_training, draw_diagnoses
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, PlannedCell, Store, StudyRow
from transferscope.store.rows import Label
from transferscope.study.frames import StudyFrames, read_study

SEEDS, STEPS = (0, 1, 2), (0, 5, 9)
"""The last step is the end of training."""

VALUES = {
    ("curvature", "scratch"): [[9.0, 8.0, 7.0], [50.0, 60.0, 70.0], [300.0, 500.0, 400.0]],  # two orders of magnitude
    ("curvature", "fine-tune"): [[8.0, 9.0, 7.0], [20.0, 30.0, 10.0], [4.0, 5.0, 6.0]],
    ("class-separation", "scratch"): [[1.0, 1.1, 0.9], [1.0, 1.2, 1.1], [0.9, 1.0, 0.8]],
    ("class-separation", "fine-tune"): [[1.0, 1.1, 0.9], [0.8, 0.9, 0.7], [0.6, 0.5, 0.7]],
}
"""A row for each of STEPS, with a value for each seed."""


@pytest.fixture
def frames(tmp_path: Path) -> StudyFrames:
    outcomes: dict[str, Outcome] = {}
    cells: list[PlannedCell] = []
    for method, seed in product(("scratch", "fine-tune"), SEEDS):
        source = None if method == "scratch" else "photos"
        labels: dict[str, Label] = {"source": source, "method": method, "n_target": 40, "n_source": None, "seed": seed}
        fit = PlannedCell(f"{method}-{seed}", "method", labels, {})
        cells.append(fit)
        outcomes[fit.key] = Outcome((Record("accuracy", Estimate(0.7 + seed / 100)),), Cost())
        for name in ("curvature", "class-separation"):
            own = DIAGNOSTICS[name]
            cells.append(PlannedCell(f"{name}-{fit.key}", "diagnose", labels | {"diagnostic": name}, {}, (fit.key,)))
            values = [of_step[seed] for of_step in VALUES[name, method]]
            steps = (*STEPS[:-1], None)
            records = [
                Record(own.headline, Estimate(v), "target_train", at) for v, at in zip(values, steps, strict=True)
            ]
            notes = {"headline": own.headline, "meaning": asdict(own.meaning), "last_step": STEPS[-1]}
            outcomes[cells[-1].key] = Outcome(tuple(records), Cost(), notes=notes)
    spec = {"name": "made-up", "methods": {"scratch": {}, "fine-tune": {}}, "seeds": list(SEEDS)}
    with Store.open(tmp_path / "made-up.sqlite") as store:
        store.plan(StudyRow("made-up", spec, {}, "2026-11-21T09:00:00+00:00"), cells)
        for key, outcome in outcomes.items():
            store.finish(key, outcome)
        return read_study(store, "made-up")


def test_each_network_is_a_dot_beside_the_mean_of_its_arm_with_its_interval(frames: StudyFrames) -> None:
    found = diagnoses_of(frames, 40)
    figure = draw_diagnoses(frames, found, 40)
    panels = dict(zip([one.name for one in found], figure.canvas.axes, strict=False))
    names = [tick.get_text() for tick in figure.canvas.axes[0].get_yticklabels()]
    rows = {method: names.index(frames.name_of(source, method)) for source, method in frames.arms}
    for (name, method), values in VALUES.items():
        at_end, row = values[-1], rows[method]
        lines = [np.asarray(line.get_xydata()) for line in panels[name].lines]
        (dots,) = [line for line in lines if len(line) == 3 and row < line[0, 1] < row + 0.5]
        assert dots[:, 0].tolist() == at_end
        (mean,) = [line for line in lines if len(line) == 1 and line[0, 1] == row]
        assert mean[0, 0] == pytest.approx(np.mean(at_end))
        (ends,) = [line for line in lines if len(line) == 2 and line[0, 1] == row]
        assert ends[:, 0] == pytest.approx(stats.t.interval(0.95, 2, loc=np.mean(at_end), scale=stats.sem(at_end)))
    assert (panels["curvature"].get_xscale(), panels["class-separation"].get_xscale()) == ("log", "linear")
    assert figure.data["value"].tolist() == [v for one in found for reading in one.readings for v in reading.by_seed]


def test_along_training_the_mean_has_the_range_of_seeds_around_it_and_a_baseline_is_dashed(frames: StudyFrames) -> None:
    found = diagnoses_of(frames, 40)
    figure = draw_along_training(frames, found, 40)
    panels = dict(zip([one.name for one in found], figure.canvas.axes, strict=True))
    for (name, method), values in VALUES.items():
        style = "--" if method == "scratch" else "-"
        (line,) = (one for one in panels[name].lines if one.get_linestyle() == style)
        means = [pytest.approx(np.mean(of_step)) for of_step in values]
        assert np.asarray(line.get_xydata()).tolist() == [list(one) for one in zip(STEPS, means, strict=True)]
        bands = [one for one in panels[name].collections if isinstance(one, PolyCollection)]
        corners = {(float(x), float(y)) for band in bands for x, y in np.asarray(band.get_paths()[0].vertices)}
        ends = {(float(at), end(of)) for at, of in zip(STEPS, values, strict=True) for end in (min, max)}
        assert ends <= corners
    assert (panels["curvature"].get_yscale(), panels["class-separation"].get_yscale()) == ("log", "linear")
    assert draw_along_training(frames, found, 41) is None
