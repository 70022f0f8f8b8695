"""Table 1 of 003 by simulation: averaged SGD on functions with a power-law spectrum."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from transferscope.data.problems import PowerLawTransfer, power_law_transfer
from transferscope.records import Estimate
from transferscope.theory.figures.figure import Conclusion, Curve, Panel, Point, Simulated, Theory
from transferscope.theory.rates import Rates, fine_tuning_rates
from transferscope.theory.simulate.averaged_sgd import OnlineSettings, averaged_sgd

_PRETRAINING, _FINE_TUNING = 500, 501
_STEP = 0.04
"""Step size at T = 1: at most 1/(4 (6 + lambda)), as Theorem 2 asks."""


@dataclass(frozen=True)
class _Case:
    r0: float
    r1: float
    zeta: float


_CASES = {
    "I-A: r0 < r1, large steps": _Case(0.5, 1.0, 0.0),
    "I-B: r0 < r1, small steps": _Case(0.5, 1.0, 0.4),
    "II-A: r0 > r1, large steps": _Case(1.0, 0.5, 0.0),
    "II-B: r0 > r1, small steps": _Case(1.0, 0.5, 0.4),
}


@dataclass(frozen=True)
class RatesFigure:
    """003 Table 1: the risk of fine-tuning against target examples, with slopes -beta, and source examples, -alpha.

    Theory gives an upper bound with open constants, so lines start at the first point, and points may fall faster. In
    the second panel the target is the source's function (its transfer gap c is 0), so that source examples alone count.

    Attributes:
        d: Eigenfunctions kept.
        xi: Decay of the eigenvalues, above 1.
        longest: Largest number of target examples.
        n_source: Source examples of pre-training; the largest number of them in the second panel.
        seeds: Runs per point.
    """

    d: int = 1000
    xi: float = 2.0
    longest: int = 65_536
    n_source: int = 16_384
    seeds: int = 20

    name: ClassVar[str] = "003-table-1"
    title: ClassVar[str] = "Rates of fine-tuning by averaged SGD (003 Table 1)"
    version: ClassVar[int] = 2
    quick: ClassVar[Mapping[str, float]] = {"d": 200, "longest": 4096, "n_source": 1024, "seeds": 8}
    known_error: ClassVar[float] = 0.0

    def theory(self) -> Theory:
        """Axes alone: the bound's slopes are drawn through simulated points, since its constants are open."""
        title = f"Target = source, {self._few} target examples; dashed: −α"
        panels = (
            Panel("risk", f"ξ = {self.xi:g}; dashed: slope −β of the bound", "target examples", "risk", True, True),
            Panel("source", title, "source examples", "risk", True, True),
        )
        return Theory(panels)

    def points(self) -> tuple[Point, ...]:
        """Five sizes of each kind for each row of the table."""
        longest = {"risk": self.longest, "source": self.n_source}
        return tuple(
            Point(panel, name, float(longest[panel] // 4**i), float("nan"))
            for panel in longest
            for name in _CASES
            for i in reversed(range(5))
        )

    def simulate(self, point: Point) -> Estimate:
        """Pre-train, then fine-tune with the step size and the regularisation of the table."""
        case = _CASES[point.series]
        if point.panel == "source":
            pair = power_law_transfer(self.d, r0=case.r0, r1=case.r1, xi=self.xi, added_size=0.0)
            return self._fine_tuned(pair, point, n_source=int(point.x), n=self._few)
        pair = power_law_transfer(self.d, r0=case.r0, r1=case.r1, xi=self.xi)
        return self._fine_tuned(pair, point, n_source=self.n_source, n=int(point.x))

    def conclude(self, simulated: Sequence[Simulated]) -> Conclusion:
        """Measured slopes beside the bound's."""
        parts: dict[str, list[str]] = {"risk": [], "source": []}
        curves = []
        for panel, name in itertools.product(parts, _CASES):
            placed = [item for item in simulated if (item.point.panel, item.point.series) == (panel, name)]
            own = [item for item in placed if item.estimate.usable]
            if len(own) >= 2:
                x = np.log([item.point.x for item in own])
                slope = -np.polyfit(x, np.log([item.estimate.value for item in own]), 1)[0]
                rates = self._rates(_CASES[name])
                bound = float(rates.beta if panel == "risk" else rates.alpha)
                parts[panel].append(f"{name.split(':')[0]} {slope:.2f} (bound {bound:.2f})")
                x, height = np.array([item.point.x for item in own]), own[0].estimate.value
                curves.append(Curve(panel, name, x, height * (x / x[0]) ** -bound, dashed=True))
        by_target, by_source = (", ".join(found) or "nothing yet" for found in parts.values())
        return Conclusion(
            f"measured decay of the risk in target examples: {by_target}; in source examples: {by_source}; the bound "
            "allows no slower one in the limit",
            tuple(curves),
        )

    @property
    def _few(self) -> int:
        """Target examples where source examples vary."""
        return max(self.longest // 256, 1)

    def _fine_tuned(self, pair: PowerLawTransfer, point: Point, *, n_source: int, n: int) -> Estimate:
        case = _CASES[point.series]
        start, error = self._pretrained(pair, point, n_source)
        rates = self._rates(case)
        r = min(case.r0, case.r1)
        of_error = 1 / (2 * r + 2) if bool(rates.small_steps) else 1 / (2 * r + 1)
        ridge = n ** -float(rates.ridge) * error**of_error
        settings = self._settings(point, n, ridge=ridge, rate=_STEP * n**-case.zeta, stream=_FINE_TUNING)
        return averaged_sgd([pair.target] * self.seeds, start, settings).outcomes.means(self.seeds)[0]

    def _rates(self, case: _Case) -> Rates:
        return fine_tuning_rates(case.r0, case.r1, self.xi, zeta=case.zeta)

    def _pretrained(self, pair: PowerLawTransfer, point: Point, n_source: int) -> tuple[np.ndarray, float]:
        ridge = n_source ** (-self.xi / (2 * self.xi + 1))
        settings = self._settings(point, n_source, ridge=ridge, rate=_STEP, stream=_PRETRAINING)
        run = averaged_sgd([pair.source] * self.seeds, np.zeros((self.seeds, self.d)), settings)
        return run.weights, float(run.outcomes.risk.mean())

    def _settings(self, point: Point, n: int, *, ridge: float, rate: float, stream: int) -> OnlineSettings:
        ones = np.ones(self.seeds)
        seeds = range(point.seed, point.seed + self.seeds)
        return OnlineSettings(np.full(self.seeds, n), ridge * ones, rate * ones, seeds, stream)
