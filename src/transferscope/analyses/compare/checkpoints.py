"""Transfer from earlier steps of pre-training: the step that transfers best, as table, sentence and figure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from transferscope.analyses.compare.summary import Summary
from transferscope.estimate import Estimate
from transferscope.numerics.intervals import t_interval
from transferscope.report.blocks import Block, Figure, Section, Text
from transferscope.report.figures.panels import add_legend, new_grid
from transferscope.report.figures.style import QUIET, drawing, mark_styles
from transferscope.study.metric import Metric
from transferscope.wording import candidate_words, capitalised, counted, signed


@dataclass(frozen=True, slots=True)
class CheckpointSeries:
    """One method from one source at one number of labels, against the length of pre-training.

    Attributes:
        source: The source.
        method: The method's table in the study file.
        n_target: Number of target labels.
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
    """Scores of every method that starts from pre-training, by pretraining step.

    Returns:
        Columns source, method, n_target, seed, step, value: earlier steps and the last one; empty without earlier ones.
    """
    frames = summary.frames
    final = frames.final(frames.metric.record)
    earlier = final[final["role"] == "checkpoint"]
    of = ["source", "method", "n_target"]
    last = final[final["role"] == "method"].merge(earlier[of].drop_duplicates(), on=of)
    length = (frames.study.spec.get("pretraining") or {}).get("steps")  # None for a study without pre-training
    rows = pd.concat([earlier, last.assign(pretrain_step=float(length or np.nan))])
    return rows.rename(columns={"pretrain_step": "step", "step": "_"})[[*of, "seed", "step", "value"]]


def checkpoint_series(summary: Summary) -> tuple[CheckpointSeries, ...]:
    """Every series of a study, in its order; empty when the study asks for no checkpoints."""
    runs = checkpoint_runs(summary)
    groups = runs.groupby(["source", "method", "n_target"], sort=False)
    return tuple(_series(summary, rows) for _, rows in groups if rows["step"].nunique() > 1)


def _series(summary: Summary, rows: pd.DataFrame) -> CheckpointSeries:
    source, method, n_target = str(rows["source"].iloc[0]), str(rows["method"].iloc[0]), int(rows["n_target"].iloc[0])
    by_step = rows.pivot_table(index="seed", columns="step", values="value")
    metric = summary.frames.metric
    found = [_row(metric, float(step), by_step[step].dropna().to_numpy(dtype=np.float64)) for step in by_step.columns]
    table = pd.DataFrame(found).sort_values("step", ignore_index=True)
    better = metric.improvement(table["mean"].to_numpy(dtype=np.float64))
    best = float(table["step"].iloc[int(np.argmax(better))])
    return CheckpointSeries(source, method, n_target, table, int(best), _lead(summary, by_step, best))


def _row(metric: Metric, step: float, values: np.ndarray) -> dict[str, float]:
    over = t_interval(values).clipped(*metric.bounds)
    low, high = (np.nan, np.nan) if over.interval is None else (over.interval.low, over.interval.high)
    return {"step": step, "n": len(values), "mean": over.value, "low": low, "high": high}


def _lead(summary: Summary, by_step: pd.DataFrame, best: float) -> Estimate | None:
    last = float(by_step.columns.to_numpy(dtype=np.float64).max())
    pairs = by_step[[best, last]].dropna() if best != last else pd.DataFrame()
    if pairs.empty:
        return None
    improvement = summary.frames.metric.improvement
    own, end = (improvement(pairs[step].to_numpy(dtype=np.float64)) for step in (best, last))
    return t_interval(own - end)


def checkpoints_section(summary: Summary) -> Section | None:
    """The section; None for a study that asks for no checkpoints."""
    found = checkpoint_series(summary)
    if not found:
        return None
    blocks: list[Block] = [Text(_in_words(summary, series)) for series in found]
    note = (
        "The best of several steps on the test set looks a little better than it is; choose the step on target data "
        "that the final score is not measured on."
    )
    return Section(
        "How long to pre-train", "checkpoints", (*blocks, draw_checkpoints(summary, found), Text(note, "note"))
    )


def _in_words(summary: Summary, series: CheckpointSeries) -> str:
    name = f"{candidate_words(series.method, series.source)} with {counted(series.n_target, 'label')}"
    said = f"{capitalised(name)}: the best checkpoint of {len(series.table)} is "
    if series.lead is None:
        return f"{said}the last, after {series.best:,} steps of pre-training."
    scale, lead = summary.frames.metric.scale, series.lead
    gain = signed(scale * lead.value, 1 if scale > 1 else 4)
    said += f"that after {series.best:,} steps of pre-training, {gain} against the last"
    if lead.interval is None:
        return f"{said} in one seed."
    low, high = (signed(scale * end, 1 if scale > 1 else 4) for end in (lead.interval.low, lead.interval.high))
    sure = "" if lead.interval.excludes(0.0) else ", which may be chance"
    return f"{said} ({low} to {high} over {counted(lead.n, 'seed')}{sure})."


def draw_checkpoints(summary: Summary, found: Sequence[CheckpointSeries]) -> Figure:
    """The figure: a panel for each source and number of labels, a line for each method, the best step marked."""
    frames, scale = summary.frames, summary.frames.metric.scale
    styles = mark_styles(frames.methods, frames.baseline)
    with drawing():
        grid = new_grid(
            frames.sizes, frames.sources, height=2.1, x_title="Steps of pre-training", y_title=frames.metric.title
        )
        for panel in grid.panels:
            for series in found:
                if (series.source, series.n_target) != (panel.source, panel.n_target):
                    continue
                style, table = styles[series.method], series.table
                panel.axes.plot(table["step"], table["mean"] * scale, "-", color=style.colour, linewidth=1.4)
                low, high = table["low"] * scale, table["high"] * scale
                panel.axes.fill_between(table["step"], low, high, color=style.colour, alpha=0.12, linewidth=0)
                best = table[table["step"] == series.best]
                panel.axes.plot(best["step"], best["mean"] * scale, style.mark, color=style.colour, markersize=7)
            for c in summary.comparisons:
                if c.is_baseline and c.n_target == panel.n_target:
                    panel.axes.axhline(c.score.value * scale, color=QUIET, linestyle="--", linewidth=1)
            panel.axes.set_xlim(left=0)
        drawn = {series.method for series in found} | {str(frames.baseline)}
        add_legend(grid.canvas, styles, [m for m in frames.methods if m in drawn], baseline=frames.baseline)
    return Figure(
        name="checkpoints",
        canvas=grid.canvas,
        data=checkpoint_runs(summary),
        caption=(
            f"{frames.metric.title} after transfer from earlier steps of one pre-training: mean over seeds with its "
            f"95 % interval; the large mark is the best step, the dashed line training from scratch.{grid.left_out}"
        ),
    )
