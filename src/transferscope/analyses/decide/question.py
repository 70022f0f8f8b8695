"""Whether and what to transfer, decided at the least cost: a race over real runs that stops when it is settled."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import pandas as pd
from torch import nn

from transferscope.analyses.compare.frames import StudyFrames, read_study
from transferscope.analyses.compare.question import (
    enough_steps,
    warn_of_failures,
)
from transferscope.analyses.compare.settings import settings_section
from transferscope.analyses.compare.sources import Source, named_sources
from transferscope.analyses.compare.study_file import (
    Budget,
    WrittenStudy,
    network_in_words,
    study_tables,
    with_steps,
    write_study,
)
from transferscope.analyses.decide.page import as_far_as_trained, decision_verdict, race_section
from transferscope.analyses.decide.result import Decision, decision
from transferscope.analyses.decide.tables import arm_rows, arms_table
from transferscope.analyses.history.question import favourites
from transferscope.analyses.notebook import shown_in_notebook
from transferscope.analyses.result import AnalysisResult
from transferscope.data.task import Dataset
from transferscope.errors import SettingsError
from transferscope.methods import METHODS, Control
from transferscope.models import Pretrained
from transferscope.report.blocks import Section, Table
from transferscope.report.page import Verdict
from transferscope.store import Store
from transferscope.study.places import read_toml
from transferscope.study.race import Arm, RaceSettings
from transferscope.study.run import Event, ignore, run_study
from transferscope.study.spec import parse_spec, read_spec


@dataclass(frozen=True)
class DecisionResult(AnalysisResult):
    """What a race has settled.

    Attributes:
        decision: The facts; nothing is called better or worse where training from scratch was cut off.
        name: The study.
        store: Path or URL of the store with the results.
        study: The study file, which `transferscope run` goes on with; the store where none was opened.
        frames: Its runs.
    """

    kind: ClassVar[str] = "decide"

    decision: Decision
    name: str
    store: str | Path
    study: Path
    frames: StudyFrames

    @property
    def title(self) -> str:
        """The name of the study."""
        return self.name

    @property
    def verdict(self) -> Verdict:
        """The recommendation, and what is settled beside it."""
        return decision_verdict(self.decision, self.frames)

    def table(self) -> pd.DataFrame:
        """One row per arm; see `decide.tables.arm_rows`."""
        return arm_rows(self.decision)

    def shown_tables(self) -> tuple[Table, ...]:
        """The arms."""
        return (arms_table(self.decision),)

    def sections(self) -> list[Section]:
        """Figure, table and limits; the settings that runs chose."""
        searched = settings_section(self.frames)
        return [race_section(self.decision), *([searched] if searched else [])]


def decide(
    target: str | Dataset,
    sources: Sequence[Source] | Source,
    *,
    methods: Sequence[str] | None = None,
    labels: int | None = None,
    question: Literal["whether", "which"] = "which",
    risk: float = 0.05,
    margin: float = 1.0,
    seeds: int = 12,
    cells: int | None = None,
    minutes: float | None = None,
    budget: Budget | None = None,
    tuning: bool = True,
    lr: float | None = None,
    metric: str | None = None,
    history: bool = True,
    folder: str | Path = "runs",
    on_event: Callable[[Event], None] = ignore,
) -> DecisionResult:
    """Decide whether transfer helps, and which way, with as few runs as it takes.

    Every way of transfer runs once, the best ones again, and then only those runs are made that can still decide; what
    cannot be best is dropped. What was done before in the same folder is not done again.

    Unless `budget` says how many steps to take, or `minutes` limits the time, the first seed of training from scratch
    is run with more steps until its training is finished, and every method then takes as many.

    Args:
        target: The data of interest, as in `compare`.
        sources: What to transfer from, likewise: data, and pretrained networks.
        methods: Names of methods; "scratch" is always added. None for `default_methods`.
        labels: Number of labelled target examples, at least 1; None for all that there are.
        question: "whether" transfer helps, or "which" way is best, which settles whether as well.
        risk: Wanted probability of any false "better than training from scratch", above 0 and up to 0.5.
        margin: Differences up to this are of no interest, above 0: points of accuracy, of average precision for several
            labels of each input, or of R² for numbers.
        seeds: Most repetitions of one way, at least 2.
        cells: Most runs in all, at least 2; None for no such limit.
        minutes: Most computing time in all, above 0; None for no such limit.
        budget: Length of training and network, as in `compare`.
        tuning: Whether every run first chooses its settings, as in `compare`; that counts as time of the run.
        lr: A learning rate for all methods, as in `compare`.
        metric: What runs are judged by, as in `compare`; to be chosen before the first run.
        history: Whether what did best on other tasks (`transferscope history`) runs first; it changes no verdict.
        folder: Where the study file, the store and data given in memory are kept.
        on_event: Called with progress; without it, a notebook shows a bar.

    Returns:
        What is settled, with the recommendation.

    Raises:
        TransferscopeError: Data, names or settings that cannot be used; nothing was begun.

    Example:
        >>> result = decide("digits", ["glyphs"], labels=50)  # doctest: +SKIP
        >>> print(result.verdict)  # doctest: +SKIP
    """
    allowed = budget or Budget()
    path = write_race(
        target,
        [sources] if isinstance(sources, str | Dataset | Pretrained | nn.Module) else list(sources),
        methods=methods,
        labels=labels,
        race=RaceSettings(question, risk, margin, cells, minutes),
        seeds=seeds,
        budget=allowed,
        tuning=tuning,
        lr=lr,
        metric=metric,
        history=history,
        folder=Path(folder),
    ).path
    spec = read_spec(path)
    show = shown_in_notebook(on_event)
    with Store.open(spec.store) as store:
        if allowed.steps is None and minutes is None:
            found_steps = enough_steps(spec, store, lambda trial: run_study(trial, store, on_event=show))
            tables = with_steps(read_toml(path), found_steps.steps)
            spec = read_spec(write_study(tables, Path(folder), note=network_in_words(tables, allowed)).path)
        warn_of_failures(run_study(spec, store, on_event=show))
        found = decision(store, spec.name)
        assert found is not None
        frames = read_study(store, spec.name)
        return DecisionResult(as_far_as_trained(found, frames), spec.name, Path(spec.store), path, frames)


def ways_of(tables: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Method and source of the ways of transfer of a study that are transferscope's own, controls left out."""
    own = {name: METHODS[name]() for name in tables["methods"] if name in METHODS.own}
    ways = [name for name, one in own.items() if one.start == "pretrained" or one.uses_source]
    return [(way, source) for way in ways if not isinstance(own[way], Control) for source in tables["sources"]]


def write_race(
    target: str | Dataset,
    sources: Sequence[Source],
    *,
    methods: Sequence[str] | None,
    labels: int | None,
    race: RaceSettings,
    seeds: int,
    budget: Budget,
    folder: Path,
    tuning: bool = True,
    lr: float | None = None,
    metric: str | None = None,
    history: bool = True,
) -> WrittenStudy:
    """Write the study file of a race; see `decide`.

    Raises:
        SettingsError: One seed cannot be raced, or another setting is out of range.
        DataError: Data that cannot be used.
    """
    if seeds < 2:
        raise SettingsError(f"seeds = {seeds}; a race needs at least 2, to know how much runs differ")
    named = named_sources(sources, folder)
    tables = study_tables(
        named,
        target,
        labels=[] if labels is None else [labels],
        methods=None if methods is None else list(methods),
        diagnostics=[],
        seeds=seeds,
        budget=budget,
        folder=folder,
        tuning=tuning,
        lr=lr,
        metric=metric,
    )
    tables |= {"name": f"{tables['name']}-race"}  # the store is that of the comparison, whose cells count
    if history:
        race = replace(race, first=tuple(str(Arm(*arm)) for arm in favourites(ways_of(tables))))
    tables["race"] = {name: value for name, value in asdict(race).items() if value not in (None, ())}
    parse_spec(tables, place="the race")
    return write_study(tables, folder, note=network_in_words(tables, budget))
