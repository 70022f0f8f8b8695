"""Runners of one study as jobs of a batch system: an array of SLURM, or processes of this machine, through submitit."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from transferscope.errors import SettingsError, missing_extra
from transferscope.store import Store
from transferscope.study.places import open_new
from transferscope.study.plan import plan_study
from transferscope.study.run import WORK, plan_into, work_on
from transferscope.study.settings import EngineSettings
from transferscope.study.spec import StudySpec, read_spec

_MOST_TIMEOUTS = 1000
"""A job that has reached its time limit is queued again so often: the study is over when its cells are."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a runner asks the batch system for; None for what that gives by itself.

    Attributes:
        minutes: How long it may run before it is stopped and queued again.
        cpus: Processors.
        gpus: GPUs.
        memory: Gigabytes.
        partition: Of SLURM.
        account: Of SLURM.
        further: Further options of `sbatch` by their names, as in {"constraint": "a100"}.
    """

    minutes: int = 60
    cpus: int | None = None
    gpus: int | None = None
    memory: float | None = None
    partition: str | None = None
    account: str | None = None
    further: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """Runners that were submitted.

    Attributes:
        jobs: Their numbers with the batch system; empty when there was nothing left to do.
        n_cells: Cells that were left to do.
        logs: Folder of the batch script and of what the runners print.
    """

    jobs: tuple[str, ...]
    n_cells: int
    logs: Path


@dataclass(frozen=True)
class Runner:
    """What a job does: cells of the study until none is left.

    It is pickled into the folder of the logs, so it holds no URL, which may hold a password: that is read from the
    study file when the job begins.

    Attributes:
        study: Absolute path of the study file.
        engine: How cells are done.
        work: Dotted name of what does a cell.
    """

    study: str
    engine: EngineSettings
    work: str = WORK

    def __call__(self) -> str:
        """Do cells; how many there were, for the log."""
        spec = read_spec(Path(self.study))
        with Store.open(spec.store, create=False, files=spec.files_folder) as store:
            share = work_on(spec.name, store, engine=self.engine, work=self.work)
        return f"{share.done} cells done, {share.failed} failed"

    def checkpoint(self) -> Any:
        """The job that goes on where this one is stopped: another runner, as the state of the study is in the store."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def submit(
    spec: StudySpec,
    study: Path,
    *,
    runners: int,
    job: Job,
    logs: Path,
    cluster: Literal["slurm", "local"] = "slurm",
    work: str = WORK,
) -> Submitted:
    """Plan a study and submit runners for what is left of it; to go on after they were stopped, submit it again.

    Args:
        spec: The study.
        study: Its file, which the jobs read again.
        runners: How many jobs at most, at least 1.
        job: What each of them asks for.
        logs: Folder for the batch script and the logs; every machine must see it.
        cluster: The batch system.
        work: Dotted name of what does a cell.

    Raises:
        DataError: As for `run_study`; nothing was submitted.
        MissingExtraError: submitit is not installed.
        SettingsError: There is no SLURM here, or the study is a race.
        StoreError: The store cannot be written.
    """
    executor = _executor(job, logs, cluster, name=spec.name)
    if spec.race is not None:
        raise SettingsError(
            f"{spec.name} is a race: which cells come next is decided where its data are; start `transferscope run` in "
            "a job of its own instead"
        )
    with open_new(spec.store, files=spec.files_folder) as store:
        plan = plan_study(spec, store)
        plan_into(plan, store)
        counts = store.counts(spec.name)
    left = counts.planned + counts.running
    jobs: list[Any] = []
    if left:
        with executor.batch():
            runner = Runner(str(study.absolute()), spec.engine, work)
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
            "there is no SLURM here (no srun on the path); submit from a machine of the cluster that has it, or start "
            "`transferscope work` by hand"
        ) from error
    asked: dict[str, Any] = {
        "name": name,
        "timeout_min": job.minutes,
        "cpus_per_task": job.cpus,
        "gpus_per_node": job.gpus,
        "mem_gb": job.memory,
    }
    if cluster == "slurm":
        asked |= {"slurm_partition": job.partition, "slurm_account": job.account}
        asked |= {"slurm_additional_parameters": dict(job.further)} if job.further else {}
    executor.update_parameters(**{name: value for name, value in asked.items() if value is not None})
    return executor


def settings_in_words(job: Job) -> str:
    """What a job asks for, as in "60 minutes, 1 gpus, partition long"."""
    shown = {name: value for name, value in asdict(job).items() if value and name != "minutes"}
    return ", ".join([f"{job.minutes} minutes", *(f"{name} {value}" for name, value in shown.items())])
