"""Parsing of a study file, with all mistakes reported."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from annotated_types import Ge

from transferscope import registry
from transferscope.data.load import seen_from
from transferscope.errors import SettingsError, unknown_name
from transferscope.files import expanded
from transferscope.methods import METHODS, Method, called_of
from transferscope.methods.method import Value
from transferscope.methods.recipes import Protocol
from transferscope.methods.tuning import combinations
from transferscope.models import NetworkSettings
from transferscope.models.build import is_network_name
from transferscope.models.build import seen_from as network_seen_from
from transferscope.records import Count, Says
from transferscope.settings.data import TargetSettings, TuningSettings, check_distinct
from transferscope.settings.engine import DecisionSettings, EngineSettings, RaceSettings, TrackSettings
from transferscope.store import sqlite_path, without_password
from transferscope.study.cell import method_as_json
from transferscope.study.places import default_store, read_toml, store_of
from transferscope.study.read_alike import with_encodings, with_tokenizers
from transferscope.study.settings import DiagnosticSettings, SourceSettings, read_diagnostics
from transferscope.study.tables import Mistakes, member_of, read_table, setting_names
from transferscope.training import LEAST_LR, TrainingSettings
from transferscope.wording import candidate_words

T = TypeVar("T")

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class StudySpec:
    """A study file.

    Attributes:
        name: Its name: letters, digits, ".", "_" and "-".
        seeds: The seeds, distinct, each at least 0.
        pretraining: Recipe of pretraining; None when no method needs it.
        checkpoints: Pretraining steps to transfer from besides the last, ascending.
        source_sizes: Numbers of source training examples to pretrain on; 0 is training from scratch; empty for all.
        methods: Methods with their settings, by the name of their table.
        diagnostics: Diagnostics of the trained networks, by the name of their table.
        decision: Decision settings.
        race: Settings of the race, which makes only informative runs; None to make all.
        recipe: Whether methods train with their usual recipes, or all with the settings of `training`
            (`methods.recipes`).
        given: Keys set in the study file, which override the recipe, by table: "training", "methods.NAME", ...
        files: Folder of the trained networks of a database other than SQLite; None for that of its first runner.
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
    decision: DecisionSettings
    race: RaceSettings | None
    store: str
    recipe: Protocol = "field"
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    track: TrackSettings | None = None
    files: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the study as JSON values with defaults, except those of recipes, without the store's password."""
        tables: dict[str, Any] = {key: _plain(value) for key, value in vars(self).items()}
        tables["store"] = without_password(self.store)
        del tables["track"]  # it belongs to a run of the study, and may hold a password
        tables["sources"] = {name: asdict(source) for name, source in self.sources.items()}
        tables["methods"] = {name: method_as_json(method) for name, method in self.methods.items()}
        tables["diagnostics"] = {name: settings.as_json() for name, settings in self.diagnostics.items()}
        for name in ("training", "pretraining"):
            if self.recipe == "field" and tables[name] is not None:
                tables[name] = {key: value for key, value in tables[name].items() if key in self.given_in(name)}
        return tables

    def given_in(self, table: str) -> tuple[str, ...]:
        """Return the keys that the study sets in a table."""
        return self.given.get(table, ())


def with_settings(tables: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a study file with replaced settings."""
    read = dict(tables)
    for name, value in given.items():
        own = read.get(name)
        if isinstance(own, Mapping) and isinstance(value, Mapping):
            value = with_settings(own, value)
        read[name] = value
    return read


def read_spec(path: Path, *, but: Sequence[str] = (), given: Mapping[str, Any] = NOTHING) -> StudySpec:
    """Read the study in a file.

    Args:
        but: Tables to ignore.
        given: Settings that override those of the file.

    Returns:
        The study. Relative paths are relative to the folder of the file; those of data, networks and code are made
        absolute.

    Raises:
        MissingDataError: There is no such file.
        SettingsError: The file is not TOML, or has mistakes; the message lists all of them.
    """
    tables = {name: table for name, table in with_settings(read_toml(path), given).items() if name not in but}
    return with_places_of(path, parse_spec(seen_from_folder(tables, path.parent.absolute()), place=str(path)))


def with_places_of(path: Path, spec: StudySpec) -> StudySpec:
    """Return the study of a file with the places that are relative to the file's folder."""
    return replace(spec, **places_seen_from(path, store=spec.store, files=spec.files, track=spec.track))


def places_seen_from(path: Path, *, store: str, files: str | None, track: TrackSettings | None) -> dict[str, Any]:
    """Return the settings of a study file that are places, by name, with absolute paths."""
    if track is not None:
        folder_or_address = None if track.mlflow is None else store_of(path, track.mlflow)
        events = None if track.tensorboard is None else str(path.parent / expanded(track.tensorboard))
        track = replace(track, mlflow=folder_or_address, tensorboard=events)
    folder = None if files is None else str((path.parent / expanded(files)).absolute())
    return {"store": store_of(path, store), "files": folder, "track": track}


def seen_from_folder(tables: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """Return the tables of a study file with absolute paths of data, networks and code."""

    def file(name: str) -> str:
        return str(folder / expanded(name))

    def of_source(table: Any) -> dict[str, Callable[[str], str]]:
        own = str if isinstance(table, Mapping) and "weights" in table else file  # weights beside it: one of ours
        network = lambda name: network_seen_from(name, folder) if is_network_name(name) else own(name)  # noqa: E731
        return {"data": data, "held_out": data, "network": network, "weights": file}

    data, code = partial(seen_from, folder=folder), partial(registry.seen_from, folder=folder)
    of_tables: dict[str, dict[str, Callable[[str], str]]] = {
        "target": {"data": data},
        "network": {"name": partial(network_seen_from, folder=folder)},
    }
    of_groups: dict[str, Callable[[Any], dict[str, Callable[[str], str]]]] = {
        "sources": of_source,
        "methods": lambda _: {"method": code},
        "diagnostics": lambda _: {"diagnostic": code},
    }

    def changed(value: Any, change: Callable[[str], str]) -> Any:
        return change(value) if isinstance(value, str) and "\0" not in value else value

    def each(value: Any, change: Callable[[str], str]) -> Any:
        if isinstance(value, Mapping):  # names of their own, as in held_out
            return {name: changed(one, change) for name, one in value.items()}
        return changed(value, change)

    def seen(table: Any, changes: Mapping[str, Callable[[str], str]]) -> Any:
        if not isinstance(table, Mapping):
            return table
        return {key: each(value, changes[key]) if key in changes else value for key, value in table.items()}

    found = {name: seen(table, of_tables.get(name, {})) for name, table in tables.items()}
    for group, changes in of_groups.items():
        if isinstance(members := tables.get(group), Mapping):
            found[group] = {name: seen(table, changes(table)) for name, table in members.items()}
    return found


def parse_spec(tables: Mapping[str, Any], *, place: str = "the study") -> StudySpec:
    """Parse the study in the tables of a study file, with all defaults.

    Raises:
        SettingsError: The tables have mistakes; the message lists all of them.
    """
    mistakes = Mistakes(place)
    tables = with_encodings(with_tokenizers(tables))
    head = read_header(tables, TABLES, mistakes)
    target = read_table(TargetSettings, tables.get("target", {}), "[target]", mistakes)
    network = read_table(NetworkSettings, tables.get("network", {}), "[network]", mistakes)
    recipe: Protocol = "field" if head is None else head.recipe
    training = _training(tables.get("training", {}), "[training]", recipe, mistakes)
    diagnostics = read_diagnostics(tables.get("diagnostics", {}), mistakes)
    engine = read_table(EngineSettings, tables.get("engine", {}), "[engine]", mistakes)
    tuning = read_table(TuningSettings, tables["tuning"], "[tuning]", mistakes) if "tuning" in tables else None
    decision = read_table(DecisionSettings, tables.get("decision", {}), "[decision]", mistakes)
    race = read_table(RaceSettings, tables["race"], "[race]", mistakes) if "race" in tables else None
    track = read_table(TrackSettings, tables["track"], "[track]", mistakes) if "track" in tables else None
    pretraining, further = _pretraining(tables, recipe, mistakes)
    sources = {
        name: read_table(SourceSettings, table, f"[sources.{name}]", mistakes)
        for name, table in _named(tables, "sources", mistakes).items()
    }
    found_sources = {name: source for name, source in sources.items() if source is not None}
    methods = {name: _method(name, table, mistakes) for name, table in _named(tables, "methods", mistakes).items()}
    found_methods = {name: method for name, method in methods.items() if method is not None}
    for group in ("sources", "methods", "diagnostics"):
        check_names(group, tables.get(group), mistakes)
    _check_methods(found_methods, found_sources, tables, recipe, mistakes)
    if training is not None:
        _check_rates(found_methods, training, mistakes)
    given = tables.get("methods")
    named = given if isinstance(given, Mapping) else {"scratch": {}}
    kinds = [table.get("method", name) if isinstance(table, Mapping) else name for name, table in named.items()]
    if 0 in further.sizes and "scratch" not in kinds:
        mistakes.add("[pretraining] sizes holds 0, which is training from scratch; add [methods.scratch]")
    checkpoints = tuple(sorted(further.checkpoints))
    _check_checkpoints(pretraining, checkpoints, tables, mistakes)
    if tuning:
        _check_grid(tuning, found_methods, list(methods), training, mistakes)
    mistakes.raise_any()
    return StudySpec(
        name=_found(head).name,
        seeds=_found(head).all_seeds,
        target=_found(target),
        sources=found_sources,
        network=_found(network),
        pretraining=pretraining,
        source_sizes=further.sizes,
        checkpoints=checkpoints,
        training=_found(training),
        methods=found_methods,
        tuning=tuning,
        diagnostics=diagnostics,
        engine=_found(engine),
        decision=_found(decision),
        race=race,
        store=_found(head).store or default_store(_found(head).name),
        recipe=recipe,
        given=given_keys(tables),
        track=track,
        files=_found(head).files,
    )


TABLES = (
    "target",
    "sources",
    "network",
    "pretraining",
    "training",
    "methods",
    "tuning",
    "diagnostics",
    "engine",
    "decision",
    "race",
    "track",
)


NAME_OF_STUDY = r"[\w.-]+"
"""Regular expression of study names, which are used as file names."""

MOST_SEEDS = 10_000
"""A larger number of seeds must be a seed, which goes in a list."""


@dataclass(frozen=True, slots=True)
class Header:
    """The keys of a study file before its tables."""

    name: Annotated[str, Says("Name of the study")]
    seeds: Annotated[int | tuple[int, ...], Says("How many repetitions, or a list of seeds")] = 3
    store: Annotated[
        str | None, Says("Path or URL of the store", "None for runs/NAME.sqlite beside the study file.")
    ] = None
    files: Annotated[str | None, Says("Folder of the networks of a database, which all machines see")] = None
    recipe: Annotated[
        Protocol,
        Says(
            "How methods train where the study does not say it",
            '"field": each as its field trains it, by network, data and number of labels; "equal": all with the '
            "settings of [training], for comparisons of methods.",
        ),
    ] = "field"

    def __post_init__(self) -> None:
        if self.files is not None and (self.store is None or sqlite_path(self.store) is not None):
            raise SettingsError(
                f"files = {self.files!r} is for a database; a SQLite store keeps its networks in a folder beside it"
            )
        if not re.fullmatch(NAME_OF_STUDY, self.name):
            raise SettingsError(f"name = {self.name!r}; expected letters, digits, '.', '_' and '-', as it names files")
        if isinstance(self.seeds, int):
            fine, shown = 1 <= self.seeds <= MOST_SEEDS, str(self.seeds)
        else:
            distinct = len(set(self.seeds)) == len(self.seeds)
            fine, shown = distinct and min(self.seeds, default=-1) >= 0, str(list(self.seeds))
        if not fine:
            raise SettingsError(
                f"seeds = {shown}; expected a number from 1 to {MOST_SEEDS}, or a list of distinct numbers from 0"
            )

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds, expanded from a number."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds


@dataclass(frozen=True, slots=True)
class FurtherPretraining:
    """The keys of [pretraining] that are not training settings."""

    sizes: Annotated[
        tuple[Annotated[int, Ge(0)], ...],
        Says("Numbers of source examples to pretrain on, for scaling laws", "0 is scratch."),
    ] = ()
    checkpoints: Annotated[
        tuple[Count, ...], Says("Transfer from these steps of pretraining too, besides the last")
    ] = ()

    def __post_init__(self) -> None:
        check_distinct(sizes=self.sizes, checkpoints=self.checkpoints)


def _found(value: T | None) -> T:
    assert value is not None  # a mistake would have been raised
    return value


def read_header(tables: Mapping[str, Any], known: Sequence[str], mistakes: Mistakes) -> Header | None:
    """Read the keys of a study file outside tables, which must be among `known`."""
    valid = [*setting_names(Header), *known]
    for key in tables:
        if key not in valid:
            mistakes.add(str(unknown_name("key", key, valid)))
    return read_table(Header, {k: v for k, v in tables.items() if k in setting_names(Header)}, "", mistakes)


def _training(table: Any, where: str, recipe: Protocol, mistakes: Mistakes) -> TrainingSettings | None:
    """Read training settings, whose duration is optional with a recipe."""
    if recipe == "field" and isinstance(table, Mapping) and not {"steps", "epochs"} & table.keys():
        table = {**table, "steps": 1}  # in the place of the recipe's
    return read_table(TrainingSettings, table, where, mistakes)


def given_keys(tables: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the keys of tables that override a recipe."""
    methods = {f"methods.{name}": table for name, table in tables.get("methods", {}).items()}
    named = {name: tables.get(name, {}) for name in ("training", "pretraining")} | methods
    return {name: tuple(table) for name, table in named.items() if table}


def _pretraining(
    tables: Mapping[str, Any], protocol: Protocol, mistakes: Mistakes
) -> tuple[TrainingSettings | None, FurtherPretraining]:
    further = FurtherPretraining()
    if "pretraining" not in tables and protocol == "equal":
        return None, further
    table = tables.get("pretraining", {})
    if isinstance(table, Mapping):
        own = setting_names(FurtherPretraining)
        further = (
            read_table(FurtherPretraining, {k: v for k, v in table.items() if k in own}, "[pretraining]", mistakes)
            or further
        )
        table = {key: value for key, value in table.items() if key not in own}
    recipe = _training(table, "[pretraining]", protocol, mistakes)
    if recipe is not None and recipe.batch_norm != "train":
        mistakes.add(
            f'[pretraining] batch_norm = "{recipe.batch_norm}" is about networks that are pretrained already; give it '
            "in [training]"
        )
    return recipe, further


def _named(tables: Mapping[str, Any], key: str, mistakes: Mistakes) -> Mapping[str, Any]:
    group = tables.get(key, {})
    if isinstance(group, Mapping):
        return group
    mistakes.add(f"{key} is not a group of tables; write one table for each, as in [{key}.NAME]")
    return {}


def _method(name: str, table: object, mistakes: Mistakes) -> Method | None:
    where = f"[methods.{name}]"
    if not isinstance(table, Mapping):
        return read_table(METHODS["scratch"], table, where, mistakes)
    kind = member_of(METHODS, "method", name, table, where, mistakes)
    settings = {key: value for key, value in table.items() if key != "method"}
    return None if kind is None else read_table(kind, settings, where, mistakes)


LONGEST_NAME = 100


def check_names(group: str, names: object, mistakes: Mistakes) -> None:
    """Check the names of tables, which are labels in the store and words in the report."""
    for name in names if isinstance(names, Mapping) else ():
        if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
            mistakes.add(
                f"[{group}] has a table named {name[:LONGEST_NAME]!r}; expected a name of 1 to {LONGEST_NAME} "
                "characters that can be printed"
            )


def _check_methods(
    methods: Mapping[str, Method],
    sources: Mapping[str, SourceSettings],
    tables: Mapping[str, Any],
    recipe: Protocol,
    mistakes: Mistakes,
) -> None:
    """Check that methods have a source; invalid tables are reported elsewhere."""
    if not tables.get("methods"):
        mistakes.add("there are no methods; add a table for each, as in [methods.fine-tune]")
    arms = [(name, source) for name, one in methods.items() for source in (sources if one.needs_source else [None])]
    words = [candidate_words(*arm, called_of(methods)) for arm in arms]
    for twice in dict.fromkeys(word for word in words if words.count(word) > 1):
        of = " and ".join(f"[methods.{name}]" for (name, _), word in zip(arms, words, strict=True) if word == twice)
        mistakes.add(f'{of} would both be called "{twice}"; give one of them another name')
    given = tables.get("sources")
    all_known = not given or (isinstance(given, Mapping) and len(given) == len(sources))
    with_data = any(source.data is not None for source in sources.values())
    for name, method in methods.items():
        if method.needs_source and not given:
            mistakes.add(f"[methods.{name}] transfers from a source and there is none; add [sources.NAME]")
        elif method.uses_source and not with_data and all_known:
            mistakes.add(f'[methods.{name}] trains on source data and no source has any; give one data = "..."')
        elif method.start == "pretrained" and with_data and "pretraining" not in tables and recipe == "equal":
            mistakes.add(f"[methods.{name}] starts from a pretrained network; say how it is trained in [pretraining]")


def _check_rates(methods: Mapping[str, Method], training: TrainingSettings, mistakes: Mistakes) -> None:
    """Check that settings named "lr_scale" are shares of the learning rate."""
    for name, method in methods.items():
        for key in (one.name for one in fields(method) if one.name.endswith("lr_scale")):  # type: ignore[arg-type]
            share = getattr(method, key)
            if isinstance(share, float) and share * training.lr < LEAST_LR:
                mistakes.add(
                    f"[methods.{name}] {key} = {share} of lr = {training.lr} changes no weight; expected a product of "
                    f"at least {LEAST_LR}"
                )


def _check_checkpoints(
    recipe: TrainingSettings | None, checkpoints: tuple[int, ...], tables: Mapping[str, Any], mistakes: Mistakes
) -> None:
    table = tables.get("pretraining")
    if not checkpoints or not isinstance(table, Mapping):
        return
    if "steps" not in table:
        mistakes.add("[pretraining] gives checkpoints, which are steps; give the length of pretraining in steps too")
    elif recipe is not None and recipe.early_stopping is not None:
        mistakes.add(
            "[pretraining] gives checkpoints and early_stopping, which may end it before them; give one of the two"
        )
    elif recipe is not None and recipe.steps is not None and checkpoints[-1] >= recipe.steps:
        mistakes.add(
            f"[pretraining] checkpoints holds {checkpoints[-1]} and pretraining ends after {recipe.steps} steps, which "
            "is always used; give earlier steps"
        )


def _check_grid(
    tuning: TuningSettings,
    methods: Mapping[str, Method],
    names: Sequence[str],
    training: TrainingSettings | None,
    mistakes: Mistakes,
) -> None:
    for name, axes in (tuning.grid or {}).items():
        where = f"[tuning.grid.{name}]"
        if name not in names:
            mistakes.add(f"{where} {unknown_name('method', name, names)}")
        if name not in methods or training is None:
            continue
        kind = type(methods[name])
        valid: dict[str, TrainingSettings | Method] = dict.fromkeys(setting_names(TrainingSettings), training)
        valid |= dict.fromkeys(setting_names(kind), methods[name])
        before = len(mistakes.sentences)
        for key, values in axes.items():
            if key not in valid:
                mistakes.add(f"{where} {unknown_name('key', key, valid)}")
                continue
            if not values:
                mistakes.add(f"{where} {key} = [] is empty; give the values to try")
            if key == "precision" and "auto" in values:
                mistakes.add(f'{where} precision holds "auto", which stands for one of the others; give those to try')
            for value in values:
                mistakes.sentences.extend(_refusal(valid[key], key, value, axes, where))
        if len(mistakes.sentences) == before and not combinations(axes, methods[name], training):
            mistakes.add(
                f"{where} has no combination of values that {name} can have: each is refused beside the others"
            )


def _refusal(
    settings: TrainingSettings | Method, key: str, value: Value, axes: Mapping[str, Sequence[Value]], where: str
) -> list[str]:
    """Explain why settings cannot have a value of a grid, alone or with any of its other values."""
    own = {name: getattr(settings, name) for name in setting_names(type(settings))}
    others = {name: values for name, values in axes.items() if name in own and name != key}
    alone = Mistakes("")
    read_table(type(settings), {**own, key: value}, where, alone)
    for values in itertools.product(*others.values()) if alone.sentences else ():
        beside = Mistakes("")
        read_table(type(settings), {**own, **dict(zip(others, values, strict=True)), key: value}, where, beside)
        if not beside.sentences:
            return []
    return alone.sentences


def _plain(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
