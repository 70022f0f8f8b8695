"""Options of commands: what fields of settings declare, and what several commands have, by one name everywhere."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer
from annotated_types import Ge, Le

from transferscope.errors import SettingsError, each_once, refuse_unused, unknown_name
from transferscope.records import declared
from transferscope.settings.questions import LEAST, MOST

MACHINE = "Machine"
NETWORK = "Network"
"""Groups of options in the help."""


def of(
    kind: type, name: str, *flags: str, default: str = "", panel: str | None = None, where: str = "", **more: Any
) -> Any:
    """An option whose range and meaning are those of a field of settings.

    Args:
        kind: The settings, a dataclass whose fields declare them.
        flags: The option, as in "--from"; none for that of the parameter's name.
        default: What the help says of an option that is not given; empty for the default of the field.
        panel: The group of the help.
        where: What follows the meaning, as in " of pre-training".
        more: As for `typer.Option`.
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
        help=f"{one.says.phrase}{where}{bounds}.{f' [{default}]' if default else ''}",
        rich_help_panel=panel,
        **more,
    )


@dataclass(frozen=True)
class Takes:
    """The options that are settings: `training: Annotated[Mapping[str, Any], Takes(TrainingSettings, "steps lr")]`.

    The field holds those that were given, by the names of the settings.

    Attributes:
        kind: As in `of`, with the names of its fields.
        defaults: As `default` in `of`, by name.
        prefix: What stands before the names of the settings in those of the options.
        where: As in `of`.
    """

    kind: type
    names: str
    panel: str | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    where: str = ""

    def parameters(self) -> Iterator[Parameter]:
        """One for each option, None where it is not given."""
        hints: dict[str, Any] = get_type_hints(self.kind)
        for name in self.names.split():
            option = of(self.kind, name, default=self.defaults.get(name, ""), panel=self.panel, where=self.where)
            yield Parameter(
                self.prefix + name,
                Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[hints[name] | None, option],
            )

    def given(self, typed: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that were given, of all parameters by their names."""
        named = {name: typed[self.prefix + name] for name in self.names.split()}
        return {name: value for name, value in named.items() if value is not None}


def parameters_of(options: type) -> Iterator[Parameter]:
    """The parameters of a command, from the fields of its options."""
    hints = get_type_hints(options, include_extras=True)
    for item in fields(options):
        if takes := _taken(hints[item.name]):
            yield from takes.parameters()
        else:
            default = Parameter.empty if item.default is MISSING else item.default
            yield Parameter(item.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[item.name])


def read_options(options: type, typed: Mapping[str, Any]) -> Any:
    """The options of a command from the values of its parameters.

    Raises:
        SettingsError: Values of settings are out of their range, all of them.
    """
    hints = get_type_hints(options, include_extras=True)
    taken = {item.name: _taken(hints[item.name]) for item in fields(options)}
    wrong = [
        f"--{takes.prefix}{name} {value} {why}".replace("_", "-")
        for takes in filter(None, taken.values())
        for name, value in takes.given(typed).items()
        if (why := declared(takes.kind)[name].refusal(value))
    ]
    if wrong:
        raise SettingsError("; ".join(wrong))
    return options(**{name: takes.given(typed) if takes else typed[name] for name, takes in taken.items()})


def _taken(hint: Any) -> Takes | None:
    return next((one for one in get_args(hint) if isinstance(one, Takes)), None)


NetworkDiskOption = Annotated[
    bool,
    typer.Option(
        "--network-disk", help="Allow SQLite on a network disk that one machine uses.", rich_help_panel=MACHINE
    ),
]
StudyName = Annotated[str | None, typer.Option("--study", help="Which study, when a store holds several.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; failures only.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Folder for what is written, or the file.")
]
WidthOption = Annotated[
    Literal["column", "text"] | None,
    typer.Option("--width", help="Write its figures for a paper, too: SVG, PDF, CSV; 3.25 or 5.5 inches wide."),
]
NetworkOption = Annotated[
    str, typer.Option("--network", help="The architecture of files of weights.", rich_help_panel=NETWORK)
]
WidthsOption = Annotated[
    list[int] | None, typer.Option("--widths", help="Its widths, as in 20 50 500. [the usual]", rich_help_panel=NETWORK)
]
InputOption = Annotated[
    str | None,
    typer.Option(
        "--input", help="How networks read, as in size=64,mean=127,std=128. [as they say]", rich_help_panel=NETWORK
    ),
]
HeadOption = Annotated[
    str | None, typer.Option("--head", help="Name of its head, as in classifier.1. [found]", rich_help_panel=NETWORK)
]
TransformsOption = Annotated[
    list[str] | None,
    typer.Option("--transforms", help="Transformations of the data, as in resize:28.", rich_help_panel=NETWORK),
]


def file_in(out: Path | None, name: str) -> Path:
    """The file that is meant by --out: that of this name in a folder, or the one given, if it ends as the name does."""
    place = Path() if out is None else out
    file = place if place.suffix == Path(name).suffix else place / name
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def named_columns(given: Sequence[str] | None, roles: Collection[str]) -> dict[str, str]:
    """Columns by their role, from ROLE=COLUMN.

    Raises:
        SettingsError: One is not written so, is of no role, or a role is given twice.
    """
    columns = pairs("--columns", given or ())
    for role in columns:
        if role not in roles:
            raise unknown_name("role of --columns", role, roles)
    return columns


def pairs(
    option: str, given: Sequence[str], *, at: Callable[[str, str], tuple[str, str, str]] = str.partition
) -> dict[str, str]:
    """Values by name, from NAME=VALUE; a SettingsError where one is not written so or a name is given twice."""
    parts = [at(one, "=") for one in given]
    for name, sign, value in parts:
        if not (name and sign and value):
            raise SettingsError(f"{option} {name}{sign}{value} was given; write it as NAME=VALUE")
    return each_once(((name, value) for name, _, value in parts), f"name of {option}")


def is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was typed."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_others(context: typer.Context, used: Collection[str], why: str) -> None:
    """Refuse options that were given and are not among those that are used, by the names of their parameters."""
    options = [one for one in context.command.params if one.param_type_name == "option" and one.name not in used]
    refuse_unused({one.opts[0]: is_given(context, str(one.name)) for one in options}, why)
