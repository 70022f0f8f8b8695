"""What a batch of simulations gives back, and its means with standard errors."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from jaxtyping import Float, Shaped

from transferscope.estimate import Estimate, Status

StatusArray = Shaped[np.ndarray, "..."]
"""One `records.Status` per element, as a NumPy array of text."""


@dataclass(frozen=True)
class Outcomes:
    """The risk of every element of a batch, with how it came about.

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
        """Return mean risk (`mean_estimate`) of each run of `n_seeds` consecutive elements: the seed must vary
        fastest."""
        groups = self.risk.reshape(-1, n_seeds), self.status.reshape(-1, n_seeds)
        return tuple(mean_estimate(risk, status) for risk, status in zip(*groups, strict=True))


def mean_estimate(values: Float[np.ndarray, " S"], status: StatusArray | None = None) -> Estimate:
    """Return mean and standard error of independent simulated values.

    Args:
        values: One number per seed.
        status: One per seed; None where all are usable.

    Returns:
        The mean over the usable values with its standard error (None for a single one). The status is "converged" when
        all are usable, and otherwise that of the first value that is not: a mean over survivors only is biased.
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
    """Return mean over every run that has a value, those that ran out of steps included, with the status of
    `mean_estimate`.

    For models whose training is cut off as a rule, where the survivors alone would be a biased sample.

    Args:
        values: One number per seed; not finite where there is none.

    Returns:
        The mean; "max_steps" when any run was cut off, "non_finite" when any has no value.
    """
    there = np.isfinite(values)
    everything = mean_estimate(values[there])
    overall = "non_finite" if not there.all() else mean_estimate(values, status).status
    return replace(everything, status=overall)
