"""`transferscope run --slurm N`: runners of a study as jobs of a batch system."""

import platform
import runpy
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

from transferscope.cli.as_json import print_json
from transferscope.cli.commands.run import Options
from transferscope.cli.execute import with_numbers, with_options
from transferscope.cli.terminal import say
from transferscope.errors import SettingsError, each_once
from transferscope.study.planners import read_study_file
from transferscope.study.submit import Job, submit
from transferscope.wording import counted


@dataclass(frozen=True)
class Runner:
    """What a job does: `transferscope run STUDY --join`.

    It is pickled into the folder of the logs, so it holds no URL, which may hold a password: that is read from the
    study file when the job begins.

    `study` is the absolute path of the study file, `options` those of each runner by their names.
    """

    study: str
    options: Mapping[str, int | float | str]

    def __call__(self) -> None:
        """Do cells until none is left; ends the process with the code of the command unless all went well."""
        options = [f"--{name}={value}" for name, value in self.options.items()]
        sys.argv = ["transferscope", "run", self.study, "--join", *options]
        say(f"on {platform.node()}: {' '.join(sys.argv)}", err=True)
        try:
            runpy.run_module("transferscope", run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise

    def checkpoint(self) -> Any:
        """The job that goes on where this one is stopped: another runner, as the state of the study is in the store."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def submit_jobs(asked: Options) -> None:
    """Plan a study, and queue runners that share it, in files and a store that all machines reach.

    Jobs that reach their time limit are queued again, and go on inside of long runs; the same command starts runners
    for what is left.
    """
    if asked.slurm is not None and asked.local is not None:
        raise SettingsError("give the number of runners once: --slurm N for an array job, or --local N to try it here")
    study = Path(asked.study)
    further = each_once(map(_split, asked.sbatch or ()), "option of --sbatch")
    spec = with_numbers(read_study_file(study), asked.seeds, asked.labels)
    options = {"workers": 1, **asked.engine}
    spec = replace(spec, engine=with_options(spec.engine, options))
    cpus = asked.cpus or (spec.engine.workers or 1) * spec.engine.threads
    job = Job(asked.job_minutes, cpus, asked.gpus, asked.memory, asked.partition, asked.account, further)
    submitted = submit(
        spec,
        Runner(str(study.absolute()), options),
        runners=asked.slurm or asked.local or 1,
        job=job,
        logs=asked.logs or study.absolute().with_suffix(".jobs"),
        cluster="local" if asked.slurm is None else "slurm",
    )
    if asked.as_json:
        jobs = {"jobs": list(submitted.jobs), "cells": submitted.n_cells, "logs": str(submitted.logs)}
        print_json("run", {"study": spec.name, **jobs})
        return
    if not submitted.jobs:
        say(f"{spec.name}: nothing is left to do, and nothing was submitted")
        return
    number = submitted.jobs[0].partition("_")[0]
    what = f"job {number}" if asked.slurm is not None else f"processes {', '.join(submitted.jobs)}"
    say(f"{what}: {counted(len(submitted.jobs), 'runner')} for {counted(submitted.n_cells, 'cell')}")
    say(f"logs:   {submitted.logs}")
    say(f"status: transferscope status {quote(str(study))}")
    if asked.slurm is not None and "://" not in spec.store:
        say(
            f"note: the store {spec.store} is a file, which jobs on other machines do not find; name a PostgreSQL "
            "database unless all nodes are this machine",
            err=True,
        )


def _split(option: str) -> tuple[str, str | bool]:
    name, separator, value = option.lstrip("-").partition("=")
    if not name or any(sign.isspace() for sign in name):
        raise SettingsError(
            f"--sbatch {option!r} is no option; expected NAME=VALUE, as in --sbatch constraint=a100, or the name alone "
            "of one that takes no value, as in --sbatch exclusive"
        )
    return name, value if separator else True
