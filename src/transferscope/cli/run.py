"""`transferscope run`: do what is missing of a study."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transferscope.cli.as_json import AsJson, print_json

if TYPE_CHECKING:
    from transferscope.study.spec import StudySpec
    from transferscope.study.status import StudyStatus


def run(
    study: Annotated[Path, typer.Argument(help="A study file (TOML).")],
    workers: Annotated[int | None, typer.Option(min=0, help="Processes; 0 for this one. [default: by machine]")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of each process. [default: 1]")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or mps. [default: auto]")] = None,
    store: Annotated[str | None, typer.Option(help="Path or URL of the store. [default: runs/NAME.sqlite]")] = None,
    keep: Annotated[
        str | None, typer.Option(help="Trained networks that stay: winners, all or none. [default: winners]")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed cells again.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a run of more than ten minutes.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show failures only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Do what is missing of a study: after an interruption, a crash, or with more seeds, sizes or methods.

    Ctrl-C stops it; the same command goes on from there.
    """
    from transferscope.cli.execute import execute
    from transferscope.study.spec import read_spec

    spec = _override(read_spec(study), {"workers": workers, "threads": threads, "device": device, "keep": keep})
    if store is None:
        _refuse_to_redo(study, spec)
    spec = replace(spec, store=store or spec.store)
    status = execute(spec, retry_failed=retry_failed, quiet=quiet, estimate="shown" if yes else "asked")
    _conclude(status, store or str(study), as_json=as_json)


def _refuse_to_redo(study: Path, spec: "StudySpec") -> None:
    """Paths of a study file were relative to the current folder once: results there are not done again unseen."""
    from transferscope.errors import SettingsError

    given = Path(spec.store)
    if "://" in spec.store or not given.is_relative_to(study.parent) or given.exists():
        return
    earlier = given.relative_to(study.parent)
    if earlier != given and earlier.is_file():
        raise SettingsError(
            f"the results of {study} belong in {given}, as paths in a study file are relative to the file, and there "
            f"is a {earlier} in the current folder; move that store there with its folder "
            f"{earlier.with_suffix('.files')}, or say where the results go with --store"
        )


def _override(spec: "StudySpec", given: Mapping[str, int | str | None]) -> "StudySpec":
    """The study with the options of the command line in place of those of its file."""
    from transferscope.study.settings import EngineSettings
    from transferscope.study.tables import Mistakes, read_table

    engine = asdict(spec.engine) | {name: value for name, value in given.items() if value is not None}
    mistakes = Mistakes("the command line")
    settings = read_table(EngineSettings, engine, "", mistakes)
    mistakes.raise_any()
    return replace(spec, engine=settings or spec.engine)


def _conclude(status: "StudyStatus", place: str, *, as_json: bool) -> None:
    from transferscope.cli.status import status_facts, summary
    from transferscope.store import without_password

    if as_json:
        print_json("run", status_facts(status))
    else:
        place = without_password(place)
        typer.echo(summary(status))
        typer.echo(f"results: {status.store}")
        if status.counts.failed:
            typer.echo(f"why cells failed: transferscope status {place}")
        typer.echo(f"report:  transferscope report {place}")
    if status.counts.failed:
        raise typer.Exit(1)
