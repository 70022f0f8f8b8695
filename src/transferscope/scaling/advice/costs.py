"""Costs of a run on two sizes: unit prices, or a formula such as the operations of training."""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from transferscope.errors import SettingsError

Size = Any
"""A number, or an array of them."""


@runtime_checkable
class Cost(Protocol):
    """What a run costs, rising with the sizes."""

    def of(self, n: Size, s: Size, /) -> Size:
        """Return the cost of a run on sizes n and s, which may be arrays."""

    @property
    def of_both(self) -> bool:
        """Whether each of the sizes costs something."""
        return True


@dataclass(frozen=True, slots=True)
class Costs(Cost):
    """What data cost, in one currency.

    Attributes:
        per_pretrain: Per pretraining example, at least 0.
        per_label: Per labelled target example, at least 0.
        per_run: Per run of pretraining and fine-tuning, at least 0.

    Raises:
        SettingsError: A cost is negative or not finite, or all are 0.
    """

    per_pretrain: float = 0.0
    per_label: float = 0.0
    per_run: float = 0.0

    def __post_init__(self) -> None:
        costs = (self.per_pretrain, self.per_label, self.per_run)
        if not all(np.isfinite(cost) and cost >= 0 for cost in costs) or not any(costs):
            raise SettingsError(f"costs = {costs}; expected numbers of at least 0, not all 0")

    def of(self, pretrain_size: Size, finetune_size: Size = 0.0) -> Size:
        """Return the cost of one run with its data."""
        return self.per_pretrain * pretrain_size + self.per_label * finetune_size + self.per_run

    @property
    def of_both(self) -> bool:
        """Whether each kind of data costs something."""
        return self.per_pretrain > 0 and self.per_label > 0


_OPERATIONS: Mapping[type[ast.operator], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


@dataclass(frozen=True, slots=True)
class Formula(Cost):
    """A cost as a formula of parameters N and tokens D, such as 6*N*D operations of training (Kaplan et al. 2020).

    Attributes:
        text: The formula: N, D and numbers with + * / ^ and brackets.

    Raises:
        SettingsError: The formula is invalid, or does not rise with N and D.
    """

    text: str = "6*N*D"

    def __post_init__(self) -> None:
        try:
            at, larger = self.of(1e8, 1e9), (self.of(2e8, 1e9), self.of(1e8, 2e9))
        except (SyntaxError, ValueError, KeyError, TypeError, ArithmeticError, AttributeError, RecursionError):
            raise SettingsError(
                f"cost = {self.text!r}; expected a formula of N and D with numbers, + * / ^ and brackets, as in 6*N*D"
            ) from None
        if not (np.isfinite([at, *larger]).all() and 0 <= at < min(larger)):
            raise SettingsError(
                f"cost = {self.text!r} does not rise with N and with D; expected a formula such as 6*N*D"
            )

    def of(self, parameters: Size, tokens: Size) -> Size:
        """Return the cost of training N parameters on D tokens."""
        formula = ast.parse(self.text.replace("^", "**"), mode="eval").body
        return _evaluated(formula, {"N": parameters, "D": tokens})


@dataclass(frozen=True, slots=True)
class MeasuredCost(Cost):
    """What runs were said to cost: 6 N D times a power of N, read off the budgets of a table.

    Attributes:
        factor: Of 6 N D, at N = 1.
        rate: Of the power of N, above -1: published budgets count more than 6 N D in small models.
    """

    factor: float
    rate: float

    @classmethod
    def of_runs(cls, sizes: Float[np.ndarray, "m 2"], spent: Float[np.ndarray, " m"]) -> "MeasuredCost":
        """Fit the median factor and the power to runs on N and D that cost `spent`."""
        log_n, ratio = np.log(sizes[:, 0]), np.log(spent) - np.log(6 * sizes.prod(axis=1))
        centred = log_n - log_n.mean()
        rate = float(np.clip(centred @ ratio / max(float(centred @ centred), 1e-12), -0.9, 0.9))
        return cls(float(np.exp(np.median(ratio - rate * log_n))), rate)

    def of(self, parameters: Size, tokens: Size) -> Size:
        """Return the cost of training N parameters on D tokens."""
        return self.factor * 6 * parameters ** (1 + self.rate) * tokens


def _evaluated(node: ast.expr, sizes: Mapping[str, Size]) -> Size:
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_evaluated(node.left, sizes), _evaluated(node.right, sizes))
    if isinstance(node, ast.Name):
        return sizes[node.id]
    return float(node.value)  # type: ignore[attr-defined]  # anything but a number is refused by whoever tries it
