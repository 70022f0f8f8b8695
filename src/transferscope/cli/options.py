"""Options that several commands have: one name means the same in all of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from transferscope.errors import SettingsError, each_once, refuse_unused, unknown_name


class Better(StrEnum):
    """Which scores are better."""

    LOWER = "lower"
    HIGHER = "higher"


class Wide(StrEnum):
    """What the columns of a wide table are of."""

    ARMS = "arms"
    LABELS = "labels"


MACHINE = "Machine"
NETWORK = "Network"
"""Groups of options in the help."""

WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", help="Runs at a time; 0: in this process. [by machine]", rich_help_panel=MACHINE),
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", help="Threads of each process. [1]", rich_help_panel=MACHINE)
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", help="auto, cpu, cuda, cuda:N or mps. [auto]", rich_help_panel=MACHINE)
]
BackendOption = Annotated[
    str | None,
    typer.Option("--backend", help="Where runs are made: local, inline or ray. [local]", rich_help_panel=MACHINE),
]
NetworkDiskOption = Annotated[
    bool,
    typer.Option(
        "--network-disk", help="Allow SQLite on a network disk that one machine uses.", rich_help_panel=MACHINE
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", help="Of a Ray cluster: auto or HOST:PORT. [RAY_ADDRESS]", rich_help_panel=MACHINE),
]
StudyName = Annotated[str | None, typer.Option("--study", help="Which study, when a store holds several.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; failures only.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Folder for what is written, or the file.")
]
BetterOption = Annotated[Better | None, typer.Option("--better", help="Which scores are better. [by name and trend]")]
TargetScoreOption = Annotated[
    float | None, typer.Option("--target-score", help="The score that is wanted, in its unit.")
]
CostLabelOption = Annotated[float | None, typer.Option("--cost-label", help="Cost of a labelled target example.")]
CostRunOption = Annotated[float | None, typer.Option("--cost-run", help="Cost of a run of training.")]
KeepOption = Annotated[
    str | None,
    typer.Option("--keep", help="Trained networks that stay: winners, all or none. [winners]", rich_help_panel=MACHINE),
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
    found = pairs("--columns", given or ())
    for role in found:
        if role not in roles:
            raise unknown_name("role of --columns", role, roles)
    return found


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


def given_values(**options: int | float | str | None) -> Mapping[str, int | float | str]:
    """Those that were given."""
    return {name: value for name, value in options.items() if value is not None}
