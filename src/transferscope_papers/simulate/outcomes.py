"""Results of a batch of simulations, and their means with standard errors."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from jaxtyping import Float, Shaped

from transferscope.estimate import Estimate, Status

StatusArray = Shaped[np.ndarray, "..."]
"""One `records.Status` per element, as a NumPy array of text."""


@dataclass(frozen=True)
class Outcomes:
    """The risk of every element of a batch, with its status.

    Attributes:
        risk: Excess population risk (squared error without the noise floor), shape (B,); NaN
            where the status is "non_finite"; not the limit where it is "max_steps".
        status: "converged", "max_steps" or "non_finite" (or "ok" for a direct solve), shape (B,).
    """

    risk: Float[np.ndarray, " B"]
    status: StatusArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "risk", np.where(self.status == "non_finite", np.nan, self.risk))

    def means(self, n_seeds: int) -> tuple[Estimate, ...]:
        """Return the mean risk (`mean_estimate`) of every `n_seeds` consecutive elements; the seed varies fastest."""
        groups = self.risk.reshape(-1, n_seeds), self.status.reshape(-1, n_seeds)
        return tuple(mean_estimate(risk, status) for risk, status in zip(*groups, strict=True))


def mean_estimate(values: Float[np.ndarray, " S"], status: StatusArray | None = None) -> Estimate:
    """Return the mean and standard error of independent simulated values.

    Args:
        values: One number per seed.
        status: One per seed; None if all are usable.

    Returns:
        The mean over the usable values with its standard error (None for a single one). The status is "converged" when
        all are usable, otherwise that of the first unusable value, since a mean over usable runs only is biased.
    """
    status = np.full(len(values), "converged") if status is None else status
    usable = np.isin(status, ("ok", "converged"))
    failed = status[~usable]
    n = int(usable.sum())
    overall = cast(Status, str(failed[0]) if len(failed) else "converged")
    if n == 0:
        return Estimate.missing(overall, 0)
    stderr = float(values[usable].std(ddof=1) / np.sqrt(n)) if n > 1 else None
    return Estimate(float(values[usable].mean()), stderr, n, overall)


def mean_of_all(values: Float[np.ndarray, " S"], status: StatusArray) -> Estimate:
    """Return the mean over every run with a value, including those that reached the step limit.

    Use it for models whose training usually reaches the limit; a mean over converged runs only would be biased.

    Args:
        values: One number per seed; not finite if it has none.

    Returns:
        The mean; its status is "max_steps" if any run reached the limit, "non_finite" if any has no value.
    """
    there = np.isfinite(values)
    everything = mean_estimate(values[there])
    overall = "non_finite" if not there.all() else mean_estimate(values, status).status
    return replace(everything, status=overall)
