"""Doing a study and reporting on it in one go."""

from pathlib import Path

import typer

from transferscope.cli.execute import execute
from transferscope.cli.report import report
from transferscope.cli.status import summary
from transferscope.study.spec import read_spec


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
