"""Options of commands: those declared by fields of settings, and those common to several commands."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from annotated_types import Ge, Le

from transferscope.cli.complete import Family, Tables, among, keys_among
from transferscope.errors import SettingsError, each_once, refuse_unused, unknown_name
from transferscope.records import declared
from transferscope.settings.data import TargetSettings, TuningSettings
from transferscope.settings.engine import DecisionSettings, EngineSettings, RaceSettings, TrackSettings
from transferscope.settings.questions import LEAST, MOST, Better
from transferscope.settings.training import TrainingSettings


def of(kind: type, name: str, *flags: str, default: str = "", panel: str | None = None, **more: Any) -> Any:
    """Return an option with the range and help of a field of settings.

    Args:
        kind: The settings, a dataclass whose fields declare them.
        flags: The option, as in "--from"; empty for the name of the parameter.
        default: Default shown in the help; empty for that of the field.
        panel: Group in the help.
        more: Further arguments of `typer.Option`.
    """
    one = declared(kind)[name]
    own = next(item.default for item in fields(kind) if item.name == name)
    is_told = not isinstance(own, bool) and own not in (MISSING, None, ())
    default = default or (f"{own:g}" if isinstance(own, float) else str(own) if is_told else "")
    told = [end for end in one.bounds if abs(getattr(end, "ge", 0) or getattr(end, "le", 0)) not in (LEAST, MOST)]
    least: Any = next((bound.ge for bound in told if isinstance(bound, Ge)), None)
    most: Any = next((bound.le for bound in told if isinstance(bound, Le)), None)
    bounds = f", {one.range_in_words}" if told and least is most is None else ""  # of others the help tells
    return typer.Option(
        *flags,
        min=least,
        max=most,
        show_default=False,
        help=f"{one.says.phrase}{bounds}.{f' [{default}]' if default else ''}",
        rich_help_panel=panel,
        **more,
    )


@dataclass(frozen=True)
class Short:
    """A setting with its own option.

    Attributes:
        key: Key as in `--set`.
        kind: Type of the value; None for that of the setting.
        help: Help text; empty for that of the setting.
        default: As in `of`.
        completes: Families whose names complete it.
    """

    key: str
    kind: Any = None
    help: str = ""
    default: str = ""
    completes: tuple[Family, ...] = ()
    least: int | None = None


@dataclass(frozen=True)
class Settings:
    """Options that are settings: `settings: Annotated[Mapping[str, Any], Settings({"training": TrainingSettings})]`.

    The field contains the given ones, as tables of a study file.

    Attributes:
        options: Settings with their own option, by its name.
        example: Example in the help of `--set`.
        panel: Group of `--set` in the help.
    """

    tables: Tables
    options: Mapping[str, Short] = field(default_factory=dict)
    example: str = ""
    panel: str | None = None

    def parameters(self) -> Iterator[Parameter]:
        """Yield one parameter for each option, with None as default, and `--set`."""
        for name, short in self.options.items():
            more: dict[str, Any] = {"autocompletion": among(*short.completes)} if short.completes else {}
            table, _, setting = short.key.rpartition(".")
            declaring = next((one for one in self.tables.get(table, ()) if isinstance(one, type)), object)
            hint = short.kind or _as_list(get_type_hints(declaring)[setting])
            flags = (f"--{name.replace('_', '-')}",) if hint is bool else ()  # no --no-NAME
            if short.help:
                more |= {"help": short.help, "min": short.least, "show_default": False}
                option = typer.Option(rich_help_panel=self.panel, **more)
            else:
                option = of(declaring, setting, *flags, default=short.default, panel=self.panel, **more)
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[hint | None, option])
        if self.tables:
            told = typer.Option(
                metavar="KEY=VALUE ...",
                help=f"Any other setting by its key, as in {self.example}.",
                autocompletion=keys_among(self.tables),
                rich_help_panel=self.panel,
            )
            yield Parameter("set", Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[list[str] | None, told])

    def given(self, typed: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tables of the given options, from all parameters by name."""
        named = {
            short.key: (f"--{name.replace('_', '-')}", typed[name])
            for name, short in self.options.items()
            if typed[name] not in (None, [])
        }
        wrong: list[str] = []
        tables: dict[str, Any] = {}
        for key, (option, value) in named.items():
            table, _, setting = key.rpartition(".")
            kind = next((one for one in self.tables.get(table, ()) if isinstance(one, type)), None)
            for one in value if isinstance(value, list) else [value] if kind is not None else ():
                why = declared(kind)[setting].refusal(one) if kind is not None else ""
                wrong += [f"{option} {one} {why}"] if why else []
            _put(tables, key.split("."), value)
        if typed.get("set"):
            from transferscope.cli.keys import read_set  # with what checks values

            written, mistakes = read_set(typed["set"], self.tables)
            for path, value in written.items():
                if (key := ".".join(path)) in named:
                    wrong.append(f"{named[key][0]} and --set {key} were both given; give one of them")
                _put(tables, path, value)
            wrong += mistakes
        if wrong:
            raise SettingsError("; ".join(wrong))
        return tables


def _as_list(hint: Any) -> Any:
    """Return the type of an option with several values, as a list."""
    several = [get_args(one)[0] for one in (hint, *get_args(hint)) if get_origin(one) is tuple]
    return list[several[0]] if several else hint  # type: ignore[valid-type]


def _put(tables: dict[str, Any], path: Sequence[str], value: object) -> None:
    for name in path[:-1]:
        tables = tables.setdefault(name, {})
    tables[path[-1]] = value


def parameters_of(options: type) -> Iterator[Parameter]:
    """Yield the parameters of a command, from the fields of its options."""
    hints = get_type_hints(options, include_extras=True)
    for item in fields(options):
        if settings := _settings(hints[item.name]):
            yield from settings.parameters()
        else:
            default = Parameter.empty if item.default is MISSING else item.default
            yield Parameter(item.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[item.name])


def settings_of(options: type) -> Settings:
    """Return the settings of a command, which may be empty."""
    hints = get_type_hints(options, include_extras=True)
    return next(filter(None, (_settings(hint) for hint in hints.values())), Settings({}))


def read_options(options: type, typed: Mapping[str, Any]) -> Any:
    """Build the options of a command from its parameters; raises like `Settings.given`."""
    hints = get_type_hints(options, include_extras=True)
    taken = {item.name: _settings(hints[item.name]) for item in fields(options)}
    return options(**{name: one.given(typed) if one else typed[name] for name, one in taken.items()})


def _settings(hint: Any) -> Settings | None:
    return next((one for one in get_args(hint) if isinstance(one, Settings)), None)


NetworkDiskOption = Annotated[
    bool, typer.Option("--network-disk", help="Allow SQLite on a network disk that one machine uses.")
]
StudyName = Annotated[str | None, typer.Option("--study", help="Which study, when a store holds several.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; failures only.")]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="FOLDER", help="Output folder, or file.")]
WidthOption = Annotated[
    Literal["column", "text"] | None,
    typer.Option("--width", help="Write figures for a paper: SVG, PDF, CSV; 3.25 or 5.5 inches wide."),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE=COLUMN ...", help="Columns by role: arm, task, seed, labels. [by name]"),
]
WhereOption = Annotated[list[str] | None, typer.Option(metavar="COLUMN=VALUE ...", help="The rows of a table to keep.")]
BetterOption = Annotated[Better | None, typer.Option(help="Which scores are better. [by name]")]
NetworkOption = Annotated[str, typer.Option("--network", help="The architecture of files of weights.")]
TransformsOption = Annotated[
    list[str] | None, typer.Option("--transforms", help="Transforms of the data, as in resize:28.")
]
OF_NETWORKS = "transferscope.models:NetworkSettings"
OF_STUDIES: Tables = {
    "": ("transferscope.study.spec:Header",),
    "target": (TargetSettings,),
    "sources.NAME": ("transferscope.study.settings:SourceSettings",),
    "network": (OF_NETWORKS,),
    "training": (TrainingSettings,),
    "pretraining": (TrainingSettings, "transferscope.study.spec:FurtherPretraining"),
    "methods.NAME": (),
    "tuning": (TuningSettings,),
    "diagnostics.NAME": (),
    "engine": (EngineSettings,),
    "decision": (DecisionSettings,),
    "race": (RaceSettings,),
    "track": (TrackSettings,),
}
"""The tables of a study file, for `Settings`."""


def file_in(out: Path | None, name: str) -> Path:
    """Return the file of --out: one with this name in a folder, or the given path if it has the same suffix."""
    place = Path() if out is None else out
    file = place if place.suffix == Path(name).suffix else place / name
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def named_columns(given: Sequence[str] | None, roles: Collection[str]) -> dict[str, str]:
    """Parse ROLE=COLUMN arguments."""
    columns = pairs("--columns", given or ())
    for role in columns:
        if role not in roles:
            raise unknown_name("role of --columns", role, roles)
    return columns


def pairs(
    option: str, given: Sequence[str], *, at: Callable[[str, str], tuple[str, str, str]] = str.partition
) -> dict[str, str]:
    """Parse NAME=VALUE arguments; raises SettingsError for another form or a repeated name."""
    parts = [at(one, "=") for one in given]
    for name, sign, value in parts:
        if not (name and sign and value):
            raise SettingsError(f"{option} {name}{sign}{value} is invalid; write NAME=VALUE")
    return each_once(((name, value) for name, _, value in parts), f"name of {option}")


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether an option was given."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_others(context: typer.Context, used: Collection[str], why: str) -> None:
    """Refuse given options that are not used, by the names of their parameters."""
    options = [one for one in context.command.params if one.param_type_name == "option" and one.name not in used]
    refuse_unused({one.opts[0]: is_given(context, str(one.name)) for one in options}, why)
