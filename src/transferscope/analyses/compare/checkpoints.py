"""Transfer from earlier steps of pretraining: the step that transfers best, as table, sentence and figure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.words import words_of
from transferscope.estimate import Estimate
from transferscope.numerics.intervals import t_interval
from transferscope.report.blocks import Figure, Points, Section
from transferscope.report.figures.choice import evenly_chosen, shown_of
from transferscope.report.figures.panels import add_legend, multiples, side_by_side
from transferscope.report.figures.style import INK, QUIET, drawing, mark_styles
from transferscope.statements import state

_MOST_PANELS = 12


@dataclass(frozen=True, slots=True)
class CheckpointSeries:
    """One method from one source at one number of labels, by length of pretraining.

    Attributes:
        table: One row per step, ascending: columns step, n, mean, low, high (of the score over seeds; NaN with one
            seed).
        best: The step with the best mean.
        lead: Score at `best` minus score after the last step, paired over seeds, positive when better; None when the
            last step is best.
    """

    source: str
    method: str
    n_target: int
    table: pd.DataFrame
    best: int
    lead: Estimate | None


def checkpoint_runs(summary: Summary) -> pd.DataFrame:
    """Return the scores of every method that starts from pretraining, by pretraining step.

    Returns:
        Columns source, method, n_target, seed, step, value: earlier steps and the last one; empty without earlier ones.
    """
    frames = summary.frames
    final = frames.final(frames.metric.record)
    earlier = final[final["role"] == "checkpoint"]
    of = ["source", "method", "n_target"]
    last = final[final["role"] == "method"].merge(earlier[of].drop_duplicates(), on=of)
    length = (frames.study.spec.get("pretraining") or {}).get("steps")  # None for a study without pretraining
    rows = pd.concat([earlier, last.assign(pretrain_step=float(length or np.nan))])
    return rows.rename(columns={"pretrain_step": "step", "step": "_"})[[*of, "seed", "step", "value"]]


def checkpoint_series(summary: Summary) -> tuple[CheckpointSeries, ...]:
    """Return every series of a study, in its order; empty without checkpoints."""
    runs = checkpoint_runs(summary)
    groups = runs.groupby(["source", "method", "n_target"], sort=False)
    return tuple(_series(summary, rows) for _, rows in groups if rows["step"].nunique() > 1)


def _series(summary: Summary, rows: pd.DataFrame) -> CheckpointSeries:
    source, method, n_target = str(rows["source"].iloc[0]), str(rows["method"].iloc[0]), int(rows["n_target"].iloc[0])
    by_step = rows.pivot_table(index="seed", columns="step", values="value")
    metric = summary.frames.metric
    measured = []
    for step in by_step.columns:  # ascending
        values = by_step[step].dropna().to_numpy(dtype=np.float64)
        mean = t_interval(values).clipped(*metric.bounds)
        measured.append((float(step), len(values), mean.value, mean.low, mean.high))
    table = pd.DataFrame(measured, columns=["step", "n", "mean", "low", "high"])
    steps, better = table["step"].tolist(), metric.improvement(table["mean"].to_numpy(dtype=np.float64))
    best, last = steps[int(np.argmax(better))], steps[-1]
    pairs = by_step[[best, last]].dropna() if best != last else pd.DataFrame()
    lead = None
    if not pairs.empty:
        own, end = (metric.improvement(pairs[step].to_numpy(dtype=np.float64)) for step in (best, last))
        lead = t_interval(own - end)
    return CheckpointSeries(source, method, n_target, table, int(best), lead)


def checkpoints_section(summary: Summary) -> Section | None:
    """Return the section; None for a study without checkpoints."""
    curves = checkpoint_series(summary)
    if not curves:
        return None
    words = words_of(summary.frames)
    sentences = words.all_of(
        state(
            "checkpoint",
            arm=(series.method, series.source),
            sizes=[] if len(summary.frames.sizes) == 1 else [series.n_target],
            n_steps=len(series.table),
            best=series.best,
            lead=series.lead.value if series.lead else None,
            ends=(series.lead.low, series.lead.high) if series.lead and series.lead.interval else None,
        )
        for series in curves
    )
    return Section("How long to pretrain", "checkpoints", (Points(sentences), draw_checkpoints(summary, curves)))


def draw_checkpoints(summary: Summary, curves: Sequence[CheckpointSeries]) -> Figure:
    """Draw a panel for each source and number of labels, a line for each method, with the best step marked."""
    frames, scale = summary.frames, summary.frames.metric.scale
    styles = mark_styles(frames.methods, frames.baseline)
    every = list(dict.fromkeys((series.source, series.n_target) for series in curves))
    places = evenly_chosen(every, _MOST_PANELS)

    def drawn(n_columns: int, width: float) -> Canvas:
        canvas, panels = multiples(len(places), n_columns, width=width, height=2.1)
        for axes, (source, n_target) in zip(panels, places, strict=True):
            axes.set_title(f"from {source}, {n_target:,} labels")
            for series in curves:
                if (series.source, series.n_target) != (source, n_target):
                    continue
                style, table = styles[series.method], series.table
                axes.plot(table["step"], table["mean"] * scale, "-", color=style.colour, linewidth=1.4)
                low, high = table["low"] * scale, table["high"] * scale
                axes.fill_between(table["step"], low, high, color=style.colour, alpha=0.12, linewidth=0)
                best = table[table["step"] == series.best]
                axes.plot(best["step"], best["mean"] * scale, style.mark, color=style.colour, markersize=7)
            for c in summary.comparisons:
                if c.is_baseline and c.n_target == n_target:
                    level = c.measures.get(frames.metric.record) or c.score
                    axes.axhline(level.value * scale, color=QUIET, linestyle="--", linewidth=1)
            axes.set_xlim(left=0)
        canvas.supxlabel("Steps of pretraining", fontsize="medium", color=INK)
        canvas.supylabel(frames.metric.title, fontsize="medium", color=INK)
        methods = {series.method for series in curves} | {str(frames.baseline)}
        names = {m: frames.tick_name(m) for m in frames.methods if m in methods}
        add_legend(canvas, styles, names, baseline=frames.baseline)
        return canvas

    with drawing():
        wide = drawn(3, min(9.2, 1.0 + 2.7 * min(3, len(places))))
    return Figure(
        name="checkpoints",
        canvas=wide,
        narrow=lambda inches: drawn(side_by_side(inches, 2.6), inches),
        data=checkpoint_runs(summary),
        caption=(
            "Mean over seeds with its 95 % interval; large marks: the best step; dashed: training from scratch."
            f"{shown_of('panels', places, every)}"
        ),
    )
