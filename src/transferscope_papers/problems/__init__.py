"""Solvable problems: frozen dataclasses with samples and population quantities.

Each has `.sample(n, generator) -> Sample` (NumPy float64 arrays `inputs` (n, d) and `targets` (n,)) and a population
risk in closed form. A transfer problem has a `.source` and a `.target`, each such a problem, and samples its target.
"""

from transferscope_papers.problems.linear import (
    Covariance,
    LinearTeacher,
    LinearTransfer,
    isotropic,
    power_law_covariance,
    teachers_apart,
    teachers_at_angle,
    two_level,
)
from transferscope_papers.problems.power_law import (
    PowerLawTarget,
    PowerLawTransfer,
    power_law_transfer,
    smooth_coefficients,
)
from transferscope_papers.problems.quadratic import QuadraticProblem
from transferscope_papers.problems.relu import AblatedTeachers, ReluNetwork, ablate, relu_teacher
from transferscope_papers.problems.sample import Sample

__all__ = [
    "AblatedTeachers",
    "Covariance",
    "LinearTeacher",
    "LinearTransfer",
    "PowerLawTarget",
    "PowerLawTransfer",
    "QuadraticProblem",
    "ReluNetwork",
    "Sample",
    "ablate",
    "isotropic",
    "power_law_covariance",
    "power_law_transfer",
    "relu_teacher",
    "smooth_coefficients",
    "teachers_apart",
    "teachers_at_angle",
    "two_level",
]
