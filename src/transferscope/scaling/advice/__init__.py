"""From fitted laws to a decision: more data, other data, or more labels?"""

from transferscope.scaling.advice.advise import Advice, Decision, Scenario, VariantGain, advise, decide, variant_gain
from transferscope.scaling.advice.budget import (
    SurfaceRun,
    best_split,
    cheapest_split,
    forecast_at,
    next_surface_run,
)
from transferscope.scaling.advice.compute import Optimum, compute_optimal
from transferscope.scaling.advice.costs import Cost, Costs, Formula, MeasuredCost
from transferscope.scaling.advice.next_run import NextRun, next_run

__all__ = [
    "Advice",
    "Cost",
    "Costs",
    "Decision",
    "Formula",
    "MeasuredCost",
    "NextRun",
    "Optimum",
    "Scenario",
    "SurfaceRun",
    "VariantGain",
    "advise",
    "best_split",
    "cheapest_split",
    "compute_optimal",
    "decide",
    "forecast_at",
    "next_run",
    "next_surface_run",
    "variant_gain",
]
