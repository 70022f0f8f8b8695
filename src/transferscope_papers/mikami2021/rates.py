"""Table 1 of mikami2021 by simulation: averaged SGD on functions with a power-law spectrum."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from transferscope.estimate import Estimate
from transferscope_papers import figure as fig
from transferscope_papers.problems import power_law_transfer
from transferscope_papers.simulate.averaged_sgd import OnlineSettings, averaged_sgd
from transferscope_papers.theory.rates import Rates, fine_tuning_rates

_PRETRAINING, _FINE_TUNING = 500, 501
_ERRORS = 2
"""Standard errors by which a measured exponent may fall below its bound."""
_STEP = 0.04
"""Step size at T = 1: at most 1/(4 (6 + lambda)), as in Theorem 2."""


@dataclass(frozen=True)
class Case:
    """A row of Table 1 as it is drawn; smoothness and exponent of the step size as in `theory.rates`."""

    r0: float
    r1: float
    zeta: float


def cases_of(xi: float) -> dict[str, Case]:
    """Return the rows of mikami2021 Table 1 by the paper's names, each with values that its conditions allow at this
    xi.

    Case I is a small learning rate and case II a large one; A is r0 >= r1 and B is r1 > r0 (section E.5.1). The
    conditions, with r = min(r0, r1):

        I-A   r/(2r+1) <= zeta < 1                                                      (eq. 22)
        I-B   max{ r/(2r+1), ((2 r1 - r0) xi + 1 - xi)/(2 r1 xi + 1) } <= zeta < 1      (eq. 26)
        II-A  zeta <= r/(2r+1)                                                          (eq. 29)
        II-B  zeta <= r/(2r+1) and r1 <= r0 + (xi - 1)/(2 xi)                           (eq. 32)
    """
    smoother = 0.5 + min(0.25, (xi - 1) / (2 * xi))
    return {
        "I-A: r0 ≥ r1, small steps": Case(1.0, 0.5, 0.4),
        "I-B: r1 > r0, small steps": Case(0.5, smoother, 0.4),
        "II-A: r0 ≥ r1, large steps": Case(1.0, 0.5, 0.0),
        "II-B: r1 > r0, large steps": Case(0.5, smoother, 0.0),
    }


@dataclass(frozen=True)
class RatesFigure(fig.TheoryFigure):
    """mikami2021 Table 1: the risk of fine-tuning against target examples (slopes -beta) and source examples (-alpha).

    Theory gives an upper bound with unknown constants, so lines start at the first point, and points may fall faster.
    In the second panel the target is the source's function (its transfer gap c is 0), so that only source examples
    matter.

    Attributes:
        d: Eigenfunctions kept.
        xi: Decay of the eigenvalues, above 1.
        longest: Largest number of target examples.
        n_source: Source examples of pretraining; the largest number of them in the second panel.
        seeds: Runs per point.
    """

    d: int = fig.setting(1000, fig.Range(10, 5000), quick=200)
    xi: float = fig.setting(2.0, fig.Range(1.05, 5))
    longest: int = fig.setting(65_536, fig.Range(1024, 1_000_000), quick=4096)
    n_source: int = fig.setting(16_384, fig.Range(256, 1_000_000), quick=1024)
    seeds: int = fig.setting(20, fig.Range(1, 1000), quick=8)

    name: ClassVar[str] = "mikami2021-table1"
    version: ClassVar[int] = 3

    def theory(self) -> fig.Theory:
        """Return only axes: the bound's slopes are drawn through simulated points, since its constants are unknown."""
        title = f"Target = source, {self._few} target examples; dashed: −α"
        panels = (
            fig.Panel("risk", f"ξ = {self.xi:g}; dashed: slope −β of the bound", "target examples", "risk", True, True),
            fig.Panel("source", title, "source examples", "risk", True, True),
        )
        return fig.Theory(panels)

    def points(self) -> tuple[fig.Point, ...]:
        """Return five sizes of each kind for each row of the table."""
        longest = {"risk": self.longest, "source": self.n_source}
        return tuple(
            fig.Point(panel, name, float(longest[panel] // 4**i))
            for panel in longest
            for name in self._cases
            for i in reversed(range(5))
        )

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Pretrain, then fine-tune with the step size and the regularisation of the table."""
        return tuple(self._risk(point) for point in points)

    def _risk(self, point: fig.Point) -> Estimate:
        case, by_source = self._cases[point.series], point.panel == "source"
        n_source, n = (int(point.x), self._few) if by_source else (self.n_source, int(point.x))
        pair = power_law_transfer(self.d, r0=case.r0, r1=case.r1, xi=self.xi, added_size=0.0 if by_source else 1.0)
        seeds = range(point.seed, point.seed + self.seeds)
        of_source = n_source ** (-self.xi / (2 * self.xi + 1))
        pretraining = OnlineSettings(n_source, of_source, _STEP, seeds, _PRETRAINING)
        pretrained = averaged_sgd(pair.source, np.zeros((self.seeds, self.d)), pretraining)
        error = float(pretrained.outcomes.risk.mean())
        rates, r = self._rates(case), min(case.r0, case.r1)
        of_error = 1 / (2 * r + 2) if bool(rates.small_steps) else 1 / (2 * r + 1)
        ridge = n ** -float(rates.ridge) * error**of_error
        tuning = OnlineSettings(n, ridge, _STEP * n**-case.zeta, seeds, _FINE_TUNING)
        return averaged_sgd(pair.target, pretrained.weights, tuning).outcomes.means(self.seeds)[0]

    def conclude(self, simulated: Sequence[fig.Simulated]) -> fig.Conclusion:
        """Return measured slopes and those of the bound."""
        parts: dict[str, list[str]] = {"risk": [], "source": []}
        curves = []
        for panel, name in itertools.product(parts, self._cases):
            means = fig.simulated_means(simulated, panel, name)
            own = {x: mean for x, mean in means.items() if mean.usable}
            if len(own) >= 2:
                bound = self._bound(panel, name)
                decays = _decay(own)
                measured = f"{decays.slope:.3f} ± {decays.stderr:.3f}"
                parts[panel].append(f"{name.split(':')[0]} {measured} (bound {bound:.3f})")
                x, height = np.array(list(own)), next(iter(own.values())).value
                curves.append(fig.Curve(panel, name, x, height * (x / x[0]) ** -bound, dashed=True))
        by_target, by_source = (", ".join(decays) or "nothing yet" for decays in parts.values())
        return fig.Conclusion(
            f"measured decay of the risk (± standard error) in target examples: {by_target}; in source examples: "
            f"{by_source}; the bound allows no slower one in the limit",
            tuple(curves),
        )

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return the claim that no case decays more slowly than its row of the table."""
        symbols = {"risk": ("target", "β"), "source": ("source", "α")}
        return tuple(
            fig.Claim(
                f"{name.split(':')[0]}: the risk decays in {symbols[panel][0]} examples with an exponent of at least "
                f"{symbols[panel][1]} = {self._bound(panel, name):.2f} (within {_ERRORS} standard errors)",
                "mikami2021, Table 1",
                partial(self._fast_enough, panel=panel, name=name),
                self._too_few if panel == "risk" and name.startswith("I-") else "",
            )
            for panel, name in itertools.product(symbols, self._cases)
        )

    @property
    def _too_few(self) -> str:
        """Reason why small steps may be slower than the bound, which holds in the limit only."""
        full = type(self)().longest
        if self.longest >= full:
            return ""
        return (
            f"With small steps {self.longest:,} target examples are too few for the limit that the exponent is one of; "
            f"at {full:,} (--full) I-A has 0.56 and I-B 0.62."
        )

    def _fast_enough(self, drawn: fig.Drawn, panel: str, name: str) -> bool:
        decay = _decay(drawn.points(panel, name))
        return decay.slope + _ERRORS * decay.stderr >= self._bound(panel, name)

    def _bound(self, panel: str, name: str) -> float:
        rates = self._rates(self._cases[name])
        return float(rates.beta if panel == "risk" else rates.alpha)

    @property
    def _cases(self) -> dict[str, Case]:
        return cases_of(self.xi)

    @property
    def _few(self) -> int:
        """Number of target examples if source examples vary."""
        return max(self.longest // 256, 1)

    def _rates(self, case: Case) -> Rates:
        return fine_tuning_rates(case.r0, case.r1, self.xi, zeta=case.zeta)


@dataclass(frozen=True)
class _Decay:
    """Exponent of a power law through risks, with its standard error from theirs."""

    slope: float
    stderr: float


def _decay(risks: Mapping[float, Estimate]) -> _Decay:
    """Fit log risk against log size by least squares; an unknown standard error counts as 0."""
    x = np.log(np.array(list(risks)))
    y = np.log(np.array([risk.value for risk in risks.values()]))
    centred = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    relative = np.array([(risk.stderr or 0.0) / risk.value for risk in risks.values()])
    return _Decay(-float(centred @ y), float(np.sqrt((centred**2) @ (relative**2))))
