"""Setup of a comparison: read its data and write its study file."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transferscope.analyses.compare.sources import Source, as_list, named_sources
from transferscope.analyses.compare.study_file import network_in_words, study_tables, write_study
from transferscope.arguments import seen
from transferscope.data.memory import AS_TYPED, DATA_WORDS, Data, InMemory, is_data
from transferscope.errors import SettingsError
from transferscope.methods.recipes import Protocol
from transferscope.models.build import makes_network
from transferscope.study.decisions import MOST_SEEDS
from transferscope.study.spec import NOTHING, StudySpec, with_places_of

LONGEST_RUN = 3.0
"""Minutes that a run may be expected to take which nobody has asked for: by name, with --seeds or with a budget."""


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


def ask(
    target: Data,
    sources: Source | Sequence[Source],
    *,
    labels: Sequence[int],
    methods: Sequence[str] | None,
    diagnostics: Sequence[str],
    seeds: int | None,
    decision: Mapping[str, Any],
    race: Mapping[str, Any] | None,
    folder: Path,
    network: str | None = None,
    training: Mapping[str, Any] = NOTHING,
    pretraining: Mapping[str, Any] = NOTHING,
    engine: Mapping[str, Any] = NOTHING,
    tuning: bool | None = None,
    recipe: Protocol = "field",
    metric: str | None = None,
    reading: InMemory = AS_TYPED,
    settings: Mapping[str, Any] = NOTHING,
) -> Asked:
    """Write the study file of a comparison; arguments as in `compare`.

    Args:
        decision: The table [decision].
        race: The table [race]; None for all runs.

    Raises:
        SettingsError: A setting is out of range, or the target is not data.
        DataError: The data cannot be used.
    """
    target = checked_target(target)
    asked = as_list(sources)
    reading.check_used([target, *asked])
    given = named_sources(asked, folder)
    limited = race is not None and race.get("minutes") is not None
    if race is not None and methods is None and not limited:
        race = {**race, "run_minutes": LONGEST_RUN}
    if race is not None and seeds is not None and seeds < 2:
        raise SettingsError(f"seeds = {seeds}; until it is decided takes at least 2, to know how much runs differ")
    tables, spec = study_tables(
        given,
        target,
        labels=[operator.index(label) for label in labels],
        methods=None if methods is None else list(methods),
        diagnostics=list(diagnostics),
        seeds=MOST_SEEDS if seeds is None else operator.index(seeds),
        decision=decision,
        race=race,
        network=network,
        training=training,
        pretraining=pretraining,
        engine=engine,
        tuning=tuning,
        recipe=recipe,
        metric=metric,
        folder=folder,
        reading=reading,
        settings=settings,
    )
    note = network_in_words(tables, network)
    path, aside = write_study(tables, folder, note=note)
    return Asked(path, aside, note, with_places_of(path, spec))


def checked_target(target: object) -> Data:
    """Return the target; refuse a network, which was probably given in place of the source."""
    target = str(target) if isinstance(target, Path) else target
    if not is_data(target) or (isinstance(target, str) and makes_network(target)):
        raise SettingsError(
            f"the target is given as {seen(target)}; expected {DATA_WORDS}: compare(target, sources) takes the target "
            "first"
        )
    return target
