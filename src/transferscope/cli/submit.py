"""`transferscope submit`: runners of a study as jobs of a batch system."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.cli.options import BackendOption, DeviceOption, ThreadsOption, WorkersOption
from transferscope.errors import SettingsError


def submit(
    study: Annotated[Path, typer.Argument(help="A study file (TOML), in a folder that every machine sees.")],
    slurm: Annotated[int | None, typer.Option(min=1, help="So many runners, as an array job of SLURM.")] = None,
    local: Annotated[int | None, typer.Option(min=1, help="So many runners in this machine's background.")] = None,
    time: Annotated[int, typer.Option(min=1, help="Minutes of a job; then it is queued again.")] = 60,
    cpus: Annotated[int | None, typer.Option(min=1, help="Processors of a runner. [as many as --workers]")] = None,
    gpus: Annotated[int | None, typer.Option(min=0, help="GPUs of a runner.")] = None,
    memory: Annotated[float | None, typer.Option(min=0.1, help="Gigabytes of a runner.")] = None,
    partition: Annotated[str | None, typer.Option(help="SLURM's partition.")] = None,
    account: Annotated[str | None, typer.Option(help="SLURM's account.")] = None,
    sbatch: Annotated[
        list[str] | None, typer.Option(help="A further option of sbatch, as in --sbatch constraint=a100.")
    ] = None,
    workers: WorkersOption = 1,
    threads: ThreadsOption = None,
    device: DeviceOption = None,
    backend: BackendOption = None,
    logs: Annotated[Path | None, typer.Option(help="Folder of batch script and logs. [beside the study file]")] = None,
    as_json: AsJson = False,
) -> None:
    """Plan a study and have a batch system do it: runners that share its cells, with or without `transferscope work`.

    The command ends when the jobs are queued. Jobs that reach their time limit are queued again, and go on inside of
    long cells; submitting once more starts runners for what is left. The store must be one that all machines reach.
    """
    from transferscope.cli.execute import with_options
    from transferscope.study.spec import read_spec
    from transferscope.study.submit import Job, settings_in_words
    from transferscope.study.submit import submit as submit_runners
    from transferscope.wording import counted

    if (slurm is None) == (local is None):
        raise SettingsError("give the number of runners: --slurm N for an array job, or --local N to try it here")
    further = dict(_split(option) for option in sbatch or ())
    spec = read_spec(study)
    given = {"workers": workers, "threads": threads, "device": device, "backend": backend}
    spec = replace(spec, engine=with_options(spec.engine, given))
    job = Job(time, cpus or (workers or 1) * spec.engine.threads, gpus, memory, partition, account, further)
    submitted = submit_runners(
        spec,
        study,
        runners=slurm or local or 1,
        job=job,
        logs=logs or study.absolute().with_suffix(".jobs"),
        cluster="local" if slurm is None else "slurm",
    )
    if as_json:
        found = {
            "study": spec.name,
            "jobs": list(submitted.jobs),
            "cells": submitted.n_cells,
            "logs": str(submitted.logs),
        }
        print_json("submit", found)
        return
    if not submitted.jobs:
        typer.echo(f"{spec.name}: nothing is left to do, and nothing was submitted")
        return
    number = submitted.jobs[0].partition("_")[0]
    what = f"job {number}" if slurm is not None else f"processes {', '.join(submitted.jobs)}"
    typer.echo(f"{what}: {counted(len(submitted.jobs), 'runner')} for {counted(submitted.n_cells, 'cell')}")
    typer.echo(f"each:   {settings_in_words(job)}")
    typer.echo(f"logs:   {submitted.logs}")
    typer.echo(f"status: transferscope status {study}")


def _split(option: str) -> tuple[str, str]:
    name, separator, value = option.lstrip("-").partition("=")
    if not name or not separator:
        raise SettingsError(f"--sbatch {option!r} is no option; expected NAME=VALUE, as in --sbatch constraint=a100")
    return name, value
