"""Racing: which run to make next so that few runs decide whether, and by which arm, a baseline is beaten.

Arms are compared on paired scores: run s of every arm shares its seed with run s of all others. Half-widths come from
a mixture of t statistics over normally distributed effects, which holds at every look (Lai 1976; Robbins 1970), with
the variance of a comparison moderated by that of all comparisons (Smyth 2004). Arms that cannot be better than the
leader by more than the margin are dropped (Maron and Moore, "Hoeffding races", 1994).

Row 0 is the baseline (training from scratch). Other rows may be controls: ways to do without transfer, which an arm
that transfers has to beat as well. Asking it to beat all of them is an intersection-union test (Berger 1982), so that
controls cost no level.

The level of a single "better" pays for the number of arms that transfer; dropping pays for none, since "no other arm is
better by more than the margin" is wrong only where the one best arm was dropped. That no decision is wrong more often
than the risk was measured in simulations and on recorded noise (docs/results/race.md); it is no theorem.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from transferscope.errors import SettingsError

Question = Literal["whether", "which"]

_PRIOR_DF = 2.0
_SHRINK_DF = 4.0
_RATIO = 0.25
"""Squared noise of a difference over squared size of the effects that the mixture is about."""
_DROP_LEVEL = 0.5
_BETTER_SHARE = 3.0
"""The level of all "better" together over the risk; the risk itself was measured (docs/results/race.md)."""
_LEAST_DF = 4
_LEAST_BETTER_DF = 6
"""Pooled degrees of freedom before anything is dropped, and before anything is called better."""
_SECOND_SEED = 4
"""So many of the best arms get a second run before anything is said."""


@dataclass(frozen=True, slots=True)
class RaceRule:
    """When a race says something.

    Attributes:
        risk: Wanted probability of any false "better", in (0, 0.5].
        margin: Differences up to this are of no interest; above 0, in the unit of the scores.
        prior_sd: Standard deviation of a paired difference that is expected before any run, above 0, in the unit of
            the scores. 1.5 points of accuracy is the median of eleven studies.

    Raises:
        SettingsError: A value is out of its range.
    """

    risk: float = 0.05
    margin: float = 1.0
    prior_sd: float = 1.5

    def __post_init__(self) -> None:
        if not 0 < self.risk <= 0.5:
            raise SettingsError(f"a race has the risk {self.risk}; expected a probability above 0 and up to 0.5")
        for name, value in (("margin", self.margin), ("prior_sd", self.prior_sd)):
            if not (math.isfinite(value) and value > 0):
                raise SettingsError(f"a race has {name} = {value}; expected a finite number above 0")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Every arm against one of them.

    Attributes:
        mean: Mean difference over shared runs, shape (n_arms,); NaN without one, 0 for the reference.
        sd: Moderated standard deviation of a difference, shape (n_arms,).
        n: Shared runs, shape (n_arms,).
        df: Pooled degrees of freedom of all differences.
    """

    mean: Float[np.ndarray, " n_arms"]
    sd: Float[np.ndarray, " n_arms"]
    n: Float[np.ndarray, " n_arms"]
    df: int

    def half_width(self, level: float) -> Float[np.ndarray, " n_arms"]:
        """What the mean difference may be off by, at any look, but for a probability of `level` on each side.

        Returns:
            Shape (n_arms,); infinity where there are too few runs.
        """
        return half_width(self.n, self.sd, level)

    def above(self, level: float) -> Bool[np.ndarray, " n_arms"]:
        """Whether an arm is shown to be better than the reference, at a level for each arm."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.df >= _LEAST_BETTER_DF) & (self.mean - self.half_width(level) > 0))


def half_width(
    n: Float[np.ndarray, " n_arms"], sd: Float[np.ndarray, " n_arms"], level: float
) -> Float[np.ndarray, " n_arms"]:
    """Half-width of the confidence sequence of a mean: the t statistic mixed over normal effects, solved for the mean.

    Args:
        n: Numbers of observations, at least 0.
        sd: Moderated standard deviations, with n + 3 degrees of freedom.
        level: Probability that the mean is ever further off, in (0, 1).

    Returns:
        Half-widths; infinity where n = 0 or where no finite one has the level.
    """
    some = np.maximum(n, 1.0)
    nu, growth = some + _SHRINK_DF - 1.0, 1.0 + some / _RATIO
    least = (np.sqrt(growth) / level) ** (2.0 / (nu + 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.sqrt(nu * (least - 1.0) / (1.0 - least / growth)) * sd / np.sqrt(some)
    return np.where((n < 1) | (least >= growth), np.inf, width)


def bounds_against(
    scores: Float[np.ndarray, "n_arms n_seeds"], reference: int, rule: RaceRule, *, controls: Sequence[int] = ()
) -> Bounds:
    """Paired differences of every arm to one of them, with moderated variances.

    Args:
        scores: Larger is better; NaN for runs that were not made.
        reference: The arm that the others are compared with.
        rule: Its expected standard deviation.
        controls: Rows whose differences do not enter the common variance: most train no network and vary less.
    """
    differences = scores - scores[reference]
    there = np.isfinite(differences)
    n = there.sum(axis=1).astype(float)
    with np.errstate(invalid="ignore"):
        mean = np.where(there, differences, 0.0).sum(axis=1) / np.where(n > 0, n, np.nan)
    squares = np.where(there, (differences - mean[:, None]) ** 2, 0.0).sum(axis=1)
    spare = np.maximum(n - 1.0, 0.0)
    others = np.arange(len(scores)) != reference
    df = int(spare[others].sum())
    common = others.copy()
    common[list(controls)] = False
    pooled = (_PRIOR_DF * rule.prior_sd**2 + squares[common].sum()) / (_PRIOR_DF + spare[common].sum())
    sd = np.sqrt((_SHRINK_DF * pooled + squares) / (_SHRINK_DF + spare))
    return Bounds(mean, np.where(others, sd, 0.0), n, df)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a race stands; everything follows from the scores.

    Attributes:
        levels: Score of every arm, less what the seeds contribute, shape (n_arms,); NaN without a run. Least squares of
            arm plus seed.
        leader: The arm with the highest level; 0 is the baseline itself.
        better: Whether the arm transfers and is shown to beat the baseline, shape (n_arms,).
        worse: Whether it transfers and is shown to fall behind the baseline, shape (n_arms,).
        beats_controls: Whether the arm transfers and is shown to beat every control, shape (n_arms,); True for all that
            transfer where there is no control.
        hopeless: Whether it transfers and cannot beat the best of the baseline and the controls by more than the
            margin.
        alive: Whether it may still be better than the leader by more than the margin; the leader too.
        equivalent: Whether it is within the margin of the leader on both sides; the leader too.
        whether: "helps" when an arm that transfers beats the baseline and every control, "no" when none can beat the
            best of these by more than the margin, else "open".
        which: Whether no arm is left that may be better than the leader by more than the margin.
        baseline: Every arm against the baseline.
        rivals: Every arm against the leader.
    """

    levels: Float[np.ndarray, " n_arms"]
    leader: int
    better: Bool[np.ndarray, " n_arms"]
    worse: Bool[np.ndarray, " n_arms"]
    beats_controls: Bool[np.ndarray, " n_arms"]
    hopeless: Bool[np.ndarray, " n_arms"]
    alive: Bool[np.ndarray, " n_arms"]
    equivalent: Bool[np.ndarray, " n_arms"]
    whether: Literal["helps", "no", "open"]
    which: bool
    baseline: Bounds
    rivals: Bounds

    def settles(self, question: Question) -> bool:
        """Whether the question is answered."""
        return self.whether != "open" and (self.which or question == "whether")


def standing(scores: ArrayLike, rule: RaceRule, *, controls: Sequence[int] = ()) -> Standing:
    """Where the race stands.

    Args:
        scores: Shape (n_arms, n_seeds), larger is better, row 0 is the baseline; NaN for runs that were not made or
            that failed.
        rule: When something is said.
        controls: Rows that are no transfer, beside row 0.

    Raises:
        SettingsError: There is no arm that transfers.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2 + len(controls):
        raise SettingsError(
            f"a race has scores of shape {table.shape} with {len(controls)} control(s); expected a baseline and at "
            "least one arm that transfers"
        )
    transfers = np.ones(len(table), dtype=bool)
    transfers[[0, *controls]] = False
    levels = _levels(table)
    leader = int(np.argmax(np.where(np.isfinite(levels), levels, -np.inf)))
    against = {
        row: bounds_against(table, row, rule, controls=controls) for row in dict.fromkeys((0, *controls, leader))
    }
    baseline, rivals = against[0], against[leader]
    level = level_of_better(rule, int(transfers.sum()))
    with np.errstate(invalid="ignore"):
        beats = {row: transfers & against[row].above(level) for row in (0, *controls)}
        below = {
            row: (found.df >= _LEAST_DF) & (found.mean + found.half_width(_DROP_LEVEL) < rule.margin)
            for row, found in against.items()
        }  # whether an arm cannot be better than the row by more than the margin
        worse = transfers & (baseline.df >= _LEAST_DF) & (baseline.mean + baseline.half_width(level) < 0)
        near = (rivals.df >= _LEAST_DF) & (np.abs(rivals.mean) + rivals.half_width(_DROP_LEVEL) < rule.margin)
    alive, equivalent = ~below[leader], near
    alive[leader] = equivalent[leader] = True
    hopeless = np.logical_or.reduce([below[row] for row in (0, *controls)])
    if hopeless[leader]:
        hopeless = hopeless | ~alive
    beats_controls = np.logical_and.reduce([transfers, *(beats[row] for row in controls)])
    whether: Literal["helps", "no", "open"] = "open"
    if (beats[0] & beats_controls).any():
        whether = "helps"
    elif hopeless[transfers].all():
        whether = "no"
    return Standing(
        levels=levels,
        leader=leader,
        better=beats[0],
        worse=worse,
        beats_controls=beats_controls,
        hopeless=hopeless & transfers,
        alive=alive,
        equivalent=equivalent,
        whether=whether,
        which=bool(alive.sum() == 1),
        baseline=baseline,
        rivals=rivals,
    )


def level_of_better(rule: RaceRule, n_arms: int) -> float:
    """The level of a single "better" or "worse" of so many arms that transfer."""
    return min(_BETTER_SHARE * rule.risk, 1.0) / n_arms


def _levels(scores: Float[np.ndarray, "n_arms n_seeds"]) -> Float[np.ndarray, " n_arms"]:
    """Least squares of score = arm + seed over the runs that were made; NaN for an arm without any."""
    there = np.isfinite(scores)
    counts = there.sum(axis=1)
    share = there / np.maximum(counts, 1)[:, None]  # (n_arms, n_seeds)
    means = (np.where(there, scores, 0.0) * share).sum(axis=1)
    normal = np.diag(there.sum(axis=0).astype(float)) - there.T @ share
    seeds = np.linalg.pinv(normal) @ np.where(there, scores - means[:, None], 0.0).sum(axis=0)
    return np.where(counts > 0, means - share @ seeds, np.nan)


def next_runs(
    scores: ArrayLike,
    rule: RaceRule,
    *,
    costs: ArrayLike,
    failed: ArrayLike | None = None,
    controls: Sequence[int] = (),
    question: Question = "which",
    favourites: Sequence[int] = (),
) -> list[tuple[int, int]]:
    """The runs to make next, the most useful first, as (arm, seed).

    One run of every arm comes first: the baseline, the controls, favourites, and cheap arms before dear ones; a second
    run of the baseline and the best four. From then on two arms are compared until one of them can be left aside: while
    whether transfer helps is open, the best arm that may still beat the baseline and all controls with the best of
    those that it was not shown to beat; then the leader with the arm that has the highest bound against it. Where one
    of two has a run of a seed that the other lacks, only the other is run.

    Args:
        scores: As in `standing`.
        rule: When something is said.
        costs: Cost of a run of each arm, shape (n_arms,).
        failed: Runs that were made and gave nothing, shape (n_arms, n_seeds); none when None.
        controls: As in `standing`.
        question: What the race is about.
        favourites: Arms whose first runs come before those of others, in this order; it changes no statement.

    Returns:
        Runs that were not made; none when none is of use.
    """
    table = np.asarray(scores, dtype=np.float64)
    gone = np.zeros(table.shape, dtype=bool) if failed is None else np.asarray(failed, dtype=bool)
    todo = ~np.isfinite(table) & ~gone
    ranks = {arm: rank for rank, arm in enumerate(favourites)}
    cheap_first = np.argsort(np.asarray(costs, dtype=np.float64), kind="stable")
    order = sorted(cheap_first, key=lambda arm: (arm != 0, arm not in controls, ranks.get(arm, len(ranks))))
    opening = [(int(arm), 0) for arm in order if todo[arm, 0]]
    if opening:
        return opening
    now = standing(table, rule, controls=controls)
    levels = np.where(np.isfinite(now.levels), now.levels, -np.inf)
    if table.shape[1] > 1:
        best = np.argsort(-levels[1:], kind="stable")[:_SECOND_SEED] + 1
        second = [(int(arm), 1) for arm in (0, *best) if todo[arm, 1]]
        if second and now.baseline.df < max(_LEAST_DF, len(best)):
            return second
    for one, other in _pairs(table, now, rule, controls, question):
        runs = _pair_runs(todo, np.isfinite(table), one, other)
        if runs:
            return runs
    return []


def _pairs(
    table: Float[np.ndarray, "n_arms n_seeds"],
    now: Standing,
    rule: RaceRule,
    controls: Sequence[int],
    question: Question,
) -> Iterator[tuple[int, int]]:
    """Pairs of arms whose comparison is wanted, the most useful first."""
    levels = np.where(np.isfinite(now.levels), now.levels, -np.inf)
    without = (0, *controls)
    if now.whether == "open":
        level = level_of_better(rule, len(table) - len(without))
        for arm in np.argsort(-levels, kind="stable"):
            if arm in without or now.hopeless[arm] or not now.alive[arm]:
                continue
            for row in sorted(without, key=lambda row: -levels[row]):
                if not bounds_against(table, row, rule, controls=controls).above(level)[arm]:
                    yield int(arm), row
    if question == "which":
        high = now.rivals.mean + now.rivals.half_width(_DROP_LEVEL)
        high = np.where(np.isnan(high), np.inf, high)
        for arm in np.argsort(-high, kind="stable"):
            if now.alive[arm] and arm != now.leader:
                yield now.leader, int(arm)


def _pair_runs(
    todo: Bool[np.ndarray, "n_arms n_seeds"], made: Bool[np.ndarray, "n_arms n_seeds"], one: int, other: int
) -> list[tuple[int, int]]:
    """The next runs that give two arms one more seed in common."""
    for first, second in ((one, other), (other, one)):
        half = np.flatnonzero(made[first] & todo[second])
        if half.size:
            return [(second, int(half[0]))]
    both = np.flatnonzero(todo[one] & todo[other])
    return [(arm, int(both[0])) for arm in (one, other)] if both.size else []
