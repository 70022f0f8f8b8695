"""Fine-tuning with linear teachers: 002 Figures 1, 2a, 2b and 3."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from transferscope.data.problems import LinearTransfer, teachers_apart, teachers_at_angle, two_level
from transferscope.records import Estimate
from transferscope.theory.figures.averages import ON_LINES, fine_tuned_average
from transferscope.theory.figures.figure import Curve, Panel, Point, Theory
from transferscope.theory.figures.linear_transfer import target_batch
from transferscope.theory.fine_tuning import fine_tuning_finite
from transferscope.theory.fine_tuning_bounds import deviation_bound, fine_tuning_bound
from transferscope.theory.linear_scratch import scratch_risk_finite
from transferscope.theory.linear_teachers import mean_fine_tuned_risk
from transferscope.theory.linear_transfer import linear_transfer_risk
from transferscope.theory.simulate.linear_transfer import fine_tuning as train_all
from transferscope.theory.simulate.linear_transfer import from_scratch, perfectly_pretrained


def fine_tuned(pair: LinearTransfer, n: int, point: Point, *, n_seeds: int, depth: int) -> Estimate:
    """Mean risk over samples after gradient descent on all layers from the pre-trained start."""
    batch = target_batch(pair, n, point, n_seeds)
    return train_all(batch, perfectly_pretrained(batch, depth=depth)).means(n_seeds)[0]


@dataclass(frozen=True)
class AlignmentFigure:
    """002 Figure 1: source and target that differ in the top or in the bottom eigenvectors of the inputs.

    Attributes:
        d: Number of inputs.
        n_top: Number of large eigenvalues (1.5, against 0.3 for the rest).
        seeds: Target samples per point.
    """

    d: int = 1000
    n_top: int = 50
    seeds: int = 10

    name: ClassVar[str] = "002-figure-1"
    title: ClassVar[str] = "Fine-tuned risk and where the teachers differ (002 Figure 1)"
    version: ClassVar[int] = 1
    quick: ClassVar[Mapping[str, float]] = {"d": 100, "n_top": 5, "seeds": 60}
    known_error: ClassVar[float] = 0.0

    def theory(self) -> Theory:
        """Mean risk over samples, and the bound of Theorem 4.2."""
        sizes = np.unique(np.round(np.linspace(0.02, 0.98, 49) * self.d).astype(int))
        curves = []
        for series in ("top aligned", "bottom aligned"):
            mean = np.array([self._expected(series, int(n)) for n in sizes])
            bound = np.array([self._bound(series, int(n)) for n in sizes])
            curves.append(Curve("risk", series, sizes.astype(float), mean))
            curves.append(Curve("bound", series, sizes.astype(float), bound, dashed=True))
        title = f"d = {self.d}, {self.n_top} eigenvalues of 1.5 above 0.3"
        panels = (
            Panel("risk", title, "target examples n", "risk after fine-tuning"),
            Panel("bound", "Bound of Theorem 4.2, best m, c = 3", "target examples n", "bound", y_log=True),
        )
        return Theory(panels, tuple(curves))

    def points(self) -> tuple[Point, ...]:
        """Six sizes for each alignment."""
        return tuple(
            Point("risk", series, float(n), self._expected(series, n))
            for series in ("top aligned", "bottom aligned")
            for n in (round(share * self.d) for share in (0.05, 0.15, 0.3, 0.5, 0.7, 0.85))
        )

    def simulate(self, point: Point) -> Estimate:
        """Train linear regression from the source's weights."""
        return fine_tuned(self._pair(point.series), int(point.x), point, n_seeds=self.seeds, depth=1)

    def _pair(self, series: str) -> LinearTransfer:
        covariance = two_level(self.d, n_top=self.n_top)
        return teachers_apart(self._difference(series), source=np.eye(self.d)[0], covariance=covariance)

    def _difference(self, series: str) -> np.ndarray:
        """A unit vector spread over the directions in which the teachers differ."""
        difference = np.zeros(self.d)
        where = slice(self.n_top, None) if series == "top aligned" else slice(None, self.n_top)
        difference[where] = 1.0
        return np.asarray(difference / np.linalg.norm(difference))

    def _expected(self, series: str, n: int) -> float:
        return mean_fine_tuned_risk(self._difference(series), two_level(self.d, n_top=self.n_top), n)

    def _bound(self, series: str, n: int) -> float:
        covariance = two_level(self.d, n_top=self.n_top)
        deviation = deviation_bound(covariance.eigenvalues, n, constant=3)
        return float(fine_tuning_bound(self._difference(series), covariance, deviation=deviation).values.min())


DEPTHS = (1, 2, 3, 5)
"""Depths that are simulated in Figure 2a; infinite depth is drawn as a line."""


@dataclass(frozen=True)
class DepthFigure:
    """002 Figure 2a: a target that is a noisy multiple of the source, fine-tuned at several depths with n = d/10.

    Attributes:
        d: Number of inputs.
        noise: Norm of what is added to the multiple, relative to the source.
        seeds: Target samples per point.
    """

    d: int = 500
    noise: float = 0.5
    seeds: int = 20

    name: ClassVar[str] = "002-figure-2a"
    title: ClassVar[str] = "Depth and the scale of the target (002 Figure 2a)"
    version: ClassVar[int] = 1
    quick: ClassVar[Mapping[str, float]] = {"d": 100, "seeds": 40}
    known_error: ClassVar[float] = 0.0

    def theory(self) -> Theory:
        """Risk against the multiple for every depth."""
        alpha = np.linspace(0.2, 4, 77)
        curves = tuple(
            Curve("risk", _layers(depth), alpha, np.array([self._risk(x, depth, ON_LINES) for x in alpha]))
            for depth in (*DEPTHS, math.inf)
        )
        title = f"target = α source + noise of norm {self.noise:g}; n = {self._n}, d = {self.d}"
        return Theory((Panel("risk", title, "scale α", "risk after fine-tuning"),), curves)

    def points(self) -> tuple[Point, ...]:
        """Four multiples for each depth."""
        return tuple(
            Point("risk", _layers(depth), alpha, self._risk(alpha, depth), {"depth": depth})
            for depth in DEPTHS
            for alpha in (0.5, 1.0, 2.0, 3.5)
        )

    def simulate(self, point: Point) -> Estimate:
        """Train all layers from the source."""
        theta, norm = math.atan2(self.noise, point.x), math.hypot(self.noise, point.x)
        pair = teachers_at_angle(self.d, theta=theta, target_norm=norm)
        depth = int(point.parameters["depth"])
        return fine_tuned(pair, self._n, point, n_seeds=self.seeds, depth=depth)

    @property
    def _n(self) -> int:
        return round(self.d / 10)

    def _risk(self, alpha: float, depth: float, draws: int = 20_000) -> float:
        """The noise is orthogonal to the source, as it is in high dimension."""
        theta, norm = math.atan2(self.noise, alpha), math.hypot(self.noise, alpha)
        return fine_tuned_average(theta, self._n, self.d, target_norm=norm, depth=depth, draws=draws).risk.value


@dataclass(frozen=True)
class ScaleFigure:
    """002 Figure 2b: seven layers feel the norm of the target, and hardly that of the source.

    Attributes:
        d: Number of inputs.
        depth: Number of layers.
        apart: Distance of the two unit teachers, in [0, 2].
        seeds: Target samples per point.
    """

    d: int = 500
    depth: int = 7
    apart: float = 0.1
    seeds: int = 20

    name: ClassVar[str] = "002-figure-2b"
    title: ClassVar[str] = "Scaling the source or the target (002 Figure 2b)"
    version: ClassVar[int] = 1
    quick: ClassVar[Mapping[str, float]] = {"d": 100, "seeds": 40}
    known_error: ClassVar[float] = 0.0

    def theory(self) -> Theory:
        """Risk against the factor, for either teacher."""
        factors = np.linspace(0.25, 4, 76)
        curves = tuple(
            Curve("risk", series, factors, np.array([self._risk(series, factor, ON_LINES) for factor in factors]))
            for series in _SCALED
        )
        title = f"{self.depth} layers, n = {self._n}, d = {self.d}"
        return Theory((Panel("risk", title, "scaling factor", "risk after fine-tuning"),), curves)

    def points(self) -> tuple[Point, ...]:
        """Four factors for either teacher."""
        return tuple(
            Point("risk", series, factor, self._risk(series, factor))
            for series in _SCALED
            for factor in (0.5, 1.0, 2.0, 3.5)
        )

    def simulate(self, point: Point) -> Estimate:
        """Train all layers from the source."""
        source, target = (point.x, 1.0) if point.series == "source scaled" else (1.0, point.x)
        pair = teachers_at_angle(self.d, theta=self._theta, source_norm=source, target_norm=target)
        return fine_tuned(pair, self._n, point, n_seeds=self.seeds, depth=self.depth)

    @property
    def _n(self) -> int:
        return round(self.d / 10)

    @property
    def _theta(self) -> float:
        return 2 * math.asin(self.apart / 2)

    def _risk(self, series: str, factor: float, draws: int = 20_000) -> float:
        norms = {_SCALED[series]: factor}
        found = fine_tuned_average(self._theta, self._n, self.d, depth=self.depth, draws=draws, **norms)
        return found.risk.value


_SCALED = {"target scaled": "target_norm", "source scaled": "source_norm"}


@dataclass(frozen=True)
class FrozenFigure:
    """002 Figure 3: a frozen first layer never learns, however many target examples there are.

    Attributes:
        d: Number of inputs.
        theta: Angle between the teachers in radians.
        seeds: Target samples per point.
    """

    d: int = 500
    theta: float = math.pi / 4
    seeds: int = 20

    name: ClassVar[str] = "002-figure-3"
    title: ClassVar[str] = "Frozen, fine-tuned and from scratch (002 Figure 3)"
    version: ClassVar[int] = 1
    quick: ClassVar[Mapping[str, float]] = {"d": 100, "seeds": 40}
    known_error: ClassVar[float] = 0.0

    def theory(self) -> Theory:
        """Risk of two-layer networks against the number of target examples."""
        sizes = np.arange(3, self.d).astype(float)
        curves = tuple(Curve("risk", series, sizes, self._risk(series, sizes)) for series in _WAYS)
        title = f"two layers, θ = {self.theta:.3g}, d = {self.d}"
        return Theory((Panel("risk", title, "target examples n", "risk", y_limits=(0, 1.2)),), curves)

    def points(self) -> tuple[Point, ...]:
        """Five sizes for each way."""
        return tuple(
            Point("risk", series, float(n), self._expected(series, n))
            for series in _WAYS
            for n in (round(share * self.d) for share in (0.06, 0.2, 0.4, 0.6, 0.8))
        )

    def simulate(self, point: Point) -> Estimate:
        """Train two layers, or one above a frozen one."""
        pair = teachers_at_angle(self.d, theta=self.theta)
        batch = target_batch(pair, int(point.x), point, self.seeds)
        if point.series == "from scratch":
            return from_scratch(batch, depth=2).means(self.seeds)[0]
        n_frozen = 1 if point.series == "frozen" else 0
        start = perfectly_pretrained(batch, depth=2)
        return train_all(batch, start, n_frozen=n_frozen).means(self.seeds)[0]

    def _expected(self, series: str, n: int) -> float:
        if series == "fine-tuned":
            return fine_tuned_average(self.theta, n, self.d).risk.value
        return float(self._risk(series, np.asarray(float(n))))

    def _risk(self, series: str, n: np.ndarray) -> np.ndarray:
        if series == "frozen":
            return linear_transfer_risk(self.theta, n, sigma=0.0)
        if series == "from scratch":
            return scratch_risk_finite(n, self.d, sigma=0.0)
        return fine_tuning_finite(self.theta, n, self.d, sigma=0.0, depth=2).risk


_WAYS = ("frozen", "from scratch", "fine-tuned")


def _layers(depth: float) -> str:
    if math.isinf(depth):
        return "infinitely many layers"
    return "1 layer" if depth == 1 else f"{depth:g} layers"
