"""Comparisons written down by hand, for tests of words and rules."""

import math
from dataclasses import replace

from transferscope.analyses.compare.comparison import Call, Comparison, Difference, MeanCost
from transferscope.estimate import Estimate, Interval

COST = MeanCost(
    seconds=20.0, pretraining_seconds=0.0, peak_memory=500 << 20, trained_parameters=431_080, examples_seen=192_000
)


_P: dict[Call, float] = {"positive": 0.004, "negative": 0.004, "leans positive": 0.08, "leans negative": 0.08}


def baseline(mean: float = 0.912, *, n_target: int = 600, n_seeds: int = 5, p_best: float = 0.0) -> Comparison:
    return Comparison(
        source=None,
        method="scratch",
        n_target=n_target,
        seeds=tuple(range(n_seeds)),
        score=_score(mean, n_seeds),
        test_interval=Interval(mean - 0.012, mean + 0.012),
        difference=None,
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
        difference=difference(gain, n_seeds, _P.get(call, 0.4)),
        call=call,
        p_best=p_best,
    )


def _score(mean: float, n: int) -> Estimate:
    if n == 1:
        return Estimate(mean, None, 1, "too_few")
    return Estimate(mean, 0.008 / math.sqrt(n), n, "ok", Interval(mean - 0.009, mean + 0.009))


def difference(mean: float, n: int, p: float) -> Difference:
    interval = Interval(mean - 0.01, mean + 0.01)
    if n == 1:
        return Difference(mean, n, interval, "test examples", math.nan, math.nan)
    return Difference(mean, n, interval, "seeds and test examples", p / 4, p)
