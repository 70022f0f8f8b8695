"""The studies of a whole store audited; what transfer gave is counted again from the store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analyses.small_study import classification
from remembered import REMEMBERED
from transferscope.analyses.rank import AuditResult, audit
from transferscope.analyses.rank.agreement import CONTROLS
from transferscope.errors import DataError, MissingDataError, SettingsError, StoreError
from transferscope.models import NetworkSettings, build_network, save_weights
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec

SCORES = ("logme", "knn")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite") as opened:
        yield opened


def study(folder: Path, name: str, target: str, sources: tuple[str, ...], /, **changes: Any) -> dict[str, Any]:
    """A study of one target; data sets are written by their names, each with a shift of its own."""
    rng = np.random.default_rng(0)
    for shift, data in enumerate(("x", "y", "z", "one", "two", "three")):
        x, labels = rng.normal(size=(160, 4)), np.arange(160) % 3
        x[:, shift % 4] += 2 * labels
        if not (folder / f"{data}.npz").exists():
            np.savez(folder / f"{data}.npz", x_train=x[:100], y_train=labels[:100], x_test=x[100:], y_test=labels[100:])
    found = classification(folder, name=name, target={"data": f"npz:{folder}/{target}.npz", "labels": [12]})
    found["sources"] = {source: {"data": f"npz:{folder}/{source}.npz"} for source in sources}
    found["pretraining"] = {"steps": 30, "lr": 0.1}
    return {**found, **changes}


def run(store: Store, *studies: dict[str, Any]) -> None:
    for one in studies:
        run_study(parse_spec(one), store, work=REMEMBERED)


def audited(store: Store, **options: Any) -> AuditResult:
    return audit(store.place, **{"scores": SCORES, "device": "cpu", **options})


@pytest.mark.long
def test_studies_of_one_target_are_taken_together(store: Store, tmp_path: Path) -> None:
    run(
        store,
        study(tmp_path, "x-1", "x", ("one", "two")),
        study(tmp_path, "x-2", "x", ("two", "three")),
        study(tmp_path, "y-1", "y", ("one", "two", "three")),
        study(tmp_path, "x-3", "x", ("one", "two"), training={"steps": 20}),
    )
    seen: list[tuple[int, int]] = []
    found = audited(store, on_progress=lambda *step: seen.append(step)).audit
    cases = {case.studies: case for case in found.cases}
    assert {names: case.sources for names, case in cases.items()} == {
        ("x-1", "x-2"): ("one", "two", "three"),
        ("y-1",): ("one", "two", "three"),
        ("x-3",): ("one", "two"),  # other settings: what it gave is not comparable
    }
    assert found.targets == ("x", "y")
    assert {one.score for one in found.agreements} == {*SCORES, *CONTROLS, "picking at random"}
    assert found.of("logme").n_targets == 2
    assert seen[-1] == (16, 16)

    labels = {one.cell.key: one.cell.labels for one in store.cells("x-2")}
    records = pd.DataFrame(store.records("x-2").columns())
    final = records[records["name"].eq("accuracy") & records["part"].eq("target_test") & records["step"].isna()]
    gave = [
        value
        for key, value in zip(final["key"], final["value"], strict=True)
        if (labels[key]["source"], labels[key]["method"]) == ("three", "fine-tune")
    ]
    assert len(gave) == 2
    assert cases["x-1", "x-2"].measured[2] == pytest.approx(np.mean(gave))
    accuracy = records[records["name"].eq("accuracy") & records["part"].eq("source_test") & records["step"].isna()]
    of_pretraining = {
        labels[key]["seed"]: value
        for key, value in zip(accuracy["key"], accuracy["value"], strict=True)
        if (labels[key]["source"], labels[key]["method"]) == ("three", "pretrain")
    }
    controls = cases["x-1", "x-2"].scores["source accuracy"]
    assert controls[:, 2] == pytest.approx([of_pretraining[0], of_pretraining[1]])


@pytest.mark.long
def test_scores_are_those_of_a_ranking(store: Store, tmp_path: Path) -> None:
    from transferscope.analyses.rank import rank

    run(store, *(study(tmp_path, name, name, ("one", "two")) for name in ("x", "y")))
    table = rank(store.place, study="x", scores=["logme"], device="cpu").table().set_index("candidate")
    case = next(case for case in audited(store, scores=["logme"]).audit.cases if case.target == "x")
    for place, source in enumerate(case.sources):
        assert case.scores["logme"][:, place].mean() == pytest.approx(table.loc[source, "value"])
    one = next(case for case in audited(store, seeds=1).audit.cases if case.target == "x")
    assert (one.scores["logme"].shape, one.n_seeds) == ((1, 2), 2)


@pytest.mark.long
def test_a_file_has_no_source_accuracy_and_no_pixels(store: Store, tmp_path: Path) -> None:
    save_weights(build_network(NetworkSettings("mlp", (8,)), (4,), 3, seed=9), tmp_path / "file.safetensors")
    studies = [study(tmp_path, name, name, ("one",)) for name in ("x", "y")]
    for one in studies:
        one["sources"]["file"] = {"network": str(tmp_path / "file.safetensors")}
    run(store, *studies)
    found = audited(store).audit
    assert {name: found.of(name).n_cases for name in ("raw pixels", "source accuracy", "logme", "static list")} == {
        "raw pixels": 0,
        "source accuracy": 0,
        "logme": 2,
        "static list": 2,
    }


@pytest.mark.long
def test_studies_that_do_not_count_are_named(store: Store, tmp_path: Path) -> None:
    run(
        store,
        *(study(tmp_path, name, name, ("one", "two")) for name in ("x", "y")),
        study(tmp_path, "lone", "z", ("one",)),
        study(tmp_path, "few", "z", ("one", "two"), target={"data": f"npz:{tmp_path}/z.npz", "labels": [4]}),
        study(tmp_path, "alone", "z", ("one", "two"), methods={"scratch": {}}),
        study(tmp_path, "inner", "z", ("one", "two"), methods={"scratch": {}, "merlin-ft": {}}),
        study(tmp_path, "probe", "z", ("one", "two"), methods={"scratch": {}, "linear-probe": {}}),
    )
    result = audited(store)
    why = dict(result.audit.passed_over)
    assert why["lone"] == "one source"
    assert why["few"] == "4 labels are too few to score with, which takes 6"
    assert why["alone"] == "it has no pretrained network"
    assert why["inner"] == "no method has results of all its sources"
    assert why["probe"] == "judged by linear-probe, and others by fine-tune"
    assert "Passed over: alone: it has no pretrained network; " in str(list(result.answer()))
    assert result.audit.targets == ("x", "y")


@pytest.mark.long
def test_the_method_that_is_asked_for_counts(store: Store, tmp_path: Path) -> None:
    run(store, *(study(tmp_path, name, name, ("one", "two")) for name in ("x", "y")))
    fine, probe = audited(store).audit, audited(store, against="linear-probe").audit
    assert (fine.method, probe.method) == ("fine-tune", "linear-probe")
    assert fine.cases[0].measured != pytest.approx(probe.cases[0].measured)


@pytest.mark.long
def test_mistakes_are_one_sentence(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"store\.sqlite holds no study; run some with `transferscope run` first$"):
        audited(store)
    run(store, study(tmp_path, "x", "x", ("one", "two")))
    takes = "an audit takes finished studies of two targets or more, each with two sources or more, in one store"
    with pytest.raises(
        DataError, match=rf"store\.sqlite has one study, x, and only those of one target, x, count; {takes}"
    ):
        audited(store)
    run(store, study(tmp_path, "lone", "y", ("one",)))
    with pytest.raises(
        DataError, match=rf"has 2 studies, and only those of one target, x, count \(lone: one source\); {takes}"
    ):
        audited(store)
    with pytest.raises(
        DataError, match=r"an audit counts none of them \(x and lone: unknown method with results of sources 'no'"
    ):
        audited(store, against="no")
    with pytest.raises(SettingsError, match=r"^seeds = 0; expected at least 1$"):
        audited(store, seeds=0)
    with pytest.raises((MissingDataError, StoreError)):
        audit(tmp_path / "none.sqlite")
    run(store, study(tmp_path, "y", "y", ("one", "two")))
    for file in store.files.glob("*.safetensors"):
        file.unlink()
    with pytest.raises(DataError, match=r"^the network pretrained on .* is gone; put the folder of networks back"):
        audited(store)


@pytest.mark.long
def test_page_json_and_files(store: Store, tmp_path: Path) -> None:
    run(store, *(study(tmp_path, name, name, ("one", "two")) for name in ("x", "y")))
    result = audited(store)
    page = result.report(tmp_path / "audit.html").html.read_text(encoding="utf-8")
    assert "2 targets cannot support any score" in page
    assert "static list" in page
    assert '"analysis": "rank --audit"' in result.to_json()
    table = result.table().set_index("score")
    assert table.loc["knn", "kind"] == "control"
    assert table.loc["picking at random", "spearman"] == 0
    cases = result.tables()["audit-cases"]
    assert len(cases) == 4
    assert set(cases["source"]) == {"one", "two"}
