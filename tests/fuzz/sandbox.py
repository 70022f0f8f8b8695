"""Trying inputs: each in a process of its own, with limits, and a judgement on how it ended."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SECONDS = float(os.environ.get("TRANSFERSCOPE_FUZZ_SECONDS", "60"))
"""Longer than this is a hang."""

MEGABYTES = 4096.0
"""More memory than this is too much for what the inputs hold."""

MOST_PROCESSES = 40

_RAW_EXCEPTION = re.compile(r"\b[A-Z][A-Za-z]*(?:Error|Exception|Warning): ")
_LONGEST_MESSAGE = 4000


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        arguments: The command.
        code: Its exit code; negative for a signal.
        stopped: "time" or "memory" when a limit stopped it, otherwise empty.
        seconds: What it took.
        megabytes: The most memory that was seen.
        processes: The most processes that were seen.
        out: Its standard output.
        err: Its standard error stream.
    """

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
    """A warm process to try inputs in; a context manager.

    Args:
        folder: Where outputs go that nobody keeps.
        environment: Environment variables of every command.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = dict(environment)
        here = Path(__file__).resolve()
        paths = [str(here.parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._log = (folder / "server.log").open("w")
        self._server = subprocess.Popen(
            [sys.executable, str(here.with_name("server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **threads, **environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            text=True,
        )
        self._answer()

    def run(
        self,
        *arguments: str,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        learn: bool = False,
    ) -> Ended:
        """Run a command to its end.

        Args:
            arguments: What follows `transferscope`.
            folder: The working directory.
            environment: Further environment variables.
            learn: Whether to import, for the next commands, what this one imports while it runs.
        """
        out, err = self._folder / "out.txt", self._folder / "err.txt"
        request = {
            "arguments": arguments,
            "folder": str(folder or self._folder),
            "out": str(out),
            "err": str(err),
            "environment": {**self._environment, **(environment or {})},
            "seconds": SECONDS,
            "megabytes": MEGABYTES,
            "learn": str(self._folder / "modules.txt") if learn else "",
        }
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer = self._answer()
        texts = [path.read_text(encoding="utf-8", errors="replace") if path.exists() else "" for path in (out, err)]
        return Ended(
            tuple(arguments),
            answer["code"],
            answer["stopped"],
            answer["seconds"],
            answer["megabytes"],
            answer["processes"],
            *texts,
        )

    def _answer(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        if not line:
            raise RuntimeError(f"the server has ended: {(self._folder / 'server.log').read_text()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(10)
        assert self._server.stdout is not None
        self._server.stdout.close()
        self._log.close()


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
