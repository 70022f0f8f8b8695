"""Choice of the diagnostics for a network from a file, and their settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transferscope.analyses.diagnose.subject import FileSubject, Lack
from transferscope.diagnostics import DIAGNOSTICS, Diagnostic
from transferscope.errors import SettingsError, each_once
from transferscope.study.tables import Mistakes, read_table

_REFUSALS: Mapping[Lack, str] = {
    "start": "compares a network with where it started; give it with --against",
    "source": "compares two tasks; give the source data with --from",
}

Changes = Mapping[str, Mapping[str, Any]]
"""Settings to change, by diagnostic."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A diagnostic to consider.

    Attributes:
        lacks: Reason why it is not measured; None if it is.
        wanted: Whether it was requested, by its name or by one of its settings.
    """

    diagnostic: Diagnostic
    lacks: Lack | None = None
    wanted: bool = False


def choose(names: Sequence[str], changes: Changes, looked_at: FileSubject, *, of_others: bool = False) -> list[Choice]:
    """Return the diagnostics to measure, including those that are left out.

    Args:
        names: The requested diagnostics, with their own settings; empty for all that apply, with `quick` settings,
            except those with many passes through a (slow) network of another package.
        changes: Settings to change, by diagnostic, which counts as requested.
        of_others: Whether the network is from another package.

    Raises:
        UnknownNameError: A diagnostic or setting does not exist.
        SettingsError: A value has the wrong type, is out of range, or belongs to a diagnostic that is not measured; or
        a requested diagnostic does not apply.
    """
    choices = []
    for name, one in make_diagnostics(names, changes).items():
        lacks, wanted = looked_at.lacks(one), name in {*names, *changes}
        if lacks is not None and wanted:
            raise SettingsError(f"{one.name} {_REFUSALS[lacks]}")
        many_passes = of_others and one.quick and one.looks_at != "data"
        choices.append(Choice(one, lacks or ("passes" if many_passes and not wanted else None), wanted=wanted))
    return choices


def make_diagnostics(names: Sequence[str], changes: Changes) -> dict[str, Diagnostic]:
    """Return the diagnostics for `choose`, by name; raises like `choose` for invalid settings."""
    for name in (*names, *changes):
        DIAGNOSTICS[name]
    spare = [name for name in changes if names and name not in names]
    if spare:
        raise SettingsError(f"settings of {spare[0]} are given, but it is not measured; add it, or leave them out")
    mistakes = Mistakes("the diagnostics")
    made = {
        name: read_table(
            DIAGNOSTICS[name],
            {**({} if name in names else DIAGNOSTICS[name].quick), **changes.get(name, {})},
            f"[{name}]",
            mistakes,
        )
        for name in (dict.fromkeys(names) or DIAGNOSTICS.own)
    }
    mistakes.raise_any()
    by_name = {name: diagnostic for name, diagnostic in made.items() if diagnostic is not None}
    each_once(((one.name, name) for name, one in by_name.items()), "name of a diagnostic")  # its files have this name
    return by_name
