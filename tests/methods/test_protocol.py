"""`Method` says all that the engine asks of one."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import transferscope
from studies import tables
from transferscope.data import TransferTask
from transferscope.methods import METHODS, FineTune, FitOptions, Fitted, Merlin, Method, Start
from transferscope.methods.merlin import MerlinWithoutSource
from transferscope.models import Network
from transferscope.study.context import WorkContext
from transferscope.study.plan import plan_study
from transferscope.study.spec import parse_spec
from transferscope.study.work import work

SOURCE = Path(transferscope.__file__).parent
ASKED: set[str] = set()
"""Names that `Least` was asked for and has not."""


@dataclass(frozen=True)
class Least(Method):
    """A method with nothing but what has no default, which notes what else it is asked."""

    name: ClassVar[str] = "least"
    version: ClassVar[int] = 1
    start: ClassVar[Start] = "pretrained"

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """As fine-tuning."""
        return FineTune().fit(task, network, options)

    def __getattr__(self, name: str) -> Any:
        """Nothing that is not written."""
        if not name.startswith("__"):
            ASKED.add(name)
        raise AttributeError(name)


def test_a_study_asks_a_method_for_nothing_that_is_not_written(tmp_path: Path) -> None:
    """Planned, estimated, tuned, trained, kept and diagnosed."""
    ASKED.clear()
    changes = {"methods": {"least": {"method": f"{__name__}:Least"}}, "tuning": {}}
    study = parse_spec(tables(tmp_path, diagnostics={"weights": {}}, **changes))
    plan = plan_study(study)
    context = WorkContext(tmp_path, device="cpu")
    assert [work(cell, context).cost is not None for cell in plan.cells]
    assert set() == ASKED


def test_no_method_is_told_by_its_class() -> None:
    """Outside its own file; that one is a control is part of the protocol."""
    classes = {kind.__name__ for kind in map(METHODS.__getitem__, METHODS.own)} | {"TargetTraining", "FineTuning"}
    told = {
        (str(path.relative_to(SOURCE)), name.id)
        for path in SOURCE.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "isinstance"
        for name in ast.walk(call.args[1])
        if isinstance(name, ast.Name) and name.id in classes
    }
    assert not told


@pytest.mark.parametrize(("kind", "needs"), [(MerlinWithoutSource, False), (Merlin, True)])
def test_the_kind_goes_by_settings(kind: type[Merlin], needs: bool) -> None:
    assert kind().needs_source == needs
    assert kind(initial="pretrained").needs_source
