"""From fitted laws to a decision: more data, other data, or more labels?"""

from transferscope.scaling.advice.advise import Advice, advise
from transferscope.scaling.advice.budget import Costs, Split, best_split, cheapest_split
from transferscope.scaling.advice.decision import Decision, Scenario, VariantGain, decide, variant_gain
from transferscope.scaling.advice.next_run import NextRun, next_run
from transferscope.scaling.advice.surface_run import SurfaceRun, next_surface_run

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
