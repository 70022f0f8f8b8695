import json
import subprocess
import sys

import pytest

from transferscope.cli import main
from transferscope.errors import DataError

SLOW_TO_IMPORT = {"torch", "numpy", "pandas", "scipy", "sqlalchemy", "pydantic", "matplotlib"}


def test_the_command_line_starts_without_what_is_slow_to_import() -> None:
    listing = "import json, sys, transferscope.cli.main; print(json.dumps(sorted(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True)
    assert SLOW_TO_IMPORT.isdisjoint(json.loads(found.stdout))


def test_a_mistake_is_one_sentence_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(arguments: list[str]) -> None:
        raise DataError("class '<b>' has one example; two are needed")

    monkeypatch.setattr(main, "app", refuse)
    monkeypatch.setattr(sys, "argv", ["transferscope"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "transferscope: class '<b>' has one example; two are needed\n"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            PermissionError(13, "Permission denied", "/runs"),
            "transferscope: the operating system refused '/runs': Permission denied; check the path, your permission "
            "there and the space left; what was stored is safe\n",
        ),
        (
            OSError(28, "No space left on device"),
            "transferscope: the operating system refused: No space left on device; check the path, your permission "
            "there and the space left; what was stored is safe\n",
        ),
        (
            RuntimeError("can't allocate memory"),
            "transferscope: the memory of this machine does not suffice (can't allocate memory); use smaller data or "
            "networks\n",
        ),
        (
            MemoryError("Unable to allocate 7 TiB"),
            "transferscope: the memory of this machine does not suffice (Unable to allocate 7 TiB); use smaller data "
            "or networks\n",
        ),
    ],
)
def test_what_the_system_refuses_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, message: str
) -> None:
    def refuse(arguments: list[str]) -> None:
        raise error

    monkeypatch.setattr(main, "app", refuse)
    monkeypatch.setattr(sys, "argv", ["transferscope"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == message


def test_a_bug_shows_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(arguments: list[str]) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(main, "app", break_down)
    with pytest.raises(ZeroDivisionError):
        main.main()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--version"], 0, "transferscope 0.1.0"),
        (["--help"], 0, "status"),
        (["ruin"], 2, "No such command 'ruin'"),
        (["run"], 2, "Missing argument"),
        (["run", "s.toml", "--workers", "-1"], 2, "--workers"),
    ],
)
def test_the_command_line_answers(
    arguments: list[str],
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["transferscope", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert (ended.value.code or 0) == code
    output = capsys.readouterr()
    assert words in output.out + output.err
