"""Placements as the JSON document that is kept with their study: what `study` writes and `report` reads.

A number is a JSON number where JSON has one; "inf", "-inf" and "nan" are text, which `float` reads as well.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from transferscope.errors import StoreError
from transferscope.numerics.intervals import Interval
from transferscope.records import Estimate
from transferscope.theory.placement import Placement, Ranged

DOCUMENT = "placements"
"""Name of the document."""

_FORMAT = 1


@dataclass(frozen=True)
class FinishedRuns:
    """The method cells of a study that were done: equal to those of another moment if nothing has changed since.

    Attributes:
        count: How many.
        digest: Of their keys, whatever their order.
    """

    count: int
    digest: str

    @classmethod
    def of(cls, keys: Iterable[str]) -> Self:
        """Those with these keys."""
        ordered = sorted(keys)
        return cls(len(ordered), hashlib.blake2b("\n".join(ordered).encode(), digest_size=16).hexdigest())


@dataclass(frozen=True)
class KeptPlacement:
    """A point on the diagram as it is kept.

    Attributes:
        name: The source, with the number of its examples when the study has several.
        placement: The numbers.
        words: What they say, see `placement_words.in_words`.
    """

    name: str
    placement: Placement
    words: str


@dataclass(frozen=True)
class KeptPlacements:
    """All points of a study.

    Attributes:
        points: In the order of the study.
        limits: Where the model stops holding for them.
        input_dimension: d, if it was given by hand; None when it was estimated.
        runs: What was done of the study when it was placed.
    """

    points: tuple[KeptPlacement, ...]
    limits: str
    input_dimension: float | None
    runs: FinishedRuns


def to_document(kept: KeptPlacements) -> dict[str, Any]:
    """The placements as JSON values."""
    return {
        "format": _FORMAT,
        "points": [_point(point) for point in kept.points],
        "limits": kept.limits,
        "input_dimension": _to_json(kept.input_dimension),
        "runs": {"count": kept.runs.count, "digest": kept.runs.digest},
    }


def from_document(document: Mapping[str, Any]) -> KeptPlacements:
    """The placements of a document.

    Raises:
        StoreError: Another version of transferscope wrote it.
    """
    found = document.get("format")
    if found != _FORMAT:
        raise StoreError(
            f"the placements of the study are kept in format {found}, and this version of transferscope reads format "
            f"{_FORMAT}; run `transferscope theory place` again"
        )
    return KeptPlacements(
        points=tuple(_from_point(point) for point in document["points"]),
        limits=document["limits"],
        input_dimension=_number(document["input_dimension"]),
        runs=FinishedRuns(**document["runs"]),
    )


_PLAIN = ("source", "n_source", "n_target", "method", "n_examples", "kind", "chance_negative")
_RANGED = tuple(field.name for field in fields(Placement) if field.name not in _PLAIN)


def _point(point: KeptPlacement) -> dict[str, Any]:
    return {
        "name": point.name,
        "words": point.words,
        **{name: getattr(point.placement, name) for name in _PLAIN},
        "quantities": {name: _quantity(value) for name, value in point.placement.quantities.items()},
    }


def _from_point(point: Mapping[str, Any]) -> KeptPlacement:
    values: dict[str, Any] = {name: point[name] for name in _PLAIN}
    values |= {name: _ranged(point["quantities"][name]) for name in _RANGED}
    return KeptPlacement(point["name"], Placement(**values), point["words"])


def _quantity(value: Ranged) -> dict[str, Any]:
    estimate, interval = value.estimate, value.interval
    ends = None if interval is None else {name: _to_json(getattr(interval, name)) for name in ("low", "high", "level")}
    return {
        "value": _to_json(estimate.value),
        "stderr": _to_json(estimate.stderr),
        "n": estimate.n,
        "status": estimate.status,
        "interval": ends,
    }


def _ranged(found: Mapping[str, Any]) -> Ranged:
    estimate = Estimate(float(found["value"]), _number(found["stderr"]), found["n"], found["status"])
    ends = found["interval"]
    return Ranged(
        estimate, None if ends is None else Interval(*(float(ends[name]) for name in ("low", "high", "level")))
    )


def _to_json(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def _number(value: float | str | None) -> float | None:
    return None if value is None else float(value)
