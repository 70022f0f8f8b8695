"""precision = "auto": what it becomes on this machine or that, and that a study keeps it wherever it goes on."""

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from cases_of_methods import classification_task, network_for
from study.specs import tables
from transferscope.cli.main import app
from transferscope.errors import SettingsError
from transferscope.methods import FineTune, FitOptions
from transferscope.store import Store
from transferscope.study.plan import plan_study
from transferscope.study.run import run_study
from transferscope.study.spec import StudySpec, parse_spec
from transferscope.study.status import edited_plan
from transferscope.testing.methods import same, weights_of
from transferscope.training import TrainingSettings, choose_precision, tensors

CUDA = torch.device("cuda")
Machine = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A processor with these instructions, as it was measured."""

    def has(*instructions: str) -> None:
        monkeypatch.setattr(tensors, "_halves_are_faster", lambda: bool(instructions))

    return has


@pytest.mark.parametrize(("native", "expected"), [(True, "bfloat16"), (False, "float32")])
def test_a_gpu_that_only_imitates_it_does_not_count(
    native: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: native or including_emulation)
    assert choose_precision("auto", CUDA) == expected
    assert choose_precision("auto", torch.device("mps")) == "float32"


def study(path: Path | None = None, **training: Any) -> StudySpec:
    target = {"data": "digits", "transforms": [], "labels": [20], "limit": 40, "test_limit": 20}
    recipe = {"steps": 3, "precision": "auto", **training}
    kept = {} if path is None else {"store": str(path)}
    made = tables(
        target=target, sources=None, network={"name": "linear"}, pretraining=None, training=recipe, seeds=1,
        methods={"fine-tune": None, "merlin": None}, engine={"workers": 0, "device": "cpu"}, **kept,
    )  # fmt: skip
    return parse_spec(made)


def test_cells_are_those_of_the_precision_that_it_became(machine: Machine) -> None:
    for instructions, chosen in ((("amx_bf16",), "bfloat16"), ((), "float32")):
        machine(*instructions)
        planned, named = plan_study(study()), plan_study(study(precision=chosen))
        assert [cell.key for cell in planned.cells] == [cell.key for cell in named.cells]
        assert {cell.payload["training"]["precision"] for cell in planned.cells} == {chosen}
        assert planned.study.spec == named.study.spec
        assert (planned.study.facts["precision"], "precision" in named.study.facts) == (chosen, False)


def test_a_study_keeps_what_it_was_planned_with(machine: Machine, tmp_path: Path) -> None:
    machine("avx512_bf16")
    path = tmp_path / "s.sqlite"
    with Store.open(path) as store:
        assert run_study(study(path), store).counts.done == 1
        machine()  # it goes on where there are no such instructions
        assert edited_plan(study(path), store) is None
        assert run_study(study(path), store).counts.total == 1
        assert store.study("usps").facts["precision"] == "bfloat16"
        planned = plan_study(study(path), store)
        assert {cell.payload["training"]["precision"] for cell in planned.cells} == {"bfloat16"}
    said = CliRunner().invoke(app, ["status", str(path)]).stdout
    sentence = 'bfloat16, as precision = "auto" was planned on a machine that has instructions for bfloat16'
    assert f"  precision: {sentence}\n" in said
    told = json.loads(CliRunner().invoke(app, ["status", str(path), "--json"]).stdout)
    assert told["result"]["studies"][0]["precision"] == "bfloat16"


@pytest.mark.long
def test_the_page_says_what_it_became(machine: Machine, tmp_path: Path) -> None:
    machine()
    path = tmp_path / "s.sqlite"
    with Store.open(path) as store:
        run_study(study(path), store)
    page = tmp_path / "page.html"
    assert CliRunner().invoke(app, ["report", str(path), "--out", str(page)]).exit_code == 0
    sentence = (
        'Precision: float32, as precision = "auto" was planned on a machine that has no instructions for bfloat16.'
    )
    assert sentence in html.unescape(page.read_text(encoding="utf-8"))


def test_pre_training_is_settled_with_it(machine: Machine) -> None:
    machine("amx_bf16")
    of_both = tables(
        target={"data": "digits", "transforms": [], "labels": [20]},
        sources={"fashion": None, "flipped": {"data": "digits", "transforms": ["upside-down"], "limit": 300}},
        network={"name": "mlp"}, pretraining={"precision": "auto"},
    )  # fmt: skip
    planned = plan_study(parse_spec(of_both))
    spec = planned.study.spec
    assert (spec["pretraining"]["precision"], spec["training"]["precision"]) == ("bfloat16", "float32")
    assert planned.study.facts["precision"] == "bfloat16"


def test_a_grid_names_what_is_tried() -> None:
    with pytest.raises(SettingsError, match=r'precision holds "auto", which stands for one of the others; give those'):
        parse_spec(
            tables(
                tuning={"grid": {"scratch": {"precision": ["float32", "auto"]}}},
                pretraining={"epochs": 1},
            )
        )


def test_a_method_on_its_own_takes_that_of_this_machine(machine: Machine) -> None:
    task = classification_task()
    network = network_for(task, FineTune())

    def weights(precision: Any) -> dict[str, torch.Tensor]:
        training = TrainingSettings(steps=4, batch_size=8, lr=0.05, precision=precision)
        options = FitOptions(training, seed=7, device="cpu", curve_examples=0)
        return weights_of(FineTune(lr_scale=1.0).fit(task, network, options).network)

    exact, mixed = weights("float32"), weights("bfloat16")
    assert not same(exact, mixed)
    for instructions, expected in (((), exact), (("amx_bf16",), mixed)):
        machine(*instructions)
        assert same(weights("auto"), expected)
