"""Facts that an analysis stores with a study, for its report: a JSON document with a format version."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from transferscope.errors import StoreError
from transferscope.estimate import as_json
from transferscope.records import FinishedRuns
from transferscope.study.frames import StudyFrames
from transferscope.wording import counted

T = TypeVar("T")

RANKING, SCALING = "ranking", "scaling"
"""Names of the documents that `rank` and `scaling` keep with a study."""


@dataclass(frozen=True)
class KeptDocument(Generic[T]):
    """Conversion of the facts of one analysis to and from a stored document.

    Attributes:
        what: Name of the facts for messages, a plural, as in "the ratings of the study".
        command: Command that creates them again, as in "transferscope rank".
    """

    adapter: TypeAdapter[T]
    format: int
    what: str
    command: str

    def to_document(self, facts: T) -> dict[str, Any]:
        """Return the facts as JSON values; "inf", "-inf" and "nan" are text."""
        plain: dict[str, Any] = as_json({"format": self.format, **self.adapter.dump_python(facts, mode="json")})
        return plain

    def from_document(self, document: Mapping[str, Any]) -> T:
        """Parse a document of this format.

        Raises:
            StoreError: Another version of transferscope wrote it, or it is damaged.
        """
        found, again = document.get("format"), f"run `{self.command}` again"
        if found != self.format:
            raise StoreError(
                f"{self.what} are kept in format {found}, and this version of transferscope reads format "
                f"{self.format}; {again}"
            )
        try:
            return self.adapter.validate_python({key: value for key, value in document.items() if key != "format"})
        except ValidationError as error:
            raise StoreError(f"{self.what} are damaged in the store; {again}") from error


def change_in_words(frames: StudyFrames, then: FinishedRuns, *, since: str, again: str) -> str:
    """Return a note that the study has changed since (as in "it was rated"), with the command; empty if it has not."""
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
