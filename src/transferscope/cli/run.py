"""`transferscope run`: do what is missing of a study."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.cli.options import (
    AddressOption,
    BackendOption,
    DeviceOption,
    NetworkDiskOption,
    ThreadsOption,
    WorkersOption,
)
from transferscope.cli.status import status_facts, summary, understood

if TYPE_CHECKING:
    from transferscope.study.status import StudyStatus


def run(
    study: Annotated[Path, typer.Argument(help="A study file (TOML).")],
    workers: WorkersOption = None,
    threads: ThreadsOption = None,
    device: DeviceOption = None,
    backend: BackendOption = None,
    address: AddressOption = None,
    store: Annotated[str | None, typer.Option(help="Path or URL of the store. [default: runs/NAME.sqlite]")] = None,
    keep: Annotated[
        str | None, typer.Option(help="Trained networks that stay: winners, all or none. [default: winners]")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed cells again.")] = False,
    network_disk: NetworkDiskOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show failures only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Do what is missing of a study: after an interruption, a crash, or with more seeds, sizes or methods.

    Ctrl-C stops it; the same command goes on from there.
    """
    from transferscope.study.inputs import if_finished, inputs_of
    from transferscope.study.places import NETWORK_DISK

    if network_disk:
        os.environ[NETWORK_DISK] = "1"
    given = {"workers": workers, "threads": threads, "device": device, "keep": keep}
    given |= {"backend": backend, "address": address}
    as_written = store is None and all(option is None for option in given.values())
    if as_written and (finished := if_finished(study)) is not None:
        status, row = finished
        for line in () if quiet else understood(row.facts):
            typer.echo(line, err=True)
        _conclude(status, str(study), as_json=as_json)
        return
    from transferscope.cli.execute import execute, with_options  # with torch, which takes longer than all else
    from transferscope.study.planners import read_study_file

    spec = read_study_file(study)
    inputs = inputs_of(study, spec) if as_written else None
    spec = replace(spec, engine=with_options(spec.engine, given))
    spec = replace(spec, store=store or spec.store)
    status = execute(spec, retry_failed=retry_failed, quiet=quiet, inputs=inputs)
    _conclude(status, store or str(study), as_json=as_json)


def _conclude(status: "StudyStatus", place: str, *, as_json: bool) -> None:
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
