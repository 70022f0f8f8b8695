"""Which classes a method gets wrong: a heat map of error rates."""

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes

from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import MOST_CLASSES, short, tick_name
from transferscope.report.figures.style import drawing, new_figure
from transferscope.report.frames import StudyFrames
from transferscope.report.results import Summary

_COLOURS = "YlOrBr"


def draw_classes(summary: Summary) -> Figure | None:
    """The figure at the largest number of labels; None without classes or predictions."""
    errors = class_errors(summary.frames)
    if errors.empty:
        return None
    n_target = int(errors["n_target"].max())
    wide = _wide(errors[errors["n_target"] == n_target])
    n_classes = wide.shape[1]
    worst = wide.mean().sort_values(ascending=False).index[:MOST_CLASSES]
    wide = wide.loc[:, [name for name in wide.columns if name in set(worst)]]
    with drawing():
        canvas = new_figure(min(9.2, 2.6 + 0.52 * wide.shape[1]), 1.3 + 0.3 * len(wide))
        _heat_map(canvas.subplots(), wide)
    left_out = (
        f" Shown are the {MOST_CLASSES} classes with most errors of {n_classes}." if n_classes > MOST_CLASSES else ""
    )
    return Figure(
        name="classes",
        canvas=canvas,
        data=errors,
        caption=f"Errors by class with {n_target:,} labels, in percent of the test examples of the class.{left_out}",
    )


def class_errors(frames: StudyFrames) -> pd.DataFrame:
    """Error rate of each method on each class, over all seeds.

    Returns:
        Columns source, method, n_target, class, n_examples, error (mean over seeds, a fraction); empty for a regression
        or when predictions or labels were not kept.
    """
    columns = ["source", "method", "n_target", "class", "n_examples", "error"]
    labels = frames.test_labels
    if labels is None or frames.classes is None or not frames.metric.higher_is_better:
        return pd.DataFrame(columns=columns)
    counts = np.bincount(labels, minlength=len(frames.classes))
    rows = []
    kept = frames.method_cells[frames.method_cells["key"].isin(frames.predictions.keys())]
    for group, cells in kept.groupby(["source", "method", "n_target"], sort=False):
        wrong = np.mean([frames.predictions[key] != labels for key in cells["key"]], axis=0)
        errors = np.bincount(labels, weights=wrong, minlength=len(counts)) / np.maximum(counts, 1)
        rows += [
            (*group, name, int(n), float(error))
            for name, n, error in zip(frames.classes, counts, errors, strict=True)
            if n
        ]
    return pd.DataFrame(rows, columns=columns)


def _wide(errors: pd.DataFrame) -> pd.DataFrame:
    """A row for each method, best first; a column for each class. Values in percent."""
    names = [
        f"{tick_name(method)} from {source}" if source else tick_name(method)
        for method, source in zip(errors["method"], errors["source"], strict=True)
    ]
    wide = errors.assign(row=names).pivot(index="row", columns="class", values="error")[errors["class"].unique()]
    return 100 * wide.loc[wide.mean(axis=1).sort_values().index]


def _heat_map(axes: Axes, wide: pd.DataFrame) -> None:
    values = wide.to_numpy(dtype=np.float64)
    top = max(float(values.max()), 1.0)
    edges = [np.arange(n + 1) - 0.5 for n in (values.shape[1], values.shape[0])]
    axes.pcolormesh(*edges, values, cmap=colormaps[_COLOURS], vmin=0, vmax=top)
    axes.invert_yaxis()
    for i, j in np.ndindex(*values.shape):
        colour = "white" if values[i, j] > 0.6 * top else "black"
        axes.text(j, i, f"{values[i, j]:.0f}", ha="center", va="center", color=colour, fontsize="small")
    names = [short(str(name)) for name in wide.columns]
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(wide)), [str(name) for name in wide.index])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
