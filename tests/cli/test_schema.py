"""`transferscope doctor --schema`: what it says of a study file agrees with what reads one."""

import json
import shlex
import tomllib
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.called import Call
from transferscope.cli import complete
from transferscope.cli.main import app
from transferscope.data.catalogue import CATALOGUE
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.errors import SettingsError
from transferscope.methods import METHODS
from transferscope.models import BACKBONES
from transferscope.scores import SCORES
from transferscope.study.commands.settings import parse_commands
from transferscope.study.schema import study_schema
from transferscope.study.spec import parse_spec

ROOT = Path(__file__).resolve().parents[2]
STUDIES = [
    *sorted((ROOT / "studies").glob("*.toml")),
    ROOT / "src/transferscope/cli/demo.toml",
    ROOT / "docs/studies.md",
]

WRONG: dict[str, dict[str, Any]] = {
    "an unknown table": {"metods": {}},
    "an unknown key": {"engine": {"worker": 2}},
    "text for a number": {"seeds": "3"},
    "a negative seed": {"seeds": [-1]},
    "no such choice": {"engine": {"device": "gpu"}},
    "a key of another method": {"methods": {"scratch": {"rho": 2.0}}},
    "a wrong type in a method": {"methods": {"merlin": {"rho": "2"}}},
    "no such method": {"methods": {"finetune": {}}},
    "no such method in a variant": {"methods": {"mine": {"method": "finetune"}}},
    "a key of another method in a variant": {"methods": {"mine": {"method": "scratch", "rho": 2.0}}},
    "no such diagnostic": {"diagnostics": {"weihgts": {}}},
    "a wrong moment": {"diagnostics": {"weights": {"at": ["middle"]}}},
    "both steps and epochs": {"training": {"steps": 3, "epochs": 1}},
    "neither steps nor epochs of equal budgets": {"recipe": "equal", "training": {"lr": 0.1}},
    "a name that is no file's": {"name": "a/b"},
    "an unknown key in a table within": {"network": {"name": "lenet", "input": {"sise": 3}}},
    "a target without data": {"target": {"labels": [3]}},
}
RIGHT: dict[str, dict[str, Any]] = {
    "as it is": {},
    "as long as the recipe": {"training": {"lr": 0.1}},
    "a variant": {"methods": {"mine": {"method": "merlin", "rho": 2.0}}},
    "a list of diagnostics": {"diagnostics": ["weights"]},
    "a diagnostic with its scope": {"diagnostics": {"w": {"diagnostic": "weights", "every": 3, "part": "target_test"}}},
    "numbers of labels": {"target": {"data": "digits", "labels": [10]}},
    "a whole number for a number": {"training": {"steps": 3, "lr": 1}},
    "a race": {"race": {"minutes": 3}},
    "how inputs are read": {"network": {"name": "lenet", "input": {"size": 28}}},
}


def _study(changes: dict[str, Any]) -> dict[str, Any]:
    found = {
        "name": "s",
        "target": {"data": "digits"},
        "sources": {"glyphs": {"data": "glyphs"}},
        "pretraining": {"steps": 3},
        "training": {"steps": 3},
        "methods": {"scratch": {}},
    }
    return found | changes


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(CliRunner().invoke(app, ["doctor", "--schema", "study"]).stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_study_that_ships_is_right_by_the_schema(path: Path, validator: Any) -> None:
    text = path.read_text("utf-8")
    study = text.split("```toml\n")[1].split("```")[0] if path.suffix == ".md" else text
    assert [error.message for error in validator.iter_errors(tomllib.loads(study))] == []


@pytest.mark.parametrize("what", WRONG)
def test_what_the_reader_refuses_is_wrong_by_the_schema(what: str, validator: Any) -> None:
    with pytest.raises(SettingsError):
        parse_spec(_study(WRONG[what]))
    assert not validator.is_valid(_study(WRONG[what]))


@pytest.mark.parametrize("what", RIGHT)
def test_what_the_reader_takes_is_right_by_the_schema(what: str, validator: Any) -> None:
    parse_spec(_study(RIGHT[what]))
    assert validator.is_valid(_study(RIGHT[what]))


def test_a_method_of_another_package_may_have_any_settings(validator: Any) -> None:
    assert validator.is_valid(_study({"methods": {"mine": {"method": "mine.py:Mine", "strength": 3}}}))
    assert validator.is_valid(_study({"methods": {"mine.py:Mine": {"strength": 3}}}))


COMMANDS: dict[str, Any] = {
    "name": "s",
    "run": {"command": "true {seed} {x} {out}", "score": "r.json:a"},
    "arms": {
        "a": {"x": [1, "b"], "source": "s"},
        "b": {"x": 2.5, "without_source": True, "command": "true {x} {seed} {out}"},
    },
}


@pytest.mark.parametrize(
    ("changes", "right"),
    [
        ({}, True),
        ({"race": {"runs": 30}}, True),
        ({"run": {"score": "r.json:a", "better": "more"}}, False),
        ({"run": {"command": "true"}}, False),
        ({"arms": {}}, False),
        ({"arms": {"a": {"source": True}}}, False),
    ],
)
def test_the_schema_and_the_reader_agree_on_commands(validator: Any, changes: dict[str, Any], right: bool) -> None:
    assert validator.is_valid(COMMANDS | changes) is right
    if right:
        parse_commands(COMMANDS | changes, folder=ROOT)
    else:
        with pytest.raises(SettingsError):
            parse_commands(COMMANDS | changes, folder=ROOT)


def test_every_setting_has_its_type_and_what_it_means() -> None:
    """Without a validator: each key that the reader takes is in the schema, with a description."""
    schema = study_schema()
    families = ("method", "diagnostic")
    tables = {name: one for name, one in schema["properties"].items() if name not in ("methods", "diagnostics")}
    tables |= {"sources": tables["sources"]["additionalProperties"], "arms": tables["arms"]["additionalProperties"]}
    tables |= {name: one for name, one in schema["definitions"].items() if name not in families}
    assert {name.removeprefix("method:") for name in tables if name.startswith("method:")} == set(METHODS)
    assert {name.removeprefix("diagnostic:") for name in tables if name.startswith("diagnostic:")} == set(DIAGNOSTICS)
    unsaid = [
        f"{table}.{key}"
        for table, found in tables.items()
        for key, one in found.get("properties", {}).items()
        if key not in families and "description" not in one
    ]
    assert unsaid == []


def test_names_that_the_shell_completes_are_those_there_are() -> None:
    families: dict[complete.Family, Iterable[str]] = {
        "methods": METHODS.own,
        "diagnostics": DIAGNOSTICS.own,
        "scores": SCORES.own,
        "networks": BACKBONES.own,
        "data": [*CATALOGUE, "glyphs"],
    }
    for family, names in families.items():
        assert sorted(complete.names_of(family)) == sorted(names)


def test_the_shell_completes_what_an_installed_package_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = EntryPoint("my-method", "mine:Method", "transferscope.methods")
    monkeypatch.setattr(complete, "entry_points", lambda group: [offered] if group == offered.group else [])
    assert complete.among("methods")("my") == ["my-method"]
    assert complete.among("scores")("my") == []


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("transferscope comp", ["compare"]),
        ("transferscope compare dig", ["digits"]),
        ("transferscope compare a b --methods mer", ["merlin", "merlin-ft", "merlin-target-only"]),
        ("transferscope rank x --from 'a file' --scores log", ["logme"]),
        ("transferscope compare a b --methods lora --lab", ["--labels"]),
        ("transferscope compare a b --methods lora --seeds 3 --from dig", ["digits"]),
        ("transferscope run x --set engine.time", ["engine.timeout="]),
        ("transferscope run stud", []),  # the shell itself completes files
    ],
)
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_words_are_completed(
    typed: str, offered: list[str], shell: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_TRANSFERSCOPE_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv({"bash": "COMP_WORDS", "fish": "_TYPER_COMPLETE_ARGS"}[shell], typed)
    monkeypatch.setenv("COMP_CWORD", str(len(shlex.split(typed)) - 1))
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert [line.partition("\t")[0] for line in call().out.split("\n") if line.strip()] == offered
