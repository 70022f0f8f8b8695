"""Setup of a comparison: read its data and write its study file."""

from dataclasses import dataclass, replace
from pathlib import Path

from transferscope.analyses.compare.study_file import Question, network_in_words, study_tables, write_study
from transferscope.errors import out_of_range
from transferscope.study.spec import StudySpec, with_places_of

LONGEST_RUN = 3.0
"""Longest expected minutes of a run that was not requested by name, with --seeds or with a budget."""


@dataclass(frozen=True)
class Asked:
    """A comparison as a study file.

    Attributes:
        aside: Path to which an existing, edited file of this name was moved; None without one.
        note: Reason for the default network; empty if a network was given.
        spec: The study described by the file.
    """

    path: Path
    aside: Path | None
    note: str
    spec: StudySpec


def ask(question: Question) -> Asked:
    """Write the study file of a comparison.

    Raises:
        SettingsError: A setting is out of range, or the target is not data.
        DataError: The data cannot be used.
    """
    race, seeds = question.race, question.seeds
    if race is not None and question.methods is None and race.get("minutes") is None:
        question = replace(question, race={**race, "run_minutes": LONGEST_RUN})
    if race is not None and seeds is not None and seeds < 2:
        raise out_of_range("seeds", seeds, "at least 2 for a race, to estimate the variance between runs")
    tables, spec = study_tables(question)
    note = network_in_words(tables, question.network)
    path, aside = write_study(tables, question.folder, note=note)
    return Asked(path, aside, note, with_places_of(path, spec))
