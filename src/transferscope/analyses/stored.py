"""The answer of a study, read from its store without training."""

from pathlib import Path

from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.summary import summarise
from transferscope.arguments import checks_arguments
from transferscope.study.places import find_study, one_study, open_existing


@checks_arguments
def open_result(place: str | Path, *, study: str | None = None) -> ComparisonResult:
    """Open the result of a study, complete or not: its verdict, table and report.

    Args:
        place: A study file, or a store: a SQLite file or database URL.
        study: Name of the study if the store holds several; None for the only one.

    Raises:
        MissingDataError: The study file does not exist.
        SettingsError: The study file cannot be read.
        UnknownNameError: The store has no such study.
        StoreError: The store does not exist, it holds several studies and none was named, or the study has no result
        yet.

    Example:
        >>> open_result("usps.toml").table()  # doctest: +SKIP
    """
    given = str(place)
    address = find_study(Path(given)).store if given.endswith(".toml") else given
    with open_existing(given) as store:
        summary = summarise(store, one_study(store, given, study))
    return ComparisonResult(summary, address, Path(given))
