"""Diagnostics of a study by arm, and their correlation with the target error. No torch."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from transferscope.estimate import Estimate
from transferscope.numerics.intervals import t_interval
from transferscope.records import Meaning
from transferscope.study.decisions import arms_of
from transferscope.study.frames import StudyFrames

LEAST_NETWORKS = 4
"""Least number of networks per seed for a rank correlation."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The headline of one diagnostic for one arm; the source is "" for a baseline, `by_seed` is indexed by seed."""

    method: str
    source: str
    by_seed: pd.Series
    over_seeds: Estimate


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One diagnostic of a study at one number of labels.

    Attributes:
        name: Its table in the study file.
        part: The data on which it was measured.
        left_out: Names of weights that it does not cover.
        correlation: Spearman's rank correlation of the headline with the error on the target test set over the networks
            of a seed, as a mean over seeds with its interval; None with fewer than 4 networks.
    """

    name: str
    headline: str
    part: str
    meaning: Meaning
    left_out: tuple[str, ...]
    readings: tuple[Reading, ...]
    correlation: Estimate | None

    @property
    def title(self) -> str:
        """The headline in words, with the data unless these are the training examples."""
        return f"{self.meaning.heading}, test examples" if self.part == "target_test" else self.meaning.heading

    @property
    def better(self) -> Literal["lower", "higher", ""]:
        """The side of networks with a lower error; empty if the correlation is not significant."""
        known = self.correlation
        if known is None or known.sign == 0 or (known.sd == 0 and known.n < 3):
            return ""
        return "lower" if known.sign > 0 else "higher"


def diagnoses_of(frames: StudyFrames, n_target: int) -> tuple[Diagnosis, ...]:
    """Return the diagnostics of a study at one number of labels, in the order of the study file."""
    rows = headlines(frames)
    at_end = rows[rows["step"].isna()]
    only_start = rows[~rows["diagnostic"].isin(at_end["diagnostic"]) & (rows["step"] == 0)]
    rows = pd.concat([at_end, only_start]) if len(only_start) else at_end
    rows = rows[rows["n_target"] == n_target]
    arms = [(arm.method, arm.source) for arm in arms_of(frames, n_target) if (arm.source, arm.method) in frames.arms]
    diagnoses = []
    for name, own in rows.groupby("diagnostic", sort=False):
        by_arm = dict(iter(own.groupby(["method", "source"])))
        readings = []
        for method, source in arms:
            if (method, source) in by_arm:
                values = by_arm[method, source].set_index("seed")["value"].sort_index()
                readings.append(Reading(method, source, values, t_interval(values.to_numpy(dtype=np.float64))))
        if readings:
            first = own.iloc[0]
            diagnoses.append(
                Diagnosis(
                    name=str(name),
                    headline=first["headline"],
                    part=first["part"],
                    meaning=first["meaning"],
                    left_out=first["left_out"],
                    readings=tuple(readings),
                    correlation=_correlation(frames, own),
                )
            )
    return tuple(diagnoses)


def headlines(frames: StudyFrames) -> pd.DataFrame:
    """Return headline values of every diagnostic at the end of pretraining, during training and at its end.

    Returns:
        Columns diagnostic, headline, meaning, left_out, part, source, method, n_target, seed, step (NaN at the end),
        last_step (the step of the end), value (finite).
    """
    cells = frames.cells.loc[
        frames.cells["role"] == "diagnose", ["key", "headline", "meaning", "left_out", "last_step"]
    ]
    rows = frames.records.merge(cells[cells["meaning"].notna()], on="key")
    rows = rows[(rows["name"] == rows["headline"]) & rows["pretrain_step"].isna() & rows["value"].notna()]
    labels = ["source", "method", "n_target", "seed", "step", "last_step"]
    return rows[["diagnostic", "headline", "meaning", "left_out", "part", *labels, "value"]]


def _correlation(frames: StudyFrames, rows: pd.DataFrame) -> Estimate | None:
    from scipy import stats  # here: it takes half a second to import

    runs = frames.runs.rename(columns={"value": "score"})
    joined = rows.merge(runs, on=["source", "method", "n_target", "seed"])
    sign = -1.0 if frames.metric.higher_is_better else 1.0
    by_seed = [
        float(stats.spearmanr(networks["value"], sign * networks["score"]).statistic)
        for _, networks in joined.groupby("seed")
        if len(networks) >= LEAST_NETWORKS and networks["value"].nunique() > 1 and networks["score"].nunique() > 1
    ]
    if not by_seed:
        return None
    mean = t_interval(np.array(by_seed))
    return mean.clipped(-1.0, 1.0)
