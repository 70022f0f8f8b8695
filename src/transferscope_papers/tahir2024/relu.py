"""Linear transfer of two-layer ReLU students: tahir2024 Figure 4."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from transferscope.errors import SettingsError
from transferscope.estimate import Estimate
from transferscope_papers import figure as fig
from transferscope_papers.problems import AblatedTeachers, ablate, relu_teacher
from transferscope_papers.simulate.outcomes import mean_estimate, mean_of_all
from transferscope_papers.simulate.relu_student import (
    Students,
    pretrain,
    random_students,
    refit_heads,
    risks,
    train_from_scratch,
)
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.theory.relu import (
    PowerLaw,
    fit_power_law,
    kernel_alignment,
    negative_transfer_size,
    outside_features,
)

_TEACHER, _ON_STUDENTS, _ON_SOURCE = 600, 601, 610
"""Random streams of teachers, and of samples for new heads; the last is the first of `_SAMPLES`."""

_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
_SCRATCH, _SOURCE = "from scratch", "new heads on the source's neurons"
_BEFORE, _AFTER = "before pretraining", "after pretraining"
_SAMPLES, _PER_NEURON, _FEWEST = 20, 20, 400
_CUT_OFF, _EXACT = 1e-3, 1e-8
"""Relative cut-offs of singular values: for trained students, and for neurons known to differ."""


@dataclass(frozen=True)
class ReluFigure(fig.TheoryFigure):
    """tahir2024 Fig. 4: the target outside the ablated source, the risk from scratch, the boundary of negative
    transfer.

    Risks are in units of the target's squared norm. Heads are N(head_mean, head_std^2); the paper does not give its
    own, and heads of 1 reproduce its numbers (see `problems.relu_teacher`).

    Attributes:
        n_teacher: Neurons of the target teacher m*.
        width: Neurons of the student m.
        largest: Largest number of target examples, at least 10.
        seeds: Teachers and students per point.
        least_squares: 1 for transferred heads that interpolate by least squares, with singular values below 1e-3 cut
            off, in place of the paper's gradient descent (`refit_heads`); they also fit differences of nearly equal
            neurons.
    """

    d: int = fig.setting(100, fig.Range(2, 1000), quick=20)
    n_teacher: int = fig.setting(100, fig.Range(2, 1000), quick=20)
    width: int = fig.setting(1000, fig.Range(1, 10_000), quick=200)
    largest: int = fig.setting(1000, fig.Range(10, 100_000), quick=200)
    seeds: int = fig.setting(10, fig.SEEDS, quick=4)
    head_mean: float = fig.setting(1.0, fig.Range(-10, 10))
    head_std: float = fig.setting(0.0, fig.Range(0, 10))
    least_squares: int = fig.setting(0, fig.Range(0, 1))

    name: ClassVar[str] = "tahir2024-fig4"
    version: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if self.head_mean == self.head_std == 0:
            raise SettingsError(
                "head_mean = 0 and head_std = 0 make a teacher that is 0 everywhere; change one of them"
            )

    def theory(self) -> fig.Theory:
        """Return the share of the target outside the features of the ablated source, over the simulated teachers."""
        mu = np.array(_SHARES)
        outside = np.array([np.mean(self._outside(x)) for x in _SHARES])
        panels = (
            fig.Panel("kernel", "Pretrained and source's kernel", "ablated share μ", "alignment"),
            fig.Panel("outside", "Linear transfer, n → ∞", "ablated share μ", "risk / variance", y_log=True),
            fig.Panel("scratch", "Students", "target examples n", "risk / variance", x_log=True, y_log=True),
            fig.Panel("map", "Transferability / variance, black: 0", "ablated share μ", "target examples n"),
        )
        return fig.Theory(panels, (fig.Curve("outside", _SOURCE, mu, outside),))

    def points(self) -> tuple[fig.Point, ...]:
        """Return one simulation per share, and one per size from scratch.

        Scores are of new heads on the neurons of the source, whose limit is the closed form.
        """
        scratch = [fig.Point("scratch", _SCRATCH, float(n)) for n in (self.largest // 10, *self._sizes())]
        shared = []
        for mu in _SHARES:
            group, outside = f"μ = {mu:g}", float(np.mean(self._outside(mu)))
            places = (("kernel", _BEFORE, math.nan), ("kernel", _AFTER, math.nan), ("outside", _SOURCE, outside))
            shared += [fig.Point(panel, series, mu, value, {"mu": mu}, group=group) for panel, series, value in places]
            shared += [
                fig.Point("scratch", _transfer(mu), float(n), parameters={"mu": mu}, group=group) for n in self._sizes()
            ]
        return (*shared, *scratch)

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Train students on samples of the target, or on the sources of one share and then fit new heads."""
        seed = points[0].seed
        start = random_students(range(seed, seed + self.seeds), self.d, width=self.width)
        if points[0].group is None:
            pairs = self._pairs(_SHARES[0])  # the targets are the same for every share
            samples = [pair.sample(int(points[0].x), generator(seed + i)) for i, pair in enumerate(pairs)]
            outcomes = risks(train_from_scratch(samples, start), [pair.target for pair in pairs])
            return (mean_of_all(outcomes.risk / _norms(pairs), outcomes.status),)
        mu = points[0].parameters["mu"]
        pairs = self._pairs(mu)
        students = pretrain([pair.source for pair in pairs], start)
        neurons = {_BEFORE: list(start[0].numpy()), _AFTER: [student.neurons for student in students.networks]}
        rcond = _CUT_OFF if self.least_squares else None
        estimates = []
        for point in points:
            if point.panel == "kernel":
                own = zip(neurons[point.series], pairs, strict=True)
                alignments = [kernel_alignment(one, pair.source.neurons) for one, pair in own]
                estimates.append(mean_of_all(np.array(alignments), students.status))
            elif point.series == _SOURCE:
                estimates.append(_on_source_neurons(pairs, self._outside(mu), seed))
            else:
                samples = [pair.sample(int(point.x), generator(seed + i, _ON_STUDENTS)) for i, pair in enumerate(pairs)]
                outcomes = risks(refit_heads(students, samples, rcond=rcond), [pair.target for pair in pairs])
                estimates.append(mean_of_all(outcomes.risk / _norms(pairs), outcomes.status))
        return tuple(estimates)

    def conclude(self, simulated: Sequence[fig.Simulated]) -> fig.Conclusion:
        """Return the power law of the risk from scratch, the boundary that follows from it, and the map."""
        own = fig.simulated_means(simulated, "scratch", _SCRATCH)
        own = {n: mean for n, mean in own.items() if mean.value > 0}
        if len(own) < 2:
            return fig.Conclusion("no power law yet: fewer than two sizes are simulated")
        n, law = np.array(list(own)), _power_law(own)
        if law.exponent <= 0:
            return fig.Conclusion("no power law: the simulated risk from scratch does not fall with n")
        outside = self.theory().curves[0]
        edge = negative_transfer_size(outside.y, law)
        inside = edge <= self.largest
        curves = (
            fig.Curve("scratch", _SCRATCH, n, law.amplitude * n**-law.exponent, dashed=True),
            fig.Curve("map", "predicted boundary", outside.x[inside], edge[inside], dashed=True),
        )
        known = "" if self.d != 100 or self.head_std else " (tahir2024 finds 1.18)"
        sentence = f"risk from scratch falls as n^-{law.exponent:.2f}{known}"
        gains = _gains(own, simulated)
        if len(gains) == len(_SHARES) * len(self._sizes()):
            sides = _sides(gains, law, dict(zip(_SHARES, outside.y, strict=True)))
            sentence = (
                f"{sentence}; of {len(gains)} simulated transferabilities {sides.clear} have a clear sign (2 standard "
                f"errors), and {sides.right} of these lie on their side of the predicted boundary"
            )
            return fig.Conclusion(sentence, curves, (self._map(gains),))
        return fig.Conclusion(sentence, curves)

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return the claims of the paper on its Figure 4."""
        heads = self.unlike_the_paper("head_mean", "head_std")
        sizes = self.unlike_the_paper("d", "n_teacher", "width", "largest", "head_mean", "head_std")
        return (
            fig.Claim(
                "the kernels of pretrained students and of the source are nearly indistinguishable (alignment of 0.97 "
                "or more, and higher than before)",
                "tahir2024, Figure 4a and b",
                _kernels_agree,
                heads,
            ),
            fig.Claim(
                "the risk from scratch obeys a power law (R² of its logarithms of 0.95 or more)",
                "tahir2024, Figure 4c",
                lambda drawn: _r_squared(drawn.points("scratch", _SCRATCH)) >= 0.95,
                heads,
            ),
            fig.Claim(
                "its exponent is 1.18 (within 0.1)",
                "tahir2024, Figure 4c",
                lambda drawn: abs(_power_law(drawn.points("scratch", _SCRATCH)).exponent - 1.18) <= 0.1,
                sizes,
            ),
            fig.Claim(
                "the share of the target outside the source's features rises with the ablated share",
                "tahir2024, Figure 4d",
                lambda drawn: bool((np.diff(drawn.line("outside", _SOURCE).y) > 0).all()),
            ),
            fig.Claim(
                "the boundary between positive and negative transfer is predicted (80 % of the clear signs lie on "
                "their side)",
                "tahir2024, Figure 4e and section 4",
                self._boundary_is_predicted,
                heads,
            ),
            fig.Claim(
                "it is predicted more accurately as n grows (the share of clear signs on their side is no lower in the "
                "upper half of the sizes, and transfer's risk falls ever more slowly)",
                "tahir2024, section 4",
                self._more_accurate,
                heads,
            ),
        )

    def _boundary_is_predicted(self, drawn: fig.Drawn) -> bool:
        scratch = drawn.points("scratch", _SCRATCH)
        sides = self._sides_of(drawn, self._sizes())
        return _power_law(scratch).exponent > 0 and sides.right >= 0.8 * sides.clear

    def _more_accurate(self, drawn: fig.Drawn) -> bool:
        sizes = self._sizes()
        few, many = self._sides_of(drawn, sizes[:2]), self._sides_of(drawn, sizes[3:])
        transfer = [drawn.points("scratch", _transfer(mu)) for mu in _SHARES]
        mean = np.mean([[one[n].value for n in sizes] for one in transfer], axis=0)
        slower = mean[0] - mean[1] > mean[-2] - mean[-1] > 0
        return bool(slower and many.right * few.clear >= few.right * many.clear)

    def _sides_of(self, drawn: fig.Drawn, sizes: Sequence[int]) -> "_Sides":
        scratch = drawn.points("scratch", _SCRATCH)
        gains = _gains(scratch, drawn.simulated)
        if len(gains) < len(_SHARES) * len(self._sizes()):
            raise LookupError("not every transferability is simulated")
        outside = dict(zip(_SHARES, drawn.line("outside", _SOURCE).y, strict=True))
        return _sides({at: gain for at, gain in gains.items() if at[1] in sizes}, _power_law(scratch), outside)

    def _map(self, gains: Mapping[tuple[float, float], Estimate]) -> fig.Diagram:
        sizes = np.array(self._sizes(), dtype=np.float64)
        values = np.array([[gains[mu, n].value for mu in _SHARES] for n in sizes])
        return fig.Diagram("map", np.array(_SHARES), sizes, values, limit=float(np.quantile(np.abs(values), 0.8)))

    def _sizes(self) -> tuple[int, ...]:
        return tuple(self.largest * i // 5 for i in range(1, 6))

    def _pairs(self, mu: float) -> list[AblatedTeachers]:
        """Return one pair per seed; the target of a seed is the same for every share."""
        heads = {"head_mean": self.head_mean, "head_std": self.head_std}
        streams = [generator(seed, _TEACHER) for seed in range(self.seeds)]
        return [ablate(relu_teacher(self.d, self.n_teacher, own, **heads), mu, own) for own in streams]

    def _outside(self, mu: float) -> np.ndarray:
        """Return the share of the target outside the source's features, shape (seeds,)."""
        pairs = self._pairs(mu)
        outside = [outside_features(pair.source.neurons, pair.target).value for pair in pairs]
        return np.asarray(np.array(outside) / _norms(pairs))


def _transfer(mu: float) -> str:
    return f"linear transfer, μ = {mu:g}"


def _on_source_neurons(pairs: Sequence[AblatedTeachers], outside: np.ndarray, seed: int) -> Estimate:
    """Extrapolate to infinite data from n, 2n and 4n examples: (R(n) - 6 R(2n) + 8 R(4n))/3 has an error of O(n^-3).

    The teachers are those of the closed form `outside`, so the standard error is that of the difference.
    """
    n = max(_FEWEST, _PER_NEURON * len(pairs[0].source.heads))
    first, second, fourth = (_risk_of_source_heads(pairs, k * n, seed + 100 * k) for k in (1, 2, 4))
    values = (first - 6 * second + 8 * fourth) / 3 / _norms(pairs)
    shift = mean_estimate(values - outside)
    return replace(shift, value=shift.value + float(outside.mean()))


def _risk_of_source_heads(pairs: Sequence[AblatedTeachers], n: int, seed: int) -> np.ndarray:
    """Return the mean risk over `_SAMPLES` samples of least-squares heads on the neurons of the source, shape
    (pairs,)."""
    sources = tuple(pair.source for pair in pairs)
    given = Students(sources, np.full(len(pairs), "ok"))
    targets = [pair.target for pair in pairs]
    total = np.zeros(len(pairs))
    for k in range(_SAMPLES):
        samples = [pair.sample(n, generator(seed + i, _ON_SOURCE + k)) for i, pair in enumerate(pairs)]
        total += risks(refit_heads(given, samples, rcond=_EXACT), targets).risk
    return total / _SAMPLES


def _norms(pairs: Sequence[AblatedTeachers]) -> np.ndarray:
    return np.array([pair.target.squared_norm() for pair in pairs])


def _gains(
    scratch: Mapping[float, Estimate], simulated: Sequence[fig.Simulated]
) -> dict[tuple[float, float], Estimate]:
    """Return transferability by share and size, where both risks exist; they are from different samples."""
    return {
        (item.point.parameters["mu"], item.point.x): _difference(scratch[item.point.x], item.estimate)
        for item in simulated
        if item.point.panel == "scratch" and item.point.group and item.point.x in scratch and item.estimate.n
    }


def _difference(first: Estimate, second: Estimate) -> Estimate:
    """Return the difference of two independent means."""
    variance = sum(np.nan if mean.stderr is None else mean.stderr**2 for mean in (first, second))
    stderr = None if np.isnan(variance) else float(np.sqrt(variance))
    return Estimate(first.value - second.value, stderr, min(first.n, second.n))


@dataclass(frozen=True)
class _Sides:
    """Numbers of simulated transferabilities with a clear sign, and of those that the boundary predicts."""

    clear: int
    right: int


def _sides(gains: Mapping[tuple[float, float], Estimate], law: PowerLaw, outside: Mapping[float, float]) -> _Sides:
    """Return the number of clear simulated signs (2 standard errors), and of those that the boundary predicts."""
    clear = {place: gain for place, gain in gains.items() if abs(gain.value) > 2 * (gain.stderr or np.inf)}
    right = sum((law.amplitude * n**-law.exponent > outside[mu]) == (gain.value > 0) for (mu, n), gain in clear.items())
    return _Sides(len(clear), int(right))


def _kernels_agree(drawn: fig.Drawn) -> bool:
    before, after = (drawn.points("kernel", series) for series in (_BEFORE, _AFTER))
    return all(mean.value >= 0.97 and mean.value > before[mu].value for mu, mean in after.items())


def _power_law(risks: Mapping[float, Estimate]) -> PowerLaw:
    """Fit a power law to risks by sample size; NaN if a risk is not above 0."""
    values = np.array([mean.value for mean in risks.values()])
    return fit_power_law(np.array(list(risks)), values) if (values > 0).all() else PowerLaw(np.nan, np.nan)


def _r_squared(risks: Mapping[float, Estimate]) -> float:
    """Return the share of the variance of log risk that a power law explains: the squared correlation with log n."""
    n, values = np.array(list(risks)), np.array([mean.value for mean in risks.values()])
    return float(np.corrcoef(np.log(n), np.log(values))[0, 1] ** 2)
