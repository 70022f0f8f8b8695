"""Doing a study for a person at a terminal: progress, a clean end when they stop it, and the report."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import typer

from transferscope.cli.progress import study_view
from transferscope.cli.report import report
from transferscope.cli.status import summary
from transferscope.study.places import open_new
from transferscope.study.plan import StudyPlan
from transferscope.study.run import run_study
from transferscope.study.spec import StudySpec, read_spec
from transferscope.study.status import StudyStatus


def execute(spec: StudySpec, *, retry_failed: bool = False, quiet: bool = False) -> StudyStatus:
    """Do what is missing of a study, into the store that it names.

    Args:
        spec: The study.
        retry_failed: Whether to try again what has failed.
        quiet: Show failures only.

    Returns:
        Where the study stands at the end.

    Raises:
        TransferscopeError: As `run_study`.
        typer.Exit: Code 130: Ctrl-C was pressed.
    """

    def tell(plan: StudyPlan) -> None:
        for line in () if quiet else understood(plan.study.facts):
            typer.echo(line, err=True)

    try:
        with open_new(spec.store) as store, study_view(spec.name, quiet=quiet) as view:
            return run_study(spec, store, retry_failed=retry_failed, on_event=view, on_plan=tell)
    except KeyboardInterrupt as error:
        typer.echo(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
        raise typer.Exit(130) from None


def understood(facts: Mapping[str, object]) -> Iterator[str]:
    """What a user's own data were taken for, a line each: "target flowers: classification, 3 classes: ..."."""
    sources = facts.get("sources")
    named = {f"source {name}": entry for name, entry in sources.items()} if isinstance(sources, Mapping) else {}
    for role, entry in {"target": facts.get("target"), **named}.items():
        provenance = entry.get("provenance") if isinstance(entry, Mapping) else None
        if isinstance(provenance, Mapping) and "understood" in provenance:
            yield f"{role}: {provenance['spec']}: {provenance['understood']}"


def run_and_report(study: Path) -> None:
    """Do what is missing of a study and write its report beside the study file.

    Args:
        study: The study file.

    Raises:
        TransferscopeError: As `transferscope.study.run.run_study` and `transferscope.analyses.study_page.build_report`.
        typer.Exit: Code 1: cells failed, which the report names; code 130: Ctrl-C.
    """
    status = execute(read_spec(study))
    typer.echo(f"{summary(status)}\n")
    report(str(study), out=study.with_suffix(".html"))
    typer.echo(f"To go on with more seeds, sizes or methods, edit {study} and: transferscope run {study}")
    if status.counts.failed:
        raise typer.Exit(1)
