"""The facts of a label plan, for all arms."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from transferscope.analyses.columns import words_in
from transferscope.analyses.plan.measurements import Measured
from transferscope.analyses.scaling.checks import UNBOUNDED
from transferscope.estimate import Interval
from transferscope.scaling.advice.costs import Costs
from transferscope.scaling.advice.label_plan import (
    REACH,
    ZERO,
    CurveDraws,
    Pairs,
    candidate_sizes,
    catch_up,
    catch_up_draws,
    draw_curve,
    label_draws,
    label_grid,
    labels_for,
    next_sizes,
    paired,
    seed_correlation,
)
from transferscope.scaling.advice.next_run import NextRun
from transferscope.scaling.forecast import LEVEL, Forecast, SizeNeeded
from transferscope.scaling.observations import Observations
from transferscope.settings.questions import PlanQuestion
from transferscope.study.measure import Measure
from transferscope.wording import counted, listed

LEAST_MORE = 100
"""Least number of further labels whose effect is reported."""

MOST_ARMS = 24
"""Most transfer arms that are extrapolated: those with the lowest errors."""

LEAST = 3
"""Numbers of labels from which a law is fitted to an arm."""


@dataclass(frozen=True)
class ArmPlan:
    """The facts of one arm.

    Attributes:
        data: Mean errors at numbers of labels above 0.
        curve: Draws of its learning curve; None with fewer than LEAST sizes.
        catch_up: Number of labels at which training from scratch catches up; None if not asked or undetermined.
        correlation: Correlation over seeds with training from scratch; 0 if not paired.
        labels: Number of labels for the target score; None without one.
        more: Decrease of the error with `LabelPlan.more` labels beyond the largest measured number, with its interval;
            None without a curve.
        worth: Number of labels at which training from scratch equals this arm at its largest measured number; None if
            undetermined.
    """

    name: str
    data: Observations
    curve: CurveDraws | None
    catch_up: SizeNeeded | None
    correlation: float
    labels: SizeNeeded | None
    more: tuple[float, Interval] | None
    worth: SizeNeeded | None

    @property
    def largest(self) -> float:
        """The largest measured number of labels."""
        return float(self.data.sizes.max())

    @property
    def reached(self) -> Forecast:
        """The error at the largest measured number of labels: on the curve, or as measured without one."""
        if self.curve is not None:
            return self.curve.error_at(self.largest)
        measured = float(self.data.errors[self.data.sizes[:, 0] == self.largest].mean())
        return Forecast((self.largest,), measured, Interval(math.nan, math.nan, LEVEL), (1.0,), "few sizes")


@dataclass(frozen=True)
class LabelPlan:
    """A plan of labels.

    Attributes:
        target_error: The target score as an error; None without one.
        scratch: Training from scratch, or the best baseline; None without a baseline.
        others: The other arms, sorted by where training from scratch catches up, latest first, then by their error at
            their largest number of labels.
        pairs: Joint draws of training from scratch and the first other arm; None without both curves.
        sizes: Numbers of labels at which curves are evaluated, increasing.
        next_sizes: Numbers of labels to measure next, the most informative first; empty if none is informative.
        turns_on: Purpose of the next measurement: where scratch catches up, the labels for the target score, or a law.
        cut_off: Numbers of labels at which training from scratch is unfinished.
        better: Arms that are significantly better than every baseline at some number of labels; None if not tested. For
            other arms no catch-up is reported.
        left_out: Number of arms left out for their lower scores.
        more: Number of further labels of the gain: about a tenth of the largest number, as a power of ten.
    """

    question: PlanQuestion
    measure: Measure
    target_error: float | None
    scratch: ArmPlan | None
    others: tuple[ArmPlan, ...]
    pairs: Pairs | None
    sizes: Float[np.ndarray, " G"]
    next_sizes: tuple[NextRun, ...]
    turns_on: Literal["catch up", "labels", "law", ""]
    notes: tuple[str, ...]
    cut_off: tuple[int, ...] = ()
    better: frozenset[str] | None = None
    left_out: int = 0
    more: int = LEAST_MORE

    @property
    def arms(self) -> tuple[ArmPlan, ...]:
        """Training from scratch first, if there is one, then the others."""
        return (*([] if self.scratch is None else [self.scratch]), *self.others)

    @property
    def lead(self) -> ArmPlan:
        """The arm of the answer: the last one that training from scratch matches, or the best arm without it."""
        return self.others[0] if self.others else self.arms[0]

    @property
    def costs(self) -> Costs | None:
        """The costs of labels and runs; None if neither is known or both are 0."""
        label, run = self.question.cost_label or 0.0, self.question.cost_run or 0.0
        return Costs(0.0, label, run) if label or run else None

    def cost_of(self, count: SizeNeeded) -> float | None:
        """Return the cost of a number of labels including a run; None without costs, or if it is not finite."""
        costs = self.costs
        return costs.of(0, count.value) if costs is not None and 0 < count.value < math.inf and not count.open else None

    @property
    def cheapest(self) -> ArmPlan | None:
        """The transfer arm that needs the fewest labels for the target score."""
        known = [(arm.labels.value, arm.labels.high, place) for place, arm in enumerate(self.others) if arm.labels]
        return self.others[min(known)[2]] if known else None


def make_plan(
    measured: Measured, question: PlanQuestion, *, cut_off: tuple[int, ...] = (), better: frozenset[str] | None = None
) -> LabelPlan:
    """Fit all arms and find where training from scratch catches up, labels for a score, and what to measure next.

    Args:
        cut_off: Numbers of labels at which training from scratch is unfinished, so that no catch-up is reported.
        better: See `LabelPlan`.
    """
    names = [name for name in measured.curves if name != measured.scratch]
    followed = sorted(names, key=lambda name: float(np.log(measured.curves[name].errors.clip(ZERO)).mean()))[:MOST_ARMS]
    base = measured.scratch
    grid = label_grid([measured.curves[name] for name in (*([] if base is None else [base]), *followed)])

    share = not words_in(measured.measure.name) & UNBOUNDED
    further = max(LEAST_MORE, int(10.0 ** (math.floor(math.log10(grid[-1] / REACH)) - 1)))

    def drawn(name: str) -> CurveDraws | None:
        data = measured.curves[name]
        return None if data.n_distinct < LEAST else draw_curve(data, grid, chance=measured.chance, share=share)

    def arm_of(name: str, curve: CurveDraws | None, **against: Any) -> ArmPlan:
        wanted = None if curve is None or measured.target_error is None else labels_for(curve, measured.target_error)
        more = None if curve is None else curve.fall(further)
        facts = {"catch_up": None, "correlation": 0.0, "worth": None, **against}
        return ArmPlan(name, measured.curves[name], curve, labels=wanted, more=more, **facts)

    margin = question.margin / measured.measure.scale
    scratch = None if base is None else arm_of(base, drawn(base))
    arms: list[tuple[ArmPlan, Pairs | None]] = []
    for name in followed:
        curve, from_scratch = drawn(name), None if scratch is None else scratch.curve
        pairs: Pairs | None = None
        against: dict[str, Any] = {}
        if curve is not None and from_scratch is not None and not cut_off:
            against["correlation"] = _correlation(measured, name)
            pairs = paired(from_scratch, curve, against["correlation"])
            if better is None or name in better:
                against["catch_up"] = catch_up(from_scratch, curve, pairs, margin=margin)
                against["worth"] = labels_for(from_scratch, curve.error_at(curve.largest).error)
        arms.append((arm_of(name, curve, **against), pairs))
    arms.sort(key=lambda one: (-one[0].catch_up.value if one[0].catch_up else 1.0, one[0].reached.error))
    worse = [name for name in names if name not in followed]
    left_out = [f"left out {counted(len(worse), 'arm')} with worse scores: {listed(worse)}"] if worse else []
    plan = LabelPlan(
        question=question,
        measure=measured.measure,
        target_error=measured.target_error,
        scratch=scratch,
        others=tuple(arm for arm, _ in arms),
        pairs=arms[0][1] if arms else None,
        sizes=grid,
        next_sizes=(),
        turns_on="",
        notes=(*measured.notes, *left_out),
        cut_off=cut_off,
        better=better,
        left_out=len(worse),
        more=further,
    )
    return _with_next_sizes(plan, margin)


def _correlation(measured: Measured, name: str) -> float:
    """Return the correlation over seeds that an arm shares with training from scratch, at their common sizes."""
    base, own = measured.by_seed.get(str(measured.scratch), {}), measured.by_seed.get(name, {})
    left, right = [], []
    for size in sorted(base.keys() & own.keys()):
        seeds = [seed for seed in base[size] if seed in own[size]]
        left.append(np.array([base[size][seed] for seed in seeds]))
        right.append(np.array([own[size][seed] for seed in seeds]))
    return seed_correlation(left, right)


_MOST_PAIRS = 1500
"""Most pairs of draws in the search for the next size."""


def _with_next_sizes(plan: LabelPlan, margin: float) -> LabelPlan:
    """Return the plan with the sizes to measure next.

    With a target score they sharpen the number of labels of the best arm, if uncertain; otherwise where training from
    scratch catches up, by measuring both arms. If the arm of the answer has too few sizes for a law, any further size
    is proposed.
    """
    lead, scratch, best, pairs = plan.lead, plan.scratch, plan.cheapest or plan.lead, plan.pairs
    candidates = candidate_sizes(np.unique(lead.data.sizes[:, 0]))
    rng = np.random.default_rng(0)
    keep: Int[np.ndarray, " P"]
    turns_on: Literal["catch up", "labels"]
    if plan.target_error is not None and best.curve is not None:
        keep = rng.integers(len(best.curve.errors), size=_MOST_PAIRS)
        decision = label_draws(best.curve, plan.target_error)[keep]
        predicted = np.stack([best.curve.at(size)[keep] for size in candidates], axis=1)
        turns_on, noise, runs = "labels", best.curve.noise, 1
    elif pairs is not None and scratch is not None and scratch.curve is not None and lead.curve is not None:
        keep = rng.choice(len(pairs.weights), _MOST_PAIRS, p=pairs.weights)
        decision = catch_up_draws(scratch.curve, lead.curve, pairs, margin=margin)[keep]
        rows, columns = pairs.scratch[keep], pairs.transfer[keep]
        predicted = np.stack([scratch.curve.at(size)[rows] / lead.curve.at(size)[columns] for size in candidates], 1)
        r, a, b = lead.correlation, scratch.curve.noise, lead.curve.noise
        turns_on, noise, runs = "catch up", math.sqrt(max(a**2 + b**2 - 2 * r * a * b, 1e-12)), 2
    elif lead.curve is None:
        wanted = [NextRun((float(size),), 0.0, None) for size in candidates[-2:]]
        return replace(plan, next_sizes=tuple(wanted), turns_on="law")
    else:
        return plan
    costs = plan.costs
    sizes = next_sizes(
        predicted,
        np.log(np.clip(decision, plan.sizes[0] / 2, 2 * plan.sizes[-1])),
        candidates,
        noise=noise,
        costs=None if costs is None else Costs(0.0, costs.per_label, runs * costs.per_run),
        labelled=lead.largest,
    )
    return replace(plan, next_sizes=tuple(sizes), turns_on=turns_on)
