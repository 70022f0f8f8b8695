"""What is asked of a table of errors, and whether it fits the table."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from transferscope.analyses.scaling.measurements import by_finetune_size
from transferscope.errors import SettingsError, refuse_unused, unknown_name
from transferscope.scaling.advice import Costs
from transferscope.scaling.observations import LEAST, MOST, Observations
from transferscope.scaling.solve import Loss


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a table.

    Attributes:
        target_error: The error that is wanted; None for forecasts only.
        costs: What data cost; None when unknown.
        budget: What may be spent, in the currency of `costs`; None for no plan.
        largest_size: Largest feasible pre-training size; None for 100 times the largest measured.
        loss: The residual of the fits whose parameters are printed.
    """

    target_error: float | None = None
    costs: Costs | None = None
    budget: float | None = None
    largest_size: float | None = None
    loss: Loss = "log"

    def __post_init__(self) -> None:
        """Check the ranges; what needs the table is checked where it is used.

        Raises:
            SettingsError: A value is outside LEAST to MOST, the budget is no number above 0, or nothing says what
                data cost.
        """
        if self.loss not in get_args(Loss):
            raise unknown_name("loss", self.loss, get_args(Loss))
        for name, value in (("target error", self.target_error), ("largest size", self.largest_size)):
            if value is not None and not LEAST <= value <= MOST:
                raise SettingsError(
                    f"the {name} {value:g} is out of range; expected a number of {LEAST:g} to {MOST:g}, in the unit of "
                    "the table"
                )
        if self.budget is None:
            return
        if not (math.isfinite(self.budget) and self.budget > 0):
            raise SettingsError(f"budget = {self.budget} is out of range; expected a number above 0, such as 10000")
        if self.costs is None:
            raise SettingsError(
                f"a budget of {self.budget:g} was given without costs; add what a pre-training example, a label or a "
                "run costs (--cost-pretrain, --cost-label, --cost-run)"
            )


def target_hints(groups: Mapping[str, Observations], question: Question) -> list[str]:
    """Hints where a target that was given as an error does not seem to be in the unit of the table."""
    notes = []
    wanted = question.target_error
    if wanted is not None and wanted <= 1 and min(float(data.errors.min()) for data in groups.values()) > 1:
        notes.append(
            f"every error is above 1 and the target error is {wanted:g}; if the errors are in percent, give the target "
            "in percent as well"
        )
    worst = max(float(data.errors.max()) for data in groups.values())
    if wanted is not None and wanted > worst:
        notes.append(
            f"the target error {wanted:g} is above every measured error (up to {worst:.4g}); if it is a quality such "
            "as an accuracy, or in percent, give it as an error in the unit of the table"
        )
    return notes


def hints(groups: Mapping[str, Observations], question: Question) -> list[str]:
    """A hint where a budget cannot be split."""
    costs, over_both = question.costs, next(iter(groups.values())).sizes.shape[1] == 2
    if over_both and question.budget is not None and costs and not (costs.per_pretrain > 0 and costs.per_label > 0):
        return ["the budget was not split, which takes a cost above 0 per pre-training example and per label"]
    return []


def check_free(question: Question) -> None:
    """Refuse a question of a table whose two sizes vary freely that only costs can answer.

    Raises:
        SettingsError: A target, a budget or a largest size was given without what both sizes cost.
    """
    asked = {"target error": question.target_error, "budget": question.budget, "largest size": question.largest_size}
    costs = question.costs
    if question.target_error is None and question.budget is None:
        refuse_unused(
            {"a cost": costs is not None, "a largest size": question.largest_size is not None},
            "both sizes of the table vary freely, and neither a target error nor a budget says what is wanted",
        )
    if costs is not None and costs.per_pretrain > 0 and costs.per_label > 0:
        return
    for name, value in asked.items():
        if value is not None:
            raise SettingsError(
                f"both sizes of the table vary freely, so that the {name} {value:g} can be reached in many ways, and "
                "nothing says what either costs; add --cost-pretrain and --cost-label (of one of each), or leave it out"
            )


def affordable(question: Question, groups: Mapping[str, Observations]) -> Question:
    """Over n alone, a budget limits the size that is feasible.

    Raises:
        SettingsError: The budget does not pay for a run on more than was measured.
    """
    costs, budget = question.costs, question.budget
    of_labels = costs is not None and costs.per_label > 0
    refuse_unused({"the cost of a label": of_labels}, "the table has no column of labelled target examples (size s)")
    if budget is None or costs is None:
        return question
    if costs.per_pretrain <= 0:
        raise SettingsError(
            f"a budget of {budget:g} says nothing of a table over pre-training sizes alone without what a pre-training "
            "example costs; add --cost-pretrain, or leave the budget out"
        )
    most = (budget - costs.per_run) / costs.per_pretrain
    if most < 1:
        raise SettingsError(
            f"the budget {budget:g} does not pay for a run on one pre-training example, which costs {costs.of(1):g}; "
            "give a larger one"
        )
    measured = max(float(data.sizes[:, 0].max()) for data in groups.values())
    if most < measured:
        raise SettingsError(
            f"the budget {budget:g} pays for a run on n = {most:,.0f}, below the largest measured n = {measured:,.0f}, "
            "for which nothing needs to be predicted; give a larger one"
        )
    return replace(question, largest_size=min(most, question.largest_size or most))


def within_budget(groups: Mapping[str, Observations], question: Question) -> dict[str, Question]:
    """Over (n, s), what is asked of the curve of each s: up to the n that the budget leaves after its labels.

    A curve whose sizes the budget does not pay for is only forecast: more pre-training at its s is no choice.
    """
    costs, budget = question.costs, question.budget
    asked = {}
    for name, data in groups.items():
        for label, s in zip(by_finetune_size({name: data}), np.unique(data.sizes[:, 1]), strict=True):
            asked[label] = question
            if budget is None or costs is None or costs.per_pretrain <= 0:
                continue
            most = (budget - costs.of(0, float(s))) / costs.per_pretrain
            if most < data.sizes[data.sizes[:, 1] == s, 0].max():
                asked[label] = replace(question, target_error=None, largest_size=None)
            else:
                asked[label] = replace(question, largest_size=min(most, question.largest_size or most))
    return asked
