"""Linear transfer against training from scratch: tahir2024 Figures 1, 2, 5, 6 and 7."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

import numpy as np

from transferscope.estimate import Estimate
from transferscope_papers import figure as fig
from transferscope_papers.linear_teachers import LinearTeachersFigure, Training, Way
from transferscope_papers.problems import LinearTransfer, teachers_at_angle
from transferscope_papers.simulate.linear_transfer import draw, perfectly_pretrained, ridge_transfer
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.tahir2024.sampled_distance import reduced, sampled_bracket
from transferscope_papers.theory.distances import kl_divergence, wasserstein_1
from transferscope_papers.theory.linear_transfer import (
    linear_transferability,
    linear_transferability_finite,
    negative_transfer,
)
from transferscope_papers.theory.ridge import optimal_ridge, ridge_risk, ridge_risk_limit

ANGLES = {"θ = π/8": math.pi / 8, "θ = π/4": math.pi / 4, "θ = 3π/8": 3 * math.pi / 8}
"""The slices of tahir2024's diagrams."""

AXES = ("θ (radians)", "γ = n/d")
"""Axis labels of the diagrams."""

_GAMMAS = (0.15, 0.25, 0.4, 0.55, 0.7, 1.35, 1.6, 1.85)
"""Simulated n/d of the slices, away from the peak at 1."""
_AT_PEAK = (0.85, 0.9, 1.1, 1.2)
"""Simulated n/d beside the peak, where the risk from scratch has a variance, |n - d| > 3, at the quick d."""

_HEAVY_TAILED = 3
"""Up to this |n - d| the risk from scratch has no variance (the inverse of a Wishart matrix has none)."""
_DEPTH = 2
_GAIN = Way(_DEPTH, _DEPTH - 1, "gain")
_POINTS, _W1 = 500, 620
"""Number of samples for W1, and their random stream."""
_FEW = 12
_RIDGES = np.linspace(0, 0.7, 141)


@dataclass(frozen=True)
class SlicedDiagram(LinearTeachersFigure):
    """A diagram of transferability over angle and n/d, simulated along three slices of constant angle."""

    sigma: float = fig.setting(0.2, fig.SIGMA)

    @abstractmethod
    def expected(self, theta: float, n: float) -> float:
        """Return the mean transferability over samples."""

    def pair(self, theta: float) -> LinearTransfer:
        """Return the teachers at an angle."""
        return teachers_at_angle(self.d, theta=theta, sigma=self.sigma)

    def points(self) -> tuple[fig.Point, ...]:
        """Return three slices."""
        return self.along_slices(_GAMMAS)

    def along_slices(self, gammas: Sequence[float]) -> tuple[fig.Point, ...]:
        """Return points on every slice at these n/d."""
        return tuple(
            fig.Point("slices", name, n / self.d, self.expected(angle, n), {"theta": angle, "n": n})
            for name, angle in ANGLES.items()
            for n in (round(gamma * self.d) for gamma in gammas)
        )


@dataclass(frozen=True)
class LinearTransferDiagram(SlicedDiagram):
    """tahir2024 Figure 1: where linear transfer beats training from scratch."""

    name: ClassVar[str] = "tahir2024-fig1"

    def points(self) -> tuple[fig.Point, ...]:
        """Return three slices, including the part of the double-descent peak whose mean few samples determine."""
        away = self.along_slices(_GAMMAS)
        known = {(point.series, point.x) for point in away}
        near = [
            point
            for point in self.along_slices(_AT_PEAK)
            if abs(point.parameters["n"] - self.d) > _HEAVY_TAILED and (point.series, point.x) not in known
        ]
        return (*away, *near)

    def theory(self) -> fig.Theory:
        """Return the sign diagram of eq. 13 and its slices."""
        sizes = np.arange(3, 2 * self.d + 1, dtype=np.float64)
        curves = [fig.Curve("slices", name, sizes / self.d, self._gain(angle, sizes)) for name, angle in ANGLES.items()]
        panels = (
            fig.Panel("diagram", f"Transferability, σ = {self.sigma:g}", *AXES),
            fig.Panel("slices", f"Slices at d = {self.d}", "γ = n/d", "transferability", y_limits=(-1, 1)),
        )
        return fig.Theory(panels, tuple(curves), (_diagram("diagram", self.sigma),))

    def training(self, point: fig.Point) -> Training:
        """Return training of two-layer networks, from scratch and on frozen features."""
        return Training(self.pair(point.parameters["theta"]), int(point.parameters["n"]), _GAIN)

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims on where transfer is negative, and on positive transfer between."""
        noisy = "" if 0 < self.sigma < 1 else "This is about label noise between 0 and the norm of the target."
        return (
            fig.Claim(
                "with more examples than inputs transfer is negative exactly where γ − 1 > σ²/sin²θ",
                "tahir2024, section 3.3, with Figure 1b",
                lambda drawn: _negative_where(drawn, self._negative, low=1.0),
            ),
            fig.Claim(
                "with fewer, it is negative only for σ < 1, θ > arccos(1 − σ) and γ between γ₋ and γ₊",
                "tahir2024, section 3.3, with Figure 1b",
                lambda drawn: _negative_where(drawn, self._negative, high=1.0),
            ),
            fig.Claim(
                "both regions are separated by positive transfer that persists at θ = π/2",
                "tahir2024, section 3.3: anomalous positive transfer",
                _separated_at_right_angles,
                noisy,
            ),
            fig.Claim(
                "trained networks transfer negatively where the diagram says so, and positively elsewhere",
                "tahir2024, Figure 1c",
                lambda drawn: drawn.signs_agree("slices"),
            ),
        )

    def _negative(self, theta: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        region = negative_transfer(theta, sigma=self.sigma)
        return np.asarray((region.lower < gamma) & (gamma < region.upper) | (gamma > region.from_above))

    def expected(self, theta: float, n: float) -> float:
        """Return the closed form at finite n and d."""
        return float(self._gain(theta, float(n)))

    def _gain(self, angle: float, n: float | np.ndarray) -> np.ndarray:
        return linear_transferability_finite(angle, n, self.d, sigma=self.sigma)


_BORDER = 1e-9


def _diagram(panel: str, sigma: float) -> fig.Diagram:
    gamma, theta = np.linspace(0.01, 2, 200), np.linspace(0, math.pi / 2, 200)
    return fig.Diagram(panel, theta, gamma, linear_transferability(theta, gamma[:, None], sigma=sigma))


def _negative_where(
    drawn: fig.Drawn,
    negative: Callable[[np.ndarray, np.ndarray], np.ndarray],
    *,
    low: float = 0.0,
    high: float = math.inf,
) -> bool:
    """Return whether the map is negative exactly where a rule predicts, for gamma between two values."""
    diagram = drawn.map("diagram")
    theta, gamma = np.meshgrid(diagram.x, diagram.y)
    counted = (gamma > low) & (gamma < high) & (np.abs(diagram.values) > _BORDER)
    return bool((negative(theta, gamma) == (diagram.values < 0))[counted].all())


def _separated_at_right_angles(drawn: fig.Drawn) -> bool:
    """Return whether the last column of the map is negative, positive around gamma = 1, and negative again."""
    diagram = drawn.map("diagram")
    gains = diagram.values[:, -1]
    signs = np.sign(gains[np.abs(gains) > _BORDER])
    changes = signs[np.flatnonzero(np.diff(signs, prepend=0.0))]
    return changes.tolist() == [-1.0, 1.0, -1.0] and float(gains[np.argmin(np.abs(diagram.y - 1))]) > _BORDER


@dataclass(frozen=True)
class NoiselessDiagram(LinearTransferDiagram):
    """tahir2024 Figure 6: the same without label noise, where transfer is always negative for n > d."""

    sigma: float = fig.setting(0.0, fig.SIGMA)

    name: ClassVar[str] = "tahir2024-fig6"

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims on where transfer is negative without noise."""
        changed = self.unlike_the_paper("sigma")
        return (
            fig.Claim(
                "transfer is always negative with more examples than inputs",
                "tahir2024, Figure 6",
                lambda drawn: _negative_where(drawn, lambda theta, gamma: theta > 0, low=1.0),
                changed,
            ),
            fig.Claim(
                "with fewer, it is negative exactly where cos²θ < γ",
                "tahir2024, section 3.3",
                lambda drawn: _negative_where(drawn, lambda theta, gamma: np.cos(theta) ** 2 < gamma, high=1.0),
                changed,
            ),
            fig.Claim(
                "trained networks have the signs of the diagram",
                "tahir2024, Figure 6c",
                lambda drawn: drawn.signs_agree("slices"),
            ),
        )


@dataclass(frozen=True)
class SimulatedDiagram(LinearTeachersFigure):
    """tahir2024 Figure 7: the noiseless diagram, computed and simulated.

    Attributes:
        seeds: Target samples per point; the error of the head is a chi-square of one degree over n, so that few seeds
            give skewed means and too large scores.
        grid: Simulated points along each axis, at least 2.
    """

    d: int = fig.setting(500, fig.D, quick=50)
    seeds: int = fig.setting(20, fig.SEEDS, quick=100)
    grid: int = fig.setting(12, fig.Range(2, 100), quick=6)

    name: ClassVar[str] = "tahir2024-fig7"

    def theory(self) -> fig.Theory:
        """Return the diagram on a fine grid."""
        panels = (
            fig.Panel("theory", "Transferability, σ = 0: theory", *AXES),
            fig.Panel("simulation", f"Simulation, d = {self.d}", *AXES),
        )
        return fig.Theory(panels, diagrams=(_diagram("theory", 0.0),))

    def points(self) -> tuple[fig.Point, ...]:
        """Return a grid without gamma = 1, where gradient descent is too slow."""
        gammas = np.concatenate([np.linspace(0.1, 0.8, self.grid // 2), np.linspace(1.3, 1.95, self.grid // 2)])
        sizes = [round(gamma * self.d) for gamma in gammas]
        return tuple(
            fig.Point(
                "simulation",
                "simulation",
                float(theta),
                float(linear_transferability_finite(theta, n, self.d, sigma=0.0)),
                {"n": n},
                y=n / self.d,
            )
            for theta in np.linspace(0.05, math.pi / 2, self.grid)
            for n in sizes
        )

    def training(self, point: fig.Point) -> Training:
        """Return training of two-layer networks, from scratch and on frozen features."""
        return Training(teachers_at_angle(self.d, theta=point.x), int(point.parameters["n"]), _GAIN)

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return the claim that the simulated diagram equals the computed one."""
        return (
            fig.Claim(
                "simulated transferabilities have the signs of the diagram",
                "tahir2024, Figure 7",
                lambda drawn: drawn.signs_agree("simulation"),
            ),
            fig.Claim(
                "the simulated diagram is shaded as the computed one (correlation of the values above 0.95)",
                "tahir2024, Figure 7",
                _alike,
            ),
        )


def _alike(drawn: fig.Drawn) -> bool:
    values = np.array([(item.point.expected, item.estimate.value) for item in drawn.simulated])
    if len(values) < len(drawn.planned) or not np.isfinite(values).all():
        raise LookupError("simulated points are missing")
    return float(np.corrcoef(values.T)[0, 1]) > 0.95


@dataclass(frozen=True)
class RidgeFigure(LinearTeachersFigure):
    """tahir2024 Figure 2: a ridge on the head does not help with many data, and helps a little with few."""

    seeds: int = fig.setting(400, fig.SEEDS)
    n: int = fig.setting(250, fig.Range(3, 100_000), quick=30)
    theta: float = fig.setting(math.pi / 8, fig.Range(0, 1.5))
    sigma: float = fig.setting(0.2, fig.SIGMA)

    name: ClassVar[str] = "tahir2024-fig2"

    def theory(self) -> fig.Theory:
        """Return the exact risk, the limit of the paper, and a small sample for which the best ridge is not 0."""
        ridge = _RIDGES
        curves = (
            fig.Curve("risk", _size(self.n), ridge, ridge_risk(ridge, self.theta, self.n, sigma=self.sigma)),
            fig.Curve("risk", "limit n → ∞", ridge, ridge_risk_limit(ridge, self.theta), dashed=True),
            fig.Curve("few", _size(_FEW), ridge, ridge_risk(ridge, self.theta, _FEW, sigma=self.sigma)),
        )
        best = float(optimal_ridge(self.theta, _FEW, sigma=self.sigma))
        panels = (
            fig.Panel("risk", f"θ = {self.theta:.3g} rad, σ = {self.sigma:g}", "ridge λ", "risk of linear transfer"),
            fig.Panel("few", f"{_FEW} examples: best at λ = {best:.3g}", "ridge λ", "risk of linear transfer"),
        )
        return fig.Theory(panels, curves)

    def points(self) -> tuple[fig.Point, ...]:
        """Return seven ridges for each sample size."""
        return tuple(
            fig.Point(panel, _size(n), lam, float(ridge_risk(lam, self.theta, n, sigma=self.sigma)), {"n": n})
            for panel, n in (("risk", self.n), ("few", _FEW))
            for lam in (0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7)
        )

    def groups(self) -> list[list[fig.Point]]:
        """Return each point alone: heads are solved for, not trained, so grouping saves no time."""
        return [[point] for point in self.points()]

    def training(self, point: fig.Point) -> Training:
        """Return a two-layer network with frozen features."""
        pair = teachers_at_angle(self.d, theta=self.theta, sigma=self.sigma)
        return Training(pair, int(point.parameters["n"]), Way(_DEPTH, _DEPTH - 1))

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Solve for the head of a pretrained two-layer network."""
        estimates = []
        for point in points:
            training, seeds = self.training(point), range(point.seed, point.seed + self.seeds)
            batch = draw([training.pair] * self.seeds, [training.n] * self.seeds, seeds)
            start = perfectly_pretrained(batch, depth=training.way.depth)
            estimates.append(ridge_transfer(batch, start, ridge=point.x).means(self.seeds)[0])
        return tuple(estimates)

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims that a ridge harms in the limit, but not with few examples, which the paper omits."""
        series, best = _size(self.n), float(optimal_ridge(self.theta, self.n, sigma=self.sigma))
        known = f"With {self.n} examples the best ridge is {best:.2g} rather than 0 (errata, tahir2024 Theorem 3.8)."
        return (
            fig.Claim(
                "the risk increases strictly with the ridge when data are endless",
                "tahir2024, Theorem 3.8",
                lambda drawn: _increases(drawn.line("risk", "limit n → ∞", dashed=True).y),
            ),
            fig.Claim(
                "the risk increases strictly with the ridge, so that the best ridge is 0",
                "tahir2024, Figure 2",
                lambda drawn: _increases(drawn.line("risk", series).y),
                known if best > _RIDGES[1] / 2 else "",
            ),
            fig.Claim(
                "the simulated risk increases with the ridge from 0.1 on",
                "tahir2024, Figure 2",
                lambda drawn: _increases([m.value for x, m in drawn.points("risk", series).items() if x >= 0.1]),
                "" if best < 0.1 else known,
            ),
            fig.Claim(
                f"with {_FEW} examples the risk falls first, so that the best ridge is above 0",
                "corrects tahir2024, Theorem 3.8",
                lambda drawn: int(np.argmin(drawn.line("few", _size(_FEW)).y)) > 0,
                "" if self.theta > 0 or self.sigma > 0 else "Nothing is noise here.",
            ),
        )


def _increases(values: Sequence[float] | np.ndarray) -> bool:
    return bool((np.diff(values) > 0).all())


@dataclass(frozen=True)
class DistanceFigure(LinearTeachersFigure):
    """tahir2024 Figure 5: distances between the data of two tasks do not predict whether transfer helps.

    Every curve is one sample size, parametrised by the angle between the teachers: transferability varies freely at a
    given distance. W1 has no closed form: lines are a lower bound (dashed) and an upper bound, from samples in the
    plane of the teachers if they are narrower than the certified bounds. The paper's axis (526 to 529) is the bias of a
    sample estimate in 500 dimensions.
    """

    sigma: float = fig.setting(0.2, fig.Range(0.01, 10))

    name: ClassVar[str] = "tahir2024-fig5"

    def theory(self) -> fig.Theory:
        """Return transferability against KL and W1 for three sample sizes."""
        theta = np.linspace(0, math.pi, 181)
        kl, (lower, upper) = kl_divergence(theta, sigma=self.sigma), _w1(self.sigma, theta.tobytes())
        curves = []
        for n in self._sizes():
            values = linear_transferability_finite(theta, n, self.d, sigma=self.sigma)
            curves += [fig.Curve("kl", _size(n), kl, values), fig.Curve("w1", _size(n), upper, values)]
            curves.append(fig.Curve("w1", _size(n), lower, values, dashed=True))
        panels = (
            fig.Panel("kl", "Kullback-Leibler divergence", "KL(source, target) in nats", "transferability"),
            fig.Panel("w1", "Wasserstein distance", "W1(source, target), two bounds", "transferability"),
        )
        return fig.Theory(panels, tuple(curves))

    def points(self) -> tuple[fig.Point, ...]:
        """Return five angles per sample size."""
        return tuple(
            fig.Point(
                "kl",
                _size(n),
                float(kl_divergence(theta, sigma=self.sigma)),
                float(linear_transferability_finite(theta, n, self.d, sigma=self.sigma)),
                {"theta": theta, "n": n},
            )
            for n in self._sizes()
            for theta in (math.pi / 8, math.pi / 4, math.pi / 2, 3 * math.pi / 4, 7 * math.pi / 8)
        )

    def training(self, point: fig.Point) -> Training:
        """Return training of two-layer networks, from scratch and on frozen features."""
        pair = teachers_at_angle(self.d, theta=point.parameters["theta"], sigma=self.sigma)
        return Training(pair, int(point.parameters["n"]), _GAIN)

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return the claim that distances are not negatively correlated with transferability."""
        names = {"kl": "the Kullback-Leibler divergence", "w1": "W1"}
        noisy = "" if self.sigma <= 1 else "With so much noise transfer always helps."
        farthest = tuple(
            fig.Claim(
                f"the tasks that are farthest apart by {name} transfer as well as equal ones",
                "tahir2024, section 3.3 with Figure 5",
                partial(self._ends_alike, panel=panel),
            )
            for panel, name in names.items()
        )
        both_signs = tuple(
            fig.Claim(
                f"one distance by {name} goes with positive and with negative transfer",
                "tahir2024, Figure 5",
                partial(self._both_signs, panel=panel),
                noisy,
            )
            for panel, name in names.items()
        )
        return (*farthest, *both_signs)

    def _ends_alike(self, drawn: fig.Drawn, panel: str) -> bool:
        lines = [drawn.line(panel, _size(n)) for n in self._sizes()]
        ends = [(line.y[np.flatnonzero(line.x == line.x.max())[-1]], line.y[np.argmin(line.x)]) for line in lines]
        return all(math.isclose(far, near, abs_tol=_BORDER) for far, near in ends)

    def _both_signs(self, drawn: fig.Drawn, panel: str) -> bool:
        few, many = (drawn.line(panel, _size(n)).y for n in (self._sizes()[0], self._sizes()[-1]))
        return bool((few * many < 0).any())

    def _sizes(self) -> tuple[int, ...]:
        return tuple(round(gamma * self.d) for gamma in (0.2, 0.5, 1.5))


@cache
def _w1(sigma: float, angles: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of W1 at angles from 0 to pi: the better of the certified and the sampled ones."""
    theta = np.frombuffer(angles)
    known = wasserstein_1(theta, sigma=sigma)
    places = np.linspace(0, math.pi, 7)[1:]
    pairs = [reduced(teachers_at_angle(2, theta=place, sigma=sigma)) for place in places]
    brackets = [sampled_bracket(pair, _POINTS, generator(0, _W1)) for pair in pairs]

    def between(values: list[float]) -> np.ndarray:  # W1 is nearly proportional to the distance
        shares = np.array(values) / np.sin(places / 2)
        return np.asarray(np.interp(theta, places, shares) * np.sin(theta / 2))

    lower, upper = between([one.lower.value for one in brackets]), between([one.upper.value for one in brackets])
    lower[theta < places[0]] = 0.0  # samples of such similar tasks are uninformative
    bounds = np.maximum(lower, known[0]), np.minimum(upper, known[1])
    return np.maximum.accumulate(bounds[0]), np.maximum.accumulate(bounds[1])  # W1 increases with the angle


def _size(n: int) -> str:
    return f"n = {n}"
