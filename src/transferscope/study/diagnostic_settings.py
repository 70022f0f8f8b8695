"""What a study looks at in its trained networks: one table for each diagnostic."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from transferscope.diagnostics import DIAGNOSTICS, Diagnostic
from transferscope.errors import SettingsError, unknown_name
from transferscope.study.tables import Mistakes, read_table, setting_names, settings_of

Moment = Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class WhenAndWhere:
    """Which networks a diagnostic looks at, and on which examples.

    Attributes:
        at: "start" (before training, under the new head), "end", or both.
        every: Steps between two looks along training, start and end included, at least 1; None for those of `at`.
        examples: Examples to measure on, at least 1: the first training examples, or test examples spread evenly.
        part: "target_train" or "target_test".

    Raises:
        SettingsError: A value is out of its range.
    """

    at: tuple[Moment, ...] = ("end",)
    every: int | None = None
    examples: int = 600
    part: Literal["target_train", "target_test"] = "target_train"

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not self.at or len(set(self.at)) < len(self.at):
            raise SettingsError(f'at = {list(self.at)}; expected ["start"], ["end"] or ["start", "end"]')
        if self.examples < 1 or (self.every is not None and self.every < 1):
            raise SettingsError(f"every = {self.every} and examples = {self.examples}; expected at least 1")

    def wants(self, step: int | None) -> bool:
        """Whether to look at the network of a step; 0 is the start and None the end."""
        if step is None:
            return "end" in self.at or self.every is not None
        return (step == 0 and "start" in self.at) or (self.every is not None and step % self.every == 0)


@dataclass(frozen=True, slots=True)
class DiagnosticSettings:
    """A diagnostic of a study.

    Attributes:
        diagnostic: With its settings.
        look: Which networks and examples it looks at.
    """

    diagnostic: Diagnostic
    look: WhenAndWhere

    def as_json(self) -> dict[str, Any]:
        """The settings as JSON values."""
        kind = type(self.diagnostic)
        settings = {name: getattr(self.diagnostic, name) for name in setting_names(kind)}
        return {"name": DIAGNOSTICS.reference(kind), "settings": settings, "look": asdict(self.look)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The settings that `as_json` wrote down."""
        diagnostic = settings_of(DIAGNOSTICS[plain["name"]], plain["settings"])
        return cls(diagnostic, settings_of(WhenAndWhere, plain["look"]))


def read_diagnostics(found: object, mistakes: Mistakes) -> dict[str, DiagnosticSettings]:
    """The diagnostics of a study file.

    Args:
        found: A list of names, or one table for each: its own settings beside those of `WhenAndWhere`, and
            `diagnostic` for a table of another name.
        mistakes: Where to note what is wrong.

    Returns:
        The diagnostics by the name of their table.
    """
    if isinstance(found, list):
        found = {str(name): {} for name in found}
    if not isinstance(found, Mapping):
        mistakes.add('diagnostics is neither a list of names, as in ["weights", "curvature"], nor a group of tables')
        return {}
    read = {name: _read_one(str(name), table, mistakes) for name, table in found.items()}
    return {name: settings for name, settings in read.items() if settings is not None}


def _read_one(name: str, table: object, mistakes: Mistakes) -> DiagnosticSettings | None:
    where = f"[diagnostics.{name}]"
    if not isinstance(table, Mapping):
        read_table(WhenAndWhere, table, where, mistakes)
        return None
    kind = table.get("diagnostic", name)
    try:
        if not isinstance(kind, str):
            raise unknown_name("diagnostic", str(kind), DIAGNOSTICS)
        wanted = DIAGNOSTICS[kind]
    except SettingsError as error:
        mistakes.add(f"{where} {error}")
        return None
    look_keys = setting_names(WhenAndWhere)
    look = read_table(WhenAndWhere, {k: v for k, v in table.items() if k in look_keys}, where, mistakes)
    own = {key: value for key, value in table.items() if key not in (*look_keys, "diagnostic")}
    diagnostic = read_table(wanted, own, where, mistakes)
    return None if look is None or diagnostic is None else DiagnosticSettings(diagnostic, look)
