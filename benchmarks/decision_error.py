"""How often a decision errs, what it finds, and whether its chances come true: simulated and recorded studies.

    python -m benchmarks.decision_error SECTION [--studies N]

Sections print the tables of docs/results/decision.md: error, power, chance, settles, race, recorded.

A simulated study has arms of two kinds, with true means, and the score of arm a with seed s is

    mean_a + 1.5 b_s + sd_a (sqrt(r) c_{k(a) s} + sqrt(1 - r) e_as)

b is common to all arms of a seed, c to the arms of one source (r = 0, .5 or .9), e is the arm's own: normal, Student's
t with 3 degrees of freedom, skewed (minus a lognormal, skewness -3.7), all of variance 1, or normal with one run in
twenty 15 sd lower. sd_a is 1 for all; log-uniform over a factor of 10; 1 or 3 for every second arm; or 10 for the last
arm with a source. Studies are read at every number of seeds as these are added.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from transferscope.decision.noise import noise
from transferscope.decision.whether import LOOKS, can_be_called, pairs

SEEDS = 12
SHAPES = ("normal", "t3", "skewed", "failing")
SCALES = ("equal", "log-uniform", "1 : 3", "one x 10")
SHARED = (0.0, 0.5, 0.9)


@dataclass(frozen=True)
class Design:
    """How many arms of which kind: `ways` of every source, and some without."""

    sources: int
    ways: int
    controls: int

    @property
    def clusters(self) -> np.ndarray:
        """Of all arms, those with a source first."""
        of_ways = np.repeat(np.arange(self.sources), self.ways)
        return np.concatenate([of_ways, self.sources + np.arange(self.controls)])

    @property
    def n_ways(self) -> int:
        """Arms with a source."""
        return self.sources * self.ways

    def __str__(self) -> str:
        return f"{self.sources} x {self.ways} against {self.controls}"


DESIGNS = (
    Design(1, 1, 1), Design(1, 1, 2), Design(1, 3, 1), Design(1, 6, 3), Design(3, 2, 2), Design(8, 2, 3), Design(4, 3, 6),
    Design(6, 5, 3),
)  # fmt: skip


def errors(
    rng: np.random.Generator, n: int, design: Design, shape: str, scale: str, shared: float, seeds: int = SEEDS
) -> tuple[np.ndarray, np.ndarray]:
    """Noise of shape (studies, arms, seeds), and the standard deviations (studies, arms)."""
    k = design.n_ways + design.controls
    own = _shaped(rng, (n, k, seeds), shape)
    common = _shaped(rng, (n, design.clusters.max() + 1, seeds), shape)[:, design.clusters]
    share = np.where(np.arange(k) < design.n_ways, shared, 0.0)[:, None]
    sd = np.ones((n, k))
    if scale == "log-uniform":
        sd = np.exp(rng.uniform(-np.log(10) / 2, np.log(10) / 2, (n, k)))
    elif scale == "1 : 3":
        sd[:, ::2] = 3.0
    elif scale == "one x 10":
        sd[:, design.n_ways - 1] = 10.0
    values = sd[..., None] * (np.sqrt(share) * common + np.sqrt(1 - share) * own)
    if shape == "failing":
        values -= 15 * sd[..., None] * (rng.random(values.shape) < 0.05)
    return values + 1.5 * rng.standard_normal((n, 1, seeds)), sd


def _shaped(rng: np.random.Generator, size: tuple[int, ...], shape: str) -> np.ndarray:
    if shape == "t3":
        return rng.standard_t(3.0, size) / np.sqrt(3.0)
    z = rng.standard_normal(size)
    if shape == "skewed":
        s = 0.8
        return (np.exp(s**2 / 2) - np.exp(s * z)) / np.sqrt(np.exp(s**2) * (np.exp(s**2) - 1))
    return z


def truths(design: Design, sd: np.ndarray, kind: str) -> np.ndarray:
    """True means without an effect: all equal; or one or two arms without a source as good, the others 4 sd below."""
    mean = np.zeros_like(sd)
    if kind != "equal":
        tied = {"one ties": 1, "two tie": 2}[kind]
        mean[:, design.n_ways + tied :] = -4.0 * np.maximum(sd[:, design.n_ways + tied :], 1.0)
    return mean


def p_values(values: np.ndarray, design: Design) -> np.ndarray:
    """Of every arm with a source, shape (studies, arms), adjusted for their number but not for looks; 1 if not callable."""
    found = noise(values, design.clusters)
    ways, controls = np.arange(design.n_ways), np.arange(design.n_ways, values.shape[1])
    p = pairs(found, ways, controls, None).below(0.0).max(-1) * len(ways)
    return np.where(can_be_called(found, ways, controls), np.minimum(p, 1.0), 1.0)


def cells(designs: tuple[Design, ...]) -> Iterator[tuple[Design, str, str, float, str]]:
    """Designs, noise and truths; those that repeat others are left out."""
    for design in designs:
        for shape in SHAPES:
            for scale in SCALES:
                for shared in SHARED if design.ways > 1 else SHARED[:1]:
                    for kind in ("equal", "one ties", "two tie")[: min(design.controls, 3)]:
                        yield design, shape, scale, shared, kind
