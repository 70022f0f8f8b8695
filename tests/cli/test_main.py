import json
import logging
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from cli.called import Call, commands
from transferscope.cli import main
from transferscope.cli.command import SCREEN, Command
from transferscope.cli.commands import COMMANDS
from transferscope.cli.plugins import one_option_per_value
from transferscope.errors import DataError
from transferscope.store import Store

RELEASED = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["version"]
SLOW_TO_IMPORT = {"torch", "numpy", "pandas", "scipy", "sqlalchemy", "matplotlib"}


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["compare", "--help"],
        *(pytest.param([name, "--help"], marks=pytest.mark.long) for name in COMMANDS if name != "compare"),
    ],
    ids=" ".join,
)
def test_help_is_shown_without_what_is_slow_to_import(words: list[str]) -> None:
    """What a command takes is known without what it does: not even its own module is imported."""
    imported = _imported_by(*words)
    assert imported.isdisjoint({*SLOW_TO_IMPORT, *(f"transferscope.cli.{name}" for name in COMMANDS)})
    assert {name for name in COMMANDS if f"transferscope.cli.commands.{name}" in imported} == {*words} - {"--help"}


def _imported_by(*words: str) -> set[str]:
    listing = f"""
import json, sys
from transferscope.cli.main import app
try:
    app({list(words)!r})
finally:
    print(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return {*json.loads(done.stdout.splitlines()[-1])}


def test_status_is_told_without_frames_networks_and_figures(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.sqlite"):
        pass
    imported = _imported_by("status", str(tmp_path / "runs.sqlite"))
    assert imported.isdisjoint({"torch", "pandas", "scipy", "sklearn", "matplotlib"})


@pytest.mark.parametrize("words", [["--json"], ["--table", "csv"]], ids=" ".join)
def test_an_answer_without_a_page_is_told_without_networks_and_figures(store: Store, words: list[str]) -> None:
    imported = _imported_by("report", str(store.place), *words)
    assert "pandas" in imported
    assert imported.isdisjoint({"torch", "sklearn", "matplotlib", "scipy.stats"})


@pytest.fixture
def raising(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Exception], None]:
    """Makes every command raise; the logs of bugs go to the folder `logs`."""

    def put(error: Exception) -> None:
        def refuse(arguments: list[str], **options: object) -> None:
            raise error

        monkeypatch.setattr(main, "app", refuse)

    (tmp_path / "logs").mkdir()
    monkeypatch.setattr(main, "user_log_path", lambda *_, **__: tmp_path / "logs")
    monkeypatch.delenv("TRANSFERSCOPE_DEBUG", raising=False)
    return put


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (DataError("class '<b>' has one example; two are needed"), "class '<b>' has one example; two are needed"),
        (DataError(f"\x1b[2J\udcff and {'x' * 10_000} are"), f"\\u001b[2J\\udcff and {'x' * 200}... are"),
        (PermissionError(13, "Permission denied", "/runs"), "'/runs': Permission denied; check the path"),
        (OSError(28, "No space left on device"), "No space left on device; check"),
        (RuntimeError("can't allocate memory"), "memory of this machine does not suffice (can't allocate memory); "),
        (MemoryError("Unable to allocate 7 TiB"), "memory of this machine does not suffice (Unable to allocate 7 TiB)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_mistake_and_what_the_system_refuses_are_one_sentence(
    call: Call, raising: Callable[[Exception], None], error: Exception, message: str
) -> None:
    raising(error)
    assert message in call().mistake


BUG = ZeroDivisionError("the number is odd")


def test_a_bug_is_one_sentence_and_its_traceback_is_in_a_file(
    call: Call, raising: Callable[[Exception], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(BUG)
    said = call("run", "s.toml")
    (log,) = Path("logs").absolute().iterdir()
    assert said.code == 1
    assert all(fact in said.err for fact in ("bug of transferscope (ZeroDivisionError)", str(log)))
    assert log.read_text().startswith("transferscope run s.toml\n")
    assert "Traceback" in log.read_text()
    assert "ZeroDivisionError: the number is odd" in log.read_text()
    Path("file").touch()
    monkeypatch.setattr(main, "user_log_path", lambda *_, **__: Path("file"))
    unwritten = call("run", "s.toml")
    assert unwritten.code == 1
    assert "could not be written" in unwritten.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ann:s3cr3t@host/db",
        "postgresql://ann:s3cr3t@sign/db@host/db",
        "postgresql://host/db?user=ann&password=s3cr3t",
        "postgresql://ann:s3cr3t 'quoted\"@host/db",
        "mysql://:s3cr3t@[::1/db",
    ],
)
@pytest.mark.parametrize("place", ["{}", "--store={}"])
def test_the_file_of_a_bug_holds_no_password(
    url: str, place: str, call: Call, raising: Callable[[Exception], None]
) -> None:
    raising(ZeroDivisionError(f"cannot reach {url}; nor 'postgresql://bob:s3cr3t@elsewhere/db'"))
    call("run", place.format(url))
    (log,) = Path("logs").iterdir()
    assert "s3cr3t" not in log.read_text()
    assert "transferscope run " in log.read_text()


@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_bug_shows_its_traceback_to_those_who_ask(
    way: str, call: Call, raising: Callable[[Exception], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(BUG)
    if way == "variable":
        monkeypatch.setenv("TRANSFERSCOPE_DEBUG", "1")
    said = call(*(["--debug"] if way == "option" else []), "run", "s.toml")
    assert said.code == 1
    assert said.err.startswith("Traceback")
    assert "ZeroDivisionError: the number is odd" in said.err


_INTERRUPTED = """
import builtins, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
real = builtins.__import__
def interrupting(name, *rest, **named):
    if name == {module!r}:
        builtins.__import__ = real
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *rest, **named)
builtins.__import__ = interrupting
sys.argv = ["transferscope", "run", "absent.toml"]
from transferscope.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "module",
    [
        "transferscope.cli.main",
        *(pytest.param(m, marks=pytest.mark.long) for m in ("typer", "transferscope.cli.execute", "torch", "pydantic")),
    ],
)
def test_ctrl_c_while_it_starts_shows_no_traceback(module: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED.format(module=module)], capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 130
    assert ended.stderr in ("transferscope: stopped\n", "")
    assert ended.stdout == ""


def test_the_package_is_a_command() -> None:
    ended = subprocess.run([sys.executable, "-m", "transferscope", "--version"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, f"transferscope {RELEASED}\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--help"], 0, "status"),
        (["ruin"], 2, "No such command 'ruin'"),
        (["run"], 2, "Missing argument"),
        (["run", "s.toml", "--workers", "9" * 5000], 2, "Invalid value for '--workers'"),
        (["run", "s.toml", "--runs", "0"], 2, "transferscope: Invalid value for '--runs'"),
        (["run", "s.toml", "--workres", "1"], 2, "--workers); `transferscope run --help` says what it takes"),
        (["run", "s.toml", "--workres", "1", "--sedes=2"], 2, "No such option: --workres, --sedes"),
        ([], 2, "Usage"),
    ],
)
def test_the_command_line_answers(call: Call, arguments: list[str], code: int, words: str) -> None:
    found = call(*arguments)
    assert found.code == code
    assert words in found.out + found.err


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("compare a b --labels 100 600 --seeds 5", "compare a b --labels 100 --labels 600 --seeds 5"),
        ("compare a b --methods x y", "compare a b --methods x --methods y"),
        ("compare a b --methods x,y, z", "compare a b --methods x --methods y --methods z"),
        ("compare a b --methods ,", "compare a b --methods ,"),
        ("compare a b --labels 1,000", "compare a b --labels 1,000"),
        ("compare a b --seeds 5 --labels 100", "compare a b --seeds 5 --labels 100"),
        ("run study.toml -q", "run study.toml -q"),
        ("", ""),
    ],
)
def test_every_value_gets_its_option(typed: str, read: str) -> None:
    assert one_option_per_value(typed.split(), ("--labels", "--methods")) == read.split()


@pytest.mark.parametrize("place", ["before", "after"])
def test_what_is_done_is_said_on_request_and_warnings_always(
    place: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(arguments: list[str], **options: object) -> None:
        assert "--verbose" not in arguments
        logging.getLogger("transferscope.study.run").info("begun: %s", "scratch")
        logging.getLogger("transferscope.store.store").warning("a copy is kept in %s", "a\x1b[2Jb")
        logging.getLogger("another").info("of another package")
        sys.exit()

    monkeypatch.setattr(main, "app", work)
    assert call("run", "s.toml").err == "transferscope: a copy is kept in a\\u001b[2Jb\n"
    verbose = call(*(["--verbose", "run"] if place == "before" else ["run", "--verbose"])).err.splitlines()
    assert re.fullmatch(r"[-0-9]+ [:,0-9]+ INFO transferscope.study.run: begun: scratch", verbose[0])
    assert re.fullmatch(r"[-0-9]+ [:,0-9]+ WARNING transferscope.store.store: a copy is kept in a.*b", verbose[1])
    assert len(verbose) == 2


@pytest.mark.parametrize("words", commands())
def test_a_help_text_is_shown_whole_and_on_a_screen(words: str) -> None:
    """Words in square brackets, such as defaults, would be lost where they are read as markup."""
    command = commands()[words]
    result = CliRunner().invoke(main.app, [*words.split(), "--help"], terminal_width=100)
    assert result.exit_code == 0
    shown = " ".join(result.output.split())
    texts = [command.help, *(parameter.help for parameter in command.params if not getattr(parameter, "hidden", False))]
    for text in filter(None, texts):
        assert " ".join(text.split()) in shown
    assert len(result.output.splitlines()) <= SCREEN
    if isinstance(command, Command) and words == "compare":
        assert len(command.params) <= 18  # the target, a hidden rest and at most 16 options


def test_every_example_of_the_help_is_read() -> None:
    """What an example holds are options of its command, and an option of several values takes them."""
    whole: Any = get_command(main.app)
    for name, command in commands().items():
        for line in (command.epilog or "").splitlines():
            words = line.partition(" > ")[0].split()[1:]
            typed = one_option_per_value(words, whole.several_valued(words))[1:]
            command.make_context(name, typed)  # raises a usage error


@pytest.mark.parametrize(
    ("words", "option", "least", "most"),
    [
        ("run", "--runs", 1, None),
        ("run", "--minutes", 0, None),
        ("run", "--workers", 0, 1024),
        ("diagnose", "--seed", 0, None),
        ("scaling", "--budget", None, None),  # 1e-30 to 1e30, which says nothing to a reader
    ],
)
def test_a_number_has_the_bounds_of_its_setting_that_mean_something(
    words: str, option: str, least: int | None, most: int | None
) -> None:
    (one,) = (param for param in commands()[words].params if option in param.opts)
    assert (one.min, one.max) == (least, most)
    assert not re.search(r"1e[-+]?\d\d", one.help)


def test_an_option_is_of_one_kind_in_every_command() -> None:
    """A flag is one everywhere; three name one thing or several of it, by what a command can use."""
    kinds: dict[str, set[tuple[bool, bool]]] = {}
    for words, command in commands().items():
        params: list[Any] = command.params if isinstance(command, Command) and " " not in words else []
        for one in params:
            for option in one.opts if one.param_type_name == "option" else ():
                kinds.setdefault(option, set()).add((one.multiple, one.is_flag))
    several = {option for option, found in kinds.items() if len(found) > 1}
    assert several == {"--labels", "--from", "--without"}
    assert all(not is_flag for option in several for _, is_flag in kinds[option])
