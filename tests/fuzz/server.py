"""Runs one request after the other in forked copies of a process that has everything imported: `python -m fuzz.server`.

A fork of a warm process takes milliseconds, so that thousands of inputs can be tried; and whatever an input does (a
crash, a hang, all of the memory) it does to a process of its own. One JSON line in, one out.
"""

import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import psutil

import transferscope
from transferscope.cli.main import main as main_of_command

LIBRARIES = [
    "PIL.Image",
    "jinja2",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "pandas",
    "pyarrow.parquet",
    "rich.progress",
    "safetensors.torch",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.linear_model",
    "sklearn.manifold",
    "sqlalchemy.dialects.sqlite",
    "statsmodels.api",
    "typer.rich_utils",
]
"""What commands import when they need it."""


def warm_up() -> None:
    """Import what commands import when they run."""
    for module in pkgutil.walk_packages(transferscope.__path__, "transferscope."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:  # an optional package that is not installed
                if str(error.name).startswith("transferscope"):
                    raise
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def main() -> None:
    """Answer requests until the input ends."""
    warm_up()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            answers.close()
            _be_the_command(request)
        print(json.dumps(_watch(child, request)), file=answers, flush=True)
        if request["learn"]:
            _learn(Path(request["learn"]))


def _learn(listing: Path) -> None:
    """Import what a command imported while it ran, so that the next commands have it already."""
    for name in listing.read_text().split() if listing.exists() else []:
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _be_the_command(request: dict[str, Any]) -> NoReturn:
    """Do a request with its output in files, and end with the exit code that Python would end with."""
    code = 1
    try:
        os.setsid()
        os.chdir(request["folder"])
        for number, name in ((0, os.devnull), (1, request["out"]), (2, request["err"])):
            opened = os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, number)
            os.close(opened)
        os.environ.update(request["environment"])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["transferscope", *request["arguments"]]
        main_of_command()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        if request["learn"]:
            Path(request["learn"]).write_text("\n".join(name for name in list(sys.modules) if name.isascii()))
        os._exit(code)


def _watch(child: int, request: dict[str, Any]) -> dict[str, Any]:
    """Wait for a child; end it when it takes too long or too much memory. Its own processes end with it."""
    began, pause, last_look = time.monotonic(), 0.002, 0.0
    stopped, most_processes = "", 1
    most = 0.0
    while True:
        done, status, _ = os.wait4(child, os.WNOHANG)
        if done:
            break
        now = time.monotonic()
        if now - last_look > 0.1:
            last_look = now
            family = _family(child)
            most_processes = max(most_processes, len(family))
            most = max([most, *(_megabytes(process) for process in family)])
            if most > request["megabytes"]:
                stopped = "memory"
            if _is_too_long(now - began, sum(_cpu_seconds(process) for process in family), request["seconds"]):
                stopped = "time"
            if stopped:
                _kill(child)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    _kill_group(child)
    code = os.waitstatus_to_exitcode(status)
    return {
        "code": code,
        "stopped": stopped,
        "seconds": time.monotonic() - began,
        "megabytes": most,
        "processes": most_processes,
    }


def _family(child: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(child)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _megabytes(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 2**20
    except psutil.Error:
        return 0.0


def _is_too_long(wall: float, busy: float, limit: float) -> bool:
    """A hang waits or computes for longer than the limit; waiting for a processor that others use is none."""
    return busy > limit or (wall > limit and busy < 0.02 * wall) or wall > 10 * limit


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
        return float(times.user + times.system)
    except psutil.Error:
        return 0.0


def _kill(child: int) -> None:
    for process in reversed(_family(child)):
        try:
            process.kill()
        except psutil.Error:
            continue


def _kill_group(leader: int) -> None:
    """End what a request left behind: its session holds nothing else."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _stop(signal_number: int, frame: FrameType | None) -> None:
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
