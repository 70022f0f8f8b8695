"""Runners of one study as jobs of a batch system: an array of SLURM, or processes of this machine, through submitit."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge

from transferscope.errors import SettingsError, missing_extra, out_of_range
from transferscope.records import Count, Says, check_settings
from transferscope.study.places import open_new
from transferscope.study.planners import AnySpec, plan_of
from transferscope.study.run import plan_into

_MOST_TIMEOUTS = 1000
"""Most times that a job is requeued at its time limit."""

_SECONDS_TO_END = 60
"""Seconds before its time limit at which a job is asked to end; SLURM may do so a minute earlier."""

_LEAST_MINUTES = 5
"""A shorter job would be asked to end before it has done anything, and be requeued."""


@dataclass(frozen=True, slots=True)
class Job:
    """Resources of a runner in the batch system; None for the system's default."""

    minutes: Annotated[Count, Says("Minutes of a job", "It is then stopped, and queued again.")] = 60
    cpus: Annotated[Count | None, Says("Processors of a job", "None for those that its workers take.")] = None
    gpus: Annotated[Annotated[int, Ge(0)] | None, Says("GPUs of a job")] = None
    memory: Annotated[Annotated[float, Ge(0.1)] | None, Says("Gigabytes of a job")] = None
    logs: Annotated[str | None, Says("Folder of script and logs", "None for one beside the study file.")] = None
    sbatch: Annotated[
        dict[str, str | bool | int | float],
        Says(
            "Further options of sbatch by name",
            'As in { partition = "long", exclusive = true }; true for one that takes no value.',
        ),
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_settings(self)
        for name in self.sbatch:
            if not name or any(sign.isspace() for sign in name):
                raise SettingsError(f"sbatch has {name!r}, which is not an option; write it as constraint")


@dataclass(frozen=True, slots=True)
class Submitted:
    """Submitted runners.

    Attributes:
        jobs: Job numbers of the batch system; empty if no run was left.
        logs: Folder of the batch script and the output of the runners.
    """

    jobs: tuple[str, ...]
    n_cells: int
    logs: Path


def submit(
    spec: AnySpec,
    runner: Callable[[], object],
    *,
    runners: int,
    job: Job,
    logs: Path,
    cluster: Literal["slurm", "local"] = "slurm",
) -> Submitted:
    """Plan a study and submit runners for its missing runs; submit it again to resume.

    Args:
        runner: The work of each job: cells of the study until none is left. It is pickled into the logs; its method
            `checkpoint` returns the runner that resumes a requeued job.
        runners: Maximum number of jobs, at least 1.
        logs: Folder for the batch script and the logs; every machine must see it.

    Raises:
        DataError: As in `run_study`; nothing was submitted.
        MissingExtraError: submitit is not installed.
        SettingsError: SLURM is not available or refuses the job, or the study is a race.
        StoreError: The store cannot be written.
    """
    executor = _executor(job, logs, cluster, name=spec.name)
    if spec.race is not None:
        raise SettingsError(
            f"{spec.name} is a race, whose runs are chosen where its data are; use `transferscope run` in one job "
            "instead"
        )
    with open_new(spec.store, files=spec.files) as store:
        plan = plan_of(spec, store)
        plan_into(plan, store)
        counts = store.counts(spec.name)
    left = counts.planned + counts.running
    jobs: list[Any] = []
    if left:
        with _explained(logs), executor.batch():
            jobs = [executor.submit(runner) for _ in range(min(runners, left))]
    return Submitted(tuple(str(submitted.job_id) for submitted in jobs), left, logs)


def _executor(job: Job, logs: Path, cluster: str, *, name: str) -> Any:
    try:
        import submitit
    except ImportError as error:
        raise missing_extra("submitit", "slurm", "submitting jobs") from error
    try:
        executor = submitit.AutoExecutor(folder=logs, cluster=cluster, slurm_max_num_timeout=_MOST_TIMEOUTS)
    except RuntimeError as error:
        raise SettingsError(
            "SLURM is not installed here (no srun on PATH); submit from a machine that has it, or start "
            "`transferscope run STUDY --join` by hand"
        ) from error
    asked: dict[str, Any] = {
        "name": name,
        "timeout_min": job.minutes,
        "cpus_per_task": job.cpus,
        "gpus_per_node": job.gpus,
        "mem_gb": job.memory,
    }
    if cluster == "slurm":
        if job.minutes < _LEAST_MINUTES:
            raise out_of_range(
                "minutes",
                job.minutes,
                f"at least {_LEAST_MINUTES}, as SLURM ends jobs up to two minutes early",
            )
        asked |= {"slurm_signal_delay_s": _SECONDS_TO_END}
        asked |= {"slurm_srun_args": ["--export=ALL"]}  # of the batch script, also where jobs get nothing of the shell
        # many clusters queue a job again only if it has asked for that
        asked |= {"slurm_additional_parameters": {"requeue": True, **job.sbatch}}
    executor.update_parameters(**{name: value for name, value in asked.items() if value is not None})
    return executor


@contextmanager
def _explained(logs: Path) -> Iterator[None]:
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    printed = io.StringIO()  # submitit prints what sbatch says, and says it again
    try:
        with redirect_stderr(printed):
            yield
    except (FailedJobError, FailedSubmissionError) as error:
        lines = [line.removeprefix("sbatch: error: ").strip() for line in str(error).splitlines()]
        raise SettingsError(
            f"SLURM refused the job: {'; '.join(line for line in lines if line)}; change the options and submit again "
            "(the study is planned, nothing was queued)"
        ) from error
    except OSError as error:
        raise SettingsError(
            f"the folder of logs {logs} cannot be written ({error.strerror or error}); give one that the nodes share, "
            "with --set job.logs=FOLDER"
        ) from error
