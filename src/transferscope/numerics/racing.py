"""Racing: which run to make next so that few runs decide whether, and by which arm, a control is beaten.

Arms are compared on paired scores: run s of every arm shares its seed with run s of the control. Half-widths come from
a mixture of t statistics over normally distributed effects, which holds at every look (Lai 1976; Robbins 1970), with
the variance of a comparison moderated by that of all comparisons (Smyth 2004). Arms that cannot be better than the
leader by more than the margin are dropped (Maron and Moore, "Hoeffding races", 1994).

The level of a single "better" pays for the number of arms; dropping pays for none, since "no other arm is better by
more than the margin" is wrong only where the one best arm was dropped. That no decision is wrong more often than the
risk was measured in simulations and on recorded noise (docs/results/race.md); it is no theorem.
"""

import math
from collections.abc import Iterator
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
_DROP_LEVEL = 0.3
_BETTER_SHARE = 4.0
"""The level of all "better" together over the risk; the risk itself was measured (docs/results/race.md)."""
_LEAST_DF = 4
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


def bounds_against(scores: Float[np.ndarray, "n_arms n_seeds"], reference: int, rule: RaceRule) -> Bounds:
    """Paired differences of every arm to one of them, with moderated variances.

    Args:
        scores: Larger is better; NaN for runs that were not made.
        reference: The arm that the others are compared with.
        rule: Its expected standard deviation.
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
    pooled = (_PRIOR_DF * rule.prior_sd**2 + squares[others].sum()) / (_PRIOR_DF + df)
    sd = np.sqrt((_SHRINK_DF * pooled + squares) / (_SHRINK_DF + spare))
    return Bounds(mean, np.where(others, sd, 0.0), n, df)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a race stands; everything follows from the scores.

    Attributes:
        leader: The arm with the best mean difference to the control; 0 is the control itself.
        better: Whether the arm is shown to beat the control, shape (n_arms,).
        worse: Whether it is shown to fall behind the control, shape (n_arms,).
        alive: Whether it may still be better than the leader by more than the margin; the leader too.
        equivalent: Whether it is within the margin of the leader on both sides; the leader too.
        whether: "helps" when an arm beats the control, "no" when none that is left can by more than the margin, else
            "open".
        which: Whether no arm is left that may be better than the leader by more than the margin.
        control: Every arm against the control.
        rivals: Every arm against the leader.
    """

    leader: int
    better: Bool[np.ndarray, " n_arms"]
    worse: Bool[np.ndarray, " n_arms"]
    alive: Bool[np.ndarray, " n_arms"]
    equivalent: Bool[np.ndarray, " n_arms"]
    whether: Literal["helps", "no", "open"]
    which: bool
    control: Bounds
    rivals: Bounds

    def settles(self, question: Question) -> bool:
        """Whether the question is answered."""
        return self.whether != "open" and (self.which or question == "whether")


def standing(scores: ArrayLike, rule: RaceRule) -> Standing:
    """Where the race stands.

    Args:
        scores: Shape (n_arms, n_seeds), larger is better, row 0 is the control; NaN for runs that were not made or
            that failed.
        rule: When something is said.

    Raises:
        SettingsError: There is no arm beside the control.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise SettingsError(f"a race has scores of shape {table.shape}; expected a control and at least one arm")
    n_others = len(table) - 1
    control = bounds_against(table, 0, rule)
    gains = np.where(np.isfinite(control.mean), control.mean, -np.inf)
    leader = int(np.argmax(gains))
    rivals = control if leader == 0 else bounds_against(table, leader, rule)
    strict = control.half_width(min(_BETTER_SHARE * rule.risk, 1.0) / n_others)
    loose = control.half_width(_DROP_LEVEL)
    said = control.df >= _LEAST_DF
    others = np.arange(len(table)) > 0
    better = said & others & (gains - strict > 0)
    worse = said & others & (control.mean + strict < 0)
    width = rivals.half_width(_DROP_LEVEL)
    known = np.isfinite(rivals.mean) & (rivals.df >= _LEAST_DF)
    alive = ~(known & (rivals.mean + width < rule.margin))
    equivalent = known & (np.abs(rivals.mean) + width < rule.margin)
    alive[leader] = equivalent[leader] = True
    hopeless = said & np.isfinite(control.mean) & (control.mean + loose < rule.margin)
    contenders = others & (alive | (np.arange(len(table)) == leader))
    nothing = said and bool(np.all(hopeless[contenders])) and bool(np.all(~alive[others] | hopeless[others]))
    whether: Literal["helps", "no", "open"] = "helps" if better.any() else ("no" if nothing else "open")
    return Standing(leader, better, worse, alive, equivalent, whether, bool(alive.sum() == 1), control, rivals)


def next_runs(
    scores: ArrayLike, rule: RaceRule, *, costs: ArrayLike, failed: ArrayLike | None = None
) -> Iterator[tuple[int, int]]:
    """The runs to make next, the most useful first, as (arm, seed).

    One run of every arm comes first, cheap arms before dear ones; then a second run of the control and the best four;
    then the leader, the arm with the highest bound against it, and the runs of the control that these two lack.

    Args:
        scores: As in `standing`.
        rule: When something is said.
        costs: Cost of a run of each arm, shape (n_arms,).
        failed: Runs that were made and gave nothing, shape (n_arms, n_seeds); none when None.

    Yields:
        Runs that were not made; nothing when none is of use.
    """
    table = np.asarray(scores, dtype=np.float64)
    gone = np.zeros(table.shape, dtype=bool) if failed is None else np.asarray(failed, dtype=bool)
    todo = ~np.isfinite(table) & ~gone
    order = [0, *(1 + np.argsort(np.asarray(costs, dtype=np.float64)[1:], kind="stable"))]
    opening = [(int(arm), 0) for arm in order if todo[arm, 0]]
    if opening:
        yield from opening
        return
    now = standing(table, rule)
    gains = np.where(np.isfinite(now.control.mean), now.control.mean, -np.inf)
    if table.shape[1] > 1:
        best = np.argsort(-gains[1:], kind="stable")[:_SECOND_SEED] + 1
        second = [(int(arm), 1) for arm in (0, *best) if todo[arm, 1]]
        if second and now.control.df < max(_LEAST_DF, len(best)):
            yield from second
            return
    if now.alive.sum() == 1 and now.leader != 0:  # only the control is left to compare the leader with
        challenger = 0
    else:
        high = np.where(now.alive, now.rivals.mean + now.rivals.half_width(_DROP_LEVEL), -np.inf)
        high[now.leader] = -np.inf
        high[np.isnan(high)] = np.inf
        high[~todo.any(axis=1)] = -np.inf
        challenger = int(np.argmax(high)) if np.isfinite(high.max()) or high.max() > 0 else 0
    pair = sorted({now.leader, challenger}, key=lambda arm: (int((~todo[arm]).sum()), arm != now.leader))
    wanted: list[tuple[int, int]] = []
    for arm in pair:
        left = np.flatnonzero(todo[arm])
        if left.size:
            wanted.append((arm, int(left[0])))
    lacking = [(0, seed) for _, seed in wanted if todo[0, seed]]
    seen: set[tuple[int, int]] = set()
    for run in (*lacking, *wanted):
        if run not in seen:
            seen.add(run)
            yield run
