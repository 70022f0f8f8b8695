"""What a study will take, said before it is run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from transferscope.cli import execute
from transferscope.data.task import LabelledSet
from transferscope.errors import TransferscopeError
from transferscope.methods import AllLayersProbe, Raw
from transferscope.store import PlannedCell, Store
from transferscope.study import estimate
from transferscope.study.estimate import StudyEstimate, estimate_study
from transferscope.study.plan import plan_study
from transferscope.study.run import run_study
from transferscope.study.settings import EngineSettings
from transferscope.study.spec import StudySpec, parse_spec
from transferscope.study.status import Kind

SLOW = """
import time
from dataclasses import dataclass
from typing import ClassVar

from transferscope.methods import Scratch


@dataclass(frozen=True)
class Slow(Scratch):
    name: ClassVar[str] = "slow"
    twin: int = 0

    def regulariser(self, own):
        def regularised(loss, features):
            time.sleep(0.03)
            return loss

        return regularised
"""


@pytest.fixture
def spec(tmp_path: Path) -> StudySpec:
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    x = (np.eye(3)[y] * 2 + rng.normal(size=(120, 3))).astype(np.float32)
    np.savez(tmp_path / "x.npz", x_train=x[:60], y_train=y[:60], x_test=x[60:], y_test=y[60:])
    (tmp_path / "slow.py").write_text(SLOW)
    return parse_spec(tables(tmp_path))


def tables(folder: Path, **changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "name": "s",
        "seeds": 2,
        "target": {"data": f"npz:{folder / 'x.npz'}", "labels": [30]},
        "network": {"name": "mlp", "widths": [4]},
        "training": {"steps": 50},
        "methods": {"slow": {"method": f"{folder / 'slow.py'}:Slow"}},
        "engine": {"workers": 0, "device": "cpu"},
    }
    return plain | changes


def test_steps_are_timed_and_counted(spec: StudySpec, tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.sqlite") as store:
        found = estimate_study(plan_study(spec).cells, store, "s", spec.engine)
        grid = {"slow": {"lr": [0.01, 0.1, 0.2]}}
        tuned = parse_spec(tables(tmp_path, tuning={"trials": 3, "folds": 2, "search": "full", "grid": grid}))
        longer = estimate_study(plan_study(tuned).cells, store, "s", tuned.engine)
    assert found.n_cells == 2
    assert found.seconds is not None
    assert found.each == {Kind("method", "slow"): pytest.approx(found.seconds / 2)}
    assert longer.seconds is not None
    assert 2 * 50 * 0.03 <= found.seconds <= 10 * 2 * 50 * 0.03  # the machine may have other work
    assert longer.seconds >= (1 + 3 * 2) * 2 * 50 * 0.03  # three settings on two folds before each run
    assert found.memory is not None
    assert found.memory > 2**20
    network = 4 * (3 * 4 + 4 + 4 * 3 + 3)  # one network stays, that of the lowest seed
    assert found.disk == pytest.approx(network + 2 * (4096 + 4 * 60))


PREPARED = """
import time
from dataclasses import dataclass
from typing import ClassVar

from transferscope.methods import Scratch


@dataclass(frozen=True)
class Prepared(Scratch):
    name: ClassVar[str] = "prepared"

    def regulariser(self, own):
        time.sleep(0.4)
        return lambda loss, features: loss
"""


def test_what_comes_before_the_first_step_counts_where_it_is_long(
    tmp_path: Path, spec: StudySpec, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A method that takes 0.4 s before each of its two runs; `spec` has written the data."""
    (tmp_path / "prepared.py").write_text(PREPARED)
    asked = parse_spec(tables(tmp_path, methods={"prepared": {"method": f"{tmp_path / 'prepared.py'}:Prepared"}}))
    monkeypatch.setattr(execute, "SOON", 0.01)
    with Store.open(tmp_path / "s.sqlite") as store:
        cells = plan_study(asked).cells
        monkeypatch.setattr(estimate, "PATIENCE", 0.3)
        found = estimate_study(cells, store, "s", spec.engine)
        execute.expect(cells, store, asked, quiet=False, ask=False)
        words, *_ = capsys.readouterr().err.splitlines()
        assert words.startswith("measuring a few steps of each kind of cell for an estimate")
        execute.expect(cells, store, asked, quiet=True, ask=True)
    assert not capsys.readouterr().err
    assert found.seconds is not None
    assert found.seconds >= 2 * 0.4  # 0.2 of these if the 50 steps of a small network were all


def test_methods_whose_turn_to_be_timed_does_not_come_are_not_all_taken_as_slow(
    tmp_path: Path, spec: StudySpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`spec` has written slow.py."""
    slow = {"method": f"{tmp_path / 'slow.py'}:Slow"}
    asked = parse_spec(tables(tmp_path, methods={"slow": slow, "again": slow | {"twin": 1}, "raw": {}}))
    timed = estimate._measured
    took: list[PlannedCell] = []

    def once(cell: PlannedCell, engine: EngineSettings) -> estimate._Pace:
        if took:
            raise TransferscopeError("the time for measuring is over")
        took.append(cell)
        return timed(cell, engine)

    monkeypatch.setattr(estimate, "_measured", once)
    with Store.open(tmp_path / "s.sqlite") as store:
        found = estimate_study(plan_study(asked).cells, store, "s", spec.engine)
    assert found.by_method["again"] == pytest.approx(found.by_method["slow"])
    assert found.by_method["slow"] >= 2 * 50 * 0.03
    assert found.by_method["raw"] < 0.5
    assert found.seconds == pytest.approx(sum(found.by_method.values()))


@pytest.mark.parametrize(("share", "turns"), [(0.0, ["slow"]), (1.0, ["slow", "raw", "linear-probe"])])
def test_what_trains_is_measured_first_and_the_rest_as_long_as_it_is_a_small_share_of_the_study(
    share: float, turns: list[str], tmp_path: Path, spec: StudySpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`spec` has written slow.py."""
    slow = {"method": f"{tmp_path / 'slow.py'}:Slow"}
    source = {"x": {"data": f"npz:{tmp_path / 'x.npz'}"}}
    methods = {"raw": {}, "linear-probe": {}, "slow": slow}
    asked = parse_spec(tables(tmp_path, sources=source, pretraining={"steps": 5}, methods=methods))
    timed, took = estimate._measured, []

    def noted(cell: PlannedCell, engine: EngineSettings) -> estimate._Pace:
        took.append(cell.labels.get("method"))
        return timed(cell, engine)

    monkeypatch.setattr(estimate, "_measured", noted)
    monkeypatch.setattr(estimate, "PATIENCE", 0.0)
    monkeypatch.setattr(estimate, "SHARE", share)
    cells = [cell for cell in plan_study(asked).cells if cell.role == "method"]
    with Store.open(tmp_path / "s.sqlite") as store:
        found = estimate_study(cells, store, "s", asked.engine)
    assert took == turns
    assert found.by_method["slow"] >= 2 * 50 * 0.03
    assert found.by_method.keys() == {"slow", "raw", "linear-probe"}


def test_reading_texts_is_timed_on_those_of_the_mean_length(tmp_path: Path) -> None:
    lengths = np.repeat([1, 6, 7, 20], [30, 12, 12, 6])  # 5.1 on average
    inputs = np.full((60, 2, 20), -1, dtype=np.int32)
    for row, length in zip(inputs, np.random.default_rng(0).permutation(lengths), strict=True):
        row[:, :length] = 0
    texts = LabelledSet(inputs, np.arange(60) % 2, ("a", "b"))
    chosen = estimate._usual(texts, 12)
    assert set((inputs[chosen, 0] >= 0).sum(axis=1)) == {6}
    assert list(estimate._usual(LabelledSet(np.zeros((5, 3), np.float32), np.arange(5) % 2, ("a", "b")), 12)) == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip


def test_closed_forms_count_with_the_labels_that_they_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a second for each multiplication."""
    rng = np.random.default_rng(0)
    y = np.arange(1600) % 2
    x = rng.normal(size=(1600, 40)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x_train=x[:1500], y_train=y[:1500], x_test=x[1500:], y_test=y[1500:])
    monkeypatch.setattr(estimate, "_per_product", lambda: 1.0)
    target = {"data": f"npz:{tmp_path / 'x.npz'}", "labels": [1500]}
    source = {"a": {"data": f"npz:{tmp_path / 'x.npz'}"}}
    network = {"name": "mlp", "widths": [30, 20]}

    def seconds(method: str) -> float:
        plain = tables(tmp_path, seeds=1, target=target, methods={method: {}}, network=network)
        asked = parse_spec(plain | ({} if method == "raw" else {"sources": source, "pretraining": {"steps": 5}}))
        with Store.open(tmp_path / "s.sqlite") as store:
            return estimate_study(plan_study(asked).cells, store, "s", asked.engine).by_method[method]

    for method, n_features in {"raw": 40, "linear-probe": 20}.items():
        # the products of the features, an eigenvalue decomposition as 8 of them, and 21 penalties for two classes
        expected = 1500 * n_features**2 + 8 * n_features**3 + 21 * 2 * 1500 * n_features
        assert seconds(method) == pytest.approx(expected, rel=0.01)
    images = LabelledSet(rng.integers(0, 255, (8, 2, 12, 9)).astype(np.uint8), np.arange(8) % 2, ("a", "b"))
    assert Raw().solved_width(images, 100) == 216
    monkeypatch.setattr("transferscope.methods.raw.MOST_NUMBERS", 100 * 2 * 6 * 6)
    assert Raw().solved_width(images, 100) == 2 * 6 * 6
    monkeypatch.undo()
    monkeypatch.setattr(estimate, "_per_product", lambda: 1.0)
    whole = seconds("all-layers-probe")
    monkeypatch.setattr(AllLayersProbe, "most_in_folds", 600)  # for choosing, where 1,125 of 1,500 are fitted
    assert 0.4 * whole < seconds("all-layers-probe") < 0.8 * whole


def test_what_is_done_is_not_counted_and_tells_what_the_rest_takes(spec: StudySpec, tmp_path: Path) -> None:
    fast = parse_spec(tables(tmp_path, methods={"scratch": {}}, training={"steps": 3}))
    with Store.open(tmp_path / "s.sqlite") as store:
        run_study(fast, store)
        assert estimate_study(plan_study(fast).cells, store, "s", fast.engine).n_cells == 0
        seconds = [one.seconds for one in store.standings("s") if one.seconds is not None]
        more = parse_spec(tables(tmp_path, methods={"scratch": {}}, training={"steps": 3}, seeds=5))
        found = estimate_study(plan_study(more).cells, store, "s", more.engine)
    assert found.n_cells == 3
    assert found.seconds == pytest.approx(3 * np.mean(seconds))


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A study that would take an hour, at a terminal whose answers are taken from the list."""
    answers: list[str] = []
    by_method = {"scratch": 4000.0, "fine-tune": 3100.0, "linear-probe": 60.0, "raw": 40.0}
    found = StudyEstimate(7, 7200.0, {}, by_method, 0.75, 2**30, 2**33, 1e6, 1e9, 2)
    monkeypatch.setattr(execute, "estimate_study", lambda *_: found)
    monkeypatch.setattr(execute, "at_terminal", lambda: True)
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: answers.pop() == "y")
    yield answers
    assert not answers


@pytest.mark.parametrize("answer", ["y", "n"])
def test_long_ones_are_asked_about_at_a_terminal(
    answer: str, hours: list[str], spec: StudySpec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hours.append(answer)
    with Store.open(tmp_path / "s.sqlite") as store:
        if answer == "n":
            with pytest.raises(typer.Abort):
                execute.expect((), store, spec, quiet=False, ask=True)
        else:
            execute.expect((), store, spec, quiet=False, ask=True)
        said = capsys.readouterr().err
        assert said == (
            "estimate: 7 cells to do: about 2 h with 2 processes, 1.0 GiB of memory (8.0 GiB free), up to 1 MB on the "
            "disk (1 GB free)\n"
            "of that:  scratch 1 h 7 min and fine-tune 52 min, all others together 2 min; choosing settings is 75 % of "
            "it; fewer steps, seeds or methods take less in proportion\n"
        )
        execute.expect((), store, spec, quiet=False, ask=False)  # --yes asks nothing


@pytest.mark.parametrize(
    ("slow", "said"),
    [
        (
            ["scratch", "fine-tune"],
            "sooner:   without scratch and fine-tune in the study file ([methods.NAME] and [tuning.grid.NAME]) it "
            "takes about 1 min: it compares raw and linear-probe, and cannot say whether transfer helps; what is "
            "done stays done when the rest is added\n",
        ),
        (["fine-tune", "linear-probe"], ""),  # a control alone compares nothing
        (["scratch", "fine-tune", "pretrain"], ""),  # nothing goes without it
    ],
)
def test_what_the_quick_methods_alone_take_is_said(
    slow: list[str],
    said: str,
    tmp_path: Path,
    spec: StudySpec,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ("scratch", "fine-tune", "raw", "linear-probe")
    source = {"near": {"data": f"npz:{tmp_path}/x.npz"}}
    spec = parse_spec(tables(tmp_path, methods={name: {} for name in names}, sources=source, pretraining={"steps": 5}))
    by_method = {name: 4000.0 if name in slow else 30.0 for name in dict.fromkeys((*names, *slow))}
    found = StudyEstimate(7, sum(by_method.values()), {}, by_method, 0.75, 2**30, 2**33, 1e6, 1e9, 2)
    monkeypatch.setattr(execute, "estimate_study", lambda *_: found)
    with Store.open(tmp_path / "s.sqlite") as store:
        execute.expect((), store, spec, quiet=False, ask=False)
    lines = capsys.readouterr().err.splitlines(keepends=True)
    assert "".join(line for line in lines if line.startswith("sooner")) == said


def test_nobody_is_asked_where_there_is_no_terminal(
    hours: list[str], spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute, "at_terminal", lambda: False)
    with Store.open(tmp_path / "s.sqlite") as store:
        execute.expect((), store, spec, quiet=False, ask=True)


def test_enlarged_images_are_said_to_cost_more(tmp_path: Path, spec: StudySpec) -> None:
    (tmp_path / "net.py").write_text("from torch import nn\n\n\ndef small():\n    return nn.Linear(3, 2)\n")
    sources = {
        name: {"network": f"{tmp_path}/net.py:small", "input": {"size": size}}
        for name, size in (("large", 64), ("fitting", 36))
    }
    asked = parse_spec(tables(tmp_path, sources=sources, network={"name": f"{tmp_path}/net.py:small"}))
    assert list(execute.enlarged(asked, {"target": {"input_shape": [3, 32, 32]}})) == [
        "network large: reads 64 x 64 pixels, and the images of 32 x 32 are enlarged to that: about 4 times the "
        "computing of reading them as they are. --input size=N (in a study file input = { size = N }) is faster, and "
        "may read less well"
    ]
    assert not list(execute.enlarged(asked, {"target": {"input_shape": [3]}}))
