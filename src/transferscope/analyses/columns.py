"""Which column of a table of scores holds what: named by the reader, or by one of its common names."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from transferscope.analyses.scaling.checks import words_in
from transferscope.analyses.scaling.measurements import FALLING, RISING, Better, known_by
from transferscope.errors import SettingsError, unknown_name
from transferscope.wording import listed

ARM_NAMES = "arm method approach model init initialisation initialization start variant"
SEED_NAMES = "seed seeds run rep repeat repetition trial fold"


_REVERSING = frozenset(("neg", "negative", "negated", "minus", "drop", "gap", "reduction", "improvement"))
"""Words with which the name of a measure means the opposite: neg_log_loss of scikit-learn rises as it gets better."""


@dataclass(frozen=True, slots=True)
class Role:
    """What a column may hold.

    Attributes:
        what: In words, as in "numbers of labels".
        names: Its common names, the usual first, with spaces between them.
        alone: Whether a table with several such columns is asked about, as of measures.
    """

    what: str
    names: str
    alone: bool = False


def columns_by_role(
    frame: pd.DataFrame,
    roles: Mapping[str, Role],
    given: Mapping[str, str | None],
    *,
    optional: Collection[str],
    option: Callable[[str, str], str] = lambda role, column: f"--columns {role}={column or 'COLUMN'}",
) -> tuple[dict[str, str | None], list[str]]:
    """The columns of a table by what they hold, each of one role.

    Args:
        roles: All roles, by name.
        given: The columns that were named, by role; None for one to be found.
        optional: Roles that a table need not have.
        option: How a role is given a column, for messages; without a column, how it is given one.

    Returns:
        A column, or None, for every role; and what was read as what.

    Raises:
        UnknownNameError: A named column does not exist.
        SettingsError: One cannot be found, or several could be one.
    """
    by_name = known_by(frame, "²")
    notes: list[str] = []
    found: dict[str, str | None] = dict.fromkeys(roles)
    taken = {column for column in given.values() if column}
    for role, about in roles.items():
        named = given.get(role)
        if named is not None:
            if named not in frame.columns:
                raise unknown_name("column", named, map(str, frame.columns))
            found[role] = named
            continue
        alike = [[name for name in by_name.get(alias, ()) if name not in taken] for alias in about.names.split()]
        known = [name for names in alike for name in names]
        if not known and role in optional:
            continue
        if about.alone and len(known) > 1:
            raise SettingsError(
                f"the table holds several measures ({listed(known)}); choose one with {option(role, known[0])}"
            )
        twins = [name for name in known if name.lower() == known[0].lower()] if known else []
        if len(twins) > 1:
            raise SettingsError(
                f"the columns {listed(twins)} could both hold {about.what}; choose one with {option(role, twins[0])}"
            )
        if not known:
            raise SettingsError(
                f"the table has no column of {about.what} among {listed([str(name) for name in frame.columns])}; name "
                f"it with {option(role, '')}"
            )
        if known[1:] and known[1] in next(filter(None, alike)):
            raise SettingsError(
                f"the columns {known[0]} and {known[1]} differ in case or signs alone, and either may hold "
                f"{about.what}; name one with {option(role, known[0])}"
            )
        found[role] = known[0]
        taken.add(known[0])
        if known[0] != about.names.split()[0]:
            notes.append(f"{known[0]} was read as the {about.what}")
    return found, notes


def better_of(measure: str, named: Better | None, *, option: str = "--better higher or --better lower") -> Better:
    """Which scores are better: as was said, or by the words in the name of the measure.

    Raises:
        SettingsError: Neither tells.
    """
    words = words_in(measure)
    told: Better | None = named or ("lower" if words & FALLING else "higher" if words & RISING else None)
    if told is None or (named is None and words & _REVERSING):
        raise SettingsError(f"the name {measure} does not tell which scores are better; say it with {option}")
    return told
