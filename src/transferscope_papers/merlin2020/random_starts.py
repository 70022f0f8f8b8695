"""Random starts of quadratic networks, and target examples to identify the shared feature (merlin2020 section 5)."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from transferscope.estimate import Estimate
from transferscope_papers import figure as fig
from transferscope_papers.problems import QuadraticProblem
from transferscope_papers.simulate.quadratic import (
    QuadraticSettings,
    best_restarts,
    draw_targets,
    merlin,
    noisy_start,
    pretrain,
)
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.theory.feature_recovery import examples_needed, recovery_probability, sufficient_examples
from transferscope_papers.theory.quadratic import source_minimum

_PENALTY = 0.03
"""Weight penalty; at .01 random starts seldom become sparse."""
_RIDGE, _SPLITS, _NOISE, _WIDTH = 0.1, 2, 0.1, 6
_PRETRAINING_RATE, _MERLIN_RATE = 0.03, 0.02
_FEATURES = (2, 4, 8, 16)
"""Numbers k of features that solve the source, for random starts."""
_COMPARED = (2, 16, 128)
"""Numbers k of features that are compared without training."""
_SIZES = (2, 3, 4, 6, 8, 10)
_TRAINED_K, _TRAINED_SIZES, _ENOUGH = 4, (5, 8, 12, 20), 20
_FAILURE = 0.1
_PRETRAINED = "pretraining, at a source minimum"
_SINGLE = f"MeRLin, {_ENOUGH} target examples"
_BEST = f"k = {_TRAINED_K}, trained, best random start"
_NEEDED, _SUFFICIENT = f"needed for {1 - _FAILURE:.0%}", "enough in the proof of Theorem 2"
_FOUND = 0.01
"""Target loss below which a network has the shared feature: with any other it is 10/27 at least."""
_AT_MINIMUM = 1.01
"""Objective of a source minimum, in units of the least."""
_SAMPLES = 910
"""Random stream of the samples for comparisons."""
_ENTRIES = 1_000_000
"""Losses of features in halves of samples that are computed at once: 8 MB each of a few arrays."""


@dataclass(frozen=True)
class RandomStartsFigure(fig.TheoryFigure):
    """merlin2020 Theorems 1 and 2 from random starts, and the number of target examples.

    Pretraining that ends at a source minimum has the shared feature with probability 1/k, because the k features are
    equivalent on the source. MeRLin's objective distinguishes them by the target examples; the closed form
    (`theory.feature_recovery`) gives the probability, and is compared with samples of which every half is fitted. The
    theorems do not cover gradient descent: networks trained by MeRLin from random starts are shown without a score.

    Attributes:
        d: Number of inputs, at least 16.
        starts: Random starts of pretraining for each k; MeRLin has a third as many.
        data_sets: Target samples for the best of several starts.
        restarts: Random starts on each of them; the one with the lowest training objective is used.
        steps: Steps of Adam.
        samples: Target samples on which features are compared.
    """

    d: int = fig.setting(50, fig.Range(16, 200), quick=24)
    starts: int = fig.setting(600, fig.Range(6, 10_000), quick=60)
    data_sets: int = fig.setting(40, fig.Range(2, 1000), quick=8)
    restarts: int = fig.setting(20, fig.Range(1, 100), quick=6)
    steps: int = fig.setting(6000, fig.Range(10, 100_000), quick=800)
    samples: int = fig.setting(20_000, fig.Range(10, 1_000_000), quick=1000)

    name: ClassVar[str] = "merlin2020-random-starts"

    def theory(self) -> fig.Theory:
        """Return 1/k, the probability that the shared feature is identified, and the number of examples needed."""
        few, many = np.geomspace(_FEATURES[0], _FEATURES[-1], 40), np.geomspace(2, 1e6, 40)
        sizes = np.arange(2, _TRAINED_SIZES[-1] + 1)
        told = np.array([recovery_probability(int(n), np.array([_TRAINED_K, *_COMPARED])) for n in sizes])
        names = [_series(k) for k in (_TRAINED_K, *_COMPARED)]
        needed = np.array([float(examples_needed(float(k), failure=_FAILURE)) for k in many])
        curves = (
            fig.Curve("start", _PRETRAINED, few, 1 / few),
            *(fig.Curve("examples", name, sizes.astype(float), told[:, i]) for i, name in enumerate(names)),
            fig.Curve("needed", _NEEDED, many, needed),
            fig.Curve("needed", _SUFFICIENT, many, sufficient_examples(many, failure=_FAILURE), dashed=True),
        )
        features = "features k that solve the source"
        panels = (
            fig.Panel(
                "start",
                "One random start; line: 1/k",
                features,
                "share with the shared feature",
                x_log=True,
                shares=True,
            ),
            fig.Panel("examples", "The shared feature is found", "target examples n", "share of samples", shares=True),
            fig.Panel("needed", f"Failure at most {_FAILURE:g}", features, "target examples n", x_log=True),
        )
        return fig.Theory(panels, curves)

    def points(self) -> tuple[fig.Point, ...]:
        """Return random starts for each k, compared features for each n, and networks trained from several starts."""
        pretrained = [fig.Point("start", _PRETRAINED, float(k), 1 / k, group="pretraining") for k in _FEATURES]
        single = [fig.Point("start", _SINGLE, float(k), group="MeRLin") for k in _FEATURES]
        best = [fig.Point("examples", _BEST, float(n), group="MeRLin") for n in _TRAINED_SIZES]
        compared = [
            fig.Point("examples", _series(k), float(n), float(recovery_probability(n, k)), {"k": k}, group=_series(k))
            for k in _COMPARED
            for n in _SIZES
        ]
        return (*pretrained, *single, *compared, *best)

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Train all networks of one way together; compare features one sample size at a time."""
        if points[0].group == "pretraining":
            return self._pretrained(points)
        if points[0].group == "MeRLin":
            return self._trained(points)
        return tuple(
            _share(_shared_feature_told(point.seed, int(point.x), int(point.parameters["k"]), self.samples))
            for point in points
        )

    def conclude(self, simulated: Sequence[fig.Simulated]) -> fig.Conclusion:
        """Return the number of pretraining starts that ended at a source minimum."""
        own = [mean.n for mean in fig.simulated_means(simulated, "start", _PRETRAINED).values()]
        if not own:
            return fig.Conclusion("")
        return fig.Conclusion(
            f"{sum(own)} of {self.starts * len(own)} starts of pretraining ended at a source minimum and are counted; "
            "the others ended between two features"
        )

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims on 1/k, log k and random starts."""
        short = f"{self.steps} steps do not end at a minimum." if self.steps < _LEAST_STEPS else ""
        return (
            fig.Claim(
                "pretraining from a random start has the shared feature with probability 1/k (within 3 standard "
                "errors), and so a loss of 10/27 or more with probability 1 − 1/k",
                "merlin2020, Theorem 1",
                _one_in_k,
                short,
            ),
            fig.Claim(
                "the target examples that tell the shared feature grow as log k: from 10 features on, each factor of "
                "ten takes 4 more (3.4 to 4.4)",
                "merlin2020, Theorem 2: more than Θ(log(k/ξ))",
                _grows_as_log_k,
            ),
            fig.Claim(
                "the constants in the proof are enough for every k, and three times too large up to 1,000 features",
                "merlin2020, proof of Theorem 2",
                _more_than_enough,
            ),
            fig.Claim(
                f"with {_ENOUGH} target examples the best of several random starts by MeRLin's training objective has "
                "the shared feature in nine data sets of ten or more",
                "merlin2020, Theorem 2, for gradient descent",
                lambda drawn: drawn.points("examples", _BEST)[_ENOUGH].value >= 0.9,
                short or (f"{self.restarts} starts are few." if self.restarts < _FEWEST_RESTARTS else ""),
            ),
            fig.Claim(
                "a single random start of MeRLin is not enough, the less the more features solve the source: its share "
                "falls to less than half from 2 to 16 of them",
                "beyond merlin2020, whose Theorem 2 is about minimisers",
                _falls_by_half,
                short,
            ),
        )

    def _pretrained(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        shares = []
        seeds = [seed for point in points for seed in range(point.seed, point.seed + self.starts)]
        ks = [int(point.x) for point in points for _ in range(self.starts)]
        data = draw_targets(QuadraticProblem(self.d, 1), _ENOUGH, seeds, n_signal=ks)
        run = pretrain(data, noisy_start(seeds, self.d, width=_WIDTH, noise=_NOISE), self._settings(_PRETRAINING_RATE))
        reached = run.objective <= _AT_MINIMUM * float(source_minimum(_PENALTY).value)
        for i in range(len(points)):
            rows = slice(i * self.starts, (i + 1) * self.starts)
            shares.append(_share((run.target_loss[rows] < _FOUND)[reached[rows]]))
        return tuple(shares)

    def _trained(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Simulate all starts in one descent; those of one data set share a sample."""
        sizes: list[int] = []
        sources: list[int] = []
        samples: list[int] = []
        starts: list[int] = []
        ends = [0]
        for point in points:
            single = point.series == _SINGLE
            n_samples, n_starts = (max(1, self.starts // 3), 1) if single else (self.data_sets, self.restarts)
            rows = n_samples * n_starts
            sizes += [_ENOUGH if single else int(point.x)] * rows
            sources += [int(point.x) if single else _TRAINED_K] * rows
            samples += [point.seed + i // n_starts for i in range(rows)]
            starts += range(point.seed, point.seed + rows)
            ends.append(ends[-1] + rows)
        data = draw_targets(QuadraticProblem(self.d, 1), sizes, samples, n_signal=sources)
        start = noisy_start(starts, self.d, width=_WIDTH, noise=_NOISE)
        settings = replace(self._settings(_MERLIN_RATE), source_only=self.steps // 6)
        run = merlin(data, start, settings)
        shares = []
        for point, first, last in zip(points, ends, ends[1:], strict=False):
            n_starts = 1 if point.series == _SINGLE else self.restarts
            chosen = first + best_restarts(run.objective[first:last], n_starts)
            shares.append(_share(run.target_loss[chosen] < _FOUND))
        return tuple(shares)

    def _settings(self, rate: float) -> QuadraticSettings:
        return QuadraticSettings(penalty=_PENALTY, inner_ridge=_RIDGE, n_splits=_SPLITS, steps=self.steps, lr=rate)


_LEAST_STEPS = 600
_FEWEST_RESTARTS = 5


def _series(k: int) -> str:
    return f"k = {k}"


def _share(outcomes: np.ndarray) -> Estimate:
    """Return a share of successes; its standard error adds one success and one failure, so it is never 0."""
    n, successes = len(outcomes), int(np.sum(outcomes))
    if n == 0:
        return Estimate.missing("max_steps", 0)
    drawn_in = (successes + 1) / (n + 2)
    return Estimate(successes / n, math.sqrt(drawn_in * (1 - drawn_in) / n), n, "converged")


def _shared_feature_told(seed: int, n: int, k: int, samples: int) -> np.ndarray:
    """Return whether the shared feature alone has the least validation loss, for each sample: every half is fitted."""
    fit = np.zeros((math.comb(n, n // 2), n))
    for row, chosen in zip(fit, itertools.combinations(range(n), n // 2), strict=True):
        row[list(chosen)] = 1
    problem, stream = QuadraticProblem(k, 1), generator(seed, _SAMPLES)
    told = []
    together = max(1, _ENTRIES // (len(fit) * k))
    for first in range(0, samples, together):
        drawn = [problem.sample(n, stream) for _ in range(min(together, samples - first))]
        features = np.stack([sample.inputs**2 for sample in drawn])
        labels = np.stack([sample.targets for sample in drawn])[:, :, None]
        told.append(_told(features, labels, fit))
    return np.concatenate(told)


def _told(features: np.ndarray, labels: np.ndarray, fit: np.ndarray) -> np.ndarray:
    """Return the same for features (samples, n, k) of 0 and 1, labels (samples, n, 1) and fitted halves (halves, n)."""
    check = 1 - fit
    both = features * labels
    head = fit @ both / np.maximum(fit @ features, 1)  # least squares on a feature of 0 and 1; 0 if it is never 1
    losses = (check @ labels - 2 * head * (check @ both) + head**2 * (check @ features)).mean(1)
    shared = (features == labels).all(1)
    own, others = (np.where(mask, losses, np.inf).min(1) for mask in (shared, ~shared))
    told: np.ndarray = (shared.sum(1) == 1) & (own + 1e-12 < others)
    return told


def _one_in_k(drawn: fig.Drawn) -> bool:
    shares = drawn.points("start", _PRETRAINED)
    return all(abs(mean.value - 1 / k) <= 3 * (mean.stderr or 0.0) for k, mean in shares.items())


def _falls_by_half(drawn: fig.Drawn) -> bool:
    shares = drawn.points("start", _SINGLE)
    return shares[_FEATURES[-1]].value < shares[_FEATURES[0]].value / 2


def _more_than_enough(drawn: fig.Drawn) -> bool:
    needed, enough = drawn.line("needed", _NEEDED), drawn.line("needed", _SUFFICIENT, dashed=True)
    few = needed.x <= 1000
    return bool((enough.y >= needed.y).all()) and bool((enough.y > 3 * needed.y)[few].all())


def _grows_as_log_k(drawn: fig.Drawn) -> bool:
    line = drawn.line("needed", _NEEDED)
    counted = line.x >= 10
    slope = np.polyfit(np.log10(line.x[counted]), line.y[counted], 1)[0]
    return bool((np.diff(line.y) >= 0).all() and 3.4 <= slope <= 4.4)
