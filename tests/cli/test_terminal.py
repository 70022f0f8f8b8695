"""What reaches a terminal: nothing that steers it, and no password of a URL."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import transferscope
import transferscope_papers
from cli.called import STUDY, Call
from transferscope.cli.terminal import hide_passwords, say, shown
from transferscope.records import Failure
from transferscope.store import PlannedCell, Store, StudyRow
from transferscope.store.rows import Label

STEERING = "\x1b]0;title\x07\x9b31m\x7f\r\u202eabc\u2066\u2069\u200e\u200f\u061c"
"""A title of the window, colours, the start of the line, and marks of direction (Unicode Standard Annex 9)."""

HIDDEN = "s3cr3t-Word"


def is_harmless(text: str) -> bool:
    codes = [ord(sign) for sign in text]
    controls = any((code < 32 and code not in (9, 10)) or 127 <= code < 160 for code in codes)
    marks = {0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
    return not controls and not marks.intersection(codes)


def test_what_steers_a_terminal_is_shown_as_an_escape_and_all_else_as_it_is() -> None:
    kept = "naïve −1.5 ± 2 %\t日本 \u200d🙂\nnext"
    assert shown(kept) == kept
    assert is_harmless(shown(STEERING))
    assert json.loads(f'"{shown(STEERING)}"') == STEERING  # an escape of JSON too
    assert shown("a\x1b[2Jb\u202e") == "a\\u001b[2Jb\\u202e"


WRITERS = ("print", "typer.echo", "typer.secho", "click.echo", "sys.stdout.write", "sys.stderr.write")


def test_nothing_else_in_the_package_writes_to_a_stream() -> None:
    """Outside of `say` no call of print, echo or a stream; rich draws on consoles what `shown` has made."""
    found = []
    for package in (transferscope, transferscope_papers):
        root = Path(str(package.__file__)).parent
        for file in root.rglob("*.py"):
            if file.name in ("terminal.py", "__main__.py"):  # the latter runs before anything can be imported
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
                if isinstance(node, ast.Call) and name in WRITERS:
                    found.append(f"{file.relative_to(root)}:{node.lineno} {name}")
    assert found == []


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store whose study, arms and failures have names that steer a terminal."""
    monkeypatch.chdir(tmp_path)
    with Store.open("s.sqlite") as store:
        arm = {"method": f"m{STEERING}", "source": f"s{STEERING}"}
        labels: dict[str, Label] = {**arm, "n_target": 5, "n_source": None, "seed": 0}
        row = StudyRow(f"n{STEERING}", {"methods": {f"m{STEERING}": {}}}, {}, "2026-01-01T00:00:00+00:00")
        store.plan(row, [PlannedCell("a", "method", labels, {})])
        store.fail("a", Failure("exception", f"it broke{STEERING}", STEERING))


@pytest.mark.parametrize("command", ["status", "report", "rank", "scaling", "plan", "export", "status --json", "run"])
def test_names_in_a_store_steer_no_terminal(command: str, hostile: None, call: Call) -> None:
    name, *options = command.split()
    more = {"export": ["--out", "x"], "run": ["--join"]}.get(name, [])
    said = call(name, "s.sqlite", *options, *more)
    assert said.code in (0, 1, 2)
    assert is_harmless(said.out + said.err)
    assert "abc" in said.out + said.err or name in ("run", "rank", "scaling", "plan", "export", "report")


URL = f"postgresql+psycopg://ann:{HIDDEN}@127.0.0.1:9/db"

PLACES = [
    ["run", URL],
    ["run", "a.toml", "--store", URL],
    ["run", URL, "--join"],
    ["run", "a.toml", "--seeds", URL],
    ["run", "a.toml", "--set", f"engine.keep={URL}"],
    ["run", f"--{URL}"],
    ["report", URL, "--table", URL],
    ["report", "a.sqlite", "--study", URL],
    ["status", URL, "--json"],
    ["export", URL, "--out", URL],
    ["rank", "digits", "--scores", URL, "--from", "a.safetensors"],
    ["compare", "digits", "--from", URL],
    ["compare", f"csv:{URL}"],
    ["report", "results.csv", "--without", URL],
    ["show", f"hf:{URL}"],
    ["predict", URL, URL, "--out", "p.csv"],
    ["plan", f"{URL}.csv"],
    [URL],
]
"""A command of each kind of value: stores, files, data, names, numbers, choices, keys, and no command."""


@pytest.mark.parametrize(
    "typed",
    [pytest.param(one, marks=[pytest.mark.long] if i % 5 else [], id=f"place {i}") for i, one in enumerate(PLACES)],
)
def test_a_password_is_nowhere_repeated_wherever_its_url_was_typed(
    typed: list[str], call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results.csv").write_text("arm,seed,score\na,0,.5\na,1,.6\nb,0,.5\nb,1,.7\n")
    Path("t.csv").write_text("n,error\n10,.5\n100,.3\n1000,.2\n")
    Path("a.toml").write_text('name = "a"\nseeds = 1\n[target]\ndata = "digits"\nlabels = [10]\n[methods.scratch]\n')
    said = call(*typed)
    assert said.code in (1, 2)
    assert said.out + said.err
    assert HIDDEN.lower() not in (said.out + said.err).lower()


@pytest.mark.parametrize(
    "password", ["p@ss/w:rd", 'it\'s "quoted"', "a b", "Back\\slash", "p%40ss", "ä", "1", "postgres"]
)
def test_a_typed_password_of_any_signs_is_hidden_in_any_form(password: str, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"postgresql://postgres:{password}@host/db"
    hide_passwords(["run", f"--set=store={url}"])
    say(f"no {url}, {url!r}, {Path(url)}, {url.upper()}, {url[: len('postgresql://postgres:') + 4]}...")
    assert f":{password}".lower() not in capsys.readouterr().out.lower().replace("127.0.0.1", "")
    hide_passwords([])


def test_a_typed_password_of_four_signs_or_more_is_hidden_without_its_url() -> None:
    for password, expected in (("w0rd", "no ***"), ("w0r", "no w0r")):
        hide_passwords([f"pg://ann:{password}@host"])
        assert shown(f"no {password}") == expected
    hide_passwords([])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://host:8080/a/b", None),
        ("a file.py:function and x@example.org", None),
        ("csv:houses.csv?label=price", None),
        ("redis://:word@host and mysql://ann:w@rd@host/x", "redis://:***@host and mysql://ann:***@host/x"),
        ("postgresql:/ann:word@host", "postgresql:/ann:***@host"),
        ("//ann:word@host", "//ann:***@host"),
        ("pg://host/db?user=ann&password=word&x=1", "pg://host/db?user=ann&password=***&x=1"),
    ],
)
def test_urls_that_nobody_typed_lose_their_passwords_too(text: str, expected: str | None) -> None:
    hide_passwords([])
    assert shown(text) == (text if expected is None else expected)


def test_words_on_a_page_that_repeat_the_command_hold_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    from transferscope.cli.answer import as_typed

    monkeypatch.setattr(sys, "argv", ["transferscope", "report", URL])
    hide_passwords(sys.argv[1:])
    assert as_typed() == f"transferscope report {URL.replace(HIDDEN, '***')}"
    hide_passwords([])


WORK = """
import logging, os, sys, warnings
from transferscope.methods import Scratch

class Loud(Scratch):
    name = "loud"

    def fit(self, *args, **options):
        said = "\\x1b]0;title\\x07\\u202eabc\\u2066"
        print("out " + said)
        sys.stderr.write("err " + said + "\\n")
        warnings.warn("warned " + said)
        logging.getLogger("another").warning("logged " + said)
        os.write(1, b"raw \\x1b[2J postgresql://ann:HIDDEN@db/x\\n")
        return super().fit(*args, **options)
"""


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.long)])
def test_what_workers_print_and_python_warns_of_steers_no_terminal(workers: int, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(WORK.replace("HIDDEN", HIDDEN))
    (tmp_path / "a.toml").write_text(STUDY.replace("[methods.scratch]", '[methods."loud.py:Loud"]'))
    typed = [sys.executable, "-m", "transferscope", "run", "a.toml", "--workers", str(workers)]
    ran = subprocess.run(typed, cwd=tmp_path, capture_output=True, check=True)
    said = ran.stdout.decode() + ran.stderr.decode()
    for kind in ("warned", "logged", *(("out", "err", "raw") if workers else ())):
        assert f"{kind} \\u001b" in said
    if workers:
        assert is_harmless(said)
        assert HIDDEN not in said
