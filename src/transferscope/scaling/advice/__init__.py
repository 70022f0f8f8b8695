"""From fitted laws to a decision: more data, other data, or more labels?"""

from transferscope.scaling.advice.advise import Advice, Decision, Scenario, VariantGain, advise, decide, variant_gain
from transferscope.scaling.advice.budget import Costs, Split, SurfaceRun, best_split, cheapest_split, next_surface_run
from transferscope.scaling.advice.next_run import NextRun, next_run

__all__ = [
    "Advice",
    "Costs",
    "Decision",
    "NextRun",
    "Scenario",
    "Split",
    "SurfaceRun",
    "VariantGain",
    "advise",
    "best_split",
    "cheapest_split",
    "decide",
    "next_run",
    "next_surface_run",
    "variant_gain",
]
