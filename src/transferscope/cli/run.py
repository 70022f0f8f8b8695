"""`transferscope run`: do what is missing of a study, alone, beside other runners, or as jobs of a batch system."""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.cli.options import (
    AddressOption,
    BackendOption,
    DeviceOption,
    KeepOption,
    NetworkDiskOption,
    QuietOption,
    ThreadsOption,
    WorkersOption,
    given_values,
    refuse_others,
)
from transferscope.cli.status import status_facts, summary, understood
from transferscope.errors import StoreError, TransferscopeError

if TYPE_CHECKING:
    from transferscope.settings.engine import EngineSettings
    from transferscope.store import Store
    from transferscope.study.status import StudyStatus

_EVERYWHERE = {"workers", "threads", "device", "backend", "as_json"}
_ALONE = {*_EVERYWHERE, "seeds", "labels", "keep", "store", "address", "retry_failed", "network_disk", "quiet"}
_JOINING = {*_EVERYWHERE, "join", "name", "runs", "minutes", "store", "address", "network_disk", "quiet"}
_LOCAL = {*_EVERYWHERE, "slurm", "local", "seeds", "labels", "job_minutes", "gpus", "logs"}
_SLURM = {*_LOCAL, "cpus", "memory", "partition", "account", "sbatch"}

_JOIN = "Beside others"
_JOBS = "As jobs"


def run(
    context: typer.Context,
    study: Annotated[str, typer.Argument(metavar="STUDY.toml", help="A study file; with --join also a store.")],
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions, in place of those of the file.")] = None,
    labels: Annotated[
        list[int] | None, typer.Option(min=1, help="Numbers of labels, in place of those of the file.")
    ] = None,
    keep: KeepOption = None,
    store: Annotated[str | None, typer.Option(help="Path or URL of the store. [as the file says]")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed runs again.")] = False,
    workers: WorkersOption = None,
    threads: ThreadsOption = None,
    device: DeviceOption = None,
    backend: BackendOption = None,
    address: AddressOption = None,
    network_disk: NetworkDiskOption = False,
    join: Annotated[
        bool,
        typer.Option("--join", help="Do runs of a study that is planned, and plan nothing.", rich_help_panel=_JOIN),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--study", help="Which study, when a store holds several.", rich_help_panel=_JOIN),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Begin at most so many runs. [all]", rich_help_panel=_JOIN)
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0, help="Begin no run after so many minutes. [no limit]", rich_help_panel=_JOIN),
    ] = None,
    slurm: Annotated[
        int | None, typer.Option(min=1, help="So many runners, as an array job of SLURM.", rich_help_panel=_JOBS)
    ] = None,
    local: Annotated[
        int | None, typer.Option(min=1, help="So many runners in this machine's background.", rich_help_panel=_JOBS)
    ] = None,
    job_minutes: Annotated[
        int, typer.Option(min=1, help="Minutes of a job, which is then queued again.", rich_help_panel=_JOBS)
    ] = 60,
    cpus: Annotated[
        int | None, typer.Option(min=1, help="Processors of a job. [as --workers]", rich_help_panel=_JOBS)
    ] = None,
    gpus: Annotated[int | None, typer.Option(min=0, help="GPUs of a job.", rich_help_panel=_JOBS)] = None,
    memory: Annotated[float | None, typer.Option(min=0.1, help="Gigabytes of a job.", rich_help_panel=_JOBS)] = None,
    partition: Annotated[str | None, typer.Option(help="SLURM's partition.", rich_help_panel=_JOBS)] = None,
    account: Annotated[str | None, typer.Option(help="SLURM's account.", rich_help_panel=_JOBS)] = None,
    sbatch: Annotated[
        list[str] | None,
        typer.Option(help="Options of sbatch, as in constraint=a100 exclusive.", rich_help_panel=_JOBS),
    ] = None,
    logs: Annotated[
        Path | None, typer.Option(help="Folder of script and logs. [beside the file]", rich_help_panel=_JOBS)
    ] = None,
    quiet: QuietOption = False,
    as_json: AsJson = False,
) -> None:
    """Do what is missing of a study: after an interruption, or with more seeds, labels or methods.

    Ctrl-C stops it; the same command goes on from there.
    """
    from transferscope.study.inputs import if_finished, inputs_of
    from transferscope.study.places import NETWORK_DISK

    if network_disk:
        os.environ[NETWORK_DISK] = "1"
    given = given_values(workers=workers, threads=threads, device=device, backend=backend)
    if join:
        refuse_others(context, _JOINING, "--join does what is planned")
        engine = {**given, **given_values(address=address)}
        _join(study, name, engine, runs=runs, minutes=minutes, store=store, quiet=quiet, as_json=as_json)
        return
    if slurm is not None or local is not None:
        from transferscope.cli.batch import Asked, submit_jobs

        refuse_others(context, _SLURM if local is None else _LOCAL, "runners are submitted")
        asked = Asked(slurm, local, job_minutes, cpus, gpus, memory, partition, account, tuple(sbatch or ()), logs)
        submit_jobs(Path(study), asked, given, seeds=seeds, labels=labels, as_json=as_json)
        return
    refuse_others(context, _ALONE, "neither --join nor --slurm N or --local N was given")
    file = Path(study)
    engine = {**given, **given_values(keep=keep, address=address)}
    as_written = store is None and seeds is None and not labels and not engine
    if as_written and (finished := if_finished(file)) is not None:
        status, row = finished
        for line in () if quiet else understood(row.facts):
            typer.echo(line, err=True)
        _conclude(status, study, as_json=as_json)
        return
    from transferscope.cli.execute import execute, with_numbers, with_options  # with torch, which takes longest
    from transferscope.study.planners import read_study_file

    spec = with_numbers(read_study_file(file), seeds, labels)
    inputs = inputs_of(file, spec) if as_written else None
    spec = replace(spec, engine=with_options(spec.engine, engine), store=store or spec.store)
    status = execute(spec, retry_failed=retry_failed, quiet=quiet, inputs=inputs)
    _conclude(status, store or study, as_json=as_json)


def _conclude(status: "StudyStatus", place: str, *, as_json: bool) -> None:
    from transferscope.cli.status import failures
    from transferscope.store import without_password

    if as_json:
        print_json("run", status_facts(status))
    else:
        from transferscope.analyses.stored import open_result

        typer.echo(summary(status))
        for line in failures(status.failed):
            typer.echo(line)
        with suppress(TransferscopeError):  # nothing was measured
            typer.echo(f"\n{open_result(place, study=status.name).verdict.shown}\n")
        typer.echo(f"results: {status.store}\nreport:  transferscope report {without_password(place)}")
    if status.counts.failed:
        raise typer.Exit(1)


def _join(
    study: str,
    name: str | None,
    given: dict[str, int | float | str],
    *,
    runs: int | None,
    minutes: float | None,
    store: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Do runs beside other runners, on any machine that sees the store and the data, without planning or asking."""
    from transferscope.cli.execute import with_options
    from transferscope.cli.progress import study_view
    from transferscope.store import Store
    from transferscope.study.places import find_study, one_study
    from transferscope.study.planners import read_study_file
    from transferscope.study.run import Limits, work_on
    from transferscope.wording import counted

    found = find_study(Path(study)) if study.endswith(".toml") else None
    place = store or (study if found is None else found.store)
    spec = None if found is None else read_study_file(Path(study))
    files = None if spec is None or store is not None else spec.files_folder
    with Store.open(place, create=False, files=files) as opened:
        wanted = name or (None if found is None else found.name)
        if wanted is not None and wanted not in [row.name for row in opened.studies()]:
            raise StoreError(
                f"the study {wanted} is not planned in {opened.place}; start it with `transferscope run STUDY.toml`, "
                "with or without --slurm N, which plans it"
            )
        chosen = one_study(opened, study, wanted)
        engine = with_options(_planned_with(opened, chosen) if spec is None else spec.engine, given)
        try:
            with study_view(chosen, quiet=quiet) as view:
                limits = Limits(runs, None if minutes is None else 60.0 * minutes)
                share = work_on(chosen, opened, engine=engine, limits=limits, on_event=view)
        except KeyboardInterrupt as error:
            typer.echo(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
            raise typer.Exit(130) from None
    if as_json:
        print_json("run", {"done_here": share.done, "failed_here": share.failed, **status_facts(share.status)})
    else:
        failed = f", {share.failed} failed" if share.failed else ""
        typer.echo(f"this runner: {counted(share.done, 'cell')} done{failed}")
        typer.echo(summary(share.status))
    if share.failed:
        raise typer.Exit(1)


def _planned_with(store: "Store", name: str) -> "EngineSettings":
    from transferscope.settings.engine import EngineSettings
    from transferscope.study.tables import settings_of

    return settings_of(EngineSettings, store.study(name).spec.get("engine", {}))
