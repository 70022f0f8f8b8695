"""Pretraining of deep linear networks, and the range of the limit of tahir2024 Theorem 3.4."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from transferscope.estimate import Estimate
from transferscope_papers import figure as fig
from transferscope_papers.problems import LinearTeacher, LinearTransfer, Sample, teachers_at_angle
from transferscope_papers.simulate.deep_linear import random_start, train
from transferscope_papers.simulate.descent import Descent, DescentSettings
from transferscope_papers.simulate.least_squares import LeastSquares, from_moments, isotropic_population
from transferscope_papers.simulate.outcomes import mean_estimate
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.theory.gaussian_regression import regression_on_features, ridge_weights
from transferscope_papers.theory.linear_scratch import scratch_risk_finite
from transferscope_papers.theory.linear_transfer import linear_transfer_risk
from transferscope_papers.theory.sparsification import estimated_source_outside, leftover_features, remaining_features

_DEPTHS = {2: (0.001, 0.003, 0.01, 0.03, 0.1, 0.3), 3: (0.001, 0.003, 0.01, 0.03, 0.1), 4: (0.001, 0.003, 0.01, 0.03)}
"""Depths with scales of the initial weights, up to those that are not small relative to the learnt weights."""
_HEADED = (2, 3)
"""Depths whose error is shown."""
_WIDTHS = (0.25, 0.5, 1.0, 2.0)
_AT_WIDTHS = 0.01
"""Scale of the initial weights if the width varies."""
_SOURCES = (0.5, 2.0, 4.0, 8.0, 16.0)
_SMALL = 0.001
"""Scale of the initial weights if source examples vary."""
_AT_PEAK = 3
"""Up to this |n_S - d| a ratio of means differs from the mean ratio, and the line has a gap."""
_EXACT, _RIDGED, _LIMIT, _SCRATCH = "exact head", "head with a ridge", "limit (Theorem 3.7)", "from scratch"
_FINITE = "two layers"
_SOURCE_SAMPLE, _TARGET_SAMPLE = 700, 701
_DRAWN = 60
"""Draws of the remainder of the initial weights, for a line."""
_SMALL_START = 0.03
"""Up to this scale the initial weights do not affect learning the source."""
_NEAR = 0.05
_PRECISION = 1e-14
"""Relative cut-off of singular values for an exact head."""


@dataclass(frozen=True)
class PretrainedFigure(fig.TheoryFigure):
    """Features after gradient descent from a random start: spectrum, and error of linear transfer.

    Networks of full width start from N(0, alpha^2) entries and learn the source: its population, or in the last panel a
    finite noisy sample. The lines of the spectrum are the closed form of `theory.sparsification`, a limit of many
    inputs. Scores compare with draws, at this d, of the direction of the source and the remainder of the start; those
    of the third panel compare with the mean risk of ridge regression on these draws, its lines. A spectrum is scored
    only if the start is small.

    Attributes:
        d: Number of inputs, and width.
        seeds: Networks per point.
        targets: Target samples per network.
        sigma: Label noise, of the target and of a finite source.
        ridge: lambda of the head with a ridge.
    """

    d: int = fig.setting(60, fig.Range(10, 100), quick=40)
    seeds: int = fig.setting(20, fig.Range(2, 1000), quick=8)
    targets: int = fig.setting(50, fig.Range(1, 10_000), quick=20)
    theta: float = fig.setting(math.pi / 4, fig.Range(0.05, 1.5))
    sigma: float = fig.setting(0.3, fig.SIGMA)
    ridge: float = fig.setting(1e-3, fig.Range(1e-8, 1))

    name: ClassVar[str] = "tahir2024-sparsification"
    version: ClassVar[int] = 2
    known_share: ClassVar[float] = 0.05  # ratio of means instead of mean of ratios; tolerance of descent

    def theory(self) -> fig.Theory:
        """Return spectrum against scale and width, error against scale and source examples."""
        widths = np.geomspace(_WIDTHS[0], _WIDTHS[-1], 25)
        curves = []
        for depth, tried in _DEPTHS.items():
            scales = np.geomspace(tried[0], tried[-1], 25)
            curves.append(fig.Curve("scale", _layers(depth), scales, self._remaining(scales, depth, self.d)))
            curves.append(
                fig.Curve("width", _layers(depth), widths, self._remaining(_AT_WIDTHS, depth, widths * self.d))
            )
        for depth in _HEADED:
            scales = np.geomspace(_DEPTHS[depth][0], _DEPTHS[depth][-1], 9)
            for head, ridge in self._heads.items():
                risks = np.array([self._modelled(alpha, depth, ridge) for alpha in scales])
                curves.append(fig.Curve("risk", f"{_layers(depth)}, {head}", scales, risks))
        shares = np.geomspace(_SOURCES[0], _SOURCES[-1], 120)
        finite = np.array([self._finite(share * self.d) for share in shares])
        finite[np.abs(shares * self.d - self.d) <= _AT_PEAK] = math.nan
        curves.append(fig.Curve("source", _FINITE, shares, finite))
        for panel, x in (("risk", np.array(_DEPTHS[2])), ("source", shares)):
            ends = x[[0, -1]]
            curves.append(fig.Curve(panel, _LIMIT, ends, np.full(2, self._limit), dashed=True))
            curves.append(fig.Curve(panel, _SCRATCH, ends, np.full(2, self._scratch), dashed=True))
        ratio, risk = "second / first singular value", f"risk of linear transfer, n = {self._n}"
        panels = (
            fig.Panel("scale", f"Features, d = h = {self.d}", "scale α of the start", ratio, True, True),
            fig.Panel("width", f"Features at α = {_AT_WIDTHS:g}", "width h / d", ratio, True, True),
            fig.Panel("risk", f"λ = {self.ridge:g}, σ = {self.sigma:g}, θ = {self.theta:.3g}", "scale α", risk, True),
            fig.Panel("source", "A finite noisy source", "source examples / d", risk, True),
        )
        return fig.Theory(panels, tuple(curves))

    def points(self) -> tuple[fig.Point, ...]:
        """Return one simulation per depth and scale, width, and number of source examples."""
        planned = []
        for depth in _DEPTHS:
            for alpha in _DEPTHS[depth]:
                own: dict[str, float] = {"depth": depth, "scale": alpha, "width": self.d, "source": math.inf}
                group = f"{depth} layers"
                ratio = self._drawn_ratio(alpha, depth, self.d) if alpha <= _SMALL_START else math.nan
                planned.append(fig.Point("scale", _layers(depth), alpha, ratio, own, group=group))
                if depth in _HEADED:
                    planned += [
                        fig.Point(
                            "risk",
                            f"{_layers(depth)}, {head}",
                            alpha,
                            self._modelled(alpha, depth, ridge),
                            own,
                            group=group,
                        )
                        for head, ridge in self._heads.items()
                    ]
            for share in _WIDTHS:
                width = round(share * self.d)
                own = {"depth": depth, "scale": _AT_WIDTHS, "width": width, "source": math.inf}
                ratio = self._drawn_ratio(_AT_WIDTHS, depth, width)
                planned.append(
                    fig.Point("width", _layers(depth), share, ratio, own, group=f"{depth} layers, width {width}")
                )
        for share in _SOURCES:
            n = round(share * self.d)
            own = {"depth": 2, "scale": _SMALL, "width": self.d, "source": n}
            planned.append(fig.Point("source", _FINITE, share, self._finite(n), own, group="finite source"))
        return tuple(planned)

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Pretrain the networks of all points of one depth and width at once, each start of a scale once."""
        starts = list(dict.fromkeys((point.parameters["scale"], point.parameters["source"]) for point in points))
        own = points[0].parameters
        depth, width, first = int(own["depth"]), int(own["width"]), points[0].seed
        seeds = range(first, first + self.seeds)
        losses = [self._source(source, list(seeds)) for _, source in starts]
        columns = zip(*((one.basis, one.spectrum, one.cross) for one in losses), strict=True)
        loss = LeastSquares(*(torch.cat(parts) for parts in columns))
        layers = [random_start(seeds, self.d, depth=depth, width=width, scale=scale) for scale, _ in starts]
        trained = train(loss, tuple(torch.cat(parts) for parts in zip(*layers, strict=True)), DescentSettings())
        means = {start: self._measured(trained, i, seeds) for i, start in enumerate(starts)}
        return tuple(
            means[point.parameters["scale"], point.parameters["source"]][_measure_of(point)] for point in points
        )

    def conclude(self, simulated: Sequence[fig.Simulated]) -> fig.Conclusion:
        """Return the scale up to which the error equals that of the limit."""
        parts = []
        for depth in _HEADED:
            for head in self._heads:
                series = f"{_layers(depth)}, {head}"
                own = fig.simulated_means(simulated, "risk", series)
                good = [alpha for alpha, mean in own.items() if abs(mean.value / self._limit - 1) <= 2 * _NEAR]
                parts.append(f"{series}: {f'up to α = {max(good):g}' if good else 'at no scale tried'}")
        return fig.Conclusion(f"the risk is within {200 * _NEAR:.0f} % of Theorem 3.7: {'; '.join(parts)}")

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return the claim that features sparsify, and claims beyond the limit."""
        ridge = self.unlike_the_paper("ridge", says="It was found at")
        return (
            fig.Claim(
                "features sparsify to the source's direction as α → 0: up to α = 0.03 the second singular value falls "
                "as α to the power L − 1 (within a tenth), at every depth",
                "tahir2024, Theorem 3.4",
                _sparsify,
            ),
            fig.Claim(
                "what is left is the start: the closed form gives the second singular value within a fifth up to "
                "α = 0.03, and at widths from d/2 on",
                "follows tahir2024, Theorem 3.4",
                _as_computed,
            ),
            fig.Claim(
                "with an exact head of least norm linear transfer is not that of the limit at any scale (more than "
                f"{200 * _NEAR:.0f} % off)",
                "corrects tahir2024, Theorem 3.7",
                lambda drawn: (
                    not any(self._near(drawn, depth, _EXACT, alpha) for depth in _HEADED for alpha in _DEPTHS[depth])
                ),
            ),
            fig.Claim(
                "with a ridge it is, at the smallest scale, and no longer at the largest",
                "tahir2024, Theorem 3.7, where its limit stops",
                lambda drawn: all(
                    self._near(drawn, depth, _RIDGED, _DEPTHS[depth][0])
                    and not self._near(drawn, depth, _RIDGED, _DEPTHS[depth][-1])
                    for depth in _HEADED
                ),
                ridge,
            ),
            fig.Claim(
                "a finite noisy source costs: with d/2 source examples the risk is a tenth above the limit or more, "
                "with 16 d it is within a tenth of it",
                "beyond tahir2024, whose source is the population",
                self._source_costs,
                self.unlike_the_paper("theta", "sigma", says="It was found at"),
            ),
        )

    @property
    def _n(self) -> int:
        return self.d // 2

    @property
    def _heads(self) -> Mapping[str, float]:
        return {_EXACT: 0.0, _RIDGED: self.ridge}

    @property
    def _pair(self) -> LinearTransfer:
        return teachers_at_angle(self.d, theta=self.theta, sigma=self.sigma)

    @property
    def _limit(self) -> float:
        return float(linear_transfer_risk(self.theta, self._n, sigma=self.sigma))

    @property
    def _scratch(self) -> float:
        return float(scratch_risk_finite(self._n, self.d, sigma=self.sigma))

    def _remaining(self, scale: float | np.ndarray, depth: int, width: float | np.ndarray) -> np.ndarray:
        return remaining_features(scale, float(self.d), depth=float(depth), width=width)

    def _finite(self, n_source: float) -> float:
        outside = float(estimated_source_outside(self.theta, n_source, float(self.d), sigma=self.sigma))
        return outside + (outside + self.sigma**2) / (self._n - 2)

    def _modelled(self, alpha: float, depth: int, ridge: float) -> float:
        regressions = [regression_on_features(self._pair.target, one) for one in self._left(alpha, depth, self.d)]
        return float(np.mean([one.risk(float(self._n), ridge) for one in regressions]))

    def _drawn_ratio(self, alpha: float, depth: int, width: int) -> float:
        sizes = [np.linalg.svd(one, compute_uv=False) for one in self._left(alpha, depth, width)]
        return float(np.mean([one[1] / one[0] for one in sizes]))

    def _left(self, alpha: float, depth: int, width: int) -> list[np.ndarray]:
        source, streams = self._pair.source.weights, map(np.random.default_rng, range(_DRAWN))
        return [leftover_features(source, scale=alpha, depth=depth, width=width, generator=one) for one in streams]

    def _source(self, n: float, seeds: Sequence[int]) -> LeastSquares:
        """Return the losses of pretraining, one for each seed."""
        theta = self._pair.source.weights
        if math.isinf(n):
            return isotropic_population(torch.from_numpy(np.tile(theta, (len(seeds), 1))))
        teacher = LinearTeacher(theta, self.sigma, self._pair.source.covariance)
        samples = [teacher.sample(int(n), generator(seed, _SOURCE_SAMPLE)) for seed in seeds]
        gram = np.stack([sample.inputs.T @ sample.inputs / n for sample in samples])
        cross = np.stack([sample.targets @ sample.inputs / n for sample in samples])
        rank = torch.full((len(seeds),), int(n))
        return from_moments(torch.from_numpy(gram), torch.from_numpy(cross), rank)

    def _measured(self, trained: Descent, i: int, seeds: Sequence[int]) -> dict[str, Estimate]:
        """Return the means of one start over its networks: the ratio of singular values, and the risk with each
        head."""
        rows = slice(i * self.seeds, (i + 1) * self.seeds)
        features = trained.weights[0][rows]
        for layer in trained.weights[1:-1]:
            features = features @ layer[rows]
        target, status = self._pair.target, trained.status[rows]
        values: dict[str, list[float]] = {name: [] for name in ("ratio", *self._heads, _FINITE)}
        for phi, seed in zip(features.numpy(), seeds, strict=True):
            if not np.isfinite(phi).all():
                for own in values.values():
                    own.append(math.nan)
                continue
            left, sizes, _ = np.linalg.svd(phi)
            values["ratio"].append(float(sizes[1] / sizes[0]))
            samples = [target.sample(self._n, generator(seed, _TARGET_SAMPLE + k)) for k in range(self.targets)]
            for name in (*self._heads, _FINITE):
                risks = [
                    target.risk(self._weights(name, one, left[:, :1] if name == _FINITE else phi)) for one in samples
                ]
                values[name].append(float(np.mean(risks)))
        return {name: mean_estimate(np.array(own), status) for name, own in values.items()}

    def _weights(self, head: str, sample: Sample, features: np.ndarray) -> np.ndarray:
        """Return the end-to-end weights of a head on frozen features: of least norm, or with the ridge."""
        seen = sample.inputs @ features
        if head == _RIDGED:
            return np.asarray(features @ ridge_weights(seen, sample.targets, self.ridge))
        return np.asarray(features @ np.linalg.lstsq(seen, sample.targets, rcond=_PRECISION)[0])

    def _near(self, drawn: fig.Drawn, depth: int, head: str, alpha: float) -> bool:
        risk = drawn.points("risk", f"{_layers(depth)}, {head}")[alpha].value
        return abs(risk / self._limit - 1) <= 2 * _NEAR

    def _source_costs(self, drawn: fig.Drawn) -> bool:
        risks = drawn.points("source", _FINITE)
        few, many = (risks[share].value / self._limit - 1 for share in (_SOURCES[0], _SOURCES[-1]))
        return few >= 2 * _NEAR >= abs(many)


def _layers(depth: int) -> str:
    return f"L = {depth}"


def _measure_of(point: fig.Point) -> str:
    if point.panel == "source":
        return _FINITE
    return "ratio" if point.panel in ("scale", "width") else point.series.split(", ")[1]


def _sparsify(drawn: fig.Drawn) -> bool:
    for depth in _DEPTHS:
        small = {x: mean.value for x, mean in drawn.points("scale", _layers(depth)).items() if x <= 0.03}
        if min(small.values()) <= 0:
            return False
        slope = np.polyfit(np.log(list(small)), np.log(list(small.values())), 1)[0]
        if abs(slope - (depth - 1)) > 0.1:
            return False
    return True


def _as_computed(drawn: fig.Drawn) -> bool:
    for panel in ("scale", "width"):
        for depth in _DEPTHS:
            line = drawn.line(panel, _layers(depth))
            for x, mean in drawn.points(panel, _layers(depth)).items():
                height = float(np.exp(np.interp(np.log(x), np.log(line.x), np.log(np.abs(line.y) + 1e-300))))
                if (x >= 0.5 if panel == "width" else x <= 0.03) and abs(mean.value / height - 1) > 0.2:
                    return False
    return True
