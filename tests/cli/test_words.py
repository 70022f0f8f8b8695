import pytest

from transferscope.cli.words import duration, name_of
from transferscope.store import PlannedCell
from transferscope.store.rows import Label


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (8.4, "8 s"),
        (59.4, "59 s"),
        (59.9, "1 min"),
        (719, "12 min"),
        (3599, "1 h"),
        (12000, "3 h 20 min"),
        (172800, "48 h"),
    ],
)
def test_durations_are_rounded_to_what_a_person_wants_to_know(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_cell_is_named_by_what_sets_it_apart() -> None:
    labels: dict[str, Label] = {
        "source": "fashion",
        "method": "fine-tune",
        "n_target": 600,
        "n_source": 60000,
        "seed": 2,
    }
    assert name_of(PlannedCell("k", "method", labels, {})) == "fine-tune from fashion, 600 labels, seed 2"
    labels = {"source": None, "method": "scratch", "n_target": 600, "n_source": 0, "seed": 2}
    assert name_of(PlannedCell("k", "method", labels, {})) == "scratch, 600 labels, seed 2"
