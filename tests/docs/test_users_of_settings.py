"""A setting needs a user: a study, page, recipe, search or quick diagnosis that sets it; others are constants."""

import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from transferscope.diagnostics import DIAGNOSTICS
from transferscope.methods import METHODS, Method
from transferscope.methods.recipes import EQUAL, RECIPES
from transferscope.methods.tuning import search_grid
from transferscope.study.schema import study_schema
from transferscope.training import TrainingSettings

ROOT = Path(__file__).resolve().parents[2]
KEPT = {
    "WiseFt.share": "the parameter of the paper, which its authors set by hand",
    "Surgical.block": "the parameter of the paper, which its authors set by hand",
    "GradientStability.n_examples": "a cost that grows with the network",
    "GradientStability.batch_size": "a cost that grows with the network",
    "GradientScaling.n_examples": "a cost that grows with the network",
    "GradientScaling.batch_size": "a cost that grows with the network",
    "Curvature.batch_size": "what its standard error is over",
    "TrainingSettings.momentum": "every trainer has it",
    "TrainingSettings.early_stopping": "every trainer has it",
    "TrainingSettings.class_weights": "what a page of few examples of a class advises",
}
"""Those that nothing here sets, and why they are settings all the same."""

KEPT_KEYS = {
    "sources.test_limit": "as of the target",
    "sources.options": "what a network of another package takes",
    "network.options": "what a network of another package takes",
    "race.run_minutes": "what `compare` sets where it may ask",
    "track.mlflow": "a tracker, as tensorboard is",
    "track.wandb": "a tracker, as tensorboard is",
}
"""The same of the other keys of a study file."""


def _studies() -> Iterator[dict[str, Any]]:
    for path in (*ROOT.glob("studies/**/*.toml"), *ROOT.glob("src/**/*.toml")):
        yield tomllib.loads(path.read_text(encoding="utf-8"))
    for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")):
        for block in re.findall(r"^ *```toml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            try:
                yield tomllib.loads(block)
            except tomllib.TOMLDecodeError:  # a part of a file, with dots for the rest
                continue


def _declared(kind: type, settings: Iterable[str]) -> set[str]:
    """The settings by the class that declares them first: of one that a family shares any member is a user."""
    names = ((one, [k.__name__ for k in kind.__mro__ if one in inspect.get_annotations(k)]) for one in settings)
    return {f"{classes[-1]}.{one}" for one, classes in names if classes}


def test_every_setting_has_a_user() -> None:
    there, used = set[str](), set[str]()
    studies, rows = list(_studies()), [row for of_family in RECIPES.values() for row in of_family.values()]
    of_recipes = {key for row in (*(row.settings for row in rows), *EQUAL.values()) for key in row}
    for place, family in (("methods", METHODS), ("diagnostics", DIAGNOSTICS)):
        tables = [(name, table) for study in studies for name, table in _tables(study, place)]
        for name in family.own:
            kind: Any = family[name]
            there |= _declared(kind, [one.name for one in fields(kind) if one.init])
            used |= _declared(
                kind, [key for own, table in tables if table.get(family.kind, own) == name for key in table]
            )
            if issubclass(kind, Method):
                used |= _declared(kind, [*of_recipes, *search_grid(kind(), TrainingSettings(steps=1))])
            else:
                used |= _declared(kind, kind.quick)
    there |= {f"TrainingSettings.{one.name}" for one in fields(TrainingSettings)}
    of_training = [table for study in studies for one in ("training", "pretraining") for table in [study.get(one, {})]]
    used |= {f"TrainingSettings.{key}" for table in (*of_training, *(row.training for row in rows)) for key in table}
    assert there - used == set(KEPT)


def test_every_other_key_of_a_study_file_has_a_user() -> None:
    """A study, or code in the docs that sets it: `key = ...`, `table.key=...`, or `[table] key`."""
    schema, used, there = study_schema(), set[str](), set[str]()

    def keys_of(table: dict[str, Any]) -> dict[str, Any]:
        known: dict[str, Any] = table.get("properties", {})
        return known if "$ref" not in table else keys_of(schema["definitions"][table["$ref"].rpartition("/")[2]])

    studies = list(_studies())
    pages = (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))
    code = "\n".join(re.findall(r"```.*?```|`[^`]+`", "".join(one.read_text("utf-8") for one in pages), re.DOTALL))
    for name, table in schema["properties"].items():
        if name in ("methods", "diagnostics", "training", "pretraining", "arms"):  # of others, and the test above
            continue
        own = keys_of(table["additionalProperties"] if name == "sources" else table)
        there |= {f"{name}.{key}" for key in own}
        given = [study.get(name, {}) for study in studies]
        given = [one for tables in given for one in tables.values()] if name == "sources" else given
        used |= {f"{name}.{key}" for one in given if isinstance(one, dict) for key in one}
        said = rf"(?<!\w)({'|'.join(own) or '-'})(?:\s*=|`)"
        used |= {f"{name}.{key}" for key in re.findall(said, code)}
    assert there - used == set(KEPT_KEYS)


def _tables(study: dict[str, Any], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    given = study.get(place, {})
    yield from given.items() if isinstance(given, dict) else ()
