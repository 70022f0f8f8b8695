"""What a study file says, read with every mistake named."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from transferscope.errors import SettingsError, unknown_name
from transferscope.methods import METHODS, Method
from transferscope.models import NetworkSettings
from transferscope.store import without_password
from transferscope.study.cell import method_as_json
from transferscope.study.diagnostic_settings import DiagnosticSettings, read_diagnostics
from transferscope.study.file import default_store, read_toml
from transferscope.study.settings import (
    EngineSettings,
    SourceSettings,
    TargetSettings,
    TuningSettings,
    check_sizes,
)
from transferscope.study.tables import Mistakes, read_table, setting_names
from transferscope.training import TrainingSettings

T = TypeVar("T")


@dataclass(frozen=True)
class StudySpec:
    """A study, as its file says.

    Attributes:
        name: Its name: letters, digits, ".", "_" and "-".
        seeds: The seeds, distinct, each at least 0.
        target: What to learn.
        sources: What to transfer from, by name.
        network: The network of every cell.
        pretraining: Recipe of pre-training; None when no method needs it.
        checkpoints: Pretraining steps to transfer from besides the last, ascending.
        source_sizes: Numbers of source training examples to pretrain on; 0 is training from scratch; empty for all.
        training: Recipe and budget of every method.
        methods: Methods with their settings, by the name of their table.
        tuning: How settings are chosen; None to take them as they are.
        diagnostics: What to look at in the trained networks, by the name of its table.
        engine: How the study is carried out.
        store: Path or URL of the store.
    """

    name: str
    seeds: tuple[int, ...]
    target: TargetSettings
    sources: Mapping[str, SourceSettings]
    network: NetworkSettings
    pretraining: TrainingSettings | None
    source_sizes: tuple[int, ...]
    checkpoints: tuple[int, ...]
    training: TrainingSettings
    methods: Mapping[str, Method]
    tuning: TuningSettings | None
    diagnostics: Mapping[str, DiagnosticSettings]
    engine: EngineSettings
    store: str

    def as_json(self) -> dict[str, Any]:
        """The study as JSON values, defaults filled in; the store's password is left out."""
        tables = {key: _plain(value) for key, value in vars(self).items()}
        tables["store"] = without_password(self.store)
        tables["sources"] = {name: asdict(source) for name, source in self.sources.items()}
        tables["methods"] = {name: method_as_json(method) for name, method in self.methods.items()}
        tables["diagnostics"] = {name: settings.as_json() for name, settings in self.diagnostics.items()}
        return tables


def depends_on_source(method: Method) -> bool:
    """Whether the answer of a method can change with the source."""
    return method.uses_source or method.start == "pretrained"


def read_spec(path: Path) -> StudySpec:
    """The study in a file.

    Args:
        path: A TOML file.

    Returns:
        The study.

    Raises:
        MissingDataError: There is no such file.
        SettingsError: The file is no TOML, or something in it is wrong; the message names every mistake.
    """
    return parse_spec(read_toml(path), place=str(path))


def parse_spec(tables: Mapping[str, Any], *, place: str = "the study") -> StudySpec:
    """The study in the tables of a study file.

    Args:
        tables: What TOML makes of a study file.
        place: Where they are from, for messages.

    Returns:
        The study, with every default filled in.

    Raises:
        SettingsError: Something is wrong; the message names every mistake.
    """
    mistakes = Mistakes(place)
    head = _header(tables, mistakes)
    target = read_table(TargetSettings, tables.get("target", {}), "[target]", mistakes)
    network = read_table(NetworkSettings, tables.get("network", {}), "[network]", mistakes)
    training = read_table(TrainingSettings, tables.get("training", {}), "[training]", mistakes)
    diagnostics = read_diagnostics(tables.get("diagnostics", {}), mistakes)
    engine = read_table(EngineSettings, tables.get("engine", {}), "[engine]", mistakes)
    tuning = read_table(TuningSettings, tables["tuning"], "[tuning]", mistakes) if "tuning" in tables else None
    pretraining = _pretraining(tables, mistakes)
    sources = {name: _source(name, table, mistakes) for name, table in _named(tables, "sources", mistakes).items()}
    methods = {name: _method(name, table, mistakes) for name, table in _named(tables, "methods", mistakes).items()}
    mistakes.raise_any()
    spec = StudySpec(
        name=_found(head).name,
        seeds=_found(head).all_seeds,
        target=_found(target),
        sources={name: _found(source) for name, source in sources.items()},
        network=_found(network),
        pretraining=pretraining.recipe,
        source_sizes=pretraining.sizes,
        checkpoints=pretraining.checkpoints,
        training=_found(training),
        methods={name: _found(method) for name, method in methods.items()},
        tuning=tuning,
        diagnostics=diagnostics,
        engine=_found(engine),
        store=_found(head).store or default_store(_found(head).name),
    )
    _check_whole(spec, mistakes)
    mistakes.raise_any()
    return spec


_TABLES = (
    "target",
    "sources",
    "network",
    "pretraining",
    "training",
    "methods",
    "tuning",
    "diagnostics",
    "engine",
)


MOST_SEEDS = 10_000
"""A larger number of seeds must be a seed, which goes in a list."""


@dataclass(frozen=True, slots=True)
class _Header:
    name: str
    seeds: int | tuple[int, ...] = 3
    store: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.-]+", self.name):
            raise SettingsError(f"name = {self.name!r} cannot name files; use letters, digits, '.', '_' and '-'")
        if isinstance(self.seeds, int):
            fine, shown = 1 <= self.seeds <= MOST_SEEDS, str(self.seeds)
        else:
            distinct = len(set(self.seeds)) == len(self.seeds)
            fine, shown = distinct and min(self.seeds, default=-1) >= 0, str(list(self.seeds))
        if not fine:
            raise SettingsError(
                f"seeds = {shown}; expected how many, from 1 to {MOST_SEEDS}, or a list of different ones, each at "
                "least 0"
            )

    @property
    def all_seeds(self) -> tuple[int, ...]:
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds


@dataclass(frozen=True, slots=True)
class _Further:
    """The keys of [pretraining] that are no training settings."""

    sizes: tuple[int, ...] = ()
    checkpoints: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_sizes(self.sizes, least=0)
        check_sizes(self.checkpoints, least=1, name="checkpoints")


@dataclass(frozen=True, slots=True)
class _Pretraining:
    recipe: TrainingSettings | None = None
    sizes: tuple[int, ...] = ()
    checkpoints: tuple[int, ...] = ()


def _found(value: T | None) -> T:
    assert value is not None  # a mistake would have been raised
    return value


def _header(tables: Mapping[str, Any], mistakes: Mistakes) -> _Header | None:
    valid = [*setting_names(_Header), *_TABLES]
    for key in tables:
        if key not in valid:
            mistakes.add(str(unknown_name("key", key, valid)))
    return read_table(_Header, {k: v for k, v in tables.items() if k in setting_names(_Header)}, "", mistakes)


def _pretraining(tables: Mapping[str, Any], mistakes: Mistakes) -> _Pretraining:
    if "pretraining" not in tables:
        return _Pretraining()
    table, further = tables["pretraining"], _Further()
    if isinstance(table, Mapping):
        own = setting_names(_Further)
        further = (
            read_table(_Further, {k: v for k, v in table.items() if k in own}, "[pretraining]", mistakes) or further
        )
        table = {key: value for key, value in table.items() if key not in own}
    recipe = read_table(TrainingSettings, table, "[pretraining]", mistakes)
    return _Pretraining(recipe, further.sizes, tuple(sorted(further.checkpoints)))


def _named(tables: Mapping[str, Any], key: str, mistakes: Mistakes) -> Mapping[str, Any]:
    found = tables.get(key, {})
    if isinstance(found, Mapping):
        return found
    mistakes.add(f"{key} is no group of tables; write one table for each, as in [{key}.NAME]")
    return {}


def _source(name: str, table: object, mistakes: Mistakes) -> SourceSettings | None:
    return read_table(SourceSettings, table, f"[sources.{name}]", mistakes)


def _method(name: str, table: object, mistakes: Mistakes) -> Method | None:
    where = f"[methods.{name}]"
    if not isinstance(table, Mapping):
        return read_table(METHODS["scratch"], table, where, mistakes)
    kind = table.get("method", name)
    if not isinstance(kind, str) or kind not in METHODS:
        mistakes.add(f"{where} {unknown_name('method', str(kind), METHODS)}")
        return None
    settings = {key: value for key, value in table.items() if key != "method"}
    return read_table(METHODS[kind], settings, where, mistakes)


def _check_whole(spec: StudySpec, mistakes: Mistakes) -> None:
    """What no table can check alone."""
    _check_methods(spec, mistakes)
    if 0 in spec.source_sizes and not any(method.name == "scratch" for method in spec.methods.values()):
        mistakes.add("[pretraining] sizes holds 0, which is training from scratch; add [methods.scratch]")
    _check_checkpoints(spec, mistakes)
    if spec.tuning:
        _check_grid(spec, spec.tuning, mistakes)


def _check_methods(spec: StudySpec, mistakes: Mistakes) -> None:
    if not spec.methods:
        mistakes.add("there are no methods; add a table for each, as in [methods.fine-tune]")
    with_data = any(source.data is not None for source in spec.sources.values())
    for name, method in spec.methods.items():
        if depends_on_source(method) and not spec.sources:
            mistakes.add(f"[methods.{name}] transfers from a source and there is none; add [sources.NAME]")
        elif method.uses_source and not with_data:
            mistakes.add(f'[methods.{name}] trains on source data and no source has any; give one data = "..."')
        elif method.start == "pretrained" and with_data and spec.pretraining is None:
            mistakes.add(f"[methods.{name}] starts from a pretrained network; say how it is trained in [pretraining]")


def _check_checkpoints(spec: StudySpec, mistakes: Mistakes) -> None:
    steps = None if spec.pretraining is None else spec.pretraining.steps
    if spec.checkpoints and steps is None:
        mistakes.add("[pretraining] gives checkpoints, which are steps; give the length of pre-training in steps too")
    elif steps is not None and spec.checkpoints and spec.checkpoints[-1] >= steps:
        mistakes.add(
            f"[pretraining] checkpoints holds {spec.checkpoints[-1]} and pre-training ends after {steps} steps, which "
            "is always transferred from; give earlier steps"
        )


def _check_grid(spec: StudySpec, tuning: TuningSettings, mistakes: Mistakes) -> None:
    for name, axes in tuning.grid.items():
        where = f"[tuning.grid.{name}]"
        if name not in spec.methods:
            mistakes.add(f"{where} {unknown_name('method', name, spec.methods)}")
            continue
        kind = type(spec.methods[name])
        valid: dict[str, TrainingSettings | Method] = dict.fromkeys(setting_names(TrainingSettings), spec.training)
        valid |= dict.fromkeys(setting_names(kind), spec.methods[name])
        for key, values in axes.items():
            if key not in valid:
                mistakes.add(f"{where} {unknown_name('key', key, valid)}")
                continue
            if not values:
                mistakes.add(f"{where} {key} = [] is empty; give the values to try")
            for value in values:
                _check_value(valid[key], key, value, where, mistakes)


def _check_value(settings: Any, key: str, value: object, where: str, mistakes: Mistakes) -> None:
    """Check one value of a grid by reading the settings with it."""
    names = setting_names(type(settings))
    read_table(type(settings), {**{name: getattr(settings, name) for name in names}, key: value}, where, mistakes)


def _plain(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
