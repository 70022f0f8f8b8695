"""The error over pretraining size n and fine-tuning size s, with laws weighted by held-out score."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transferscope.errors import DataError
from transferscope.scaling.fit import LawFit, fit_law, problem_of, usable
from transferscope.scaling.laws import FREE_LAWS, SURFACE_LAWS, Law
from transferscope.scaling.observations import Observations, observe
from transferscope.scaling.solve import Effort, solve
from transferscope.settings.questions import Loss

OUTLYING = 6.0
"""Robust standard deviations from which a point is reported as an outlier."""
FOLDS = 5

CLIPPED = 3.0
"""Clipping of residuals, in medians, if both sizes vary freely: a badly tuned run is not an error of the law."""

HELD_OUT = Effort(n_starts=4, max_steps=100, tolerance=1e-9)


@dataclass(frozen=True, slots=True)
class HeldOutScore:
    """Errors of one law where it was not fitted, as root mean squares of the log error.

    Attributes:
        leave_s_out: On each fine-tuning size in turn; where both sizes vary freely, on every FOLDS-th point in turn.
        larger_n: On the larger half of pretraining sizes, from the smaller; NaN where both vary freely.
        larger_s: On the larger half of fine-tuning sizes, from the smaller; NaN where both vary freely.
        last_budget: Where both sizes vary freely, on the largest budget (`last_budgets`), from the others.
        rate: The same for each unit of `log_distance` that they lie beyond the others.
    """

    in_sample: float
    leave_s_out: float
    larger_n: float = float("nan")
    larger_s: float = float("nan")
    last_budget: float = float("nan")
    rate: float = float("nan")

    @property
    def extrapolation(self) -> float:
        """What a choice for larger sizes goes by: `last_budget`, or the root mean square of the other two."""
        if np.isfinite(self.last_budget):
            return self.last_budget
        return float(np.sqrt((self.larger_n**2 + self.larger_s**2) / 2))

    def missed(self, distance: float) -> float:
        """Return the error of the law at a log distance beyond the measured sizes; 0 within them."""
        within = self.leave_s_out if np.isfinite(self.leave_s_out) else self.in_sample
        beyond = self.extrapolation if distance > 0 and np.isfinite(self.extrapolation) else within
        return float(np.fmax(beyond, self.rate * distance)) if distance > 0 else within


@dataclass(frozen=True)
class Surface:
    """Laws in (n, s) fitted to one table.

    Attributes:
        fits: Each law on all points it can use.
        weights: Weights for predictions beyond the range, proportional to 1 / score^2; they sum to 1.
        observations: All points, those at n = 0 and with error 0 too.
        free: Whether both sizes vary freely, so that few points share an s (`varies_freely`).
        outliers: Points far from the law (`outliers`); None where none are, or where sizes do not vary freely.
        loss: Residual of the fits.
        later: The same laws on the larger budgets alone (LATER), where both sizes vary freely: what a law misses there,
            at smaller budgets, moves its forecasts least. Half of the weight of a forecast is theirs.
    """

    fits: Mapping[str, LawFit]
    scores: Mapping[str, HeldOutScore]
    weights: Mapping[str, float]
    observations: Observations
    notes: tuple[str, ...]
    free: bool = False
    outliers: Observations | None = None
    loss: Loss = "log"
    later: Mapping[str, LawFit] = field(default_factory=dict)

    @cached_property
    def members(self) -> tuple[tuple[LawFit, float, HeldOutScore], ...]:
        """What forecasts are combined of: each fit with its weight, which sum to 1, and the score of its law."""
        parts = [(self.fits, 1 - 0.5 * bool(self.later)), (self.later, 0.5)]
        kept = [(fits, share, [name for name in self.weights if name in fits]) for fits, share in parts]
        return tuple(
            (fits[name], share * self.weights[name] / sum(self.weights[one] for one in names), self.scores[name])
            for fits, share, names in kept
            for name in names
        )

    @property
    def largest(self) -> tuple[float, float]:
        """The largest measured n and the largest measured s."""
        n, s = self.observations.sizes.max(axis=0)
        return float(n), float(s)

    @cached_property
    def pretrained(self) -> Float[np.ndarray, "m 2"]:
        """The sizes that laws were fitted to, with n above 0."""
        sizes = next(iter(self.fits.values())).observations.sizes
        return sizes[sizes[:, 0] > 0]

    @property
    def smallest(self) -> tuple[float, float]:
        """The smallest measured n above 0 and the smallest s."""
        n, s = self.pretrained.min(axis=0)
        return float(n), float(s)

    @property
    def least_error(self) -> float:
        """The smallest measured error."""
        return float(self.observations.errors.min())

    @property
    def interpolating(self) -> str:
        """The law to read within the measured range: best with one fine-tuning size left out (or in sample)."""
        ranks = {name: (np.nan_to_num(one.leave_s_out, nan=np.inf), one.in_sample) for name, one in self.scores.items()}
        return min(ranks, key=lambda name: ranks[name])

    def predict(self, sizes: ArrayLike) -> Float[np.ndarray, " t"]:
        """Return the weighted mean (of logarithms) over `members` at (n, s), shape (t, 2)."""
        x = np.asarray(sizes, dtype=np.float64)
        return np.asarray(np.exp(np.sum([weight * np.log(fit.predict(x)) for fit, weight, _ in self.members], axis=0)))


def fit_surface(
    pretrain_sizes: ArrayLike,
    finetune_sizes: ArrayLike,
    errors: ArrayLike,
    *,
    stderr: ArrayLike | None = None,
    loss: Loss | None = None,
    rows: ArrayLike | None = None,
    spent: ArrayLike | None = None,
    free: bool | None = None,
) -> Surface:
    """Fit every law in (n, s) and score each where it was not fitted.

    The law that fits best need not extrapolate best: on the published Syn2Real surface, effective data fits four times
    better than the full law and does worse beyond the largest s it was given.

    Where both sizes vary freely, as the parameters and training tokens of language models do, the additive law that
    such tables are read by (Hoffmann et al. 2022), the coupled one and one with an offset of n are fitted, and points
    far from the first are looked for. The Huber loss is the default there: one or two badly tuned runs among 30 move
    least squares beyond the measured budgets by 2 %, and not the Huber loss (docs/results/scaling-compute.md).

    Args:
        pretrain_sizes: n, shape (m,), >= 0; laws without a value at n = 0 leave those rows out.
        finetune_sizes: s, shape (m,), above 0.
        errors: Shape (m,).
        stderr: Standard errors of `errors`, used as weights; None for equal weights.
        loss: Residual of the fits; None for "huber" where both sizes vary freely, and "log" elsewhere.
        rows: Names of the rows of the table, as "line 2", used in notes on outliers; None if unknown.
        spent: Cost of each run, such as its compute budget, shape (m,); None if unknown.
        free: Whether both sizes vary freely; None to infer it from the points (`varies_freely`).

    Raises:
        DataError: There are fewer than 2 sizes above 0 on an axis or fewer than 7 different points.
    """
    n, s = (np.asarray(column, dtype=np.float64) for column in (pretrain_sizes, finetune_sizes))
    data = observe(np.stack([n, s], axis=1), errors, stderr=stderr, rows=rows, spent=spent)
    counts = [len(np.unique(column)) for column in data.sizes[(data.sizes > 0).all(axis=1)].T]
    if min(counts) < 2 or data.n_distinct < 7:
        raise DataError(
            "a surface over (n, s) needs 7 points with 2 values of n and of s above 0, but there are "
            f"{data.n_distinct} points with {counts[0]} and {counts[1]}"
        )
    free = varies_freely(data.sizes) if free is None else free
    laws, loss = FREE_LAWS if free else SURFACE_LAWS, loss or ("huber" if free else "log")
    fits = {name: fit for name, fit in _fits(data, laws, loss).items() if fit.status != "too_few"}
    scores = {name: held_out_score(fit.law, data, loss, free=free) for name, fit in fits.items()}
    far = outliers(data, laws["additive"]) if free else None
    later = later_fits(data, loss) if free else {}
    return Surface(fits, scores, _weights(scores), data, data.notes, free, far, loss, later)


LATER, LEAST_LATER = 0.35, 2
"""Laws are fitted once more without the runs of the first share of the range of budgets, in logarithms, where there are
so many runs for each parameter. Chosen on development tables (docs/results/scaling-compute.md)."""


def later_fits(data: Observations, loss: Loss) -> dict[str, LawFit]:
    """Return the laws of sizes that vary freely, fitted to the larger budgets."""
    spent = np.log(_spent(data))
    part = data.take(spent >= spent.min() + LATER * np.ptp(spent) - 1e-9)
    least = LEAST_LATER * max(len(law.parameters) for law in FREE_LAWS.values())
    if not least <= part.n_distinct < data.n_distinct:
        return {}
    return _fits(part, FREE_LAWS, loss)


def _fits(data: Observations, laws: Mapping[str, Law], loss: Loss) -> dict[str, LawFit]:
    return {
        name: fit_law(data.sizes, data.errors, law=law, loss=loss, stderr=data.stderr) for name, law in laws.items()
    }


def _spent(data: Observations) -> Float[np.ndarray, " m"]:
    """Return what each run was said to cost, or n s; without pretraining (n = 0), as with the least n."""
    return np.asarray(_above_zero(data.sizes).prod(axis=1)) if data.spent is None else data.spent


def _above_zero(sizes: Float[np.ndarray, "m 2"]) -> Float[np.ndarray, "m 2"]:
    return np.asarray(np.maximum(sizes, np.where(sizes > 0, sizes, np.inf).min(axis=0)))


def varies_freely(sizes: Float[np.ndarray, "m 2"]) -> bool:
    """Return whether most points of a table have their own s: under 2 points for each s."""
    distinct = np.unique(sizes, axis=0)
    return len(distinct) < 2 * len(np.unique(distinct[:, 1]))


MOST_APART = 0.2
"""Runs whose budgets lie within this log distance from the next one, and all within WIDEST, are of one budget: 6 N D is
.93 to 1.35 times the budget in published runs."""
WIDEST = 0.5
LEAST_BUDGETS = 3
LEAST_AWAY = 0.1
PARTS = 5
"""Number of parts of equal size by compute that replace budgets if runs have no common ones."""


def budgets(spent: Float[np.ndarray, " m"]) -> list[Int[np.ndarray, " k"]]:
    """Return the rows of each budget, the smallest first; one row each if budgets have nothing in common."""
    order = np.argsort(spent, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(np.log(spent[order])) > MOST_APART) + 1)
    return [
        part
        for group in groups
        for part in ([group] if np.ptp(np.log(spent[group])) <= WIDEST else np.split(group, len(group)))
    ]


def last_budgets(data: Observations) -> list[Bool[np.ndarray, " m"]]:
    """Return the points of the last one, two and three budgets, as masks: of n s, or of given costs."""
    spent = _spent(data)
    groups = budgets(spent)
    if len(groups) > len(spent) / 3 or len(groups) < LEAST_BUDGETS:
        groups = np.array_split(np.argsort(spent, kind="stable"), PARTS)
    places = np.repeat(np.arange(len(groups)), [len(group) for group in groups])[np.argsort(np.concatenate(groups))]
    return [places >= len(groups) - last for last in range(1, min(4, len(groups)))]


def log_distance(at: Float[np.ndarray, "t 2"], sizes: Float[np.ndarray, "m 2"]) -> Float[np.ndarray, " t"]:
    """Return the distance of points from the measured sizes: the largest of log n, log s and half of log n s beyond, or
    0.

    Below the smallest n or s counts as well.
    """
    both = [np.log(np.concatenate([one, np.sqrt(one.prod(axis=1, keepdims=True))], axis=1)) for one in (at, sizes)]
    beyond = np.concatenate([both[0] - both[1].max(axis=0), (both[1].min(axis=0) - both[0])[:, :2]], axis=1)
    return np.asarray(np.maximum(beyond.max(axis=1), 0.0))


def outliers(data: Observations, law: Law) -> Observations | None:
    """Return points further than OUTLYING robust standard deviations from a law fitted with the Huber loss.

    The standard deviation is 1.4826 times the median distance from the median residual, in log error, without the p
    smallest: a fit of p parameters in absolute values goes through about p of the points, whatever the noise.

    Returns:
        The points, the furthest first; None where none are that far.
    """
    data = usable(data, law, "huber")
    theta = solve(problem_of(data, law, "huber", {}), HELD_OUT).theta
    expected = np.maximum(law.value(data.sizes, theta)[0], 1e-300)
    residuals = np.log(data.errors) - np.log(expected)
    distance = np.abs(residuals - np.median(residuals))
    rest = np.sort(distance)[min(len(law.parameters), len(distance) - 1) :]
    far = np.flatnonzero(distance > OUTLYING * 1.4826 * np.median(rest) + 1e-9)
    return data.take(far[np.argsort(-distance[far], kind="stable")]) if len(far) else None


def held_out_score(law: Law, data: Observations, loss: Loss, *, free: bool | None = None) -> HeldOutScore:
    """Score a law on parts of the table that it is not fitted to; NaN where the rest is too small.

    A law that has a value at n = 0 is fitted to those points as well; every law is scored on n > 0 only, so that the
    scores of different laws are about the same points.
    """
    data = usable(data, law, loss)
    n, s = data.sizes.T
    pretrained = n > 0
    free = varies_freely(data.sizes) if free is None else free
    place = np.arange(len(s)) % FOLDS if free else np.unique(s, return_inverse=True)[1]
    left_out = [_squares(law, data, loss, place != one, (place == one) & pretrained) for one in np.unique(place)]
    fitted = _squares(law, data, loss, np.ones_like(pretrained), pretrained)
    if free:
        last = last_budgets(data)[0]
        missed = _clipped_mean(_squares(law, data, loss, ~last, last))
        sizes = _above_zero(data.sizes)
        away = float(log_distance(sizes[last], sizes[~last]).mean())
        inside = (_clipped_mean(fitted), _clipped_mean(np.concatenate(left_out)))
        return HeldOutScore(*inside, last_budget=missed, rate=missed / max(away, LEAST_AWAY))
    inside = (_root_mean(fitted), _root_mean(np.concatenate(left_out)))
    n_edge, s_edge = _edge(n[pretrained]), _edge(s[pretrained])
    return HeldOutScore(
        *inside,
        larger_n=_root_mean(_squares(law, data, loss, n < n_edge, n >= n_edge)),
        larger_s=_root_mean(_squares(law, data, loss, s < s_edge, (s >= s_edge) & pretrained)),
    )


def _edge(sizes: Float[np.ndarray, " m"]) -> float:
    """Return the smallest of the larger half of the distinct sizes; the middle one belongs to the smaller half."""
    distinct = np.unique(sizes)
    return float(distinct[len(distinct) - len(distinct) // 2])


def _squares(
    law: Law, data: Observations, loss: Loss, seen: Bool[np.ndarray, " m"], scored: Bool[np.ndarray, " m"]
) -> Float[np.ndarray, " r"]:
    part = data.take(seen)
    if part.n_distinct < len(law.parameters):
        return np.full(int(scored.sum()), np.nan)
    theta = solve(problem_of(part, law, loss, {}), HELD_OUT).theta
    predicted = np.maximum(law.value(data.sizes[scored], theta)[0], 1e-12)
    return np.asarray(np.square(np.log(predicted) - np.log(np.maximum(data.errors[scored], 1e-12))))


def _root_mean(squares: Float[np.ndarray, " r"]) -> float:
    return float(np.sqrt(squares.mean()))


def _clipped_mean(squares: Float[np.ndarray, " r"]) -> float:
    """Return the root mean square of errors clipped at CLIPPED medians; NaN if one is unknown."""
    return _root_mean(np.minimum(squares, CLIPPED**2 * np.median(squares)))


def _weights(scores: Mapping[str, HeldOutScore]) -> dict[str, float]:
    squared = {name: score.extrapolation**2 for name, score in scores.items() if np.isfinite(score.extrapolation)}
    if not squared:
        return {name: 1 / len(scores) for name in scores}
    inverse = {name: 1 / (value + 1e-12) for name, value in squared.items()}
    return {name: value / sum(inverse.values()) for name, value in inverse.items()}
