"""What a plan of labels says, in numbers, for all arms."""

import math
from dataclasses import dataclass, replace

import numpy as np

from transferscope.analyses.plan.measurements import Measured
from transferscope.analyses.scaling.measure import Measure
from transferscope.errors import SettingsError
from transferscope.estimate import Estimate
from transferscope.scaling.advice import Costs, NextRun
from transferscope.scaling.advice.label_plan import (
    CurveDraws,
    LabelCount,
    Pairs,
    candidate_sizes,
    catch_up,
    catch_up_draws,
    draw_curve,
    gain_of_more,
    label_draws,
    label_grid,
    labels_for,
    next_sizes,
    paired,
    seed_correlation,
)

MORE = 100
"""Labels whose use is told beyond the largest measured number."""

MOST_ARMS = 24
"""Ways of transfer that are followed: those with the lowest errors."""


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """What is asked.

    Attributes:
        target_score: The score that is wanted, in the unit of the table; None without one.
        cost_label: What a label costs, at least 0; None when unknown.
        cost_run: What a run of training costs, at least 0; None when unknown.
        margin: How much better transfer must be to count as ahead, in the unit in which differences are shown: points
            of accuracy, or the unit of the score.
        classes: How many classes a classifier guesses among, from a table; None when unknown. A study knows.
    """

    target_score: float | None = None
    cost_label: float | None = None
    cost_run: float | None = None
    margin: float = 0.0
    classes: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges; what needs the table is checked where it is read.

        Raises:
            SettingsError: A cost or the margin is negative or not finite, or the score is not finite.
        """
        for name, value in (("cost of a label", self.cost_label), ("cost of a run", self.cost_run)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise SettingsError(f"the {name} is {value:g}; expected a number of at least 0, such as 0.5")
        if not (math.isfinite(self.margin) and self.margin >= 0):
            raise SettingsError(f"the margin is {self.margin:g}; expected a number of at least 0, such as 1")
        if self.classes is not None and self.classes < 2:
            raise SettingsError(f"the number of classes is {self.classes}; expected at least 2")
        if self.target_score is not None and not math.isfinite(self.target_score):
            raise SettingsError(f"the target score is {self.target_score}; expected a number, such as 0.9")

    @property
    def costs(self) -> Costs | None:
        """What labels and runs cost; None when neither is known or both are 0."""
        label, run = self.cost_label or 0.0, self.cost_run or 0.0
        return Costs(0.0, label, run) if label or run else None


@dataclass(frozen=True)
class ArmPlan:
    """What is known of one arm.

    Attributes:
        catch_up: Where training from scratch catches up with it; None for training from scratch itself.
        correlation: Of its seeds with those of training from scratch; 0 where they are not paired.
        labels: Labels that the wanted score takes; None without one.
        more: By how much the error falls with MORE labels beyond the largest measured number.
        worth: Labels with which training from scratch equals this arm at its largest measured number; None for
            training from scratch itself.
    """

    name: str
    curve: CurveDraws
    catch_up: LabelCount | None
    correlation: float
    labels: LabelCount | None
    more: Estimate
    worth: LabelCount | None


@dataclass(frozen=True)
class LabelPlan:
    """A plan of labels.

    Attributes:
        target_error: The wanted score as an error; None without one.
        arms: Training from scratch first, then the ways of transfer by where scratch catches up, the latest first.
        pairs: Draws of training from scratch together with those of the leading way of transfer.
        next_sizes: Numbers of labels to measure next, the best first; empty where nothing would be learnt.
        turns_on: What the next measurement is for: where scratch catches up, or the labels for the wanted score.
        n_left_out: Ways of transfer beyond MOST_ARMS.
        cut_off: Numbers of labels at which training from scratch was cut off before it was finished.
    """

    question: PlanQuestion
    measure: Measure
    target_error: float | None
    arms: tuple[ArmPlan, ...]
    pairs: Pairs
    next_sizes: tuple[NextRun, ...]
    turns_on: str
    n_left_out: int
    notes: tuple[str, ...]
    cut_off: tuple[int, ...] = ()

    @property
    def scratch(self) -> ArmPlan:
        """Training from scratch."""
        return self.arms[0]

    @property
    def lead(self) -> ArmPlan:
        """The way of transfer with which training from scratch catches up last."""
        return self.arms[1]

    @property
    def cheapest(self) -> ArmPlan | None:
        """The way of transfer that takes the fewest labels for the wanted score; None without one."""
        known = [arm for arm in self.arms[1:] if arm.labels is not None]
        return min(known, key=lambda arm: (arm.labels.value, arm.labels.high) if arm.labels else (0, 0), default=None)


def make_plan(measured: Measured, question: PlanQuestion) -> LabelPlan:
    """Follow all arms and say where training from scratch catches up, what a score takes, and what to measure next."""
    names = [name for name in measured.curves if name != measured.scratch]
    level = {name: float(np.log(measured.curves[name].errors).mean()) for name in names}
    followed = sorted(names, key=lambda name: level[name])[:MOST_ARMS]
    grid = label_grid([measured.curves[name] for name in (measured.scratch, *followed)])
    scratch = draw_curve(measured.curves[measured.scratch], grid, chance=measured.chance)
    margin = question.margin / measured.measure.difference(1.0)
    arms: list[tuple[ArmPlan, Pairs]] = []
    for name in followed:
        curve = draw_curve(measured.curves[name], grid, chance=measured.chance)
        correlation = _correlation(measured, name)
        pairs = paired(scratch, curve, correlation)
        arm = ArmPlan(
            name=name,
            curve=curve,
            catch_up=catch_up(scratch, curve, pairs, margin=margin),
            correlation=correlation,
            labels=None if measured.target_error is None else labels_for(curve, measured.target_error),
            more=gain_of_more(curve, MORE),
            worth=labels_for(scratch, curve.error_at(curve.largest).value),
        )
        arms.append((arm, pairs))

    def latest_first(one: tuple[ArmPlan, Pairs]) -> tuple[float, float]:
        arm = one[0]
        return -(arm.catch_up.value if arm.catch_up else 0.0), arm.curve.error_at(arm.curve.largest).value

    arms.sort(key=latest_first)
    lead, pairs = arms[0]
    base = ArmPlan(
        name=measured.scratch,
        curve=scratch,
        catch_up=None,
        correlation=0.0,
        labels=None if measured.target_error is None else labels_for(scratch, measured.target_error),
        more=gain_of_more(scratch, MORE),
        worth=None,
    )
    plan = LabelPlan(
        question=question,
        measure=measured.measure,
        target_error=measured.target_error,
        arms=(base, *(arm for arm, _ in arms)),
        pairs=pairs,
        next_sizes=(),
        turns_on="",
        n_left_out=len(names) - len(followed),
        notes=measured.notes,
    )
    return _with_next_sizes(plan, lead, margin)


def _correlation(measured: Measured, name: str) -> float:
    """Of the seeds that an arm shares with training from scratch, at the sizes that both have."""
    base, own = measured.by_seed.get(measured.scratch, {}), measured.by_seed.get(name, {})
    left, right = [], []
    for size in sorted(base.keys() & own.keys()):
        seeds = [seed for seed in base[size] if seed in own[size]]
        left.append(np.array([base[size][seed] for seed in seeds]))
        right.append(np.array([own[size][seed] for seed in seeds]))
    return seed_correlation(left, right)


_MOST_PAIRS = 1500
"""Pairs of draws among which the next size is looked for."""


def _with_next_sizes(plan: LabelPlan, lead: ArmPlan, margin: float) -> LabelPlan:
    """The plan with the sizes to measure next.

    With a wanted score they are for the labels that the best transfer takes, where that is not certain; otherwise for
    where training from scratch catches up, by measuring both arms.
    """
    scratch = plan.scratch.curve
    candidates = candidate_sizes(np.unique(scratch.observations.sizes[:, 0]))
    keep = np.random.default_rng(0).choice(len(plan.pairs.weights), _MOST_PAIRS, p=plan.pairs.weights)
    rows, columns = plan.pairs.scratch[keep], plan.pairs.transfer[keep]
    weights = np.full(_MOST_PAIRS, 1 / _MOST_PAIRS)
    low, high = scratch.sizes[0] / 2, 2 * scratch.sizes[-1]
    best = plan.cheapest
    if best is not None and plan.target_error is not None:
        decision = np.log(np.clip(label_draws(best.curve, plan.target_error)[columns], low, high))
        predicted = np.stack([best.curve.at(size)[columns] for size in candidates], axis=1)
        turns_on, noise, runs = "labels", best.curve.noise, 1
    else:
        draws = catch_up_draws(scratch, lead.curve, plan.pairs, margin=margin)[keep]
        decision = np.log(np.clip(draws, low, high))
        predicted = np.stack([scratch.at(size)[rows] / lead.curve.at(size)[columns] for size in candidates], axis=1)
        r, a, b = lead.correlation, scratch.noise, lead.curve.noise
        turns_on, noise, runs = "catch up", math.sqrt(max(a**2 + b**2 - 2 * r * a * b, 1e-12)), 2
    costs = plan.question.costs
    found = next_sizes(
        predicted,
        decision,
        candidates,
        weights=weights,
        noise=noise,
        costs=None if costs is None else Costs(0.0, costs.per_label, runs * costs.per_run),
        labelled=scratch.largest,
    )
    return replace(plan, next_sizes=tuple(found), turns_on=turns_on)
