"""Placements as the JSON document that is kept with their study: what `study` writes and `report` reads.

A number is a JSON number where JSON has one; "inf", "-inf" and "nan" are text, which `float` reads as well.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from transferscope.errors import StoreError
from transferscope.estimate import as_json, estimate_from_json, maybe_number
from transferscope.records import FinishedRuns
from transferscope.theory.placement import Placement

DOCUMENT = "placements"
"""Name of the document."""

_FORMAT = 3


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
        "input_dimension": as_json(kept.input_dimension),
        "runs": asdict(kept.runs),
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
        input_dimension=maybe_number(document["input_dimension"]),
        runs=FinishedRuns(**document["runs"]),
    )


_PLAIN = ("source", "n_source", "n_target", "method", "n_examples", "kind", "chance_negative")
_RANGED = tuple(field.name for field in fields(Placement) if field.name not in _PLAIN)


def _point(point: KeptPlacement) -> dict[str, Any]:
    return {
        "name": point.name,
        "words": point.words,
        **{name: getattr(point.placement, name) for name in _PLAIN},
        "quantities": {name: as_json(asdict(value)) for name, value in point.placement.quantities.items()},
    }


def _from_point(point: Mapping[str, Any]) -> KeptPlacement:
    values: dict[str, Any] = {name: point[name] for name in _PLAIN}
    values |= {name: estimate_from_json(point["quantities"][name]) for name in _RANGED}
    return KeptPlacement(point["name"], Placement(**values), point["words"])
