"""Transfer from earlier steps of pre-training, and the step that transfers best."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from transferscope.estimate import Estimate
from transferscope.numerics.intervals import t_interval
from transferscope.report.metric import Metric
from transferscope.report.results import Summary


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
    over = t_interval(values)
    interval = None if over.interval is None else metric.bounded(over.interval)
    low, high = (np.nan, np.nan) if interval is None else (interval.low, interval.high)
    return {"step": step, "n": len(values), "mean": over.value, "low": low, "high": high}


def _lead(summary: Summary, by_step: pd.DataFrame, best: float) -> Estimate | None:
    last = float(by_step.columns.to_numpy(dtype=np.float64).max())
    pairs = by_step[[best, last]].dropna() if best != last else pd.DataFrame()
    if pairs.empty:
        return None
    improvement = summary.frames.metric.improvement
    own, end = (improvement(pairs[step].to_numpy(dtype=np.float64)) for step in (best, last))
    return t_interval(own - end)
