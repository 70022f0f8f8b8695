"""The question about a table of errors, and whether it applies to the table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from transferscope.errors import SettingsError, out_of_range, refuse_unused
from transferscope.scaling.advice.costs import Costs, Formula
from transferscope.scaling.observations import Observations
from transferscope.settings.questions import ScalingQuestion


def costs_of(question: ScalingQuestion) -> Costs | Formula | None:
    """Return the costs of data, or a formula of parameters N and tokens D; None if unknown."""
    if question.cost is not None:
        return Formula(question.cost)
    prices = (question.cost_pretrain, question.cost_label, question.cost_run)
    return Costs(*prices) if any(prices) else None


def prices_of(question: ScalingQuestion) -> Costs | None:
    """Return the unit prices; None if unknown, or a formula of both."""
    costs = costs_of(question)
    return costs if isinstance(costs, Costs) else None


def check_sizes(question: ScalingQuestion, names: Sequence[str], *, compute: bool) -> None:
    """Refuse too many or too few sizes to predict, and costs that the table does not use."""
    costs = costs_of(question)
    for at in question.at:
        if len(at) != len(names):
            given = ",".join(f"{size:g}" for size in at)
            raise SettingsError(
                f"--at {given} has {len(at)} sizes, but the table has {len(names)} ({', '.join(names)}); give one "
                f"each, as in --at {','.join(['64000', '1000'][: len(names)])}"
            )
    if isinstance(costs, Formula) and not compute:
        raise SettingsError(
            f"cost = {costs.text!r} is of parameters and tokens, but the sizes are {' and '.join(names)}; add "
            "--columns pretrain=params labels=tokens if they are that, or give cost_pretrain and cost_label"
        )
    if question.budget is not None and costs is None and not compute:
        raise SettingsError(
            f"budget = {question.budget:g} needs costs; add cost_pretrain, cost_label or cost_run, the cost of a "
            "pretraining example, a label or a run"
        )
    if compute and isinstance(costs, Costs) and not costs.of_both:
        raise SettingsError(
            "parameters or tokens cost nothing; give cost, a formula such as 6*N*D, or a cost above 0 of each"
        )


FEW_COUNTED = 1e6
"""If all parameters or tokens are below this, the table may be in millions or billions."""


def hints(
    groups: Mapping[str, Observations], question: ScalingQuestion, *, errors: bool, compute: bool
) -> Iterator[str]:
    """Yield what may be in another unit than the table's, and a budget that cannot be split.

    Args:
        errors: Whether the target was given as an error.
        compute: Whether the two sizes are parameters and training tokens.
    """
    largest = np.max([data.sizes.max(axis=0) for data in groups.values()], axis=0)
    if compute and largest.min() < FEW_COUNTED:
        yield (
            f"up to {largest[0]:,.6g} parameters and {largest[1]:,.6g} tokens were read as plain numbers; if either is "
            "in millions or billions, operations of training and tokens a parameter are wrong: write 70M or 70e6, or "
            "name the unit, as in params (M)"
        )
    wanted, costs = question.target_score, costs_of(question)
    if errors and wanted is not None and wanted <= 1 < min(float(data.errors.min()) for data in groups.values()):
        yield (
            f"every error is above 1 and the target error is {wanted:g}; if the errors are in percent, give the target "
            "in percent as well"
        )
    if len(largest) == 2 and question.budget is not None and costs is not None and not costs.of_both:
        yield "the budget was not split, which takes a cost above 0 per pretraining example and per label"


def check_free(question: ScalingQuestion, *, compute: bool) -> None:
    """Refuse a question about a table whose two sizes vary freely if it needs costs."""
    asked = {"target error": question.target_score, "budget": question.budget, "largest size": question.largest_size}
    costs = costs_of(question)
    if question.target_score is None and question.budget is None:
        refuse_unused(
            {"a cost": costs is not None and not compute, "a largest size": question.largest_size is not None},
            "both sizes of the table vary freely, and neither a target error nor a budget says what is wanted",
        )
    if compute or (costs is not None and costs.of_both):
        return
    for name, value in asked.items():
        if value is not None:
            raise SettingsError(
                f"{name} = {value:g} can be reached with many pairs of sizes, whose costs are unknown; add "
                "cost_pretrain and cost_label, or leave it out"
            )


def affordable(question: ScalingQuestion, groups: Mapping[str, Observations]) -> ScalingQuestion:
    """Limit the feasible size by a budget, over n alone."""
    costs, budget = prices_of(question), question.budget
    of_labels = costs is not None and costs.per_label > 0
    refuse_unused({"the cost of a label": of_labels}, "the table has no column of labelled target examples (size s)")
    if budget is None or costs is None:
        return question
    if costs.per_pretrain <= 0:
        raise SettingsError(
            f"budget = {budget:g} needs the cost of a pretraining example; add cost_pretrain, or leave the budget out"
        )
    most = (budget - costs.per_run) / costs.per_pretrain
    if most < 1:
        raise out_of_range(
            "budget",
            f"{budget:g}",
            f"at least {costs.of(1):g}, the cost of a run on one pretraining example",
        )
    measured = max(float(data.sizes[:, 0].max()) for data in groups.values())
    if most < measured:
        raise SettingsError(
            f"budget = {budget:g} pays for n = {most:,.0f}, below the largest measured n = {measured:,.0f}, so "
            "nothing needs to be predicted; give a larger one"
        )
    return replace(question, largest_size=min(most, question.largest_size or most))
