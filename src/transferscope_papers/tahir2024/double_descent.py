"""The peak of training from scratch at n near d, the cause of positive transfer there in the diagrams of tahir2024."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from transferscope.estimate import Estimate
from transferscope_papers import figure as fig
from transferscope_papers.linear_teachers import LinearTeachersFigure, Training, Way
from transferscope_papers.parameters import Numbers
from transferscope_papers.problems import Covariance, LinearTeacher, power_law_covariance, teachers_at_angle
from transferscope_papers.simulate.outcomes import mean_estimate
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.theory.gaussian_regression import regression_from_scratch, ridge_weights
from transferscope_papers.theory.linear_scratch import scratch_risk, scratch_risk_finite
from transferscope_papers.theory.linear_transfer import linear_transfer_risk

_SCRATCH, _RIDGED, _TRANSFER = "from scratch", "from scratch, best ridge", "linear transfer"
_SOLVED = (_SCRATCH, _RIDGED)
"""Learners with a direct solution."""
_GAMMAS = (0.2, 0.4, 0.6, 0.75, 0.85, 1.15, 1.3, 1.5, 1.75, 2.0)
_APART = 6
"""Least simulated |n - d|: from 4 on the risk has a variance, so that a mean of few samples is reliable."""
_PEAKED = 0.8
"""n/d at which the limit of many inputs is compared with simulations of growing d."""
_SIZES = (40, 60, 100, 160)
_MORE = 3
"""Factor on the number of draws, to resolve a few per cent."""
_DEPTH = 2
_TEACHERS = 900
"""Random stream of the teachers of inputs with unequal variances."""


@dataclass(frozen=True)
class DoubleDescentFigure(LinearTeachersFigure):
    """Risks around n = d: trained networks, the exact means, and the limit of many inputs elsewhere.

    For inputs of equal variance the mean risk is exact at every n and d, by the moments of inverse Wishart matrices.
    For variances 1/i (of mean 1) without a ridge it is exact for n > d + 1; for n < d it is the deterministic
    equivalent, which is too low near the peak. The last panel shows by how much.

    Attributes:
        theta: Angle between the teachers in radians; at pi/2 the source is uninformative about the target.
    """

    d: int = fig.setting(100, fig.Range(20, 200), quick=40)
    seeds: int = fig.setting(1000, fig.Range(2, 10_000), quick=200)
    theta: float = fig.setting(math.pi / 2, fig.Range(0, math.pi / 2))
    sigma: float = fig.setting(0.5, fig.SIGMA)

    name: ClassVar[str] = "tahir2024-double-descent"

    def theory(self) -> fig.Theory:
        """Return risks against n/d for equal and unequal variances, and where the limit is exact."""
        sizes = np.arange(3, 2 * self.d + 1, dtype=np.float64)
        gamma, fine = sizes / self.d, np.linspace(0.02, 2, 397)
        transfer = linear_transfer_risk(self.theta, sizes, sigma=self.sigma)
        equal = teachers_at_angle(self.d, theta=self.theta, sigma=self.sigma).target
        unequal = _unequal(self.d, self.sigma)
        curves = [
            fig.Curve("equal", _SCRATCH, gamma, scratch_risk_finite(sizes, self.d, sigma=self.sigma)),
            fig.Curve("equal", _SCRATCH, fine, scratch_risk(fine, sigma=self.sigma), dashed=True),
            fig.Curve("equal", _RIDGED, gamma, _risk(equal, _RIDGED, sizes), dashed=True),
            fig.Curve("equal", _TRANSFER, gamma, transfer),
        ]
        regression = regression_from_scratch(unequal)
        exact = regression.is_exact(sizes)
        curves += [
            fig.Curve("unequal", _SCRATCH, gamma[some], regression.risk(sizes[some]), dashed)
            for some, dashed in ((exact, False), (~exact, True))
        ]
        few = np.geomspace(3, 2 * self.d, 16)  # the best ridge needs a search
        curves.append(fig.Curve("unequal", _RIDGED, few / self.d, _risk(unequal, _RIDGED, few), dashed=True))
        curves.append(fig.Curve("limit", "the limit itself", np.array([40.0, 160.0]), np.zeros(2), dashed=True))
        off = f"mean risk / limit − 1, n = {_PEAKED:g} d"
        panels = (
            fig.Panel("equal", f"Equal variances, d = {self.d}, σ = {self.sigma:g}", "n/d", "risk", y_log=True),
            fig.Panel("unequal", "Variances 1/i; dashed: limit of many inputs", "n/d", "risk", y_log=True),
            fig.Panel("limit", "The limit without a ridge is too low at n < d", "inputs d", off, x_log=True),
        )
        return fig.Theory(panels, tuple(curves))

    def points(self) -> tuple[fig.Point, ...]:
        """Return points on both sides of the peak, and at growing d near it."""
        planned = []
        sizes = [n for n in (round(gamma * self.d) for gamma in _GAMMAS) if abs(n - self.d) >= _APART]
        task = _unequal(self.d, self.sigma)
        for n in sizes:
            x = n / self.d
            scratch = float(scratch_risk_finite(n, self.d, sigma=self.sigma))
            planned.append(fig.Point("equal", _SCRATCH, x, scratch, {"n": n}))
            transfer = float(linear_transfer_risk(self.theta, n, sigma=self.sigma))
            planned.append(fig.Point("equal", _TRANSFER, x, transfer, {"n": n}))
        for n in sizes:
            exact = bool(regression_from_scratch(task).is_exact(n))
            for name in _SOLVED:
                expected = float(_risk(task, name, n)) if exact and name == _SCRATCH else math.nan
                planned.append(fig.Point("unequal", name, n / self.d, expected, {"n": n, "d": self.d}))
        growing = [(d, name) for d in _SIZES for name in _SOLVED]
        own = [fig.Point("limit", name, float(d), parameters={"n": round(_PEAKED * d), "d": d}) for d, name in growing]
        return (*planned, *own)

    def groups(self) -> list[list[fig.Point]]:
        """Group trained networks together, and solved learners by their inputs."""
        solved: dict[tuple[str, float], list[fig.Point]] = {}
        for point in self.points():
            if point.panel != "equal":
                solved.setdefault((point.panel, point.x), []).append(point)
        trained = self.trained_together([point for point in self.points() if point.panel == "equal"])
        return [*trained, *solved.values()]

    def training(self, point: fig.Point) -> Training:
        """Return training of two-layer networks, from scratch or on frozen features."""
        pair = teachers_at_angle(self.d, theta=self.theta, sigma=self.sigma)
        way = Way(_DEPTH, _DEPTH - 1) if point.series == _TRANSFER else Way(_DEPTH, shows="scratch")
        return Training(pair, int(point.parameters["n"]), way)

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Simulate trained networks, or least squares and the best ridge on the same samples."""
        if points[0].panel == "equal":
            return super().simulate(points)
        n, d = (int(points[0].parameters[name]) for name in ("n", "d"))
        draws = self.seeds * (_MORE if points[0].panel == "limit" else 1)
        task, risks = _unequal(d, self.sigma), np.empty((len(points), draws))
        ridges = {point.series: float(_ridge(task, point.series, n)) for point in points}
        for k in range(draws):
            sample = task.sample(n, generator(points[0].seed + k))
            for i, point in enumerate(points):
                risks[i, k] = task.risk(ridge_weights(sample.inputs, sample.targets, ridges[point.series]))
        if points[0].panel == "limit":
            limits = [float(_risk(task, point.series, n)) for point in points]
            risks = risks / np.array(limits)[:, None] - 1
        return tuple(mean_estimate(row) for row in risks)

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims on the peak, its effect on transferability, its cure, and the error of the limit."""
        noisy = "" if self.sigma >= _NOISY else f"Without noise there is no peak (here σ = {self.sigma:g})."
        theta = self.unlike_the_paper("theta", says="It was found at")
        return (
            fig.Claim(
                "the risk of trained networks from scratch has a peak at n = d: it falls first, rises towards d and "
                "falls beyond",
                "tahir2024, Theorem 3.6: double descent",
                _has_a_peak,
                noisy,
            ),
            fig.Claim(
                "next to the peak a source that says nothing (θ = π/2) transfers positively, and negatively at n = 2 d",
                "tahir2024, section 3.3: anomalous positive transfer",
                _anomalous,
                noisy or theta,
            ),
            fig.Claim(
                "with the best ridge there is no peak, for equal and for unequal variances",
                "beyond tahir2024, whose learners have no ridge",
                _cured,
            ),
            fig.Claim(
                f"without a ridge the limit of many inputs is too low at n = {_PEAKED:g} d, by less the more inputs; "
                "with the best ridge it is within 5 %",
                "beyond tahir2024, section 3.3: Hastie et al. 2022, Theorem 5",
                _limit_is_too_low,
                noisy,
            ),
        )


_NOISY = 0.2
"""Least label noise at which the peak is visible."""


@lru_cache(maxsize=16)
def _unequal(d: int, sigma: float) -> LinearTeacher:
    """Return a teacher in a random direction, inputs with variances 1/i scaled to a mean of 1."""
    variances = power_law_covariance(d, exponent=1).eigenvalues
    inputs = Covariance(variances / variances.mean())
    pair = teachers_at_angle(d, theta=0.0, sigma=sigma, covariance=inputs, generator=generator(d, _TEACHERS))
    return pair.target


def _ridge(task: LinearTeacher, learner: str, n: Numbers) -> np.ndarray:
    """Return lambda of a learner at each n."""
    return regression_from_scratch(task).best_ridge(n) if learner == _RIDGED else np.zeros(np.shape(n))


def _risk(task: LinearTeacher, learner: str, n: Numbers) -> np.ndarray:
    return regression_from_scratch(task).risk(n, _ridge(task, learner, n))


def _has_a_peak(drawn: fig.Drawn) -> bool:
    risks = {x: mean.value for x, mean in drawn.points("equal", _SCRATCH).items()}
    below, above = ([value for x, value in risks.items() if (x < 1) == side] for side in (True, False))
    falls = all(first > second for first, second in itertools.pairwise(above))
    return falls and below[0] > min(below) < below[-1] and max(risks.values()) in (below[-1], above[0])


def _anomalous(drawn: fig.Drawn) -> bool:
    scratch, transfer = (drawn.points("equal", name) for name in (_SCRATCH, _TRANSFER))
    gains = {x: scratch[x].value - transfer[x].value for x in scratch}
    nearest = min(gains, key=lambda x: abs(math.log(x)))
    return gains[nearest] > 0 > gains[max(gains)]


def _cured(drawn: fig.Drawn) -> bool:
    line, points = drawn.line("equal", _RIDGED, dashed=True).y, drawn.points("unequal", _RIDGED)
    values = [mean.value for mean in points.values()]
    return bool((np.diff(line) < 0).all()) and all(a > b for a, b in itertools.pairwise(values))


def _limit_is_too_low(drawn: fig.Drawn) -> bool:
    off, ridged = (list(drawn.points("limit", name).values()) for name in (_SCRATCH, _RIDGED))
    low = off[0].value > off[-1].value and all(mean.value > 0 or not fig.clear_sign(mean) for mean in off)
    return low and fig.clear_sign(off[0]) and all(abs(mean.value) <= 0.05 for mean in ridged)
