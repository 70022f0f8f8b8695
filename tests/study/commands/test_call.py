"""A Python function as the trainer: the same engine, store, race and resumption as for a command."""

import functools
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transferscope import compare
from transferscope.errors import SettingsError
from transferscope.study.commands.call import digest_of

ARMS: dict[str, dict[str, Any]] = {
    "tuned": {"source": "near", "base": 70.0},
    "other": {"source": "far", "base": 61.0},
    "plain": {"source": None, "base": 60.0},
}
NUMBERS = (np.float32, np.int64, float)
MODULE = """
import os, pathlib
def train(source, base, seed, labels=0):
    pathlib.Path("ran", f"{base}-{labels}-{seed}-{os.getpid()}").touch()
    return base + seed / 4 + labels / 100
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a module of the reader."""
    (tmp_path / "ran").mkdir()
    (tmp_path / "my_training.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("my_training", None)


def means(found: Any) -> dict[str, float]:
    table = found.table()
    return dict(zip(table["method"], table["mean"], strict=True))


@pytest.mark.long
def test_a_function_of_a_module_is_called_in_workers_and_only_for_what_is_missing(folder: Path) -> None:
    from my_training import train  # type: ignore[import-not-found]

    asked: dict[str, Any] = {"run": train, "arms": ARMS, "labels": [8, 40], "engine": {"workers": 2}}
    found = compare(seeds=2, **asked)
    assert found.verdict.outcomes == {8: "inconclusive", 40: "inconclusive"}  # two seeds call nothing
    assert means(found)["tuned"] == pytest.approx(70 + 1 / 8 + 0.4)
    names = [one.name.rpartition("-") for one in (folder / "ran").iterdir()]
    assert len(names) == 2 * 3 * 2
    assert str(os.getpid()) not in {process for *_, process in names}
    found = compare(seeds=3, **asked)
    assert found.verdict.outcomes == {8: "helps", 40: "helps"}
    assert len(list((folder / "ran").iterdir())) == 3 * 3 * 2
    assert "Use tuned from near" in str(found.verdict)


def test_a_function_without_a_module_is_called_here_and_races(folder: Path) -> None:
    def train(source: str | None, base: float, seed: int) -> np.ndarray:
        Path("ran", f"{base}-{seed}").touch()
        if base == 61.0 and seed == 0:
            raise ValueError("no convergence")
        rng = np.random.default_rng(seed)
        return np.asarray(base + rng.normal(size=50))

    with pytest.warns(UserWarning, match="no convergence") as warned:
        found = compare(run=train, arms=ARMS, score={"name": "points"})
    if os.environ.get("TRANSFERSCOPE_UNCHECKED"):  # checks of types are calls between the two
        assert warned[0].filename == __file__
    assert found.verdict.outcomes == {0: "helps"}
    assert found.summary.decided[0].covers == "seeds and test examples"
    called = sorted((one.name, one.stat().st_mtime_ns) for one in (folder / "ran").iterdir())
    assert len(called) < 12 * len(ARMS)
    with pytest.warns(UserWarning, match="no convergence"):
        compare(run=train, arms=ARMS, score={"name": "points"})
    assert sorted((one.name, one.stat().st_mtime_ns) for one in (folder / "ran").iterdir()) == called


class Trainer:
    """What a reader may hold the settings of a function in."""

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def __call__(self, source: str | None, base: float, seed: int) -> float:
        return base + self.shift + seed / 10


def _shifted(how: str, shift: float) -> Any:
    """The same lines with another shift, in each place where a function may hold it."""

    def helper() -> float:
        return shift

    def closed(source: str | None, base: float, seed: int) -> float:
        return base + helper() + seed / 10

    def default(source: str | None, base: float, seed: int, shift: float = shift) -> float:
        return base + shift + seed / 10

    array = np.array([shift])

    def with_array(source: str | None, base: float, seed: int, *, shifts: Any = array) -> float:
        return float(base + shifts[0] + seed / 10)

    namespace: dict[str, Any] = {"SHIFT": shift, "__name__": "__main__"}
    exec("def named(source, base, seed):\n    return base + SHIFT + seed / 10", namespace)
    return {
        "closure": closed,
        "default": default,
        "array": with_array,
        "global": namespace["named"],
        "partial": functools.partial(default, shift=shift),
        "object": Trainer(shift),
        "method": Trainer(shift).__call__,
    }[how]


@pytest.mark.parametrize("how", ["closure", "default", "array", "global", "partial", "object", "method"])
def test_what_a_function_holds_in_memory_is_in_its_digest(how: str) -> None:
    one, other = (digest_of(_shifted(how, shift)) for shift in (0.0, 5.0))
    assert one != other
    assert digest_of(_shifted(how, 5.0)) == other


def test_runs_of_functions_that_hold_other_things_are_told_apart(folder: Path) -> None:
    for shift in (0.0, 5.0, 0.0):
        assert means(compare(run=Trainer(shift), arms=ARMS, seeds=2))["tuned"] == pytest.approx(70.05 + shift)


def test_a_lambda_and_numbers_of_numpy_are_taken(folder: Path) -> None:
    arms = {name: {**arm, "base": kind(arm["base"])} for (name, arm), kind in zip(ARMS.items(), NUMBERS, strict=True)}
    found = compare(run=lambda source, base, seed: base + seed / 10, arms=arms, seeds=2)
    assert means(found) == pytest.approx({"tuned": 70.05, "other": 61.05, "plain": 60.05})


def test_what_cannot_be_told_from_another_is_refused(folder: Path) -> None:
    lock = threading.Lock()

    def train(source: str | None, base: float, seed: int) -> float:
        with lock:
            return base

    with pytest.raises(SettingsError, match="lock, whose changes cannot be detected"):
        compare(run=train, arms=ARMS, seeds=2)


@pytest.mark.parametrize(
    ("returned", "words"), [(np.nan, "finite"), ("good", "returned 'good'"), (None, "returned 'None'"), (1.5, "share")]
)
def test_what_is_no_score_is_a_failure_and_the_others_go_on(folder: Path, returned: object, words: str) -> None:
    def train(source: str | None, base: float, seed: int) -> object:
        return returned if base == 61.0 else base / 100 + seed / 1000

    with pytest.warns(UserWarning, match=words):
        found = compare(run=train, arms=ARMS, seeds=3, score={"unit": "share"})
    assert means(found) == {"tuned": pytest.approx(0.701), "plain": pytest.approx(0.601)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arms": {}}, ["no arms"]),
        ({"arms": {"a": {}}}, ["'a'", "source"]),
        ({"arms": {"a": {"source": None, "seed": 1}}}, ["seed", "another name"]),
        ({"arms": {"a": {"source": None, "x": object()}}}, ["'a'", "numbers, text"]),
        ({"score": {"better": "more"}}, ["better"]),
        ({"seeds": 0}, ["seeds"]),
        ({"labels": [0]}, ["labels"]),
        ({"engine": {"workers": 2}}, ["workers", "no module"]),
        ({"target": "digits"}, ["target"]),
        ({"run": None}, ["arms"]),
    ],
)
def test_what_cannot_be_asked_is_refused_before_any_call(
    folder: Path, changes: dict[str, Any], words: list[str]
) -> None:
    def train(**values: object) -> float:
        raise AssertionError

    with pytest.raises(SettingsError) as refused:
        compare(**{"run": train, "arms": ARMS, "seeds": 2, **changes})
    for word in words:
        assert word in str(refused.value)
