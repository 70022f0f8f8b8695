"""`transferscope work`: one runner more for a study that is planned already."""

import os
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

if TYPE_CHECKING:
    from transferscope.store import Store
    from transferscope.study.settings import EngineSettings


def work(
    study: Annotated[
        str, typer.Argument(metavar="STUDY.toml|STORE", help="A study file, or the path or URL of a store.")
    ],
    name: Annotated[str | None, typer.Option("--study", help="Which study, when a store holds several.")] = None,
    cells: Annotated[int | None, typer.Option(min=1, help="Begin at most so many cells. [all]")] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Begin no cell after so many minutes. [no limit]")
    ] = None,
    workers: WorkersOption = None,
    threads: ThreadsOption = None,
    device: DeviceOption = None,
    backend: BackendOption = None,
    address: AddressOption = None,
    store: Annotated[str | None, typer.Option(help="Path or URL of the store. [that of the study file]")] = None,
    network_disk: NetworkDiskOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show failures only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Do cells of a study beside other runners, on any machine that sees its store and its data.

    `transferscope run` plans a study and does it; this neither plans nor asks, so it starts at once, and any number may
    run at a time. Cells that it has begun are ended when a limit is reached; Ctrl-C gives them back.
    """
    from transferscope.cli.execute import with_options
    from transferscope.cli.progress import study_view
    from transferscope.cli.status import status_facts, summary
    from transferscope.store import Store
    from transferscope.study.places import NETWORK_DISK, find_study
    from transferscope.study.planners import read_study_file
    from transferscope.study.run import Limits, work_on
    from transferscope.wording import counted

    if network_disk:
        os.environ[NETWORK_DISK] = "1"
    found = find_study(Path(study)) if study.endswith(".toml") else None
    place = store or (study if found is None else found.store)
    given = {"workers": workers, "threads": threads, "device": device, "backend": backend, "address": address}
    limits = Limits(cells, None if minutes is None else 60.0 * minutes)
    spec = None if found is None else read_study_file(Path(study))
    files = None if spec is None or store is not None else spec.files_folder
    with Store.open(place, create=False, files=files) as opened:
        chosen = _chosen(opened, study, name or (None if found is None else found.name))
        engine = with_options(_planned_with(opened, chosen) if spec is None else spec.engine, given)
        try:
            with study_view(chosen, quiet=quiet) as view:
                share = work_on(chosen, opened, engine=engine, limits=limits, on_event=view)
        except KeyboardInterrupt as error:
            typer.echo(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
            raise typer.Exit(130) from None
    if as_json:
        print_json("work", {"done_here": share.done, "failed_here": share.failed, **status_facts(share.status)})
    else:
        failed = f", {share.failed} failed" if share.failed else ""
        typer.echo(f"this runner: {counted(share.done, 'cell')} done{failed}")
        typer.echo(summary(share.status))
    if share.failed:
        raise typer.Exit(1)


def _chosen(store: "Store", place: str, name: str | None) -> str:
    """The study that is meant: the one that is named, or the only one of the store."""
    from transferscope.errors import StoreError
    from transferscope.study.places import one_study

    if name is not None and name not in [row.name for row in store.studies()]:
        raise StoreError(
            f"the study {name} is not planned in {store.place}; start it with `transferscope run` or `transferscope "
            "submit` first, which plan it"
        )
    return one_study(store, place, name)


def _planned_with(store: "Store", name: str) -> "EngineSettings":
    from transferscope.study.settings import EngineSettings
    from transferscope.study.tables import Mistakes, read_table

    mistakes = Mistakes(f"the study {name} of the store")
    settings = read_table(EngineSettings, store.study(name).spec.get("engine", {}), "[engine]", mistakes)
    mistakes.raise_any()
    return settings or EngineSettings()
