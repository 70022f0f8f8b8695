"""Studies with code of the user that is edited: whose answer a cell holds, and what is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from studies import tables
from transferscope.data import DATA_SETS
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.errors import CorruptDataError
from transferscope.methods import METHODS
from transferscope.models import BACKBONES
from transferscope.store import Outcome, PlannedCell, Store
from transferscope.study.context import WorkContext
from transferscope.study.frames import read_study
from transferscope.study.plan import plan_study
from transferscope.study.run import plan_into, run_study, work_on
from transferscope.study.spec import parse_spec
from transferscope.study.work import work

CODE = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from torch import nn
from transferscope.data import Dataset, LabelledSet
from transferscope.diagnostics import Weights
from transferscope.methods import FineTune

GAIN = 1.0

class Scaled(nn.Module):
    def forward(self, x):
        return x * GAIN

def net(input_shape):
    return nn.Sequential(nn.Linear(input_shape[0], 8), nn.ReLU(), Scaled())

@dataclass(frozen=True)
class Mine(FineTune):
    name: ClassVar[str] = "mine"
    called: ClassVar[str] = "fine-tuning by me"
    def regulariser(self, own):
        return lambda loss, features: loss * GAIN

@dataclass(frozen=True)
class Sizes(Weights):
    name: ClassVar[str] = "sizes"

def data(spec, seed):
    generator, y = np.random.default_rng(0), np.arange(80) % 2
    x = (GAIN * y[:, None] + generator.normal(size=(80, 4))).astype(np.float32)
    return Dataset("mine", *(LabelledSet(x[part::2], y[part::2], ("a", "b")) for part in (0, 1)))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    return tmp_path / "mine.py"


def edit(file: Path) -> None:
    file.write_text(CODE.replace("GAIN = 1.0", "GAIN = 0.0"), encoding="utf-8")  # as long as before


def as_in_a_new_process() -> None:
    for registry in (METHODS, BACKBONES, DIAGNOSTICS, DATA_SETS):
        registry._loaded.clear()


def study(file: Path, which: str, **changes: Any) -> dict[str, Any]:
    """A small study in which the file gives one thing."""
    parts: dict[str, dict[str, Any]] = {
        "network": {"network": {"name": f"{file}:net"}},
        "method": {"methods": {"mine": {"method": f"{file}:Mine"}}},
        "data": {"target": {"data": f"{file}:data", "labels": [12]}, "sources": {"source": {"data": f"{file}:data"}}},
        "diagnostic": {"diagnostics": {"sizes": {"diagnostic": f"{file}:Sizes"}}},
    }
    small = {"methods": {"fine-tune": {}}, "engine": {"workers": 0, "device": "cpu"}, "seeds": 1}
    return tables(file.parent, **{**small, "store": f"{file.parent}/small.sqlite", **parts[which], **changes})


def answers(study: Mapping[str, Any], store: str) -> dict[str, list[float]]:
    """The records of the cells of a study that was run in a store, by their keys."""
    spec = parse_spec(study)
    with Store.open(store) as opened:
        status = run_study(spec, opened)
        assert [failed.failure for failed in status.failed] == []
        records = opened.records(spec.name)
    found: dict[str, list[float]] = {}
    for key, value in zip(records.key, records.value, strict=True):
        found.setdefault(key, []).append(float(value))
    return found


def test_a_study_keeps_what_a_method_of_the_user_is_called(file: Path) -> None:
    """A name that is not the method's own is a variant's, and another class's words are not inherited."""
    file.write_text(CODE + '\n@dataclass(frozen=True)\nclass Plain(Mine):\n    name: ClassVar[str] = "plain"\n')
    names = {"mine": "Mine", "variant": "Mine", "plain": "Plain"}
    methods: dict[str, dict[str, Any]] = {name: {"method": f"{file}:{kind}"} for name, kind in names.items()} | {
        "fine-tune": {},
        "scratch": {},
    }
    methods["variant"]["lr_scale"] = 0.2
    spec = parse_spec(study(file, "method", methods=methods))
    with Store.open(spec.store) as store:
        plan_into(plan_study(spec), store)
        file.unlink()
        as_in_a_new_process()
        frames = read_study(store, spec.name)
    assert {name: (frames.in_prose(name, "near"), frames.tick_name(name)) for name in methods} == {
        "mine": ("fine-tuning by me from near", "Fine-tuning by me"),
        "variant": ("variant from near", "variant"),
        "plain": ("plain from near", "Plain"),
        "fine-tune": ("fine-tuning from near", "Fine-tuning"),
        "scratch": ("training from scratch from near", "Training from scratch"),
    }


@pytest.mark.parametrize("which", ["network", "method", "data"])
def test_after_an_edit_the_same_process_gives_the_answers_of_the_new_code(file: Path, which: str) -> None:
    tables = study(file, which)
    before = answers(tables, f"{file.parent}/one.sqlite")
    edit(file)
    after = answers(tables, f"{file.parent}/one.sqlite")
    as_in_a_new_process()
    assert after == answers(tables, f"{file.parent}/new.sqlite")
    changed = set(after) - set(before)
    assert changed
    assert not [key for key in changed if after[key] in list(before.values())]
    file.write_text(CODE, encoding="utf-8")
    as_in_a_new_process()
    assert answers(tables, f"{file.parent}/one.sqlite") == before  # nothing was stored under the key of other code


@pytest.mark.long
def test_workers_see_an_edit_too(file: Path) -> None:
    tables = study(file, "network", engine={"workers": 1, "device": "cpu"})
    answers(tables, f"{file.parent}/one.sqlite")
    edit(file)
    inline = study(file, "network")
    assert answers(tables, f"{file.parent}/one.sqlite") == answers(inline, f"{file.parent}/new.sqlite")


def planned(study: Mapping[str, Any]) -> list[PlannedCell]:
    return list(plan_study(parse_spec(study)).cells)


def done(cells: list[PlannedCell], folder: Path) -> list[Outcome]:
    return [work(cell, WorkContext(folder, device="cpu")) for cell in cells]


@pytest.mark.parametrize(
    ("which", "role", "name"),
    [("network", "pretrain", "net"), ("method", "method", "Mine"), ("diagnostic", "diagnose", "Sizes")],
)
def test_a_cell_is_done_with_the_code_that_it_was_planned_with_or_not_at_all(
    file: Path, which: str, role: str, name: str
) -> None:
    tables = study(file, which)
    cells = planned(tables)
    *first, last = cells[: 1 + next(i for i, cell in enumerate(cells) if cell.role == role)]
    *_, before = done([*first, last], file.parent)
    edit(file)
    (again,) = done([last], file.parent)  # the earlier code is in memory
    assert again.records == before.records
    as_in_a_new_process()
    with pytest.raises(
        CorruptDataError, match=rf"^the code of the {which} .*mine\.py:{name} has changed since the study"
    ):
        work(last, WorkContext(file.parent, device="cpu"))
    file.write_text(CODE, encoding="utf-8")
    (put_back,) = done([last], file.parent)
    assert put_back.records == before.records


def test_one_arm_is_never_of_two_codes(file: Path) -> None:
    """`transferscope run --join`, whose process begins after an edit, fails what is left; the study file redoes all."""
    spec = parse_spec(study(file, "method", seeds=2))
    with Store.open(spec.store) as store:
        plan_into(plan_study(spec, store), store)
        edit(file)
        as_in_a_new_process()
        share = work_on(spec.name, store, engine=spec.engine)
        failures = {stored.cell.labels["method"]: stored.failure for stored in store.cells(spec.name)}
        assert (share.done, share.failed) == (2, 2)
        assert failures["pretrain"] is None
        assert "has changed since the study was planned with it; restore the earlier code" in failures["mine"].message
        status = run_study(parse_spec(study(file, "method", seeds=2)), store)
        assert status.counts.done == status.counts.total == 4


def test_cells_without_code_of_the_user_say_nothing_of_it(file: Path) -> None:
    own = planned(tables(file.parent, diagnostics={"weights": {}}))
    assert not [cell for cell in own if "code" in cell.payload or "code" in cell.payload.get("fit", {})]
    cells = planned(study(file, "diagnostic", network={"name": f"{file}:net"}))
    assert {cell.role: set(cell.payload["code"]) for cell in cells} == {
        "pretrain": {f"network {file}:net"},
        "method": {f"network {file}:net"},
        "diagnose": {f"network {file}:net", f"diagnostic {file}:Sizes"},
    }
