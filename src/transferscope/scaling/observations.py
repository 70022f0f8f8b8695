"""Measured errors at sizes, validated and cleaned."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import ArrayLike

from transferscope.errors import DataError, out_of_range
from transferscope.wording import counted

LEAST, MOST = 1e-30, 1e30
"""Range of sizes and errors above 0."""
WIDEST_SIZES, WIDEST_ERRORS = 1e15, 1e9
"""Largest value over the least, of sizes and of errors above 0."""


@dataclass(frozen=True)
class Observations:
    """Errors measured at sizes.

    Attributes:
        sizes: Shape (m, v), finite and >= 0: one column (x), or pretraining size n and fine-tuning size s.
        errors: Shape (m,), finite and >= 0: an error rate or a loss.
        stderr: Standard errors of `errors`, shape (m,), above 0; None when unknown.
        notes: Sentences on what was left out or changed.
        rows: Name of the table row of each, as "line 2"; None if unknown.
        spent: Cost of each run, above 0; None if unknown.
    """

    sizes: Float[np.ndarray, "m v"]
    errors: Float[np.ndarray, " m"]
    stderr: Float[np.ndarray, " m"] | None = None
    notes: tuple[str, ...] = ()
    rows: Shaped[np.ndarray, " m"] | None = None
    spent: Float[np.ndarray, " m"] | None = None

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def n_distinct(self) -> int:
        """How many different sizes there are."""
        return len(set(map(tuple, self.sizes.tolist())))

    @property
    def zero_from(self) -> float | None:
        """The size (of the first column) from which on every error is 0; None if there is none.

        One rule for errors of 0, which have no logarithm: fits leave them out, and from this size on the forecast is 0.
        """
        sizes, above = self.sizes[:, 0], self.sizes[self.errors > 0, 0]
        beyond = sizes > (above.max() if len(above) else -np.inf)
        return float(sizes[beyond].min()) if beyond.any() else None

    def above_zero(self) -> "Observations":
        """Return those with an error above 0, with a note on what was left out."""
        above = self.errors > 0
        left = f"left out {counted(int((~above).sum()), 'observation')} with error 0, which has no logarithm"
        return self if above.all() else self.take(above, left)

    def take(self, which: Bool[np.ndarray, " m"] | Int[np.ndarray, " r"], note: str = "") -> "Observations":
        """Return the observations of a mask, or at some positions in that order; with `note` added."""
        stderr = None if self.stderr is None else self.stderr[which]
        notes = (*self.notes, note) if note else self.notes
        rows = None if self.rows is None else self.rows[which]
        spent = None if self.spent is None else self.spent[which]
        return Observations(self.sizes[which], self.errors[which], stderr, notes, rows, spent)


def observe(
    sizes: ArrayLike,
    errors: ArrayLike,
    *,
    stderr: ArrayLike | None = None,
    rows: ArrayLike | None = None,
    spent: ArrayLike | None = None,
) -> Observations:
    """Check and clean measurements.

    Rows that are not finite, have a negative size or error, or a standard error that is not positive are left out, and
    a note says so.

    Args:
        sizes: Shape (m,) or (m, v).
        errors: Shape (m,): error rates or losses.
        stderr: Their standard errors, shape (m,); None when unknown.
        rows: Names of the table rows, as "line 2", shape (m,); None if unknown.
        spent: Cost of each run, shape (m,); None if unknown.

    Returns:
        The observations, sorted by size, the last column first.

    Raises:
        DataError: Values are not numeric, lengths differ, a value is outside LEAST to MOST, the range is too wide, or
        no row is left.
    """
    x, y = _numbers("sizes", sizes), _numbers("errors", errors)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or y.ndim != 1 or len(x) != len(y):
        raise DataError(f"sizes have shape {x.shape} and errors {y.shape}; expected one error for each size")
    beside = {}
    for name, what, given in (("stderr", "standard errors", stderr), ("spent", "budgets", spent)):
        beside[name] = column = None if given is None else _numbers(what, given)
        if column is not None and column.shape != y.shape:
            raise DataError(f"there are {len(column)} {what} and {len(y)} errors; expected one per error")
    named = None if rows is None else np.asarray(rows, dtype=np.str_)
    raw = Observations(x, y, beside["stderr"], rows=named, spent=beside["spent"])
    finite = np.isfinite(raw.errors) & np.isfinite(raw.sizes).all(axis=1)
    raw = _kept(raw, finite, "a size or error that is missing or not finite")
    raw = _kept(raw, (raw.sizes >= 0).all(axis=1) & (raw.errors >= 0), "a negative size or error")
    for name, what in (("stderr", "a standard error"), ("spent", "a budget")):
        if (column := getattr(raw, name)) is not None:
            raw = _kept(raw, np.isfinite(column) & (column > 0), f"{what} that is missing or not above 0")
    for what, values in (("a size", raw.sizes), ("an error", raw.errors), ("a standard error", raw.stderr)):
        strange = np.zeros(0) if values is None else values[(values > 0) & ((values < LEAST) | (values > MOST))]
        if strange.size:
            raise out_of_range(
                what, f"{strange.flat[0]:.3g}", f"{LEAST:g} to {MOST:g}: write it in another unit", DataError
            )
    for what, values, most in (("sizes", raw.sizes, WIDEST_SIZES), ("errors", raw.errors[:, None], WIDEST_ERRORS)):
        for column in values.T:
            used = column[column > 0]
            if used.size and used.max() > most * used.min():
                raise DataError(
                    f"the {what} run from {used.min():.3g} to {used.max():.3g}, a factor above {most:g}; check the "
                    "units and numbers"
                )
    if len(raw) == 0:
        raise DataError(f"no row can be used: {'; '.join(raw.notes) or 'the table is empty'}")
    return raw.take(np.lexsort(raw.sizes.T))


def _kept(raw: Observations, keep: Bool[np.ndarray, " m"], defect: str) -> Observations:
    return raw if keep.all() else raw.take(keep, f"left out {counted(int((~keep).sum()), 'row')} with {defect}")


def _numbers(what: str, values: ArrayLike) -> Float[np.ndarray, "..."]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} are not all numbers ({error}); give plain numbers such as 64000") from None
