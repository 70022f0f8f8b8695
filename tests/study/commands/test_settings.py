"""What a study file may say of commands: every mistake is named, and arms multiply as their lists say."""

import itertools
import subprocess
from pathlib import Path

import pytest

from study.commands.studies import ARMS, study_file
from transferscope.errors import MissingDataError, SettingsError
from transferscope.study.commands.plan import command_cells, plan_commands
from transferscope.study.commands.settings import read_commands
from transferscope.study.planners import read_study_file

RUN = "true {base} {source} {seed} {out}"


def test_lists_multiply(tmp_path: Path) -> None:
    arms = '[arms.a]\nx = [1, 2]\ny = ["p", "q", "r"]\nsource = ["s", "t"]\n'
    arms += '[arms.b]\nx = 3\ny = "p"\nwithout_source = true'
    file = study_file(tmp_path, "true {x} {y} {seed} {labels} {out} {source}", arms=arms, run="labels = [5, 7]")
    spec = read_commands(file)
    expected = {(f"a x={x} y={y}", s) for x, y, s in itertools.product((1, 2), "pqr", "st")} | {("b", None)}
    assert {(arm.method, arm.source) for arm in spec.arms} == expected
    cells = command_cells(spec)
    assert len({cell.key for cell in cells}) == len(cells) == 13 * 4 * 2
    assert {cell.labels["n_target"] for cell in cells} == {5, 7}


@pytest.mark.parametrize(
    ("command", "changes", "words"),
    [
        ("true {base} {seed}", {}, ["[arms.tuned]", "{out}"]),
        ("true {base} {out}", {}, ["{seed}"]),
        ("true {base} {seed} {out} {lr}", {}, ["no value for {lr}"]),
        ("true {seed} {out}", {}, ["gives base", "no {base}"]),
        ("true {base} {seed} {out} {labels}", {}, ["labels = ["]),
        (RUN, {"run": "labels = [1, 2]"}, ["no {labels}"]),
        (RUN, {"run": "labels = [0]"}, ["labels holds 0"]),
        ("true {base} {seed} {out} {", {}, ["is invalid ("]),
        ("true {base} {seed} {out} {0}", {}, ["is invalid ("]),
        ("true {base} {seed.real} {out}", {}, ["is invalid ("]),
        ("true {base} {seed!r} {out}", {}, ["is invalid ("]),
        ("true {base:x} {source:d} {seed} {out}", {}, ["cannot be filled in"]),
        (RUN, {"score": "r.json"}, ["FILE:KEY"]),
        (RUN, {"score": "../r.json:a"}, ["'../r.json'", "{out}"]),
        (RUN, {"score": "/r.json:a"}, ["'/r.json'", "{out}"]),
        (RUN, {"run": 'better = "more"'}, ["better", "higher"]),
        (RUN, {"run": 'metric = "a"'}, ["metric"]),
        (RUN, {"arms": ""}, ["no arms", "[arms.NAME]"]),
        (RUN, {"arms": "[arms.a]\nbase = 1"}, ["without_source"]),
        (RUN, {"arms": '[arms.a]\nbase = 1\nsource = "s"\nwithout_source = true'}, ["leave one out"]),
        (RUN, {"arms": "[arms.a]\nbase = []\nwithout_source = true"}, ["base = []"]),
        (RUN, {"arms": "[arms.a]\nbase = [1, 1]\nwithout_source = true"}, ["same value twice"]),
        (RUN, {"arms": "[arms.a]\nbase = [true]\nwithout_source = true"}, ["text or numbers"]),
        (RUN, {"arms": "[arms.a]\nbase = 1\nseed = 1\nwithout_source = true"}, ["gives seed"]),
        (RUN, {"arms": "[arms.a]\nbase = 1\nwithout_source = 1"}, ["true or false"]),
        (RUN, {"arms": "[arms]\na = 1"}, ["[arms.a]"]),
        (RUN, {"arms": f"{ARMS}[arms.again]\nbase = 68\nwithout_source = true"}, ["[arms.plain] and [arms.again]"]),
        (RUN, {"engine": "[target]\ndata = 'digits'"}, ["[target]"]),
        (RUN, {"engine": "[rase]\nminutes = 1"}, ["rase", "race"]),
        (RUN, {"engine": "[decision]\nmargin = -1"}, ["margin"]),
        (RUN, {"engine": "threads = 0"}, ["threads"]),
        (RUN, {"run": "timeout = 1", "engine": "timeout = 2"}, ["timeout"]),
        ("", {}, ["no command"]),
        (RUN, {"arms": "[arms.a]\n'x y' = 1\nwithout_source = true"}, ["gives x y"]),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, command: str, changes: dict[str, str], words: list[str]) -> None:
    with pytest.raises(SettingsError) as found:
        read_study_file(study_file(tmp_path, command, **changes))
    for word in words:
        assert word in str(found.value)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("no-such-program {seed}", "PATH"),
        ("x" * 5000 + " {seed}", "PATH"),
        ("./a.sh {seed}", "chmod"),
        ("true 'x", "close the quotes"),
    ],
)
def test_a_command_that_cannot_be_started_is_refused_before_anything_runs(
    tmp_path: Path, command: str, words: str
) -> None:
    (tmp_path / "a.sh").touch()
    file = study_file(tmp_path, f"{command} {{base}} {{out}} {{source}}", shell="false")
    with pytest.raises(SettingsError, match=words.replace("(", "\\(")):
        read_study_file(file)


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    file = study_file(tmp_path, "true {base}", arms=f"{ARMS}[arms.x]\ny = 1", engine="threads = 0")
    with pytest.raises(SettingsError) as found:
        read_study_file(file)
    for word in ("[engine] threads", "{out}", "{seed}", "[arms.x]"):
        assert word in str(found.value)


def keys(file: Path) -> set[str]:
    return {cell.key for cell in command_cells(read_commands(file))}


def test_a_key_is_that_of_what_is_run_and_read(tmp_path: Path) -> None:
    """Of the filled command and the content of the files it names: not of how the score is read, nor of the folder."""
    (tmp_path / "train.py").write_text("1")
    (tmp_path / "part.py").write_text("1")
    command = "true train.py --base={base} {source} {seed} {out}"
    more = 'files = ["*.py"]'
    first = keys(study_file(tmp_path, command, run=more))
    assert keys(study_file(tmp_path, command, run=more, score="r.json:b", engine="threads = 2")) == first
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("train.py", "part.py"):
        (moved / name).write_text("1")
    assert keys(study_file(moved, command, run=more)) == first
    assert not keys(study_file(tmp_path, command, run=more, score="s.json:a")) & first
    assert not keys(study_file(tmp_path, command.replace("--base", "--b"), run=more)) & first
    for name in ("train.py", "part.py"):
        (tmp_path / name).write_text("2")
        assert not keys(study_file(tmp_path, command, run=more)) & first
        (tmp_path / name).write_text("1")
    assert keys(study_file(tmp_path, command, run=more)) == first


@pytest.mark.parametrize("command", ["true app/train.py {base}", "true -m app.train {base}"])
@pytest.mark.parametrize("shell", [True, False])
def test_a_python_file_has_those_that_it_imports_with_it(tmp_path: Path, command: str, shell: bool) -> None:
    """A script looks for modules beside itself, and a module behind -m in the folder of the study file."""
    (tmp_path / "app/parts").mkdir(parents=True)
    near = "" if "app/" in command else "app."
    (tmp_path / "app/train.py").write_text(f"import json\ndef f():\n    from {near}parts import one")
    (tmp_path / "app/parts/one.py").write_text("from .two import x")
    (tmp_path / "app/parts/two.py").write_text("from ......... import x")
    (tmp_path / "app/parts/other.py").write_text("")
    file = study_file(tmp_path, f"{command} {{source}} {{seed}} {{out}}", shell=str(shell).lower())
    first = keys(file)
    for name, counts in (("train", True), ("parts/one", True), ("parts/two", True), ("parts/other", False)):
        path = tmp_path / f"app/{name}.py"
        before = path.read_text()
        path.write_text(f"{before}\n# changed")
        assert (keys(file) == first) is not counts, name
        path.write_text(before)
    assert keys(file) == first


def test_values_stay_one_word_with_and_without_a_shell(tmp_path: Path) -> None:
    value = "a b; touch '$(x)'"
    arms = f'[arms.a]\nsource = """{value}"""'
    for shell in (True, False):
        (arm,) = read_commands(
            study_file(tmp_path, "printf %s {source} {seed} {out}", arms=arms, shell=str(shell).lower())
        ).arms
        words = arm.job.words({"seed": 1, "n_target": 0}, out="o")
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert said == f"{value}1o"


@pytest.mark.parametrize("value", ["plain", "0.1", "a b", "it's", 'say \\"x\\"', "x; touch y", "", "a=$b"])
@pytest.mark.parametrize("placeholder", ["{v}", "'{v}'", '\\"{v}\\"', "--v={v}", "'--v={v}'", "x'y'{v}", "{v:s}"])
@pytest.mark.parametrize("before", ["", "# it's a comment\\n", ": run#1; "])
def test_what_a_shell_would_not_give_to_the_program_as_it_is_is_refused(
    tmp_path: Path, placeholder: str, value: str, before: str
) -> None:
    """A shell is asked: either a study is refused, or the shell hands the value over."""
    command = f"{before}printf %s {placeholder} {{seed}} {{out}}"
    arms = f'[arms.a]\nwithout_source = true\nv = "{value}"\ncommand = "{command}"'
    file = study_file(tmp_path, arms=arms)
    try:
        (arm,) = read_commands(file).arms
    except SettingsError:
        assert any(mark in placeholder for mark in "'\"")
        return
    assert placeholder in ("{v}", "--v={v}", "x'y'{v}", "{v:s}")
    words = arm.job.words({"seed": 1, "n_target": 0}, out="o")
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    stem = placeholder.partition("{")[0].replace("'", "").replace('\\"', "")
    assert said == stem + value.replace('\\"', '"') + "1o"


def test_the_facts_say_the_measure_and_which_arms_need_no_source(tmp_path: Path) -> None:
    file = study_file(tmp_path, RUN, run='unit = "EUR"\nbetter = "lower"\nname = "cost"')
    facts = plan_commands(read_commands(file)).study.facts
    assert facts["measure"] == {"record": "a", "name": "cost", "unit": "EUR", "higher_is_better": False}
    assert facts["controls"] == ["plain"]


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("no-such/*.csv", MissingDataError),
        ("/etc/*", SettingsError),
        ("x" * 300, SettingsError),
    ],
)
def test_further_files_that_are_not_there_are_refused(tmp_path: Path, pattern: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="files"):
        keys(study_file(tmp_path, RUN, run=f'files = ["{pattern}"]'))
