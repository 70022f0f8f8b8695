"""Least-squares fits of scaling laws, deterministic and many at a time.

A start by variable projection (a grid over what is non-linear, exact non-negative least squares for the rest), then a
Levenberg-Marquardt polish inside the bounds. Every array has a leading batch: windows, back-tests, bootstrap draws,
profiles and groups are rows of one solve.
"""

from transferscope.scaling.solve.problem import PROFILE, QUICK, THOROUGH, Effort, Loss, Problem, Solution
from transferscope.scaling.solve.solver import solve

__all__ = ["PROFILE", "QUICK", "THOROUGH", "Effort", "Loss", "Problem", "Solution", "solve"]
