"""Predictions of a source with the same labels as the target: matching outputs, and conversion of units."""

from contextlib import suppress

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.data.spec import parse_spec
from transferscope.data.task import Dataset
from transferscope.errors import SettingsError, unsupported


def outputs_in_source(method: str, target: Dataset, source: Dataset | None) -> list[int]:
    """Return the source output of each target label.

    Args:
        source: The source; None for a network without data.

    Returns:
        Positions of the target's classes, or numbers, among the source's outputs.

    Raises:
        DataError: There are no source data with label names; the labels have another kind; the source lacks a class of
        the target; or the numeric labels differ in number or names.
    """
    if source is None:
        raise unsupported(method, "source data with the target's labels", "the source is a network without data")
    wanted, known = target.train, source.train
    columns = [column for column in (_label_columns(target), _label_columns(source)) if column]
    other_numbers = known.n_outputs != wanted.n_outputs or len(set(columns)) > 1
    if wanted.kind != known.kind or (wanted.classes is None and other_numbers):
        seen = [
            f"{one.train.kind} of {', '.join(_label_columns(one)) or one.train.n_outputs}" for one in (target, source)
        ]
        raise unsupported(
            method, "the same labels in source and target", f"{source.name} is {seen[1]} and {target.name} {seen[0]}"
        )
    if wanted.classes is None or known.classes is None:
        return list(range(wanted.n_outputs))
    lacking = [name for name in wanted.classes if name not in known.classes]
    if lacking:
        raise unsupported(method, f"the class {lacking[0]!r} of {target.name}", f"{source.name} lacks it")
    return [known.classes.index(name) for name in wanted.classes]


def _label_columns(data: Dataset) -> tuple[str, ...]:
    with suppress(SettingsError):
        return parse_spec(data.provenance.get("spec", "")).options.get("label", ())
    return ()


class Line(nn.Module):
    """Map numbers y to offset + slope (y - centre), by column."""

    offset: Tensor
    slope: Tensor
    centre: Tensor

    def __init__(self, offset: Float[Tensor, " K"], slope: Float[Tensor, " K"], centre: Float[Tensor, " K"]) -> None:
        super().__init__()
        for name, numbers in (("offset", offset), ("slope", slope), ("centre", centre)):
            self.register_buffer(name, numbers)

    def forward(self, numbers: Float[Tensor, "n K"]) -> Float[Tensor, "n K"]:
        """Return the numbers on the line."""
        return self.offset + self.slope * (numbers - self.centre)


def calibrated(numbers: Float[Tensor, "N K"], labels: Float[Tensor, "N K"]) -> Line:
    """Fit the line from a source's predictions to a target's labels, chosen by leave-one-out error.

    Unchanged, with an offset, or with an offset and a slope by least squares: each column uses the one with the
    smallest mean squared leave-one-out error; ties go to the simpler one. The line also converts source labels in other
    units to those of the target.
    """
    seen, truth = numbers.double().cpu(), labels.double().cpu()
    n = len(seen)
    offset, slope = seen.mean(dim=0), torch.ones(seen.shape[1], dtype=torch.float64)
    best = (truth - seen).square().mean(dim=0)
    centred, missed = seen - seen.mean(dim=0), truth - truth.mean(dim=0)
    size = centred.square().sum(dim=0)
    fitted = torch.where(size > 0, (centred * missed).sum(dim=0) / size, 0.0)
    leverage = 1 / n + torch.where(size > 0, centred.square() / size, 0.0)
    for rate, own in ((torch.ones_like(slope), torch.full_like(seen, 1 / n)), (fitted, leverage)):
        left = (1 - own).clamp(min=0)
        errors = ((missed - rate * centred) / left).square().mean(dim=0)
        better = (left > 1e-9).all(dim=0) & (errors < best)
        best, slope = torch.where(better, errors, best), torch.where(better, rate, slope)
        offset = torch.where(better, truth.mean(dim=0), offset)
    return Line(offset.to(numbers), slope.to(numbers), seen.mean(dim=0).to(numbers))
