"""`transferscope run --slurm N`: runners of a study as jobs of a batch system."""

import json
import platform
import runpy
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

from transferscope.cli.as_json import print_json
from transferscope.cli.commands.run import Options
from transferscope.cli.keys import made
from transferscope.cli.terminal import say
from transferscope.errors import SettingsError, refuse_unused
from transferscope.study.planners import read_study_file
from transferscope.study.submit import Job, submit
from transferscope.wording import counted


@dataclass(frozen=True)
class Runner:
    """A batch job: `transferscope run STUDY --join`.

    It is pickled into the folder of the logs, so it contains no URL, which may have a password; the URL is read from
    the study file when the job starts.

    `study` is the absolute path of the study file, `engine` overrides its [engine].
    """

    study: str
    engine: Mapping[str, Any]

    def __call__(self) -> None:
        """Make runs until none is left; exit with the code of the command if it fails."""
        given = ["--set", *_as_keys("engine", self.engine)] if self.engine else []
        sys.argv = ["transferscope", "run", self.study, "--join", *given]
        say(f"on {platform.node()}: {' '.join(sys.argv)}", err=True)
        try:
            runpy.run_module("transferscope", run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise

    def checkpoint(self) -> Any:
        """Return the job that resumes this one: another runner, since the state of the study is in the store."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def _as_keys(table: str, settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _as_keys(f"{table}.{name}", value)
        else:
            yield f"{table}.{name}={json.dumps(value)}"


def submit_jobs(asked: Options) -> None:
    """Plan a study, and submit runners that share it, with files and a store that all machines reach.

    Jobs that reach their time limit are requeued and resume within long runs; the same command starts runners for the
    remaining runs.
    """
    if asked.slurm is not None and asked.local is not None:
        raise SettingsError(
            "--slurm and --local are both given; use --slurm N for an array job, or --local N on this machine"
        )
    given = dict(asked.settings)
    wanted = given.pop("job", {})
    of_slurm = () if asked.local is None else ("cpus", "memory", "sbatch")
    refuse_unused({f"job.{name}": name in wanted for name in of_slurm}, "processes of this machine are started")
    refuse_unused({"--store": "store" in given}, "runners find the store in the study file")
    job = made(Job, wanted)
    study = Path(asked.study)
    engine = {"workers": 1, **given.get("engine", {})}
    spec = read_study_file(study, {**given, "engine": engine})
    job = replace(job, cpus=job.cpus or (spec.engine.workers or 1) * spec.engine.threads)
    submitted = submit(
        spec,
        Runner(str(study.absolute()), engine),
        runners=asked.slurm or asked.local or 1,
        job=job,
        logs=study.absolute().with_suffix(".jobs") if job.logs is None else Path(job.logs),
        cluster="local" if asked.slurm is None else "slurm",
    )
    if asked.as_json:
        jobs = {"jobs": list(submitted.jobs), "runs": submitted.n_cells, "logs": str(submitted.logs)}
        print_json("run", {"study": spec.name, **jobs})
        return
    if not submitted.jobs:
        say(f"{spec.name}: nothing is left to do, and nothing was submitted")
        return
    number = submitted.jobs[0].partition("_")[0]
    what = f"job {number}" if asked.slurm is not None else f"processes {', '.join(submitted.jobs)}"
    say(f"{what}: {counted(len(submitted.jobs), 'runner')} for {counted(submitted.n_cells, 'run')}")
    say(f"logs:   {submitted.logs}")
    say(f"status: transferscope status {quote(str(study))}")
    if asked.slurm is not None and "://" not in spec.store:
        say(
            f"note: the store {spec.store} is a file, which jobs on other machines do not find; name a PostgreSQL "
            "database unless all nodes are this machine",
            err=True,
        )
