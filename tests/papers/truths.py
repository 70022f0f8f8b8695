"""Pairs whose gain from linear transfer is known by drawing it: what the linear-transfer model is held against.

Targets come from `problems`; both learners are ridge regressions that choose their ridge by leave-one-out, which
is what users have, and their risks are means over target samples on fresh noiseless examples.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from transferscope_papers.problems import (
    Covariance,
    ablate,
    isotropic,
    power_law_covariance,
    relu_teacher,
    two_level,
)
from transferscope_papers.tahir2024.pair_parameters import PairEstimate, estimate_pair, unexplainable, unexplained
from transferscope_papers.theory.effective_dimension import dimension_band

FAMILIES = ("equal directions", "two levels", "power law", "ReLU networks")
_RIDGES = np.logspace(-5, 4, 19)
_TARGET_SAMPLES, _FRESH = 24, 1500

_Draw: TypeAlias = Callable[[int], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Draws inputs, features of the source and targets without noise."""


@dataclass(frozen=True)
class Truth:
    """A pair with what is seen of it and what is true.

    Attributes:
        family: One of `FAMILIES`.
        n: Number of target labels.
        estimate: The model's parameters, from labelled target examples.
        scratch: True mean risk of ridge regression on the inputs, in units of the variance of the labels.
        transfer: The same on the features of the source.
    """

    family: str
    n: int
    estimate: PairEstimate
    scratch: float
    transfer: float

    @property
    def gain(self) -> float:
        """The true transferability."""
        return self.scratch - self.transfer


def drawn_truth(seed: int, *, n_examples: int = 300) -> Truth:
    """One pair, drawn at random from all families."""
    generator = np.random.default_rng([71, seed])
    family = FAMILIES[seed % len(FAMILIES)]
    d = int(generator.integers(8, 61))
    n = round(math.exp(generator.uniform(math.log(5), math.log(4 * d))))
    sigma = float(np.exp(generator.uniform(math.log(0.05), math.log(1.0))))
    if family == "ReLU networks":
        return _relu(family, d, n, sigma, generator, n_examples)
    covariance = {
        "equal directions": isotropic(d),
        "two levels": two_level(d, n_top=max(d // 6, 1)),
        "power law": power_law_covariance(d, exponent=float(generator.uniform(0.3, 1.2))),
    }[family]
    return _linear(family, covariance, n, sigma, generator, n_examples)


def _linear(
    family: str, covariance: Covariance, n: int, sigma: float, generator: np.random.Generator, n_examples: int
) -> Truth:
    """Features of k directions that hold a share of the teacher."""
    d = covariance.d
    k = int(generator.integers(1, max(d // 2, 2)))
    basis = np.linalg.qr(generator.standard_normal((d, d)))[0]
    theta = generator.uniform(0.05, 1.4)
    inside, rest = generator.standard_normal(k), generator.standard_normal(d - k)
    direction = np.concatenate(
        [math.cos(theta) * inside / np.linalg.norm(inside), math.sin(theta) * rest / np.linalg.norm(rest)]
    )
    weights = basis @ direction
    root = np.sqrt(covariance.eigenvalues)
    weights = weights / np.linalg.norm(root * weights)

    def draw(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inputs = generator.standard_normal((size, d)) * root
        return inputs, inputs @ basis[:, :k], inputs @ weights

    return _truth(family, draw, n, sigma, generator, n_examples)


def _relu(family: str, d: int, n: int, sigma: float, generator: np.random.Generator, n_examples: int) -> Truth:
    """The neurons of an ablated source against random ones."""
    d = min(d, 30)
    teacher = relu_teacher(d, 2 * d, generator, head_mean=0.0, head_std=1.0)
    pair = ablate(teacher, float(generator.uniform(0.1, 0.9)), generator)
    scale = math.sqrt(teacher.squared_norm())

    def draw(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inputs = generator.standard_normal((size, d))
        return inputs, pair.source.features(inputs), teacher.predict(inputs) / scale

    return _truth(family, draw, n, sigma, generator, n_examples)


def _truth(family: str, draw: _Draw, n: int, sigma: float, generator: np.random.Generator, n_examples: int) -> Truth:
    inputs, features, clean = draw(n_examples)
    codes = (clean + sigma * generator.standard_normal(n_examples))[:, None]
    variance = float(np.var(draw(20_000)[2])) + sigma**2
    estimate = estimate_pair(
        [unexplained(features, codes)],
        unexplainable(inputs, codes),
        [dimension_band(features)],
        dimension_band(inputs),
        n_examples=n_examples,
    )
    fresh_inputs, fresh_features, fresh = draw(_FRESH)
    risks = []
    for _ in range(_TARGET_SAMPLES):
        few_inputs, few_features, few = draw(n)
        labels = few + sigma * generator.standard_normal(n)
        risks.append(
            [_risk(few_inputs, labels, fresh_inputs, fresh), _risk(few_features, labels, fresh_features, fresh)]
        )
    scratch, transfer = np.mean(risks, axis=0) / variance
    return Truth(family, n, estimate, float(scratch), float(transfer))


def _risk(inputs: np.ndarray, labels: np.ndarray, fresh_inputs: np.ndarray, fresh: np.ndarray) -> float:
    """Of ridge regression whose ridge has the least leave-one-out error, in closed form."""
    centre, level = inputs.mean(axis=0), labels.mean()
    u, s, vt = np.linalg.svd(inputs - centre, full_matrices=False)
    along = u.T @ (labels - level)
    shrunk = s**2 / (s**2 + _RIDGES[:, None])  # (ridges, r)
    residuals = (labels - level) - (shrunk * along) @ u.T
    left_out = residuals / (1 - 1 / len(labels) - shrunk @ (u**2).T)
    best = int(np.argmin((left_out**2).mean(axis=1)))
    weights = vt.T @ (s / (s**2 + _RIDGES[best]) * along)
    return float((((fresh_inputs - centre) @ weights + level - fresh) ** 2).mean())
