"""One decision from the scores of arms over seeds: whether a source helps, which arm to use, and what to run next.

NumPy and SciPy only: no torch, no store, no words. Everything that is said of a comparison is read from a `Decision`.
Its error rates are measured in docs/results/decision.md, not proved.
"""

from transferscope.decision.decide import decide
from transferscope.decision.examples import example_variance
from transferscope.decision.race import Next, Run, next_runs
from transferscope.decision.record import (
    ArmFacts,
    Call,
    Covers,
    Decision,
    Difference,
    Expected,
    MoreSeeds,
    Outcome,
    Scores,
)
from transferscope.decision.settles import LEAST_CHANCE
from transferscope.decision.whether import LEAST_SEEDS

__all__ = [
    "LEAST_CHANCE",
    "LEAST_SEEDS",
    "ArmFacts",
    "Call",
    "Covers",
    "Decision",
    "Difference",
    "Expected",
    "MoreSeeds",
    "Next",
    "Outcome",
    "Run",
    "Scores",
    "decide",
    "example_variance",
    "next_runs",
]
