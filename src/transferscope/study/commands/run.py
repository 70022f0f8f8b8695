"""Execution of a command: filled in, guarded, with limited output, and its score read."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from transferscope import consent
from transferscope.errors import CorruptDataError
from transferscope.records import Cost
from transferscope.store import Outcome, PlannedCell
from transferscope.study.commands import guard
from transferscope.study.commands.filled import ROWS, Job, digest_of, placeholders
from transferscope.study.commands.score import read_examples, read_numbers
from transferscope.study.context import KEEP, RunFailed, WorkContext

MOST_OUTPUT = 200_000
"""Bytes of output of a run that are kept from its beginning, and from its end."""

_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_TO_END = 15.0
_DETAILS = 20_000  # characters
_LONGEST_LINE = 300
_ENDED = ".transferscope.json"
"""File in the folder of a successful run, with its cost."""


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Run the command of a cell and read its score; see `study.context.Work`.

    The command runs in the folder of the study file, with a new folder {out}, which is kept if requested
    (`EngineSettings.keep`), or if the command succeeded but its score could not be read. Printed output is always kept.

    Raises:
        UntrustedCodeError: The command is named only by a store, not by a study file of the user.
        MissingDataError: A file that the command names is missing.
        CorruptDataError: Such a file has changed since planning.
        RunFailed: The command failed, took too long, or left no score.
    """
    job = Job.from_payload(cell.payload)
    with consent.reading():
        consent.require("command", job.reference)
    for name, digest in job.files.items():
        if digest_of(Path(job.folder, name)) != digest:
            raise CorruptDataError(
                f"{name} has changed since the study was planned; run the study file again (a command should write "
                "its files into its folder {out})"
            )
    kept, log = context.run_folder(cell.key), context.output(cell.key)
    if (kept / _ENDED).is_file():  # its score could not be read, or not be stored; now it may be
        with contextlib.suppress(RunFailed, ValueError, KeyError):
            return _outcome(cell, job, kept, json.loads((kept / _ENDED).read_text()))
    for old in (kept, *context.files.glob(f".{cell.key}.*.run")):
        shutil.rmtree(old, ignore_errors=True)
    out = Path(tempfile.mkdtemp(prefix=f".{cell.key}.", suffix=".run", dir=context.files.absolute()))
    try:
        if job.score is None and "rows" in placeholders(job.command):
            _target().write_rows(cell, out / ROWS)
        words = job.words(cell.labels, out=str(out))
        ended = run(words, folder=Path(job.folder), log=log, environment=_environment(context), context=context)
        if ended.status:
            raise RunFailed(f"the command {_how(ended.status)}; {_said(ended.output, log)}")
        took = {"seconds": ended.seconds, "peak": ended.peak_memory}
        try:
            outcome = _outcome(cell, job, out, took)
        except RunFailed as error:
            if error.kind is None:  # so that a score that was misnamed needs no second run
                _keep(out, kept, took)
            raise RunFailed(f"{error}; {_said(ended.output, log)}", kind=error.kind) from error
        if KEEP in cell.payload:
            _keep(out, kept, took)
        return outcome
    except RunFailed as error:
        raise RunFailed(str(error), kind=error.kind, output=_tail(log)) from error
    finally:
        shutil.rmtree(out, ignore_errors=True)


def _keep(out: Path, kept: Path, took: Mapping[str, float]) -> None:
    (out / _ENDED).write_text(json.dumps(took))
    out.replace(kept)


def _target() -> ModuleType:
    """Return the module for targets of methods, imported with torch only if needed."""
    return import_module("transferscope.study.commands.target")


def _outcome(cell: PlannedCell, job: Job, out: Path, took: Mapping[str, float]) -> Outcome:
    cost = Cost(seconds=float(took["seconds"]), peak_memory=int(took["peak"]))
    if job.score is None:
        measured = _target().measured(cell, job.predictions, out)
        return Outcome(measured.records, cost, {"predictions": measured.predictions.numpy()}, {"status": "ok"})
    records = read_numbers(job.score, out)
    score = records[0].estimate.value
    if job.is_share and not 0 <= score <= 1:
        raise RunFailed(
            f"{records[0].name} = {score:g}; expected a share from 0 to 1, or another unit in [run], as in unit = "
            '"%": then run with --retry-failed, which repeats no run for that'
        )
    examples = {}
    if job.predictions is not None:
        examples["predictions"] = read_examples(job.predictions, out, score)
    return Outcome(records, cost, examples, {"status": "ok"})


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a command.

    Attributes:
        status: Exit status; -n after signal n.
        peak_memory: Peak memory of any of its processes, in bytes; 0 if unknown.
    """

    status: int
    seconds: float
    peak_memory: int
    output: str


def run(
    words: Sequence[str], *, folder: Path, log: Path, environment: Mapping[str, str], context: WorkContext
) -> Ended:
    """Run a command to its end, below a guard process that ends it with this one.

    Args:
        log: File for printed output: the first and the last `MOST_OUTPUT` bytes.
        context: Gives the timeout, and receives progress.

    Raises:
        RunFailed: It exceeded the timeout.
    """
    alive, ours = os.pipe()
    reports, theirs = os.pipe()
    started = time.perf_counter()
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(alive), str(theirs), *words],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(alive, theirs),
        start_new_session=True,
    )
    os.close(alive)
    os.close(theirs)
    assert watcher.stdout is not None
    output = _Output(watcher.stdout.fileno(), log)
    reported = b""
    try:
        while True:
            if select.select([reports], [], [], _SECONDS_BETWEEN_LOOKS)[0]:
                part = os.read(reports, 4096)
                reported += part
                if not part or reported.count(b"\n") == 2:
                    break
            seconds = time.perf_counter() - started
            if context.seconds is not None and seconds > context.seconds:
                raise RunFailed(
                    f"the command exceeded timeout = {context.seconds / 60:g} minutes and was stopped; "
                    f"{_said(output.end(), log)}; raise timeout in [run] and run again with --retry-failed",
                    kind="timeout",
                )
            context.progress(0, 1)
    finally:
        os.close(ours)  # the guard kills what is left
        os.close(reports)
        _end(watcher, reported)
        output.close()
        watcher.stdout.close()
    seconds = time.perf_counter() - started
    _, _, last = reported.decode().partition("\n")
    if not last:
        raise RunFailed(
            "the process that supervises the command was killed, and the command too; run again",
            kind="lost",
        )
    status, peak = last.split()
    return Ended(int(status), seconds, int(peak), output.end())


def _end(watcher: "subprocess.Popen[bytes]", reported: bytes) -> None:
    """Wait until the guard has ended all processes; kill those left by a killed guard."""
    try:
        watcher.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        watcher.kill()
        watcher.wait()
    if watcher.returncode and (child := reported.partition(b"\n")[0]):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(int(child), signal.SIGKILL)


class _Output:
    """Reads the output of a command in a thread; the log gets the beginning at once and the end at the end."""

    def __init__(self, source: int, log: Path) -> None:
        self._source, self._log = source, log
        self._end = bytearray()
        self._n = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        self._write(b"", mode="wb")
        while not self._over.is_set():
            if not select.select([self._source], [], [], _SECONDS_BETWEEN_LOOKS)[0]:
                continue
            part = os.read(self._source, 65536)
            if not part:
                break
            if self._n < MOST_OUTPUT:
                self._write(part[: MOST_OUTPUT - self._n])
            self._n += len(part)
            self._end += part
            if len(self._end) > 2 * MOST_OUTPUT:
                del self._end[:-MOST_OUTPUT]
        rest = min(self._n - MOST_OUTPUT, MOST_OUTPUT)
        if rest > 0:
            left_out = self._n - MOST_OUTPUT - rest
            gap = f"\n[... {left_out:,} bytes left out ...]\n".encode() if left_out else b""
            self._write(gap + self._end[-rest:])

    def _write(self, part: bytes, *, mode: str = "ab") -> None:
        with contextlib.suppress(OSError), self._log.open(mode) as log:  # a full disk must not stop the reading
            log.write(part)

    def close(self) -> None:
        """Stop reading; output is read to its end, unless a process of another group holds it."""
        self._thread.join(1.0)
        self._over.set()
        self._thread.join()

    def end(self) -> str:
        return bytes(self._end[-_DETAILS:]).decode(errors="replace")


def _environment(context: WorkContext) -> dict[str, str]:
    """Return this environment with the number of threads and the GPU of built-in runs."""
    kind, _, number = context.device.partition(":")
    gpus: dict[str, str] = {}
    if kind == "cpu":
        gpus["CUDA_VISIBLE_DEVICES"] = ""
    elif number:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        gpus["CUDA_VISIBLE_DEVICES"] = visible.split(",")[int(number)].strip() if visible else number
    return {**os.environ, **context.thread_variables, **gpus}


def _how(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else str(-status)
    return f"was ended by the signal {name}" + (
        ", as the system does when memory runs out" if status == -signal.SIGKILL else ""
    )


_NOT_TEXT = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""Terminal colour codes."""


def _said(output: str, log: Path) -> str:
    """Return a sentence with the last line of a command's output and the location of the others."""
    lines = [_NOT_TEXT.sub("", line).strip() for line in re.split(r"[\r\n]+", output)]
    last = next((line for line in reversed(lines) if line), "")
    printable = "".join(sign if sign.isprintable() else " " for sign in last)
    return f"its last line: {printable[:_LONGEST_LINE]} (all of it in {log.parent})" if last else "it printed nothing"


def _tail(log: Path) -> str:
    with contextlib.suppress(OSError):
        return log.read_bytes()[-_DETAILS:].decode(errors="replace")
    return ""
