"""Trying inputs: each in a process of its own, with limits, and a judgement on how it ended."""

import multiprocessing
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import psutil

from transferscope.cli.main import main

SECONDS = float(os.environ.get("TRANSFERSCOPE_FUZZ_SECONDS", "60"))
"""Longer than this is a hang."""

MEGABYTES = 4096.0
"""More memory than this is too much for what the inputs hold."""

MOST_PROCESSES = 40

_RAW_EXCEPTION = re.compile(r"\b[A-Z][A-Za-z]*(?:Error|Exception|Warning): ")
_LONGEST_MESSAGE = 4000


@dataclass(frozen=True)
class Ended:
    """How a command ended: "time" or "memory" where a limit stopped it, and the most memory and processes seen."""

    arguments: tuple[str, ...]
    code: int
    stopped: str
    seconds: float
    megabytes: float
    processes: int
    out: str
    err: str

    @property
    def fault(self) -> str:
        """What is wrong with this end; empty when nothing is.

        Right are exit code 0; 1 with failed cells, each with a sentence as its reason; and 2 with one sentence.
        """
        said = self.out + self.err
        if self.stopped:
            return f"above the limit of {self.stopped} ({self.seconds:.0f} s, {self.megabytes:.0f} MB)"
        if self.code < 0:
            return f"ended by signal {-self.code}"
        if "Traceback" in said:
            return f"a traceback: {_last_line(self.err)}"
        if self.processes > MOST_PROCESSES:
            return f"{self.processes} processes"
        if self.code == 0:
            return ""
        if self.code == 1:
            raw = _RAW_EXCEPTION.search(said)
            if not re.search(r"\bfailed\b|could not be simulated", said):
                return f"exit code 1 without a failed cell: {_last_line(said)}"
            return f"a cell failed with a raw exception: {_line_of(said, raw.start())}" if raw else ""
        if self.code != 2:
            return f"exit code {self.code}"
        return self._fault_of_the_sentence()

    def _fault_of_the_sentence(self) -> str:
        begun = [line for line in self.err.splitlines() if line.startswith("transferscope: ")]
        if len(begun) != 1:
            return f"exit code 2 with {len(begun)} sentences: {self.err[-300:]!r}"
        sentence = self.err[self.err.index("transferscope: ") + len("transferscope: ") :].strip()
        if len(sentence.split()) < 4:
            return f"exit code 2 with less than a sentence: {sentence!r}"
        if len(sentence) > _LONGEST_MESSAGE:
            return f"exit code 2 with {len(sentence)} characters: {sentence[:200]!r}"
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", sentence):
            return f"control characters in the message: {sentence[:200]!r}"
        raw = _RAW_EXCEPTION.search(sentence)
        return f"a raw exception in the message: {sentence[:300]!r}" if raw else ""


class Sandbox:
    """Tries inputs in forked copies of a process that has everything imported.

    Such a fork takes milliseconds, and whatever an input does (a crash, a hang, all of the memory), it does to a
    process of its own.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder, self._environment = folder, dict(environment)
        self._context = multiprocessing.get_context("forkserver")

    def run(self, *arguments: str, folder: Path | None = None) -> Ended:
        """Run a command, given what follows `transferscope`, to its end in a folder."""
        streams = [self._folder / "out.txt", self._folder / "err.txt"]
        for path in streams:
            path.unlink(missing_ok=True)
        asked = (arguments, folder or self._folder, streams, self._environment)
        child = self._context.Process(target=_be_the_command, args=asked)
        child.start()
        began, stopped, megabytes, processes = time.monotonic(), "", 0.0, 1
        while child.exitcode is None:
            child.join(0.1)
            family = _family(child.pid)
            processes = max(processes, len(family))
            megabytes = max([megabytes, *(of_one[0] for of_one in family.values())])
            seconds = time.monotonic() - began
            if megabytes > MEGABYTES:
                stopped = "memory"
            if _is_too_long(seconds, sum(of_one[1] for of_one in family.values())):
                stopped = "time"
            for process in reversed(family if stopped else ()):
                with suppress(psutil.Error):
                    process.kill()
        with suppress(ProcessLookupError, PermissionError):  # what it left behind: its session holds nothing else
            os.killpg(child.pid or 0, signal.SIGKILL)
        texts = [path.read_text(encoding="utf-8", errors="replace") if path.exists() else "" for path in streams]
        return Ended(arguments, child.exitcode, stopped, time.monotonic() - began, megabytes, processes, *texts)


def _be_the_command(
    arguments: Sequence[str], folder: Path, streams: Sequence[Path], environment: Mapping[str, str]
) -> NoReturn:
    """Do a command with its output in files, and end with the exit code that Python would end with."""
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        for number, name in enumerate((Path(os.devnull), *streams)):
            opened = os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
        os.environ.update(environment)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["transferscope", *arguments]
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _family(child: int | None) -> dict[psutil.Process, tuple[float, float]]:
    """A process and all below it, with their memory in MB and their seconds of processors."""
    found: dict[psutil.Process, tuple[float, float]] = {}
    with suppress(psutil.Error):
        process = psutil.Process(child)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                times = one.cpu_times()
                found[one] = (one.memory_info().rss / 2**20, times.user + times.system)
    return found


def _is_too_long(wall: float, busy: float) -> bool:
    """A hang waits or computes for longer than the limit; waiting for a processor that others use is none."""
    return busy > SECONDS or (wall > SECONDS and busy < 0.02 * wall) or wall > 10 * SECONDS


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _line_of(text: str, position: int) -> str:
    return next(line for line in text[text.rfind("\n", 0, position) + 1 :].splitlines() if line)[:300]


def shown(arguments: Sequence[str]) -> str:
    """A command as a person would type it."""
    return " ".join(
        ["transferscope", *(argument if len(argument) < 200 else f"{argument[:80]}..." for argument in arguments)]
    )
