"""`transferscope submit`: runners of a study as jobs of a batch system."""

import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.cli.options import BackendOption, DeviceOption, ThreadsOption, WorkersOption
from transferscope.errors import SettingsError, each_once, refuse_unused

if TYPE_CHECKING:
    from transferscope.study.planners import AnySpec
    from transferscope.study.submit import Job


@dataclass(frozen=True)
class Runner:
    """What a job does: `transferscope work` on a study.

    It is pickled into the folder of the logs, so it holds no URL, which may hold a password: that is read from the
    study file when the job begins.

    `study` is the absolute path of the study file, `options` those of `transferscope work` by their names.
    """

    study: str
    options: Mapping[str, int | str]

    def __call__(self) -> None:
        """Do cells until none is left; ends the process with the code of `transferscope work` unless all went well."""
        from transferscope.cli.main import main

        options = [f"--{name}={value}" for name, value in self.options.items()]
        sys.argv = ["transferscope", "work", self.study, *options]
        print(f"on {platform.node()}: {' '.join(sys.argv)}", file=sys.stderr, flush=True)
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise

    def checkpoint(self) -> Any:
        """The job that goes on where this one is stopped: another runner, as the state of the study is in the store."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


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
        list[str] | None,
        typer.Option(help="A further option of sbatch, as in --sbatch constraint=a100 or --sbatch exclusive."),
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
    from transferscope.study.planners import read_study_file
    from transferscope.study.submit import Job, settings_in_words
    from transferscope.study.submit import submit as submit_runners
    from transferscope.wording import counted

    if (slurm is None) == (local is None):
        raise SettingsError("give the number of runners: --slurm N for an array job, or --local N to try it here")
    of_slurm = {"--partition": partition, "--account": account, "--sbatch": sbatch, "--cpus": cpus, "--memory": memory}
    asked = {name: value is not None for name, value in of_slurm.items()}
    refuse_unused(asked if local is not None else {}, "runners of --local ask for nothing of SLURM")
    further = each_once(map(_split, sbatch or ()), "option of --sbatch")
    spec = read_study_file(study)
    options = {"workers": workers, "threads": threads, "device": device, "backend": backend}
    given = {name: value for name, value in options.items() if value is not None}
    spec = replace(spec, engine=with_options(spec.engine, given))
    job = Job(time, cpus or (workers or 1) * spec.engine.threads, gpus, memory, partition, account, further)
    submitted = submit_runners(
        spec,
        Runner(str(study.absolute()), given),
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
    if slurm is not None:
        for note in _notes(spec, job):
            typer.echo(f"note: {note}", err=True)


def _notes(spec: "AnySpec", job: "Job") -> Iterator[str]:
    """What may go wrong on the nodes, where nobody sees it happen."""
    from transferscope.wording import counted

    if "://" not in spec.store:
        yield (
            f"the store {spec.store} is a file, which jobs on other machines do not find; name a PostgreSQL database "
            "unless all nodes are this machine"
        )
    at_once = (spec.engine.workers or 1) * spec.engine.threads
    if job.cpus is not None and job.cpus < at_once:
        yield f"a runner computes on {counted(at_once, 'processor')} and asks for {job.cpus}; all its cells are slower"
    elif job.cpus is not None and job.cpus > at_once and not job.gpus:
        yield f"a runner asks for {job.cpus} processors and computes on {at_once}; give --workers, or fewer --cpus"


def _split(option: str) -> tuple[str, str | bool]:
    name, separator, value = option.lstrip("-").partition("=")
    if not name or any(sign.isspace() for sign in name):
        raise SettingsError(
            f"--sbatch {option!r} is no option; expected NAME=VALUE, as in --sbatch constraint=a100, or the name alone "
            "of one that takes no value, as in --sbatch exclusive"
        )
    return name, value if separator else True
