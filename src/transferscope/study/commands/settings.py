"""Settings of a study whose trainer is a command, [run] and [arms], parsed with all mistakes reported."""

import itertools
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from transferscope import consent
from transferscope.errors import SettingsError
from transferscope.methods import called_of
from transferscope.records import Count, Positive, Says, check_settings
from transferscope.settings.data import check_distinct
from transferscope.settings.engine import DecisionSettings, EngineSettings, RaceSettings, TrackSettings
from transferscope.store import without_password
from transferscope.study.commands.call import Call
from transferscope.study.commands.filled import OWN, Job, is_file, placeholders
from transferscope.study.measure import Measure
from transferscope.study.places import default_store, read_toml
from transferscope.study.spec import (
    LONGEST_NAME,
    NOTHING,
    StudySpec,
    check_names,
    places_seen_from,
    read_header,
    read_spec,
    with_settings,
)
from transferscope.study.spec import TABLES as ALL_METHOD_TABLES
from transferscope.study.tables import Mistakes, read_table
from transferscope.wording import candidate_words

OWN_TABLES = ("run", "arms")
SHARED_TABLES = ("engine", "decision", "race", "track")
TABLES = (*OWN_TABLES, *SHARED_TABLES)
"""The tables of a study file of commands; those of methods may stand beside them."""

METHOD_TABLES = tuple(name for name in ALL_METHOD_TABLES if name not in SHARED_TABLES)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """A command as the trainer, the table [run] of a study file."""

    score: Annotated[
        str | None,
        Says(
            'Score of a run, as "FILE:KEY"',
            'FILE is a JSON file that the command writes into {out}, KEY the key of a number in it; "a.b" is the key b '
            "in the table a. None beside [methods], where all runs are judged by `predictions` in the measure of "
            "[target].",
        ),
    ] = None
    command: Annotated[
        str | None,
        Says(
            "Command of a run, with placeholders in braces",
            "They are {seed}, {labels}, {out} (a new folder for what the run writes), {source} (empty for an arm "
            "without one), and those that the arms give values for. It is started in the folder of the study file. An "
            "arm may have a command of its own.",
        ),
    ] = None
    better: Annotated[Literal["higher", "lower"], Says('Whether a "higher" or a "lower" score is better')] = "higher"
    unit: Annotated[
        str,
        Says(
            'Unit of the score, as in "%" or "EUR"',
            '"share" for a share of 1, which is shown in percent; none if not given.',
        ),
    ] = ""
    name: Annotated[str | None, Says("Name of the score in tables and sentences", "Its key if not given.")] = None
    labels: Annotated[
        tuple[Count, ...],
        Says("Numbers of labels, the values of {labels}", "If not given, runs learn from all there are."),
    ] = ()
    predictions: Annotated[
        str | None,
        Says(
            "CSV file that the command writes into {out}, with a row for each test example",
            "It has the columns prediction and label, or a column score whose mean is the score. Claims then hold for "
            "other test examples too; without it for this test set. Beside [methods] it is needed, with "
            "prediction and label of each test example of [target] in its order.",
        ),
    ] = None
    files: Annotated[
        tuple[str, ...],
        Says(
            "Further files that runs depend on",
            'As in ["*.py", "data/*.csv"]. After a change of any, runs are made again.',
        ),
    ] = ()
    timeout: Annotated[Positive | None, Says("Timeout of a run, in minutes", "None for a day.")] = None
    shell: Annotated[
        bool,
        Says(
            "Whether a shell reads the command, so that pipes and variables work",
            "It gets values in quotes, so write placeholders without.",
        ),
    ] = False

    def __post_init__(self) -> None:
        check_settings(self)
        file, _, key = (self.score or "").partition(":")
        for setting, path in (("score", None if self.score is None else file), ("predictions", self.predictions)):
            if path is not None and (not path or Path(path).is_absolute() or ".." in Path(path).parts):
                raise SettingsError(f"{setting} = {path!r}; expected a file in the folder {{out}} of a run")
        if self.score is not None and not key:
            raise SettingsError(f'score = "{self.score}"; expected "FILE:KEY", as in "results.json:accuracy"')
        check_distinct(labels=self.labels)
        for setting, text in (("unit", self.unit), ("name", self.name or "")):
            if not text.isprintable() or len(text) > LONGEST_NAME:
                raise SettingsError(f"{setting} = {text[:LONGEST_NAME]!r}; expected a short printable text")

    @property
    def measure(self) -> Measure:
        """The metric of runs with a score of their own."""
        assert self.score is not None
        key = self.score.partition(":")[2]
        return Measure(self.name or key, self.unit, self.better == "higher", key)


_UNSAID = {item.name: item.default for item in fields(RunSettings)}


@dataclass(frozen=True, slots=True)
class CommandArm:
    """One arm of a study of commands.

    Attributes:
        method: Name of the table with the values that distinguish the arm, as in "lora rank=8".
        source: Name of the source; None for a baseline.
        job: Its command with its values, without digests of files; or its function calls.
    """

    table: str
    method: str
    source: str | None
    job: Job | Call


@dataclass(frozen=True)
class CommandSpec:
    """A study whose trainer is a command, alone or together with methods of transferscope.

    Attributes:
        seeds: The seeds, distinct, each at least 0.
        decision: Decision settings.
        race: Settings of the race, which makes only informative runs; None to make all.
        files: As in `StudySpec`.
        beside: The study of the methods, with their target; None for none.
    """

    name: str
    seeds: tuple[int, ...]
    run: RunSettings
    arms: tuple[CommandArm, ...]
    engine: EngineSettings
    decision: DecisionSettings
    race: RaceSettings | None
    store: str
    track: TrackSettings | None = None
    files: str | None = None
    beside: StudySpec | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods and the arms of commands by name."""
        own = () if self.beside is None else self.beside.methods
        return tuple(dict.fromkeys([*own, *(arm.method for arm in self.arms)]))

    def as_json(self) -> dict[str, Any]:
        """Return the study as JSON values with defaults, without the store's password."""
        return {
            **({} if self.beside is None else self.beside.as_json()),
            "name": self.name,
            "seeds": list(self.seeds),
            "run": asdict(self.run),
            "arms": [
                {"method": arm.method, "source": arm.source, "command": arm.job.command, "values": dict(arm.job.values)}
                for arm in self.arms
            ],
            "engine": asdict(self.engine),
            "decision": asdict(self.decision),
            "race": None if self.race is None else asdict(self.race),
            "store": without_password(self.store),
            "files": self.files,
        }


def read_commands(path: Path, *, given: Mapping[str, Any] = NOTHING) -> CommandSpec:
    """Read the study in a file with a command; naming the file allows its execution.

    Settings and errors are those of `study.spec.read_spec`.
    """
    tables = with_settings(read_toml(path), given)
    beside = read_spec(path, but=OWN_TABLES, given=given) if "methods" in tables else None
    spec = parse_commands(tables, folder=path.parent.absolute(), beside=beside, place=str(path))
    for arm in spec.arms:
        consent.allow(arm.job.reference)
    return replace(spec, **places_seen_from(path, store=spec.store, files=spec.files, track=spec.track))


def parse_commands(
    tables: Mapping[str, Any], *, folder: Path, beside: StudySpec | None = None, place: str = "the study"
) -> CommandSpec:
    """Parse the study in tables of a study file whose trainer is a command.

    Args:
        folder: Absolute path of the folder in which commands run.
        beside: The parsed study of the methods, if there are any.

    Raises:
        SettingsError: The file has mistakes; the message lists all of them.
    """
    mistakes = Mistakes(place)
    of_methods = [name for name in METHOD_TABLES if name in tables]
    if of_methods and beside is None:
        mistakes.add(
            f"[{of_methods[0]}] is of methods that transferscope trains, and there are none; add [methods.NAME], or "
            "leave it out: numbers of labels of commands are in [run]"
        )
    if "recipe" in tables and beside is None:
        mistakes.add(f"recipe = {tables['recipe']!r} is of methods that transferscope trains; leave it out")
    head = read_header({name: value for name, value in tables.items() if name not in of_methods}, TABLES, mistakes)
    run = read_table(RunSettings, tables.get("run", {}), "[run]", mistakes)
    if run is not None:
        mistakes.sentences.extend(_unjudged(run, beside))
    engine = read_table(EngineSettings, tables.get("engine", {}), "[engine]", mistakes)
    if run is not None and run.timeout is not None and engine is not None:
        if "timeout" in tables.get("engine", {}):
            mistakes.add("[run] and [engine] both give timeout, which are the same; give it in [run] alone")
        engine = replace(engine, timeout=run.timeout)
    track = read_table(TrackSettings, tables["track"], "[track]", mistakes) if "track" in tables else None
    decision = read_table(DecisionSettings, tables.get("decision", {}), "[decision]", mistakes)
    race = read_table(RaceSettings, tables["race"], "[race]", mistakes) if "race" in tables else None
    arm_tables = tables.get("arms")
    if not isinstance(arm_tables, Mapping) or not arm_tables:
        mistakes.add("there are no arms; add a table for each, as in [arms.NAME]")
        arm_tables = {}
    check_names("arms", arm_tables, mistakes)
    arms: list[CommandArm] = []
    if run is not None:
        for name, table in arm_tables.items():
            before = len(mistakes.sentences)
            own = list(_arms(name, table, run, folder, mistakes))
            arms += own
            if head is not None and len(mistakes.sentences) == before:
                _check_named(own, several_seeds=len(head.all_seeds) > 1, run=run, beside=beside, mistakes=mistakes)
    _check_distinct(arms, mistakes)
    if beside is not None:
        called = called_of(beside.methods)
        for arm, name in itertools.product(arms, beside.methods):
            if arm.method in (name, *called.get(name, ())):
                mistakes.add(f"[arms.{arm.table}] is called as [methods.{name}]; give one another name")
    mistakes.raise_any()
    assert head is not None
    assert run is not None
    assert engine is not None
    assert decision is not None
    store = head.store or default_store(head.name)
    return CommandSpec(
        head.name, head.all_seeds, run, tuple(arms), engine, decision, race, store, track, head.files, beside
    )


def _unjudged(run: RunSettings, beside: StudySpec | None) -> Iterator[str]:
    """Yield reasons why runs do not share one metric and, together with methods, the same test examples."""
    if beside is None:
        if run.score is None:
            yield '[run] names no score; give the file and key of it, as in score = "results.json:accuracy"'
        return
    given = [name for name in ("score", "better", "unit", "name", "labels") if getattr(run, name) != _UNSAID[name]]
    if given:
        yield (
            f"[run] gives {given[0]}, and [methods] are judged on the test examples of [target], with its labels; drop "
            'it: all runs are judged alike by predictions = "FILE.csv" of the command'
        )
    if run.predictions is None:
        yield (
            "[run] names no predictions, so the test examples of the command are unknown; let it write a row "
            'with prediction and label for each test example of [target], as in predictions = "predictions.csv"'
        )


def _arms(name: str, table: object, run: RunSettings, folder: Path, mistakes: Mistakes) -> Iterator[CommandArm]:
    """Yield the arms of one table: one for each combination of the values that are lists."""
    where = f"[arms.{name}]"
    if not isinstance(table, Mapping):
        mistakes.add(f"{where} is {table!r}; write a line {where}, and its values below it")
        return
    values = dict(table)
    command, without = values.pop("command", run.command), values.pop("without_source", False)
    if not isinstance(command, str) or not command.strip():
        mistakes.add(f"{where} has no command; give one in [run], or in {where}")
        return
    if not isinstance(without, bool):
        mistakes.add(f"{where} without_source = {without!r} is of the wrong type; expected true or false")
        return
    if without == ("source" in values):
        mistakes.add(
            f"{where} has both a source and without_source = true; leave one out"
            if without
            else f'{where} has neither a source nor without_source; give source = "...", or without_source = true'
        )
        return
    axes = {key: value if isinstance(value, list) else [value] for key, value in values.items()}
    try:
        wanted = placeholders(command)
        _check_program(command, folder, shell=run.shell)
        _check_values(axes, wanted)
    except SettingsError as error:
        mistakes.add(f"{where} {error}")
        return
    several = [key for key, choices in axes.items() if len(choices) > 1 and key != "source"]
    for one in itertools.product(*axes.values()):
        filled = dict(zip(axes, one, strict=True))
        method = " ".join([name, *(f"{key}={filled[key]}" for key in several)])
        source = None if without else str(filled["source"])
        job = Job(
            command,
            {"source": "", **filled},
            run.shell,
            str(folder),
            {},
            run.score,
            run.unit == "share",
            run.predictions,
        )
        try:
            job.words({"n_target": 1, "seed": 0}, out="out")
            job.check_quotes()
        except (ValueError, KeyError, TypeError) as error:
            mistakes.add(f"{where} its command cannot be filled in: {error}")
            return
        yield CommandArm(name, method, source, job)


def _check_program(command: str, folder: Path, *, shell: bool) -> None:
    """Refuse a command that cannot be split into words, or whose program is neither on the PATH nor a file."""
    if shell:
        return
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SettingsError(f"command = {command!r} is invalid ({error}); close the quotes") from error
    program = words[0] if words else ""
    if not placeholders(program) and shutil.which(program) is None and shutil.which(str(folder / program)) is None:
        hint = "make it executable (chmod +x)" if is_file(folder / program) else "give its path"
        raise SettingsError(f"command begins with {program[:LONGEST_NAME]!r}, which is not a program on PATH; {hint}")


def _check_values(axes: Mapping[str, list[object]], wanted: set[str]) -> None:
    """Refuse unused values, values that are neither text nor numbers, and a command that lacks values."""
    for key, choices in axes.items():
        if key in OWN:
            raise SettingsError(f"gives {key}, which the engine fills in; use another name")
        if not choices:
            raise SettingsError(f"{key} = [] is empty; give the values to try")
        for value in choices:
            if not isinstance(value, str | int | float) or isinstance(value, bool):
                raise SettingsError(f"{key} holds {value!r}; expected text or numbers")
            if "\0" in str(value) or (key == "source" and not str(value).strip()):
                raise SettingsError(f"{key} has the value {value!r}; expected a non-empty text without null characters")
        if len(set(map(str, choices))) < len(choices):
            raise SettingsError(f"{key} = {choices} contains the same value twice; give each once")
        if key not in wanted and key != "source":
            raise SettingsError(f"gives {key}, and its command has no {{{key}}}; use it there, or drop it")
    if missing := wanted - set(axes) - {*OWN, "source"}:
        raise SettingsError(f"gives no value for {{{min(missing)}}} of its command")


def _check_named(
    arms: list[CommandArm], *, several_seeds: bool, run: RunSettings, beside: StudySpec | None, mistakes: Mistakes
) -> None:
    """Check that the command of the arms of one table names everything in which its runs differ."""
    table, wanted = arms[0].table, placeholders(arms[0].job.command)
    if several_seeds and "seed" not in wanted:
        mistakes.add(
            f"[arms.{table}] its command has no {{seed}}, so that its runs would be one and the same; give it, as in "
            "--seed {seed}, or seeds = 1"
        )
    numbers = run.labels if beside is None else beside.target.labels
    if "rows" in wanted and beside is None:
        mistakes.add(f"[arms.{table}] its command has {{rows}}, which are those of a [target] with [methods]; drop it")
    if "labels" in wanted and beside is None and not run.labels:
        mistakes.add(f"[arms.{table}] its command has {{labels}}; say which in [run], as in labels = [100, 1000]")
    if len(numbers) > 1 and not wanted & {"labels", "rows"}:
        mistakes.add(
            f"[arms.{table}] its command has no {{labels}}, and there are several numbers of labels; give it, or one "
            "number"
        )
    if "out" not in wanted:
        mistakes.add(
            f"[arms.{table}] its command has no {{out}}, the folder where the score is looked for; give it, as in "
            "--out {out}"
        )


def _check_distinct(arms: list[CommandArm], mistakes: Mistakes) -> None:
    commands: dict[str, CommandArm] = {}
    names: dict[str, CommandArm] = {}
    for arm in arms:
        words = str(arm.job.words({"n_target": 1, "seed": 0}, out="{out}"))
        twin = commands.setdefault(words, arm)
        if twin is not arm:
            of = f"[arms.{twin.table}]" if twin.table == arm.table else f"[arms.{twin.table}] and [arms.{arm.table}]"
            mistakes.add(f"{of} would run one and the same command twice; let its values differ, or drop one")
            continue
        name = candidate_words(arm.method, arm.source)
        if names.setdefault(name, arm) is not arm:
            mistakes.add(f'[arms.{arm.table}] would be called "{name}", as another arm; give one another name')
