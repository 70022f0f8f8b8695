"""Validation of the JSON of a store, once, where it is read.

Keys that are not named here are not checked.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # as pydantic asks for below Python 3.12, and brings along

from transferscope.errors import StoreError

Table = dict[str, Any]
Tables = dict[str, Table]


class _Target(TypedDict, total=False):
    data: Any
    transforms: list[str] | None
    limit: int | None
    test_limit: int | None


class _Race(TypedDict, total=False):
    margin: float


class Spec(TypedDict, total=False):
    """The study file."""

    target: _Target
    sources: Tables
    methods: Tables
    diagnostics: Tables
    network: Table | None
    training: Table | None
    pretraining: Table | None
    tuning: Table | None
    engine: Table
    race: _Race | None
    run: Table | None


class _Data(TypedDict, total=False):
    name: str
    kind: str
    classes: list[str] | None
    class_counts: dict[str, list[int] | None] | None
    n_train: int | None
    n_test: int | None
    n_outputs: int | None
    input_shape: list[int] | None
    fingerprint: str
    provenance: dict[str, str] | None


class Facts(TypedDict, total=False):
    """The facts of a study: its data and their origin."""

    target: _Data
    sources: dict[str, _Data]
    controls: list[str]
    names: dict[str, str]
    source_unnamed: list[str]
    leakage: dict[str, dict[str, int | None] | None]
    passes: Tables
    recipes: list[Table] | None
    versions: dict[str, str]
    machine: Table
    measure: Table | None


class _Risk(TypedDict):
    value: float | None
    stderr: float | None
    n: int


class _Trial(TypedDict):
    settings: Table
    risk: _Risk


class Notes(TypedDict, total=False):
    """The notes of a run."""

    status: str
    budget: dict[str, float | str | None] | None
    headline: str | None
    diagnostic: str
    left_out: list[str] | None
    last_step: int | None
    best_step: int | None
    inner_risk: float | None
    read_side: int | None
    read_tokens: int | None
    chosen: Table
    trials: list[_Trial]
    tuning_cost: dict[str, float]
    labels_needed: int | None
    diverged: list[Any]
    meaning: Table


class Labels(TypedDict, total=False):
    """The labels that identify the runs of a study."""

    source: str | None
    method: str | None
    diagnostic: str | None
    n_target: int | None
    n_source: int | None
    seed: int | None
    pretrain_step: int | None


_STRICT = ConfigDict(strict=True, extra="allow")
for _shape in (_Target, _Race, Spec, _Data, Facts, _Risk, _Trial, Notes, Labels):
    setattr(_shape, "__pydantic_config__", _STRICT)  # noqa: B010

SPEC, FACTS = TypeAdapter(Spec), TypeAdapter(Facts)
NOTES, LABELS = TypeAdapter(list[Notes]), TypeAdapter(list[Labels])

LONGEST_SHOWN = 80


def require_shape(adapter: TypeAdapter[Any], value: Table | Sequence[Table], what: str) -> None:
    """Refuse JSON of an unexpected shape.

    Args:
        what: Name of the value, as in "the facts of the study digits".

    Raises:
        StoreError: It is damaged or edited; the message names the first such place and its value.
    """
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "it"
        raise StoreError(
            f"{what} are damaged: {place} is {str(first['input'])[:LONGEST_SHOWN]!r} ({first['msg'].lower()}); restore "
            "the store from a copy, or give another path and run again"
        ) from error
