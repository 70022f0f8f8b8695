"""Execution of cells as tasks of a Ray cluster: an existing one, by its address, or a local one.

The store keeps the claims and determines which cells are ready; Ray chooses where each one runs. A cell is submitted
once its needs are done, so tasks are independent, and a killed driver loses only the running cells.
"""

import math
import os
import platform
import secrets
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Self

from transferscope.errors import SettingsError, missing_extra
from transferscope.machine import keep_freed_memory
from transferscope.once import keep_from_now
from transferscope.records import Failure
from transferscope.store import PlannedCell
from transferscope.study.backends.backend import (
    Failed,
    Finished,
    Message,
    Stopped,
    attempt,
    failure_of,
    find_work,
    too_slow,
)
from transferscope.study.context import CellTimeout, WorkContext

_SECONDS_BETWEEN_COUNTS = 5.0
"""Seconds between queries of the capacity of the cluster, which may change."""

_MARK = ".transferscope-driver"
"""File in the folder of networks, by which every node checks that it sees the same folder."""

_SECONDS_UNTIL_SEEN = 5.0
"""Network file systems show a new file to other machines after a while."""

NEW_CLUSTER = "local"
"""Ray address of a local cluster with the lifetime of the runner."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver's expectations of Ray nodes: a mark in the network folder, and a version."""

    mark: str
    version: str

    @classmethod
    def marking(cls, folder: Path) -> Self:
        """Return the driver of this process, after marking the folder, or reading the mark of an earlier driver."""
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder / _MARK
        if not mark.exists():
            mark.write_text(secrets.token_hex(16), encoding="ascii")
        return cls(mark.read_text(encoding="ascii"), version("transferscope"))

    def check(self, folder: Path) -> None:
        """Refuse a node that does not see the driver's folder or runs another version; raises SettingsError."""
        own = version("transferscope")
        if own != self.version:
            raise SettingsError(
                f"node {platform.node()} of the Ray cluster has transferscope {own}, but the driver {self.version}; "
                "install one version on all"
            )
        until = time.monotonic() + _SECONDS_UNTIL_SEEN
        while not self._sees(folder):
            if time.monotonic() > until:
                raise SettingsError(
                    f"node {platform.node()} of the Ray cluster cannot see the folder of networks {folder}; give one "
                    'that all nodes share in the study file, as in files = "/shared/networks" beside a PostgreSQL '
                    "store, or a store in such a folder"
                )
            time.sleep(0.2)

    def _sees(self, folder: Path) -> bool:
        try:
            return (folder / _MARK).read_text(encoding="ascii") == self.mark
        except OSError:
            return False


class RayBackend:
    """Cells as Ray tasks, each with the CPUs and GPUs that its kind requests.

    A cell whose process or node is lost is retried once elsewhere; then it fails as "lost". Networks and checkpoints
    are in the folder of the context, which every node must see under the same path; this is checked before a node's
    first cell. Progress within a cell is not reported.

    Args:
        work: Dotted name of the work; every node must be able to import it.
        workers: Number of cells submitted to Ray at a time; None for the capacity of the cluster.
        seconds: Timeout of a cell; None for no limit.
        address: Address of a cluster as in `ray.init` ("auto", "10.0.0.1:6379", "ray://head:10001"); None for the
            variable RAY_ADDRESS, or else a new local cluster with `workers` processors.
        resources: Resources of a cell by its role: "cpus", "gpus" (fractions share one), "memory" (bytes).

    Raises:
        MissingExtraError: Ray is not installed.
        SettingsError: The named work does not exist.
    """

    def __init__(
        self,
        work: str,
        context: WorkContext,
        *,
        workers: int | None = None,
        seconds: float | None = None,
        address: str | None = None,
        resources: Mapping[str, Mapping[str, float]],
    ) -> None:
        find_work(work)
        self._ray = import_ray()
        self._work, self._seconds = work, seconds
        self._context = replace(context, files=context.files.absolute())  # workers of Ray may stand in another folder
        self._workers, self._resources = workers, resources
        self._address = address or os.environ.get("RAY_ADDRESS") or NEW_CLUSTER
        self._is_own = False
        self._driver: Driver
        self._running: dict[Any, PlannedCell] = {}
        self._until: dict[str, float] = {}
        self._room, self._counted = 1, -math.inf

    @property
    def size(self) -> int:
        """See `Backend`: the number of the least demanding cells that fit; Ray queues the others."""
        if self._workers is not None:
            return self._workers
        if time.monotonic() - self._counted > _SECONDS_BETWEEN_COUNTS:
            there = self._ray.cluster_resources()
            self._room = max(1, max(_fitting(there, _options(wanted)) for wanted in self._resources.values()))
            self._counted = time.monotonic()
        return self._room

    @property
    def free(self) -> int:
        """See `Backend`."""
        return max(0, self.size - len(self._running))

    def start(self, cell: PlannedCell, *, until: float = math.inf) -> None:
        """See `Backend`."""
        self._until[cell.key] = until
        options = _options(self._resources[cell.role])
        task = self._ray.remote(do_cell).options(max_retries=1, **options)
        self._running[task.remote(self._work, cell, self._context, self._seconds, self._driver)] = cell

    def messages(self, timeout: float) -> Iterator[Message]:
        """See `Backend`."""
        waiting = list(self._running)
        done, others = self._ray.wait(waiting, num_returns=1, timeout=timeout)
        if done and others:
            done += self._ray.wait(others, num_returns=len(others), timeout=0)[0]
        for task in done:
            yield self._result(task, self._running.pop(task))
        now = time.monotonic()
        for task, cell in tuple(self._running.items()):
            if now > self._until[cell.key]:
                self._ray.cancel(task, force=True)
                del self._running[task]
                yield Stopped(cell.key)

    def __enter__(self) -> Self:
        self._driver = Driver.marking(self._context.files)
        if self._ray.is_initialized():
            return self
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options: dict[str, Any] = {"address": self._address, "log_to_driver": False, "logging_level": "ERROR"}
        if self._address == NEW_CLUSTER:
            options |= {"include_dashboard": False, "num_cpus": self._workers}
        try:
            self._ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError, self._ray.exceptions.RayError) as error:
            reason = " ".join(str(error).split())
            raise SettingsError(
                f"no Ray cluster answers at {self._address!r} ({reason[:200]}); start one with `ray start --head` and "
                "give its address (and token: RAY_AUTH_MODE=token, with RAY_AUTH_TOKEN or ~/.ray/auth_token), or "
                "leave the address out to use this machine"
            ) from error
        self._is_own = True
        return self

    def __exit__(self, *_raised: object) -> None:
        for task in self._running:
            self._ray.cancel(task, force=True)
        self._running.clear()
        if self._is_own:
            self._ray.shutdown()

    def _result(self, task: Any, cell: PlannedCell) -> Finished | Failed:
        lost = self._ray.exceptions
        try:
            result: Finished | Failed = self._ray.get(task)
        except (lost.TaskUnschedulableError, lost.RuntimeEnvSetupError) as error:
            raise SettingsError(f"the Ray cluster cannot execute a run of kind {cell.role}: {error}") from error
        except (lost.WorkerCrashedError, lost.OutOfMemoryError, lost.NodeDiedError, lost.ObjectLostError) as error:
            message = (
                f"the process of this run, or its node, was lost twice ({type(error).__name__}); see the logs of the "
                "cluster, and run again"
            )
            return Failed(cell.key, Failure("lost", message, str(error)))
        except lost.RayTaskError as error:  # what came of the cell cannot be sent
            if "failed to import" in str(error):  # it is this package that the node lacks
                raise SettingsError(
                    "a node of the Ray cluster cannot import transferscope; install the same version there"
                ) from error
            if isinstance(error.cause, SettingsError):  # of its node; those of cells are caught there
                raise SettingsError(str(error.cause)) from error
            return Failed(cell.key, failure_of(error.cause))
        except Exception as error:  # or read
            return Failed(cell.key, failure_of(error))
        return result


def do_cell(
    work: str, cell: PlannedCell, context: WorkContext, seconds: float | None, driver: Driver
) -> Finished | Failed:
    """Execute one cell in a Ray process; raises SettingsError on an unsuitable node."""
    driver.check(context.files)
    keep_freed_memory()
    keep_from_now()
    try:
        function = find_work(work)
    except SettingsError as error:
        return Failed(cell.key, failure_of(error))

    def stop(_signal: int, _frame: FrameType | None) -> None:
        assert seconds is not None
        raise CellTimeout(too_slow(seconds))

    limited = seconds is not None and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, stop) if limited else None
    try:
        if limited and seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        return attempt(function, cell, context)
    finally:
        if limited:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)


def import_ray() -> ModuleType:
    """Import ray; raises MissingExtraError if it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise missing_extra("ray", "ray", "backend = 'ray'") from error
    return ray  # type: ignore[no-any-return]


def _options(wanted: Mapping[str, float]) -> dict[str, float]:
    options = {"num_cpus": wanted.get("cpus", 1.0), "num_gpus": wanted.get("gpus", 0.0)}
    return options | ({"memory": wanted["memory"]} if "memory" in wanted else {})


def _fitting(there: Mapping[str, float], options: Mapping[str, float]) -> int:
    names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
    asked = {names[name]: amount for name, amount in options.items() if amount > 0}
    return min((int(there.get(name, 0.0) / amount + 1e-9) for name, amount in asked.items()), default=1)
