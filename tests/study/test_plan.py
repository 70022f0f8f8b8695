import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from study.specs import FACTS, spec, tables
from transferscope.data import load
from transferscope.errors import DataError, MissingDataError, NetworkError, SettingsError
from transferscope.models import build_network, save_weights
from transferscope.store import PlannedCell
from transferscope.study.cell import MethodRecipe, PretrainRecipe
from transferscope.study.facts import DataFacts, SourceFacts, load_data
from transferscope.study.fitting import task_of
from transferscope.study.plan import cell_key, plan_cells, plan_study, shared_digest
from transferscope.study.spec import parse_spec

TWO = {"mnist": {"data": "mnist"}}
TWO_FACTS = replace(FACTS, sources={**FACTS.sources, "mnist": SourceFacts("mnist-data", 500)})


def plan(facts: DataFacts = FACTS, **changes: Any) -> list[PlannedCell]:
    return plan_cells(spec(**changes), facts)


def by_method(cells: list[PlannedCell]) -> Counter[object]:
    return Counter(cell.labels["method"] for cell in cells)


def keys(cells: list[PlannedCell]) -> set[str]:
    return {cell.key for cell in cells}


EACH = {"pretrain": 2, "scratch": 4, "fine-tune": 4, "merlin": 4}  # of two seeds and two numbers of labels


@pytest.mark.parametrize(
    ("changes", "cells"),
    [
        ({}, EACH),
        ({"sources": TWO}, {"pretrain": 4, "scratch": 4, "fine-tune": 8, "merlin": 8}),
        ({"methods": {"fine-tune": None}}, {"scratch": 4, "merlin": 4}),  # nothing starts from what is pretrained
        ({"pretraining": {"sizes": [0, 100, 1000]}}, {"pretrain": 4, "scratch": 4, "fine-tune": 8, "merlin": 8}),
        ({"pretraining": {"sizes": [0]}}, {"scratch": 4}),
    ],
)
def test_a_study_has_a_cell_for_each_method_source_size_and_seed(
    changes: dict[str, Any], cells: dict[str, int]
) -> None:
    planned = plan(TWO_FACTS, **changes)
    assert by_method(planned) == cells
    scratch = {
        (cell.labels["source"], cell.labels["n_source"]) for cell in planned if cell.labels["method"] == "scratch"
    }
    assert scratch == {(None, 0)}
    sizes = [size for size in changes.get("pretraining", {}).get("sizes", [60000, 500]) if size]
    assert {cell.labels["n_source"] for cell in planned if cell.labels["method"] == "merlin"} <= {*sizes}


def test_only_what_starts_from_a_pretrained_network_needs_it() -> None:
    cells = {cell.key: cell for cell in plan(TWO_FACTS, sources=TWO)}
    for cell in cells.values():
        needed = [cells[key].labels for key in cell.needs]
        if cell.labels["method"] == "fine-tune":
            assert [(found["source"], found["seed"]) for found in needed] == [
                (cell.labels["source"], cell.labels["seed"])
            ]
        else:
            assert needed == []


def test_what_a_cell_needs_comes_before_it_and_seeds_are_done_one_after_the_other() -> None:
    cells = plan()
    seen: set[str] = set()
    for cell in cells:
        assert seen.issuperset(cell.needs)
        seen.add(cell.key)
    assert [cell.labels["seed"] for cell in cells] == [0] * 7 + [1] * 7


def test_without_sizes_all_labels_are_used() -> None:
    assert {cell.labels["n_target"] for cell in plan(target={"labels": []})} == {None, 7291}


def test_a_pretrained_network_is_no_pretraining_and_not_for_methods_that_read_source_data() -> None:
    facts = replace(FACTS, sources={**FACTS.sources, "net": SourceFacts("checksum", None)})
    cells = plan(facts, sources={"net": {"network": "file.safetensors"}})
    from_net = [cell for cell in cells if cell.labels["source"] == "net"]
    assert by_method(from_net) == {"fine-tune": 4}
    assert {(cell.labels["n_source"], cell.needs) for cell in from_net} == {(None, ())}


def test_payloads_hold_the_recipes() -> None:
    study = spec()
    assert study.pretraining is not None
    cells = plan_cells(study, FACTS)
    source = study.sources["fashion"]
    assert source.as_data is not None
    content = FACTS.sources["fashion"].fingerprint
    expected = PretrainRecipe(source.as_data, study.network, study.pretraining, contents={"source": content})
    assert PretrainRecipe.from_payload(cells[0].payload) == expected
    merlin = next(cell for cell in cells if cell.labels["method"] == "merlin")
    recipe = MethodRecipe(
        study.target.as_data,
        source,
        study.network,
        study.training,
        study.methods["merlin"],
        contents={"target": FACTS.target, "source": content},
    )
    assert MethodRecipe.from_payload(merlin.payload) == recipe


def test_labels_are_drawn_as_the_target_says(tmp_path: Path) -> None:
    """Of 90 examples a third are of the rarer class."""
    x = np.random.default_rng(0).normal(size=(90, 4)).astype(np.float32)
    y = (np.arange(90) % 3 == 0).astype(np.int64)
    np.savez(tmp_path / "own.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    drawn, keys_of = {}, {}
    for how in ("stratified", "balanced"):
        target = {"data": f"npz:{tmp_path}/own.npz", "transforms": None, "labels": [12], "draw": how}
        cells = [
            cell
            for cell in plan(replace(FACTS, target=load(f"npz:{tmp_path}/own.npz").fingerprint), target=target)
            if cell.labels["method"] == "scratch"
        ]
        keys_of[how] = {cell.key for cell in cells}
        task = task_of(cells[0], MethodRecipe.from_payload(cells[0].payload))
        drawn[how] = task.target.train.class_counts().tolist()
    assert drawn == {"stratified": [8, 4], "balanced": [6, 6]}
    assert not keys_of["stratified"] & keys_of["balanced"]


@pytest.mark.parametrize(("key", "value"), [("draw", "balanced"), ("metric", "macro-f1")])
def test_what_is_for_classes_alone_is_refused_for_numbers(key: str, value: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    np.savez(tmp_path / "own.npz", x_train=x, y_train=x[:, :1], x_test=x, y_test=x[:, :1])
    target = {"data": f"npz:{tmp_path}/own.npz", "transforms": None, "labels": [12], key: value}
    study = tables(target=target, sources=None, pretraining=None, network={"name": "mlp"})
    study["methods"] = {"scratch": {}}
    with pytest.raises(DataError, match=rf"^\[target\] {key} = '{value}' is for one class of each input, and the task"):
        load_data(parse_spec(study))


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"engine": {"workers": 7, "threads": 1, "device": "cpu", "timeout": 5.0}},
        {"store": "elsewhere.sqlite"},
        {"methods": {"fine-tune": None, "ft": {"method": "fine-tune", "lr_scale": 0.1}}},
        {"pretraining": {"sizes": [60000]}},  # the whole source
        {"target": {"data": "npz:usps.npz"}},  # the fingerprint is the same: another path to the same content
    ],
)
def test_what_cannot_change_an_answer_is_not_in_the_keys(changes: dict[str, Any]) -> None:
    assert keys(plan(**changes)) == keys(plan())


def test_what_changes_the_last_digits_is_in_every_key_and_goes_with_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = plan()
    threads = plan(engine={"threads": 3})
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    on_gpu = plan(engine={"device": "cuda"})
    assert not keys(usual) & (keys(threads) | keys(on_gpu))
    assert not keys(threads) & keys(on_gpu)
    for cells, expected in ((usual, (1, "cpu")), (threads, (3, "cpu")), (on_gpu, (1, "cuda"))):
        assert {(cell.payload.get("threads"), cell.payload.get("device")) for cell in cells} == {expected}
    assert keys(plan(engine={"device": "cpu"})) == keys(usual)


@pytest.mark.parametrize(
    ("changes", "unchanged"),
    [
        ({"training": {"lr": 0.02}}, {"pretrain"}),
        ({"training": {"batch_norm": "source"}}, {"pretrain"}),
        ({"pretraining": {"class_weights": "balanced"}}, {"scratch", "merlin"}),
        ({"network": {"name": "mlp"}}, set()),
        ({"pretraining": {"lr": 0.02}}, {"scratch", "merlin"}),
        ({"methods": {"merlin": {"rho": 3.0}}}, {"pretrain", "scratch", "fine-tune"}),
        ({"seeds": [7]}, set()),
        ({"tuning": {}}, {"pretrain"}),
        ({"pretraining": {"sizes": [10]}}, {"scratch"}),
    ],
)
def test_what_can_change_an_answer_changes_its_key_alone(changes: dict[str, Any], unchanged: set[str]) -> None:
    before = keys(plan())
    assert {cell.labels["method"] for cell in plan(**changes) if cell.key in before} == unchanged


def test_a_search_by_halving_changes_the_keys_of_what_it_searches_alone() -> None:
    before = keys(plan(methods={"linear-probe": {}}))
    grid = {"fine-tune": {"lr_scale": [0.1, 0.5]}, "merlin": {"rho": [2.0]}}
    searched = plan(methods={"linear-probe": {}}, tuning={"grid": grid})
    changed = {"fine-tune", "merlin"}  # a single value is another setting than the table's, perhaps
    assert {cell.labels["method"] for cell in searched if cell.key not in before} == changed
    assert {cell.labels["method"] for cell in searched if cell.payload.get("tuning")} == changed


@pytest.mark.parametrize(
    ("facts", "unchanged"),
    [
        (replace(FACTS, target="changed"), {"pretrain"}),
        (replace(FACTS, sources={"fashion": SourceFacts("changed", 60000)}), {"scratch"}),
    ],
)
def test_other_data_change_the_keys_that_depend_on_them(facts: DataFacts, unchanged: set[str]) -> None:
    before = keys(plan())
    assert {cell.labels["method"] for cell in plan(facts) if cell.key in before} == unchanged


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"methods": {"again": {"method": "scratch"}}}, "[methods.scratch] and [methods.again] have the same settings"),
        ({"sources": TWO}, "[sources.fashion] and [sources.mnist] are the same"),
        (
            {"diagnostics": {"weights": {}, "again": {"diagnostic": "weights"}}},
            "[diagnostics.weights] and [diagnostics.again] are the same",
        ),
    ],
)
def test_two_names_for_one_thing_are_refused(changes: dict[str, Any], said: str) -> None:
    alike = replace(FACTS, sources={"fashion": SourceFacts("x", 10), "mnist": SourceFacts("x", 10)})
    with pytest.raises(SettingsError, match=re.escape(said)):
        plan(alike, **changes)


def digits(**changes: Any) -> dict[str, Any]:
    target = {"data": "digits", "transforms": [], "labels": [20, 50]}
    sources = {"fashion": None, "flipped": {"data": "digits", "transforms": ["upside-down"], "limit": 300}}
    return tables(target=target, sources=sources, network={"name": "mlp"}, **changes)


def test_planning_loads_the_data_and_writes_down_what_they_are() -> None:
    planned = plan_study(parse_spec(digits()))
    facts = planned.study.facts
    target = facts["target"]
    assert (target["n_train"], target["n_test"], target["n_outputs"]) == (1438, 359, 10)
    assert sum(target["class_counts"]["train"]) == 1438
    assert facts["sources"]["flipped"]["n_train"] == 300
    assert facts["leakage"]["flipped"]["n_test"] == 359
    assert {"torch", "numpy", "transferscope", "python"} <= set(facts["versions"])
    assert planned.arrays["target_test_labels"].shape == (359,)
    assert {cell.labels["n_source"] for cell in planned.cells} == {0, 300}


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        (
            {"target": {"labels": [20, 5000]}},
            DataError,
            "[target] labels asks for 5000 examples and digits has 1438 training examples",
        ),
        (
            {"sources": {"flipped": {"data": "glyphs?characters=a&n_train=40&n_test=9&size=8", "limit": None}}},
            DataError,
            "[sources.flipped] glyphs has the one class 'a'",
        ),
        (
            {"sources": {"flipped": {"data": "digits"}}, "pretraining": {"sizes": [1439]}},
            DataError,
            "[pretraining] for flipped: sizes asks for 1439 examples and digits has 1438 training examples",
        ),
        (
            {"training": {"batch_norm": "source"}},
            SettingsError,
            'batch_norm = "source", but the network has no batch normalisation',
        ),
        (
            {"sources": {"net": {"network": "gone.safetensors"}}},
            MissingDataError,
            "[sources.net] there is no network file gone.safetensors",
        ),
        (
            {"sources": {"net": {"network": "other.safetensors"}}},
            NetworkError,
            "other.safetensors is of mlp for 28 x 28",
        ),
    ],
)
def test_a_study_that_cannot_be_done_is_refused_before_it_begins(
    changes: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_weights(build_network("mlp", (1, 28, 28), 10, seed=0), Path("other.safetensors"))
    whole = digits()
    for key, value in changes.items():
        whole.setdefault(key, {}).update(value)
    with pytest.raises(kind, match=re.escape(message)):
        plan_study(parse_spec(whole))


def test_all_that_is_wrong_with_the_data_is_said_before_any_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("data were loaded although some are missing")

    monkeypatch.setattr("transferscope.study.facts.load", never)
    whole = digits()
    whole["target"]["transforms"] = ["turn:90"]
    whole["sources"] |= {
        "file": {"data": "npz:gone.npz"},
        "table": {"data": "digits", "held_out": {"odd": "csv:gone.csv?label=x"}},
        "name": {"data": "half-images:digitz"},
        "net": {"network": "gone.safetensors"},
    }
    with pytest.raises(DataError) as error:
        plan_study(parse_spec(whole))
    first, *said = str(error.value).splitlines()
    assert first == "the data of this study have 5 mistakes:"
    begun = ["[sources.net] there is no network file", "[target] unknown transform 'turn'"]
    begun += [
        "[sources.file] there is no",
        "[sources.table] held_out odd there is no",
        "[sources.name] unknown data set",
    ]
    assert [line.strip().startswith(begin) for line, begin in zip(said, begun, strict=True)] == [True] * 5, said


def test_every_limit_and_size_above_the_data_is_named_with_table_and_key() -> None:
    whole = digits()
    name = next(iter(whole["sources"]))
    whole["target"] |= {"limit": 10**6, "test_limit": 10**5}
    whole["sources"][name] |= {"test_limit": 10**7}
    whole["sources"]["other"] = {"data": "digits", "limit": 10**8}
    with pytest.raises(DataError) as error:
        plan_study(parse_spec(whole))
    _, *said = (line.strip().rpartition(" and there are")[0] for line in str(error.value).splitlines())
    assert said == [
        "[target] limit = 1000000 and there are 1438 training examples; ask for 1 to 1438, and test_limit = 100000",
        f"[sources.{name}] test_limit = 10000000",
        "[sources.other] limit = 100000000",
    ]


def test_a_target_whose_test_examples_are_trained_on_is_refused(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 255, (40, 8, 8), dtype=np.uint8)
    labels = np.arange(40) % 2
    np.savez(tmp_path / "x.npz", x_train=images, y_train=labels, x_test=images[:10], y_test=labels[:10])
    target = {"data": f"npz:{tmp_path}/x.npz", "transforms": [], "labels": [4]}
    alone = tables(target=target, sources=None, network={"name": "mlp"})
    alone["methods"] = {"scratch": {}}
    with pytest.raises(DataError, match="10 of 10 target test examples are also training examples"):
        plan_study(parse_spec(alone))


def test_diagnostics_add_cells_and_leave_the_others_as_they_were() -> None:
    before, after = plan(), plan(diagnostics={"weights": {"every": 100}, "kernel-distance": {}})
    looks = [cell for cell in after if cell.role == "diagnose"]
    assert keys(after) - {look.key for look in looks} == keys(before)
    by_key = {cell.key: cell for cell in after}
    for look in looks:
        fit = by_key[look.needs[-1]]
        assert look.needs == (*fit.needs, fit.key)
        assert look.labels == {**fit.labels, "diagnostic": look.labels["diagnostic"]}
    seen = [(look.labels["diagnostic"], look.labels["method"]) for look in looks if look.labels["seed"] == 0]
    two_sizes = {("weights", "scratch"): 2, ("weights", "fine-tune"): 2, ("weights", "merlin"): 2}
    assert Counter(seen) == {**two_sizes, ("kernel-distance", "fine-tune"): 2, ("kernel-distance", "merlin"): 2}


def test_controls_train_no_network_that_a_diagnostic_could_measure() -> None:
    cells = plan(methods={"scratch": {}, "raw": {}, "knn": {}}, diagnostics={"weights": {"every": 100}})
    fits = {str(cell.labels["method"]): cell for cell in cells if cell.role == "method"}
    assert {"raw", "knn"} <= fits.keys()
    assert {cell.labels["method"] for cell in cells if cell.role == "diagnose"} == fits.keys() - {"raw", "knn"}
    kept = {name: MethodRecipe.from_payload(cell.payload).snapshots for name, cell in fits.items()}
    assert (kept["scratch"], kept["raw"], kept["knn"]) == ((100,), None, None)


def test_settings_of_a_diagnostic_change_its_cells_alone() -> None:
    before = keys(plan(diagnostics={"curvature": {"k": 3}, "weights": {}}))
    changed = plan(diagnostics={"curvature": {"k": 4}, "weights": {}})
    assert {cell.labels["diagnostic"] for cell in changed if cell.key not in before} == {"curvature"}


def test_checkpoints_are_transferred_from_beside_the_last_step() -> None:
    pretraining = {"epochs": None, "steps": 1000, "checkpoints": [300, 100]}
    cells = plan(pretraining=pretraining)
    steps = [cell.labels.get("pretrain_step") for cell in cells if cell.labels["method"] == "fine-tune"]
    assert Counter(steps) == {None: 4, 100: 4, 300: 4}
    assert len(keys(cells)) == len(cells)
    assert {cell.labels.get("pretrain_step") for cell in cells if cell.labels["method"] in ("scratch", "merlin")} == {
        None
    }
    recipe = PretrainRecipe.from_payload(cells[0].payload)
    assert recipe.checkpoints == (100, 300)


def test_every_part_of_a_key_changes_it() -> None:
    keys = {
        cell_key("a", seed=0),
        cell_key("b", seed=0),
        cell_key("a", seed=1),
        cell_key("a", seed=0, n_target=1),
        cell_key("a", seed=0, n_source=1),
        cell_key("a", seed=0, needs=("x",)),
        cell_key("a", seed=0, needs=("x", "y")),
    }
    assert len(keys) == 7
    assert all(len(key) == 32 for key in keys)


def test_the_order_of_settings_does_not_matter() -> None:
    assert shared_digest({"a": 1, "b": {"c": 2.0, "d": None}}) == shared_digest({"b": {"d": None, "c": 2.0}, "a": 1})
    assert shared_digest({"a": 1}) != shared_digest({"a": 1.0})
    axes = {"lr": [0.1, 0.2], "lr_scale": [0.5, 1.0]}
    asked = ({"grid": {"fine-tune": one}} for one in (axes, dict(reversed(axes.items()))))
    one, other = ([(cell.key, json.dumps(cell.payload)) for cell in plan(tuning=tuning)] for tuning in asked)
    assert one == other
