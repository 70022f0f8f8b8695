"""Doing a study for a person at a terminal: progress, and a clean end when they stop it."""

import typer

from transferscope.cli.places import open_new
from transferscope.cli.progress import study_view
from transferscope.study.run import run_study
from transferscope.study.spec import StudySpec
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
        typer.Exit: Code 130: somebody pressed Ctrl-C.
    """
    try:
        with open_new(spec.store) as store, study_view(spec.name, quiet=quiet) as view:
            return run_study(spec, store, retry_failed=retry_failed, on_event=view)
    except KeyboardInterrupt as error:
        typer.echo(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
        raise typer.Exit(130) from None
