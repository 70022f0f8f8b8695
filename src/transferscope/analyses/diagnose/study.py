"""What the diagnostics of a study saw, method beside method, and how it goes with the transfer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.diagnose.words import Implication, implication_of
from transferscope.estimate import Estimate
from transferscope.numerics.intervals import t_interval
from transferscope.study.frames import StudyFrames

LEAST_NETWORKS = 4
"""Networks of one seed below which a rank correlation says nothing."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The headline of one diagnostic for one method from one source.

    Attributes:
        by_seed: Final values of the headline; the index is the seed.
        against_scratch: Mean and interval of log(value / value from scratch) over the seeds of both; None for the
            baseline, without one, and unless all values are positive.
        at_start: Mean and interval of the headline as training began, over the same seeds; None where it was not
            measured on all of them.
    """

    comparison: Comparison
    by_seed: pd.Series
    over_seeds: Estimate
    against_scratch: Estimate | None
    at_start: Estimate | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One diagnostic of a study at one number of labels.

    Attributes:
        name: Its table in the study file.
        part: The data it was measured on.
        left_out: Names of weights that it could not read.
        correlation: Spearman's rank correlation of the headline with the risk on the target test set over the networks
            of a seed, as a mean over seeds with its interval; None with fewer than 4 networks.
    """

    name: str
    headline: str
    part: str
    known: Implication
    left_out: tuple[str, ...]
    readings: tuple[Reading, ...]
    correlation: Estimate | None

    @property
    def title(self) -> str:
        """The headline in words, with the data where these are not the training examples."""
        return f"{self.known.title}, test examples" if self.part == "target_test" else self.known.title


def diagnoses_of(summary: Summary, n_target: int) -> tuple[Diagnosis, ...]:
    """The diagnostics of a study at one number of labels, in the order of the study file."""
    values = final_headlines(summary.frames)
    values = values[values["n_target"] == n_target]
    before = headlines(summary.frames)
    before = before[(before["n_target"] == n_target) & (before["step"] == 0)]
    compared = [c for c in summary.comparisons if c.n_target == n_target]
    found = [
        _diagnosis(summary, name, rows, before[before["diagnostic"] == name], compared)
        for name, rows in values.groupby("diagnostic", sort=False)
    ]
    return tuple(diagnosis for diagnosis in found if diagnosis.readings)


def headlines(frames: StudyFrames) -> pd.DataFrame:
    """Headline values of every diagnostic of the networks at the end of pre-training, along training and at its end.

    Returns:
        Columns diagnostic, headline, part, source, method, n_target, seed, step (NaN at the end), last_step (the step
        of the end), value (finite).
    """
    cells = frames.cells.loc[frames.cells["role"] == "diagnose", ["key", "headline", "last_step"]]
    rows = frames.records.merge(cells, on="key")
    rows = rows[(rows["name"] == rows["headline"]) & rows["pretrain_step"].isna() & rows["value"].notna()]
    return rows[
        ["diagnostic", "headline", "part", "source", "method", "n_target", "seed", "step", "last_step", "value"]
    ]


def final_headlines(frames: StudyFrames) -> pd.DataFrame:
    """`headlines` of the trained networks: the last step alone."""
    rows = headlines(frames)
    at_end = rows[rows["step"].isna()]
    only_start = rows[~rows["diagnostic"].isin(at_end["diagnostic"]) & (rows["step"] == 0)]
    return pd.concat([at_end, only_start]) if len(only_start) else at_end


def _diagnosis(
    summary: Summary, name: object, rows: pd.DataFrame, before: pd.DataFrame, compared: Sequence[Comparison]
) -> Diagnosis:
    cells = summary.frames.cells
    cells = cells[(cells["diagnostic"] == name) & (cells["headline"] != "") & cells["pretrain_step"].isna()]
    baseline = next((c for c in compared if c.is_baseline), None)
    headline = str(rows["headline"].iloc[0])
    scratch = None if baseline is None else _values(rows, baseline)
    followed = before if rows["step"].isna().any() else before.iloc[:0]  # else the start is all that there is
    readings = [_reading(c, _values(rows, c), _values(followed, c), scratch) for c in compared if len(_values(rows, c))]
    return Diagnosis(
        name=str(name),
        headline=headline,
        part=str(rows["part"].iloc[0]),
        known=implication_of(headline, title=str(cells["title"].iloc[0]), limits=str(cells["limits"].iloc[0])),
        left_out=cells["left_out"].iloc[0],
        readings=tuple(readings),
        correlation=_correlation(summary, rows),
    )


def _values(rows: pd.DataFrame, c: Comparison) -> pd.Series:
    own = rows[(rows["method"] == c.method) & (rows["source"] == (c.source or ""))]
    return own.set_index("seed")["value"].sort_index()


def _reading(c: Comparison, values: pd.Series, before: pd.Series, scratch: pd.Series | None) -> Reading:
    complete = len(values) > 0 and values.index.isin(before.index).all()
    return Reading(
        comparison=c,
        by_seed=values,
        over_seeds=t_interval(values.to_numpy(dtype=np.float64)),
        against_scratch=None if scratch is None or c.is_baseline else _log_ratio(values, scratch),
        at_start=t_interval(before.loc[values.index].to_numpy(dtype=np.float64)) if complete else None,
    )


def _log_ratio(values: pd.Series, scratch: pd.Series) -> Estimate | None:
    pairs = pd.concat({"own": values, "scratch": scratch}, axis=1).dropna()
    if pairs.empty or (pairs <= 0).any(axis=None):
        return None
    own, base = (pairs[name].to_numpy(dtype=np.float64) for name in ("own", "scratch"))
    return t_interval(np.log(own / base))


def _correlation(summary: Summary, rows: pd.DataFrame) -> Estimate | None:
    from scipy import stats  # here: it takes half a second to import

    runs = summary.runs.rename(columns={"value": "score"})
    joined = rows.merge(runs, on=["source", "method", "n_target", "seed"])
    sign = -1.0 if summary.frames.metric.higher_is_better else 1.0
    found = [
        float(stats.spearmanr(networks["value"], sign * networks["score"]).statistic)
        for _, networks in joined.groupby("seed")
        if len(networks) >= LEAST_NETWORKS and networks["value"].nunique() > 1 and networks["score"].nunique() > 1
    ]
    return t_interval(np.array(found)) if found else None
