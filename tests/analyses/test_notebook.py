"""Progress in a notebook: a bar that is updated in place; elsewhere, and where the caller shows it, nothing."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from transferscope.analyses.notebook import shown_in_notebook, stopped_words
from transferscope.records import Failure
from transferscope.store import PlannedCell
from transferscope.study.run import CellFailed, CellsStopped, StudyProgress, ignore


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What a notebook with IPython would show: ("display" or "update", HTML)."""
    shown: list[tuple[str, str]] = []

    class Handle:
        def display(self, drawn: str) -> None:
            shown.append(("display", drawn))

        def update(self, drawn: str) -> None:
            shown.append(("update", drawn))

    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    display: Any = ModuleType("IPython.display")
    display.HTML, display.DisplayHandle = str, Handle
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr("transferscope.analyses.notebook._SECONDS_BETWEEN", 1000.0)
    return shown


@pytest.mark.parametrize(
    ("roles", "resumes", "again"),
    [(["method"], True, False), (["command"], False, True), (["pretrain", "command"], True, True)],
)
def test_a_command_that_was_stopped_is_not_said_to_go_on(roles: list[Any], resumes: bool, again: bool) -> None:
    labels: dict[str, Any] = {"method": "a", "source": None, "n_target": 5, "seed": 0}
    said = stopped_words(CellsStopped(tuple(PlannedCell(role, role, labels, {}) for role in roles)))
    assert ("resumes" in said, "starts again" in said) == (resumes, again)


def test_a_notebook_shows_one_bar_and_failures_as_text(displayed: list[tuple[str, str]]) -> None:
    show = shown_in_notebook(ignore)
    show(StudyProgress(1, 0, 1, 4, (90.0, 90.0)))
    show(StudyProgress(2, 0, 1, 4, (60.0, 60.0)))  # too soon after the one before
    cell = PlannedCell("k", "method", {"method": "<b>", "source": None, "n_target": 5, "seed": 0}, {})
    show(CellFailed(cell, Failure("exception", "a & b")))
    show(StudyProgress(2, 1, 1, 4, (30.0, 30.0)))
    show(StudyProgress(3, 1, 0, 4, (0.0, 0.0)))
    assert [way for way, _ in displayed] == ["display", "update", "update"]
    assert displayed[0][1].startswith('<progress value="1" max="4"></progress> 1 of 4 runs done, about ')
    assert displayed[2][1] == (
        '<progress value="4" max="4"></progress> 3 of 4 runs done, 1 failed<br>&lt;b&gt;, 5 labels, seed 0 failed: '
        "a &amp; b"
    )


def test_what_the_caller_shows_is_left_to_them(displayed: list[tuple[str, str]]) -> None:
    own: list[object] = []
    assert shown_in_notebook(own.append) == own.append


@pytest.mark.parametrize("shell", [None, SimpleNamespace()], ids=["plain Python", "IPython in a terminal"])
def test_elsewhere_nothing_is_shown(shell: object, monkeypatch: pytest.MonkeyPatch) -> None:
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert shown_in_notebook(ignore) is ignore
    monkeypatch.delitem(sys.modules, "IPython")
    assert shown_in_notebook(ignore) is ignore
