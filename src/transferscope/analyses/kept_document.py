"""What an analysis leaves with a study, for the study's page: facts as a JSON document with a format."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from transferscope.errors import StoreError
from transferscope.estimate import as_json
from transferscope.records import FinishedRuns
from transferscope.study.frames import StudyFrames
from transferscope.wording import counted, listed

T = TypeVar("T")


@dataclass(frozen=True)
class KeptDocument(Generic[T]):
    """How the facts of one analysis become a document and come back.

    Attributes:
        adapter: Of the facts, a frozen dataclass.
        format: Number of the present format.
        what: The facts, for messages, as in "the placements of the study"; a plural.
        command: What makes them again, as in "transferscope rank".
        earlier: For each earlier format what brings its documents into the present one.
    """

    adapter: TypeAdapter[T]
    format: int
    what: str
    command: str
    earlier: Mapping[int, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = field(default_factory=dict)

    def to_document(self, facts: T) -> dict[str, Any]:
        """The facts as JSON values; "inf", "-inf" and "nan", which JSON lacks, are text."""
        plain: dict[str, Any] = as_json({"format": self.format, **self.adapter.dump_python(facts, mode="json")})
        return plain

    def from_document(self, document: Mapping[str, Any]) -> T:
        """The facts of a document of this format or an earlier one.

        Raises:
            StoreError: A version of transferscope that is too old or too new wrote it, or it is damaged.
        """
        found, again = document.get("format"), f"run `{self.command}` again"
        if found != self.format and found not in self.earlier:
            formats = [*sorted(self.earlier), self.format]
            raise StoreError(
                f"{self.what} are kept in format {found}, and this version of transferscope reads "
                f"format{'s' if len(formats) > 1 else ''} {listed([str(one) for one in formats])}; {again}"
            )
        try:
            migrated = self.earlier[int(str(found))](document) if found in self.earlier else document
            return self.adapter.validate_python({key: value for key, value in migrated.items() if key != "format"})
        except (ValidationError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{self.what} are damaged in the store; {again}") from error


def change_in_words(frames: StudyFrames, then: FinishedRuns, *, since: str, again: str) -> str:
    """That the study has changed; empty when it has not.

    Args:
        frames: The study now.
        then: What was done of it.
        since: What happened then, as in "it was placed".
        again: The command that does it again, as in "theory place".
    """
    now = frames.finished_runs
    if now == then:
        return ""
    what = (
        f"it had {counted(then.count, 'finished run')} then and has {now.count:,} now"
        if now.count != then.count
        else "other runs are finished now than then"
    )
    return (
        f"The study has changed since {since}: {what}. What follows is of then; run `transferscope {again} STUDY.toml` "
        "again."
    )
