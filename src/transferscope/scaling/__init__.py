"""Scaling laws: how much pretraining, and more data or different data?

From a table of errors at sizes, without torch:

- `fit_law` fits one law, by variable projection, and says which of its parameters the data determine;
- `extrapolate` predicts the error at other sizes by a combination of laws, with intervals and a rolling back-test;
- `fit_surface` chooses a law in pretraining size n and fine-tuning size s by held-out score;
- `fit_hierarchical` fits the curves of one study together;
- `bootstrap` refits a law to resampled errors, all draws at once;
- `advise` answers whether more pretraining reaches a target error, how much it takes, and what to measure next;
- `best_split` and `next_surface_run` do so over (n, s): the split of a budget, and the next (n, s) to measure;
- `compute_optimal` and `forecast_at` do so over parameters N and tokens D: the N and D for a budget of compute.
"""

from transferscope.scaling.advice.advise import Advice, advise
from transferscope.scaling.advice.budget import SurfaceRun, best_split, forecast_at, next_surface_run
from transferscope.scaling.advice.compute import compute_optimal
from transferscope.scaling.advice.costs import Costs, Formula
from transferscope.scaling.bootstrap import Bootstrap, bootstrap
from transferscope.scaling.extrapolation import Extrapolation, extrapolate
from transferscope.scaling.fit import LawFit, fit_law
from transferscope.scaling.groups import HierarchicalFit, fit_hierarchical
from transferscope.scaling.laws import CURVE_LAWS, LAWS, SURFACE_LAWS, Law
from transferscope.scaling.observations import Observations, observe
from transferscope.scaling.profile import ProfileSet
from transferscope.scaling.surface import Surface, fit_surface

__all__ = [
    "CURVE_LAWS",
    "LAWS",
    "SURFACE_LAWS",
    "Advice",
    "Bootstrap",
    "Costs",
    "Extrapolation",
    "Formula",
    "HierarchicalFit",
    "Law",
    "LawFit",
    "Observations",
    "ProfileSet",
    "Surface",
    "SurfaceRun",
    "advise",
    "best_split",
    "bootstrap",
    "compute_optimal",
    "extrapolate",
    "fit_hierarchical",
    "fit_law",
    "fit_surface",
    "forecast_at",
    "next_surface_run",
    "observe",
]
