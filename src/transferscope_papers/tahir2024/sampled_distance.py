"""Wasserstein distance of two tasks from samples in the plane of their teachers, between two bounds.

The empirical W1 of n points in d dimensions is biased upwards by about n^(-1/d). In 500 dimensions that bias dominates:
29.34 between orthogonal teachers and 29.33 between a task and itself, where the truth is about 1.0 (`sampled_bracket`).
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from transferscope.errors import SettingsError
from transferscope.estimate import Estimate
from transferscope_papers.problems import LinearTeacher, LinearTransfer, isotropic
from transferscope_papers.simulate.outcomes import mean_estimate


def reduced(pair: LinearTransfer) -> LinearTransfer:
    """Return the same two tasks over the two inputs in the plane of their teachers, which preserves all distances.

    Raises:
        SettingsError: The inputs are not isotropic.
    """
    if not (pair.target.covariance.eigenvalues == 1).all() or not (pair.source.covariance.eigenvalues == 1).all():
        raise SettingsError("sampled distances need inputs N(0, I), but the covariance differs; use an isotropic one")
    s, tau = pair.source.norm, pair.target.norm
    theta = 0.0 if math.isnan(pair.theta) else pair.theta
    source = np.array([s, 0.0])
    target = tau * np.array([math.cos(theta), math.sin(theta)])
    inputs = isotropic(2)
    return LinearTransfer(
        LinearTeacher(source, pair.source.sigma, inputs), LinearTeacher(target, pair.target.sigma, inputs)
    )


def _points(task: LinearTeacher, n: int, generator: np.random.Generator) -> Float64[np.ndarray, "n k"]:
    sample = task.sample(n, generator)
    return np.column_stack([sample.inputs, sample.targets])


@dataclass(frozen=True)
class SampledBracket:
    """Bounds of W1, each a mean over samples with its standard error."""

    lower: Estimate
    upper: Estimate


def sampled_bracket(
    pair: LinearTransfer, n: int, generator: np.random.Generator, *, repeats: int = 3, fresh: int = 10_000
) -> SampledBracket:
    """Return bounds of W1 from samples of n points, narrower than those of `theory.distances.wasserstein_1`.

        E min_j(|z - t_j| - v_j) over z of the one task - the same over the other  <=  W1  <=  E W1(samples)

    Above: W1 is convex in both distributions. Below: with v the dual solution of the transport onto the points t_j the
    function is 1-Lipschitz, and its means are over independent `fresh` points.

    Args:
        pair: The two tasks, over inputs N(0, I); reduce them with `reduced` first. Both have the target's noise.
        n: Points per sample; both bounds tend to W1 as it grows.
        repeats: Independent samples, at least 2.
    """
    source = LinearTeacher(pair.source.weights, pair.target.sigma, pair.source.covariance)
    lower, upper = np.empty(repeats), np.empty(repeats)
    for k in range(repeats):
        first, second = (_points(task, n, generator) for task in (source, pair.target))
        costs = cdist(first, second)
        rows, matched = linear_sum_assignment(costs)
        upper[k] = costs[rows, matched].mean()
        along = costs - costs[rows, matched][:, None]  # from the column matched to a row, to every column
        v, before = np.zeros(n), None
        while before is None or not np.allclose(v, before, rtol=0, atol=1e-12):  # shortest paths; no cycle is negative
            before, v = v, np.minimum(v, (v[matched][:, None] + along).min(axis=0))
        means = []
        for task in (source, pair.target):
            parts = np.array_split(_points(task, fresh, generator), 10)
            means.append(float(np.concatenate([(cdist(part, second) - v).min(axis=1) for part in parts]).mean()))
        lower[k] = means[0] - means[1]
    return SampledBracket(mean_estimate(lower), mean_estimate(upper))
