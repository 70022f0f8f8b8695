"""Comparisons written down by hand, for tests of words and rules."""

import math
from dataclasses import replace

from transferscope.analyses.compare.comparison import Call, Comparison, MeanCost
from transferscope.estimate import Estimate, Interval
from transferscope.numerics.paired import PairedDifference

COST = MeanCost(
    seconds=20.0, pretraining_seconds=0.0, peak_memory=500 << 20, trained_parameters=431_080, examples_seen=192_000
)


_P_HOLM: dict[Call, float] = {"positive": 0.004, "negative": 0.004, "leans positive": 0.08, "leans negative": 0.08}


def baseline(mean: float = 0.912, *, n_target: int = 600, n_seeds: int = 5, p_best: float = 0.0) -> Comparison:
    return Comparison(
        source=None,
        method="scratch",
        n_target=n_target,
        seeds=tuple(range(n_seeds)),
        score=_score(mean, n_seeds),
        test_interval=Interval(mean - 0.012, mean + 0.012),
        difference=None,
        difference_test_interval=None,
        p_holm=math.nan,
        call="baseline",
        p_best=p_best,
        r2=None,
        source_kept=None,
        forgetting=None,
        cost=COST,
    )


def candidate(
    method: str,
    gain: float,
    call: Call,
    *,
    source: str | None = "mnist",
    p_best: float = 0.0,
    n_target: int = 600,
    n_seeds: int = 5,
) -> Comparison:
    return replace(
        baseline(0.912 + gain, n_target=n_target, n_seeds=n_seeds),
        source=source,
        method=method,
        difference=_difference(gain, n_seeds),
        difference_test_interval=Interval(gain - 0.01, gain + 0.01),
        p_holm=math.nan if n_seeds == 1 else _P_HOLM.get(call, 0.2),
        call=call,
        p_best=p_best,
    )


def _score(mean: float, n: int) -> Estimate:
    if n == 1:
        return Estimate(mean, None, 1, "too_few")
    return Estimate(mean, 0.008 / math.sqrt(n), n, "ok", Interval(mean - 0.009, mean + 0.009))


def _difference(mean: float, n: int) -> PairedDifference:
    if n == 1:
        return PairedDifference(mean, math.nan, 1, None, math.nan, "too_few")
    return PairedDifference(mean, 0.008, n, Interval(mean - 0.01, mean + 0.01), 0.001, "ok", test_sd=0.001)
