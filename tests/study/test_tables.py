from dataclasses import dataclass, field

import pytest

from transferscope.errors import SettingsError
from transferscope.study.tables import Mistakes, read_table, setting_names, settings_of


@dataclass(frozen=True)
class Part:
    widths: tuple[int, ...] = ()
    grid: dict[str, tuple[float, ...]] = field(default_factory=dict)
    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise SettingsError(f"share = {self.share} is out of range; expected above 0 and at most 1")


def mistakes_of(table: object) -> list[str]:
    mistakes = Mistakes("x.toml")
    assert read_table(Part, table, "[part]", mistakes) is None
    return mistakes.sentences


def test_lists_become_tuples_and_defaults_are_filled_in() -> None:
    mistakes = Mistakes("x.toml")
    found = read_table(Part, {"widths": [1, 2], "grid": {"lr": [0.1, 1]}}, "[part]", mistakes)
    assert found == Part((1, 2), {"lr": (0.1, 1.0)}, 0.5)
    mistakes.raise_any()


def test_types_are_strict() -> None:
    assert mistakes_of({"share": "0.5"}) == ['[part] share = "0.5" is of the wrong type; expected a number']
    assert mistakes_of({"share": True}) == ["[part] share = true is of the wrong type; expected a number"]
    assert mistakes_of({"widths": [1.5]}) == [
        "[part] widths holds 1.5, which is of the wrong type; expected a whole number"
    ]
    assert mistakes_of({"share": float("inf")}) == [
        "[part] share = Infinity is of the wrong type; expected a finite number"
    ]
    assert mistakes_of({"grid": 3}) == ["[part] grid = 3 is of the wrong type; expected a table"]


def test_all_that_is_wrong_in_a_table_is_said() -> None:
    assert mistakes_of({"width": [1], "share": "x"}) == [
        "[part] unknown key 'width': did you mean 'widths'? known are grid, share, widths",
        '[part] share = "x" is of the wrong type; expected a number',
    ]


def test_the_checks_of_the_settings_themselves_run() -> None:
    assert mistakes_of({"share": 2}) == ["[part] share = 2.0 is out of range; expected above 0 and at most 1"]


def test_stored_settings_come_back_or_say_what_is_wrong() -> None:
    assert settings_of(Part, {"widths": [3], "grid": {}, "share": 1.0}) == Part((3,), {}, 1.0)
    with pytest.raises(SettingsError) as error:
        settings_of(Part, {"depth": 3})
    assert str(error.value) == "a stored Part: unknown key 'depth': known are grid, share, widths"
    assert setting_names(Part) == ["widths", "grid", "share"]
