"""Doing a study for a person at a terminal: progress, a clean end when they stop it, and the report."""

import math
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import typer

from transferscope.cli.as_json import print_analysis
from transferscope.cli.progress import study_view
from transferscope.cli.report import report
from transferscope.cli.status import status_facts, summary, understood
from transferscope.methods import Control
from transferscope.models import input_of
from transferscope.store import PlannedCell, Store
from transferscope.study.estimate import StudyEstimate, estimate_study
from transferscope.study.inputs import inputs_of
from transferscope.study.places import open_new
from transferscope.study.plan import StudyPlan, plan_cells, with_precision
from transferscope.study.run import run_study
from transferscope.study.settings import EngineSettings
from transferscope.study.spec import StudySpec, read_spec
from transferscope.study.status import Kind, StudyStatus
from transferscope.study.tables import Mistakes, read_table
from transferscope.wording import counted, large_count, listed, memory, rough_duration


def execute(
    spec: StudySpec,
    *,
    retry_failed: bool = False,
    quiet: bool = False,
    estimate: Literal["none", "shown", "asked"] = "none",
    whole: StudySpec | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> StudyStatus:
    """Do what is missing of a study, into the store that it names.

    Args:
        spec: The study.
        retry_failed: Whether to try again what has failed.
        quiet: Show failures only.
        estimate: Whether to say first what it will take, and to ask on a terminal whether to go on where that is more
            than ten minutes.
        whole: The study that the estimate is of, where this is the beginning of a larger one with the same data.
        inputs: As in `run_study`.

    Returns:
        Where the study stands at the end.

    Raises:
        TransferscopeError: As `run_study`.
        typer.Exit: Code 130: Ctrl-C was pressed.
        typer.Abort: The question was answered with no.
    """
    try:
        with open_new(spec.store, files=spec.files_folder) as store, study_view(spec.name, quiet=quiet) as view:

            def tell(plan: StudyPlan) -> Mapping[Kind, float]:
                for line in () if quiet else (*understood(plan.study.facts), *enlarged(spec, plan.study.facts)):
                    typer.echo(line, err=True)
                if estimate == "none":
                    return {}
                cells = plan.cells
                if whole is not None and plan.data is not None:
                    cells = tuple(plan_cells(with_precision(whole, plan.study.facts), plan.data))
                return expect(cells, store, whole or spec, quiet=quiet, ask=estimate == "asked")

            return run_study(spec, store, retry_failed=retry_failed, on_event=view, on_plan=tell, inputs=inputs)
    except KeyboardInterrupt as error:
        typer.echo(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
        raise typer.Exit(130) from None


def with_options(engine: EngineSettings, given: Mapping[str, int | str | None]) -> EngineSettings:
    """The settings with the options of the command line in place of those of the study file.

    Args:
        engine: What the study file says.
        given: Options by the names of the settings; None for those that were not given.

    Raises:
        SettingsError: They contradict each other, or one has a value that it cannot have.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    before = asdict(engine)
    if "backend" in chosen and chosen["backend"] != engine.backend:  # what belongs to the other one goes with it
        before |= {"workers": None} if "inline" in (chosen["backend"], engine.backend) or engine.workers == 0 else {}
        before |= {"address": None, "resources": {}}
    if chosen.get("workers") == 0 and "backend" not in chosen:
        before |= {"backend": "local", "address": None, "resources": {}}
    mistakes = Mistakes("the command line")
    settings = read_table(EngineSettings, before | chosen, "", mistakes)
    mistakes.raise_any()
    return settings or engine


SOON = 10.0
"""Seconds of measuring after which it is said that this is what takes the time."""

HOURS = 3600.0
"""Seconds above which it is said what takes the most."""

LONG = 600.0
"""Seconds above which a person at a terminal is asked whether to go on."""


def expect(
    cells: Sequence[PlannedCell], store: Store, spec: StudySpec, *, quiet: bool, ask: bool
) -> Mapping[Kind, float]:
    """Say what is left of a study will take, and ask whether to go on where that is long.

    Returns:
        Seconds that a cell of each kind will take; empty where that was not measured.

    Raises:
        typer.Abort: No.
    """
    if quiet and not ask:
        return {}
    words = (
        "measuring a few steps of each kind of cell for an estimate; with a large network this takes a minute or more"
    )
    said = threading.Timer(SOON, typer.echo, (words,), {"err": True})
    said.daemon = True
    if not quiet:
        said.start()
    try:
        found = estimate_study(cells, store, spec.name, spec.engine)
    finally:
        said.cancel()
    if not found.n_cells:
        return {}
    limit = math.inf if spec.race is None or spec.race.minutes is None else 60 * spec.race.minutes / found.workers
    seconds = None if found.seconds is None else min(found.seconds, limit)
    most = "at most " if spec.race is not None else ""
    took = "" if seconds is None else f": {most}about {rough_duration(max(seconds, 1.0))}"
    by = f" with {counted(found.workers, 'process', 'processes')}"
    parts = [f"{counted(found.n_cells, 'cell')} to do{took}{by}"]
    if found.memory is not None:
        parts.append(f"{memory(found.memory)} of memory ({memory(found.memory_free)} free)")
    parts.append(f"up to {large_count(found.disk)}B on the disk ({large_count(found.disk_free)}B free)")
    if not quiet:
        typer.echo(f"estimate: {', '.join(parts)}", err=True)
    if not quiet and seconds is not None and seconds > HOURS:
        typer.echo(f"of that:  {_most(found)}", err=True)
        if sooner := _sooner(found, spec):
            typer.echo(f"sooner:   {sooner}", err=True)
    if found.memory is not None and found.memory > found.memory_free:
        typer.echo("warning: that is more memory than is free; use fewer --workers or smaller batches", err=True)
    if found.disk > found.disk_free:
        typer.echo("warning: that is more than the disk has room for; use --keep none, or another --out", err=True)
    asked = ask and seconds is not None and seconds > LONG and at_terminal()
    if asked and not typer.confirm("Go on? (--yes leaves out this question)", default=True, err=True):
        raise typer.Abort
    return found.each


def _long(found: StudyEstimate) -> dict[str, float]:
    """Seconds of the methods, and roles of cells, that take more than a twentieth of the whole."""
    assert found.seconds is not None
    return {name: seconds for name, seconds in found.by_method.items() if seconds > found.seconds / 20}


def _sooner(found: StudyEstimate, spec: StudySpec) -> str:
    """What the quick methods alone would take, where they take a tenth of the whole at most; "" elsewhere."""
    long = _long(found)
    rest = [name for name in spec.methods if name not in long]
    seconds = sum(seconds for name, seconds in found.by_method.items() if name not in long)
    transfers = any(spec.methods[name].needs_source and not isinstance(spec.methods[name], Control) for name in rest)
    if not (long.keys() <= spec.methods.keys() and transfers and seconds < sum(long.values()) / 10):
        return ""
    scratch = ", and cannot say whether transfer helps" if "scratch" in long else ""
    return (
        f"without {listed(list(long))} in the study file ([methods.NAME] and [tuning.grid.NAME]) it takes about "
        f"{rough_duration(max(seconds, 1.0))}: it compares {listed(rest)}{scratch}; what is done stays done when "
        "the rest is added"
    )


def _most(found: StudyEstimate) -> str:
    """Which methods a long study spends its time on, so that a person sees what to leave out."""
    long = _long(found)
    rest = sum(seconds for name, seconds in found.by_method.items() if name not in long)
    parts = [listed([f"{name} {rough_duration(seconds)}" for name, seconds in long.items()])]
    if len(long) < len(found.by_method):
        parts.append(f"all others together {rough_duration(max(rest, 1.0))}")
    searching = f"; choosing settings is {found.searching:.0%} of it".replace("%", " %") if found.searching else ""
    return f"{', '.join(parts)}{searching}; fewer steps, seeds or methods take less in proportion"


def at_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def enlarged(spec: StudySpec, facts: Mapping[str, object]) -> Iterator[str]:
    """A line for each pretrained network that reads much larger images than the target has."""
    target = facts.get("target")
    shape = list(target["input_shape"]) if isinstance(target, Mapping) else []
    if len(shape) != 3:
        return
    _, height, width = shape
    for name, source in spec.sources.items():
        if source.network is None:
            continue
        read = input_of(source.pretrained(spec.network).network)
        if read is not None and read.size is not None and read.size**2 > 1.5 * height * width:
            times = read.size**2 / (height * width)
            yield (
                f"network {name}: reads {read.size} x {read.size} pixels, and the images of {height} x {width} "
                f"are enlarged to that: about {times:.2g} times the computing of reading them as they are. --input "
                "size=N (in a study file input = { size = N }) is faster, and may read less well"
            )


def run_and_report(
    study: Path, *, estimate: Literal["none", "shown", "asked"] = "none", json_of: str | None = None
) -> None:
    """Do what is missing of a study and write its report beside the study file.

    Args:
        study: The study file.
        estimate: As in `execute`.
        json_of: The command whose answer is printed as JSON instead; None to print it as text.

    Raises:
        TransferscopeError: As `transferscope.study.run.run_study` and `transferscope.analyses.study_page.build_report`.
        typer.Exit: Code 1: cells failed, which the report names; code 130: Ctrl-C.
    """
    from transferscope.analyses.stored import open_result  # figures and their libraries: a run alone needs none
    from transferscope.analyses.study_page import build_report

    spec = read_spec(study)
    status = execute(spec, estimate=estimate, inputs=inputs_of(study, spec))
    page = study.with_suffix(".html")
    if json_of is None:
        typer.echo(f"{summary(status)}\n")
        report(str(study), out=page)
        typer.echo(f"To go on with more seeds, sizes or methods, edit {study} and: transferscope run {study}")
    else:
        with open_new(spec.store) as store:
            files = build_report(store, status.name, page)
        result = open_result(study)
        print_analysis(json_of, result, [files.html, *files.files], study=str(study), run=status_facts(status))
    if status.counts.failed:
        raise typer.Exit(1)
