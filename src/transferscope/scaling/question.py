"""What is asked of a table of errors, and whether it fits the table."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from transferscope.errors import SettingsError
from transferscope.scaling.advice import Costs
from transferscope.scaling.observations import Observations


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a table.

    Attributes:
        target_error: The error that is wanted; None for forecasts only.
        costs: What data cost; None when unknown.
        budget: What may be spent, in the currency of `costs`; None for no plan.
        largest_size: Largest feasible pre-training size; None for 100 times the largest measured.
    """

    target_error: float | None = None
    costs: Costs | None = None
    budget: float | None = None
    largest_size: float | None = None

    def __post_init__(self) -> None:
        """Check the budget; the rest is checked where it is used.

        Raises:
            SettingsError: The budget is no number above 0, or nothing says what data cost.
        """
        if self.budget is None:
            return
        if not (math.isfinite(self.budget) and self.budget > 0):
            raise SettingsError(f"budget = {self.budget} is out of range; expected a number above 0, such as 10000")
        if self.costs is None:
            raise SettingsError(
                f"a budget of {self.budget:g} was given without costs; add what a pre-training example, a label or a "
                "run costs (--cost-pretrain, --cost-label, --cost-run)"
            )


def hints(groups: Mapping[str, Observations], question: Question) -> list[str]:
    """Hints where the question does not seem to fit the table."""
    notes = []
    wanted, costs = question.target_error, question.costs
    if wanted is not None and wanted <= 1 and min(float(data.errors.min()) for data in groups.values()) > 1:
        notes.append(
            f"every error is above 1 and the target error is {wanted:g}; if the errors are in percent, give the target "
            "in percent as well"
        )
    over_both = next(iter(groups.values())).sizes.shape[1] == 2
    if over_both and question.budget is not None and costs and not (costs.per_pretrain > 0 and costs.per_label > 0):
        notes.append("the budget was not split, which takes a cost above 0 per pre-training example and per label")
    return notes


def affordable(question: Question) -> Question:
    """Over n alone, a budget limits the size that is feasible."""
    costs, budget = question.costs, question.budget
    if budget is None or costs is None or costs.per_pretrain <= 0:
        return question
    most = (budget - costs.per_run) / costs.per_pretrain
    if most < 1:
        raise SettingsError(
            f"the budget {budget:g} does not pay for a run on one pre-training example, which costs {costs.of(1):g}; "
            "give a larger one"
        )
    return replace(question, largest_size=min(most, question.largest_size or most))
