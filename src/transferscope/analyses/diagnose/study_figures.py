"""Figures of diagnostics by method, and along training."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

from transferscope.analyses.diagnose.study import Diagnosis, headlines
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import MOST_SOURCES, beside_axis, evenly_chosen, shown_of
from transferscope.report.figures.panels import add_legend, panels, side_by_side
from transferscope.report.figures.style import drawing, mark_styles, new_figure, tip
from transferscope.study.frames import StudyFrames
from transferscope.wording import capitalised, number_words

_LOG_SPAN = 20.0  # largest over smallest value from which an axis is logarithmic
_COLUMNS = 3
_TITLE_WIDTH = 34  # characters of a title over a panel


def draw_diagnoses(frames: StudyFrames, diagnoses: Sequence[Diagnosis], n_target: int) -> Figure:
    """Draw every diagnostic in a panel, every method from every source in a row: seeds, mean and CI."""
    seen = {(reading.source, reading.method) for diagnosis in diagnoses for reading in diagnosis.readings}
    order = [arm for arm in reversed(frames.arms) if arm in seen]
    places = {arm: row for row, arm in enumerate(order)}

    def drawn(n_columns: int, width: float) -> Canvas:
        canvas, axes = panels(len(diagnoses), n_columns, width=width, height=0.9 + 0.2 * len(order), sharey=True)
        for panel, diagnosis in zip(axes, diagnoses, strict=True):
            _draw(panel, diagnosis, places, frames)
            panel.set_title(beside_axis(capitalised(diagnosis.title), width=_TITLE_WIDTH), fontsize=8)
        axes[0].set_ylim(-0.6, len(order) - 0.4)
        for first in axes[::n_columns]:
            first.set_yticks(range(len(order)), [frames.name_of(*arm) for arm in order], fontsize=8)
        return canvas

    with drawing():
        wide = drawn(_COLUMNS, 9.2)
    return Figure(
        name="diagnostics",
        canvas=wide,
        narrow=lambda inches: drawn(side_by_side(inches, 2.6), inches),
        data=pd.DataFrame(
            [
                {
                    "diagnostic": diagnosis.name,
                    "headline": diagnosis.headline,
                    "part": diagnosis.part,
                    "source": reading.source,
                    "method": reading.method,
                    "n_target": n_target,
                    "seed": seed,
                    "value": value,
                }
                for diagnosis in diagnoses
                for reading in diagnosis.readings
                for seed, value in reading.by_seed.items()
            ]
        ),
        caption=(
            f"What differs between the networks ({n_target:,} labels), the best arm on top. Small dots are "
            "seeds, large marks their mean with a 95 % interval."
        ),
    )


def draw_along_training(frames: StudyFrames, diagnoses: Sequence[Diagnosis], n_target: int) -> Figure | None:
    """Draw diagnostics by training step, a row for each and a column for each source; None without such values."""
    rows = headlines(frames)
    rows = rows[rows["n_target"] == n_target]
    n_steps = rows.groupby("diagnostic")["step"].nunique()  # beside the end, where it is missing
    followed = [diagnosis for diagnosis in diagnoses if n_steps.get(diagnosis.name, 0) > 1]
    if not followed:
        return None
    sources = evenly_chosen(frames.sources, MOST_SOURCES) or [""]
    styles = mark_styles(frames.methods, frames.baseline)
    rows = rows[rows["diagnostic"].isin([diagnosis.name for diagnosis in followed])]
    placed = rows.assign(step=rows["step"].fillna(rows["last_step"]))  # the end is at its own step
    grouped = placed.groupby(["diagnostic", "headline", "source", "method", "n_target", "step"], sort=False)["value"]
    data = grouped.agg(["mean", "min", "max", "count"]).reset_index().sort_values("step", kind="stable")
    with drawing():
        canvas = new_figure(max(6.4, min(9.2, 2.0 + 2.5 * len(sources))), 0.8 + 1.9 * len(followed))
        axes = canvas.subplots(len(followed), len(sources), sharex=True, sharey="row", squeeze=False)
        for line, diagnosis in zip(axes, followed, strict=True):
            own = data[data["diagnostic"] == diagnosis.name]
            for panel, source in zip(line, sources, strict=True):
                for method, drawn in own[own["source"].isin(["", source])].groupby("method", sort=False):
                    colour, dashes = styles[str(method)].colour, "--" if method == frames.baseline else "-"
                    panel.plot(drawn["step"], drawn["mean"], dashes, color=colour, linewidth=1.4)
                    panel.fill_between(drawn["step"], drawn["min"], drawn["max"], color=colour, alpha=0.12, linewidth=0)
            _scale(line[0], "y", own["mean"])
            line[0].set_ylabel(beside_axis(capitalised(diagnosis.title), width=24), fontsize=8)
        for panel, source in zip(axes[0], sources, strict=True):
            panel.set_title(f"from {source}" if source else "")
        for panel in axes[-1]:
            panel.set_xlabel("Training step")
        names = {method: frames.tick_name(method) for method in frames.methods if (data["method"] == method).any()}
        add_legend(canvas, styles, names, baseline=frames.baseline)
    return Figure(
        name="diagnostics-training",
        canvas=canvas,
        data=data,
        caption=(
            f"Along training ({n_target:,} labels): mean over seeds, with the range from the lowest to the highest "
            f"seed as a band{'; the dashed line is training from scratch' if frames.baseline else ''}."
            f"{shown_of('sources', sources, frames.sources or [''])}"
        ),
    )


def _draw(panel: Axes, diagnosis: Diagnosis, places: dict[tuple[str, str], int], frames: StudyFrames) -> None:
    styles = mark_styles(frames.methods, frames.baseline)
    for reading in diagnosis.readings:
        style, row = styles[reading.method], places[reading.source, reading.method]
        (points,) = panel.plot(
            reading.by_seed, [row + 0.26] * len(reading.by_seed), "o", color=style.colour, markersize=2.2, alpha=0.55
        )
        tip(points, *(f"seed {seed}: {number_words(value)}" for seed, value in reading.by_seed.items()))
        interval = reading.over_seeds.interval
        if interval is not None:
            panel.plot([interval.low, interval.high], [row, row], color=style.colour, linewidth=1.6)
        (mark,) = panel.plot(reading.over_seeds.value, row, style.mark, color=style.colour, markersize=5)
        tip(mark, f"{frames.name_of(reading.source, reading.method)}: {number_words(reading.over_seeds.value)}")
    seen = pd.concat([reading.by_seed for reading in diagnosis.readings])
    if _scale(panel, "x", seen):
        panel.set_xlim(0.8 * seen.min(), 1.25 * seen.max())  # an interval may reach below zero
    panel.grid(axis="y", alpha=0.12)
    panel.tick_params(axis="x", labelsize=7)


def _scale(axes: Axes, axis: Literal["x", "y"], values: pd.Series) -> bool:
    """Choose a logarithmic axis if values are positive and far apart; return whether it was chosen."""
    logarithmic = bool((values > 0).all() and values.max() > _LOG_SPAN * values.min())
    if logarithmic:
        (axes.set_xscale if axis == "x" else axes.set_yscale)("log")
        drawn = axes.xaxis if axis == "x" else axes.yaxis
        drawn.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        drawn.set_minor_formatter(NullFormatter())
    return logarithmic
