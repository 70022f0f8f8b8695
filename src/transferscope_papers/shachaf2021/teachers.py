"""Fine-tuning with linear teachers: shachaf2021 Figures 1, 2a, 2b and 3."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from transferscope.estimate import Estimate
from transferscope_papers import figure as fig
from transferscope_papers.linear_teachers import ON_LINES, LinearTeachersFigure, Training, Way, fine_tuned_average
from transferscope_papers.problems import LinearTransfer, teachers_apart, teachers_at_angle, two_level
from transferscope_papers.theory.fine_tuning import fine_tuning_finite
from transferscope_papers.theory.fine_tuning_bounds import BoundOverM, deviation_bound, fine_tuning_bound
from transferscope_papers.theory.gaussian_regression import mean_fine_tuned_risk
from transferscope_papers.theory.linear_scratch import scratch_risk_finite
from transferscope_papers.theory.linear_transfer import linear_transfer_risk


@dataclass(frozen=True)
class TeachersFigure(LinearTeachersFigure):
    """A figure of shachaf2021 with isotropic inputs, at its sizes."""

    d: int = fig.setting(500, fig.Range(10, 5000), quick=100)
    seeds: int = fig.setting(20, fig.SEEDS, quick=40)


@dataclass(frozen=True)
class AlignmentFigure(LinearTeachersFigure):
    """shachaf2021 Figure 1: source and target that differ in the top or in the bottom eigenvectors of the inputs.

    Dashed is the bound of Theorem 4.2 at the best m; solid is its minimum with the trivial bound lambda_1 ||D||^2 =
    1.5, which always holds. Theorem 4.2 does not state its constant c, on which the ranking of the alignments at a
    given n depends: with c = 1 the ranks change at n = d/4, near the crossing of the risks, and with c = 3 (which
    covers the deviation of every tried sample covariance) nowhere below n = d.

    Attributes:
        n_top: Number of large eigenvalues (1.5, against 0.3 for the rest).
        c: Constant of the deviation in Theorem 4.2.
    """

    d: int = fig.setting(1000, fig.D, quick=100)
    seeds: int = fig.setting(10, fig.SEEDS, quick=60)
    n_top: int = fig.setting(50, fig.Range(1, 2500), quick=5)
    c: float = fig.setting(1.0, fig.Range(0.01, 100))

    name: ClassVar[str] = "shachaf2021-fig1"

    def theory(self) -> fig.Theory:
        """Return mean risk over samples, and the bound of Theorem 4.2 alone and with the trivial one."""
        sizes = np.unique(np.maximum(np.round(np.linspace(0.02, 0.98, 49) * self.d).astype(int), 1))
        curves = []
        for series in _ALIGNED:
            mean = np.array([self._expected(series, int(n)) for n in sizes])
            bounds = [self._bound(series, int(n)) for n in sizes]
            curves += [
                fig.Curve("risk", series, sizes.astype(float), mean),
                fig.Curve("bound", series, sizes.astype(float), np.array([bound.best for bound in bounds])),
                fig.Curve(
                    "bound", series, sizes.astype(float), np.array([min(bound.values) for bound in bounds]), dashed=True
                ),
            ]
        title = f"{self.n_top} of {self.d} eigenvalues 1.5, others 0.3"
        panels = (
            fig.Panel("risk", title, "target examples n", "risk after fine-tuning"),
            fig.Panel(
                "bound",
                f"Theorem 4.2, best m, c = {self.c:g} (dashed); solid: with the trivial bound",
                "target examples n",
                "bound",
                y_log=True,
            ),
        )
        return fig.Theory(panels, tuple(curves))

    def points(self) -> tuple[fig.Point, ...]:
        """Return six sizes for each alignment."""
        return tuple(
            fig.Point("risk", series, float(n), self._expected(series, n))
            for series in _ALIGNED
            for n in (round(share * self.d) for share in (0.05, 0.15, 0.3, 0.5, 0.7, 0.85))
        )

    def training(self, point: fig.Point) -> Training:
        """Return linear regression, starting from the source."""
        return Training(self._pair(point.series), int(point.x), Way(1))

    def _pair(self, series: str) -> LinearTransfer:
        covariance = two_level(self.d, n_top=self.n_top)
        return teachers_apart(self._difference(series), source=np.eye(self.d)[0], covariance=covariance)

    def _difference(self, series: str) -> np.ndarray:
        """Return a unit vector spread over the directions in which the teachers differ."""
        difference = np.zeros(self.d)
        where = slice(self.n_top, None) if series == "top aligned" else slice(None, self.n_top)
        difference[where] = 1.0
        return np.asarray(difference / np.linalg.norm(difference))

    def _expected(self, series: str, n: int) -> float:
        return mean_fine_tuned_risk(self._difference(series), two_level(self.d, n_top=self.n_top), n)

    def _bound(self, series: str, n: int) -> BoundOverM:
        covariance = two_level(self.d, n_top=self.n_top)
        deviation = deviation_bound(covariance.eigenvalues, n, constant=self.c)
        return fine_tuning_bound(self._difference(series), covariance, deviation=deviation)

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims on risk and bound with few and with many examples."""
        changed = "" if self.n_top * 20 == self.d else "The paper has one large eigenvalue in 20."
        of_c = f"The ranks of the bound depend on its open constant, here c = {self.c:g}." if self.c != 1 else changed
        return (
            fig.Claim(
                "for very few examples top aligned has the lower risk",
                "shachaf2021, section 4.2 with Figure 1",
                lambda drawn: _apart(drawn, _TOP, _BOTTOM, at=0) < 0,
                changed,
            ),
            fig.Claim(
                "for many examples bottom aligned has the lower risk",
                "shachaf2021, section 4.2 with Figure 1",
                lambda drawn: _apart(drawn, _TOP, _BOTTOM, at=-1) > 0,
                changed,
            ),
            fig.Claim(
                "the risk of bottom aligned drops significantly with n, and to nearly zero well before n = d (below a "
                "fortieth of its value at n = d/20 by 0.85 d)",
                "shachaf2021, section 4.2 with Figure 1",
                lambda drawn: _drops(list(drawn.points("risk", _BOTTOM).values()), 40),
                changed,
            ),
            fig.Claim(
                "the bound ranks top aligned better for small n and bottom aligned better for large n",
                "shachaf2021, section 4.1 of eq. 3",
                lambda drawn: np.isfinite(_crossing(drawn, "bound", dashed=True)),
                of_c,
            ),
            fig.Claim(
                "the bound changes its ranks near where the risks cross (within a tenth of d)",
                "shachaf2021, Figure 1 as a check of eq. 3",
                lambda drawn: abs(_crossing(drawn, "bound", dashed=True) - _crossing(drawn, "risk")) <= 0.1 * self.d,
                of_c,
            ),
        )


_TOP, _BOTTOM = _ALIGNED = ("top aligned", "bottom aligned")


def _crossing(drawn: fig.Drawn, panel: str, *, dashed: bool = False) -> float:
    """Return where top aligned, lower at first, crosses the other line; NaN unless it does so exactly once."""
    top, bottom = (drawn.line(panel, series, dashed=dashed) for series in _ALIGNED)
    higher = np.flatnonzero(top.y > bottom.y)
    if len(higher) in (0, len(top.y)) or len(higher) != len(top.y) - higher[0]:
        return math.nan
    return float(top.x[higher[0]])


def _apart(drawn: fig.Drawn, first: str, second: str, *, at: int) -> float:
    """Return first - second at the smallest (0) or largest (-1) size in standard errors, 0 where it is within 2 of
    them."""
    one, other = (list(drawn.points("risk", series).values())[at] for series in (first, second))
    distance = (one.value - other.value) / math.hypot(one.stderr or math.inf, other.stderr or math.inf)
    return distance if abs(distance) > 2 else 0.0


def _drops(risks: Sequence[Estimate], times: float) -> bool:
    falling = all(later.value < earlier.value for earlier, later in itertools.pairwise(risks))
    return falling and risks[-1].value * times < risks[0].value


DEPTHS = (1, 2, 3, 5)
"""Simulated depths of Figure 2a; infinite depth is a line."""


@dataclass(frozen=True)
class DepthFigure(TeachersFigure):
    """shachaf2021 Fig. 2a: a target that is a noisy multiple of the source, fine-tuned at several depths with n = d/10.

    Attributes:
        noise: Norm of the noise added to the multiple, relative to the source.
    """

    noise: float = fig.setting(0.5, fig.Range(0, 5))

    name: ClassVar[str] = "shachaf2021-fig2a"

    def theory(self) -> fig.Theory:
        """Return risk against the multiple for every depth."""
        alpha = np.linspace(0.2, 4, 77)
        curves = tuple(
            fig.Curve("risk", _layers(depth), alpha, np.array([self._risk(x, depth, ON_LINES) for x in alpha]))
            for depth in (*DEPTHS, math.inf)
        )
        title = f"Target = α source + noise of norm {self.noise:g}; n = {self._n}, d = {self.d}"
        return fig.Theory((fig.Panel("risk", title, "scale α", "risk after fine-tuning"),), curves)

    def points(self) -> tuple[fig.Point, ...]:
        """Return four multiples for each depth."""
        return tuple(
            fig.Point("risk", _layers(depth), alpha, self._risk(alpha, depth), {"depth": depth})
            for depth in DEPTHS
            for alpha in (0.5, 1.0, 2.0, 3.5)
        )

    def training(self, point: fig.Point) -> Training:
        """Return training of all layers, starting from the source."""
        theta, norm = math.atan2(self.noise, point.x), math.hypot(self.noise, point.x)
        pair = teachers_at_angle(self.d, theta=theta, target_norm=norm)
        return Training(pair, self._n, Way(int(point.parameters["depth"])))

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return the claim that depth corrects the scale of the target."""
        changed = self.unlike_the_paper("noise")
        return (
            fig.Claim(
                "at α = 1 there is no difference between depths (within a tenth)",
                "shachaf2021, section 5.3 with Figure 2a",
                lambda drawn: _spread([drawn.line("risk", _layers(depth)) for depth in DEPTHS], at=1.0) < 0.1,
                changed,
            ),
            fig.Claim(
                "at larger α the risk falls with every added depth",
                "shachaf2021, section 5.3 with Figure 2a",
                lambda drawn: all(
                    drawn.lower("risk", _layers(deep), _layers(shallow), at=(2.0, 3.5))
                    for shallow, deep in itertools.pairwise(DEPTHS)
                ),
                changed,
            ),
            fig.Claim(
                "the gain of depth grows with α",
                "shachaf2021, section 5.3 with Figure 2a",
                lambda drawn: _gains_with_scale(drawn.line("risk", _layers(1)), drawn.line("risk", _layers(5))),
                changed,
            ),
        )

    @property
    def _n(self) -> int:
        return round(self.d / 10)

    def _risk(self, alpha: float, depth: float, draws: int = 20_000) -> float:
        """Return the risk if the noise is orthogonal to the source, as in high dimension."""
        theta, norm = math.atan2(self.noise, alpha), math.hypot(self.noise, alpha)
        return fine_tuned_average(theta, self._n, self.d, target_norm=norm, depth=depth, draws=draws).risk.value


def _spread(lines: Sequence[fig.Curve], *, at: float) -> float:
    """Return the range over lines of their values at one place, relative to the smallest."""
    values = [float(np.interp(at, line.x, line.y)) for line in lines]
    return max(values) / min(values) - 1


def _gains_with_scale(shallow: fig.Curve, deep: fig.Curve) -> bool:
    beyond = shallow.x >= 1.5
    return bool((np.diff((shallow.y - deep.y)[beyond]) > 0).all())


@dataclass(frozen=True)
class ScaleFigure(TeachersFigure):
    """shachaf2021 Fig. 2b: in seven layers the norm of the target matters more than that of the source.

    The paper names n = d/10 for its Figure 2a and no n for 2b. At d/10 the claim is false for seven layers: both
    scalings harm about equally, that of the source slightly more. Theorem 5.4 is about infinite depth, where the norm
    of the source does not matter at any n; seven layers need n of at least 0.2 d, so d/2 is shown beside d/10.

    Attributes:
        apart: Distance of the two unit teachers, in (0, 2].
    """

    depth: int = fig.setting(7, fig.DEPTH)
    apart: float = fig.setting(0.1, fig.Range(0.001, 2))

    name: ClassVar[str] = "shachaf2021-fig2b"
    version: ClassVar[int] = 2

    def theory(self) -> fig.Theory:
        """Return risk against the factor, for either teacher, at both numbers of examples."""
        factors = np.linspace(0.25, 4, 76)
        curves, panels = [], []
        for panel, share in _FRACTIONS.items():
            title = f"{self.depth} layers, n = {round(share * self.d)}, d = {self.d}"
            panels.append(fig.Panel(panel, title, "scaling factor", "risk after fine-tuning"))
            for series in _SCALED:
                risks = np.array([self._risk(panel, series, factor, ON_LINES) for factor in factors])
                curves.append(fig.Curve(panel, series, factors, risks))
        return fig.Theory(tuple(panels), tuple(curves))

    def points(self) -> tuple[fig.Point, ...]:
        """Return four factors for either teacher at both numbers of examples."""
        return tuple(
            fig.Point(panel, series, factor, self._risk(panel, series, factor))
            for panel in _FRACTIONS
            for series in _SCALED
            for factor in (0.5, 1.0, 2.0, 3.5)
        )

    def training(self, point: fig.Point) -> Training:
        """Return training of all layers, starting from the source."""
        source, target = (point.x, 1.0) if point.series == "source scaled" else (1.0, point.x)
        pair = teachers_at_angle(self.d, theta=self._theta, source_norm=source, target_norm=target)
        return Training(pair, self._n(point.panel), Way(self.depth))

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return the claim that the norm of the target harms more than that of the source."""
        changed = self.unlike_the_paper("depth", "apart")
        return tuple(
            fig.Claim(
                f"with n = {name} increasing the norm of the target harms much more than that of the source (risks "
                "above twice as large at factors of 2 and 3.5)",
                "shachaf2021, section 5.3 with Figure 2b",
                partial(
                    fig.Drawn.lower, panel=panel, first="source scaled", second="target scaled", at=(2.0, 3.5), times=2
                ),
                reason or changed,
            )
            for panel, name, reason in (
                (
                    _TENTH,
                    "d/10",
                    "With so few examples seven layers are not deep enough: it holds from n = d/2 on.",
                ),
                (_HALF, "d/2", ""),
            )
        )

    def _n(self, panel: str) -> int:
        return round(_FRACTIONS[panel] * self.d)

    @property
    def _theta(self) -> float:
        return 2 * math.asin(self.apart / 2)

    def _risk(self, panel: str, series: str, factor: float, draws: int = 20_000) -> float:
        norms = {_SCALED[series]: factor}
        average = fine_tuned_average(self._theta, self._n(panel), self.d, depth=self.depth, draws=draws, **norms)
        return average.risk.value


_TENTH, _HALF = "risk", "half"
_FRACTIONS = {_TENTH: 0.1, _HALF: 0.5}
"""Target examples over inputs, by panel."""


_SCALED = {"target scaled": "target_norm", "source scaled": "source_norm"}


@dataclass(frozen=True)
class FrozenFigure(TeachersFigure):
    """shachaf2021 Figure 3: a frozen first layer does not learn the target with any number of examples."""

    d: int = fig.setting(500, fig.Range(20, 5000), quick=100)
    theta: float = fig.setting(math.pi / 4, fig.Range(0.05, 1.5))

    name: ClassVar[str] = "shachaf2021-fig3"

    def theory(self) -> fig.Theory:
        """Return risk of two-layer networks against the number of target examples."""
        sizes = np.arange(3, self.d).astype(float)
        curves = tuple(fig.Curve("risk", series, sizes, self._risk(series, sizes)) for series in _WAYS)
        title = f"Two layers, θ = {self.theta:.3g} rad, d = {self.d}"
        return fig.Theory((fig.Panel("risk", title, "target examples n", "risk", y_limits=(0, 1.2)),), curves)

    def points(self) -> tuple[fig.Point, ...]:
        """Return five sizes for each method."""
        return tuple(
            fig.Point("risk", series, float(n), self._expected(series, n))
            for series in _WAYS
            for n in (round(share * self.d) for share in (0.06, 0.2, 0.4, 0.6, 0.8))
        )

    def training(self, point: fig.Point) -> Training:
        """Return training of two layers, or of one above a frozen one."""
        way = Way(2, 1 if point.series == "frozen" else 0, "scratch" if point.series == "from scratch" else "transfer")
        return Training(teachers_at_angle(self.d, theta=self.theta), int(point.x), way)

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return claims that the frozen model fails, and that fine-tuning needs fewer examples."""
        near = (
            "" if self.theta < math.pi / 3 else "Beyond π/3 fine-tuning transfers negatively (tahir2024, Theorem 3.9)."
        )
        return (
            fig.Claim(
                "the risk of the frozen model is constant: between 0.2 d and 0.8 d examples it falls by less than a "
                "tenth",
                "shachaf2021, Figure 3 and Theorem 5.5",
                lambda drawn: _nearly_constant(drawn.line("risk", "frozen"), self.d),
            ),
            fig.Claim(
                "with 0.8 d examples the frozen model is the worst",
                "shachaf2021, section 5.3 with Figure 3",
                lambda drawn: all(_apart(drawn, "frozen", other, at=-1) > 0 for other in _WAYS[1:]),
                "" if self.theta > 0.5 else "The source is too good for the frozen model to be poor.",
            ),
            fig.Claim(
                "fine-tuning has a lower risk than training from scratch at every number of examples",
                "shachaf2021, section 5.3 with Figure 3: better sample complexity",
                lambda drawn: drawn.lower("risk", "fine-tuned", "from scratch"),
                near,
            ),
        )

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


def _nearly_constant(line: fig.Curve, d: int) -> bool:
    early, late = (float(np.interp(share * d, line.x, line.y)) for share in (0.2, 0.8))
    return late > 0.9 * early


def _layers(depth: float) -> str:
    if math.isinf(depth):
        return "infinitely many layers"
    return "1 layer" if depth == 1 else f"{depth:g} layers"
