"""The networks of whole studies ranked; what transfer gave is counted again from the store."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from remembered import REMEMBERED
from studies import classification
from transferscope.analyses.rank import rank
from transferscope.analyses.rank.ranking import KEPT, RANDOM, StudyRanking
from transferscope.errors import DataError, MissingDataError, SettingsError, UnknownNameError
from transferscope.models import NetworkSettings, build_network, save_weights
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec

SCORES = ("h-score", "leep")


def tables(folder: Path, **changes: Any) -> dict[str, Any]:
    """Two sources, one of them with two sizes and an earlier step; two numbers of labels, one of them too small."""
    study = classification(folder, target={"data": f"npz:{folder}/target.npz", "labels": [4, 12, 30]})
    study["pretraining"] = {"steps": 60, "lr": 0.1, "sizes": [50, 100], "checkpoints": [5]}
    network = build_network(NetworkSettings("mlp", (8,)), (4,), 3, seed=9)
    save_weights(network, folder / "file.safetensors")
    study["sources"]["file"] = {"network": str(folder / "file.safetensors")}
    return {**study, **changes}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite") as opened:
        yield opened


def ranked(store: Store, study: dict[str, Any], **options: Any) -> StudyRanking:
    run_study(parse_spec(study), store, work=REMEMBERED)
    return rank_again(store, **options)


def rank_again(store: Store, **options: Any) -> StudyRanking:
    """The study of a store ranked once more."""
    return rank(store.place, **{"scores": SCORES, "device": "cpu", **options}).ranking


@pytest.mark.long
def test_every_pretrained_network_is_a_candidate(store: Store, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    found = ranked(store, tables(tmp_path), on_progress=lambda *step: seen.append(step))
    names = (
        "source (50 examples)",
        "source (50 examples) after 5 steps",
        "source (100 examples)",
        "source (100 examples) after 5 steps",
        "file",
    )
    for ranking, n_target in zip(found.rankings, (12, 30), strict=True):
        assert (ranking.n_target, ranking.seeds) == (n_target, (0, 1))
        assert set(ranking.candidates) == {*names, RANDOM}
        assert [score.score for score in ranking.scores] == list(SCORES)
        assert all(one.place is not None for score in ranking.scores for one in score.rated)
    assert found.hindsight.method == "fine-tuning"
    n_values = 2 * 2 * len(SCORES) * (len(names) + 1)
    assert seen == [(done, n_values) for done in range(n_values + 1)]


@pytest.mark.long
def test_what_transfer_gave_is_that_of_the_store(store: Store, tmp_path: Path) -> None:
    study = classification(tmp_path, seeds=3)
    study["sources"]["again"] = {"data": f"npz:{tmp_path}/target.npz"}
    study["pretraining"] = {"steps": 60, "lr": 0.1}
    found = ranked(store, study, method="linear-probe")
    labels = {cell.cell.key: dict(cell.cell.labels) for cell in store.cells("small") if cell.cell.role == "method"}
    records = pd.DataFrame(store.records("small").columns())
    records = records[records["name"].eq("accuracy") & records["part"].eq("target_test") & records["step"].isna()]
    pairs = zip(records["key"], records["value"], strict=True)
    rows = pd.DataFrame([{**labels[key], "value": value} for key, value in pairs if key in labels])
    probes = rows[rows["method"] == "linear-probe"].pivot_table(index="seed", columns="source", values="value")
    hindsight = found.hindsight
    assert (hindsight.method, hindsight.measure) == ("linear probe", "accuracy")
    gave = {one.candidate: one.performance.value for one in hindsight.transferred}
    assert gave == pytest.approx(probes.mean().to_dict())
    *_, at_random = hindsight.choices
    assert (at_random.n_cases, at_random.score) == (3, "")
    assert at_random.regret.value == pytest.approx(float((probes.max(axis=1) - probes.mean(axis=1)).mean()))


@pytest.mark.long
def test_it_is_kept_until_it_is_ranked_again(store: Store, tmp_path: Path) -> None:
    study = tables(tmp_path)
    run_study(parse_spec(study), store, work=REMEMBERED)
    assert store.study_documents("small").get("ranking") is None
    for scores in (SCORES[:1], SCORES):
        found = rank_again(store, scores=scores)
        document = store.study_documents("small").get("ranking")
        assert repr(KEPT.from_document(document)) == repr(found)
    done = [cell for cell in store.cells("small") if cell.cell.role == "method" and cell.state == "done"]
    assert found.runs.count == len(done)


def test_a_source_of_numbers_says_nothing_of_classes(store: Store, tmp_path: Path) -> None:
    study = classification(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 4)).astype(np.float32)
    np.savez(tmp_path / "numbers.npz", x_train=x, y_train=x[:, :2], x_test=x, y_test=x[:, :2])
    study["sources"]["numbers"] = {"data": f"npz:{tmp_path}/numbers.npz"}
    study["pretraining"] = {"steps": 20, "lr": 0.05}
    (ranking,) = ranked(store, study).rankings
    leep = next(score for score in ranking.scores if score.score == "leep")
    assert leep.of("numbers").place is None
    assert leep.of("source").place is not None
    assert next(score for score in ranking.scores if score.score == "h-score").of("numbers").place is not None


@pytest.mark.long
def test_a_seed_whose_pretraining_failed_is_passed_over(store: Store, tmp_path: Path) -> None:
    study = tables(tmp_path, seeds=3)
    run_study(parse_spec(study), store, work=REMEMBERED)
    lost = [one.cell for one in store.cells("small") if one.cell.labels["seed"] == 1 and one.cell.labels["source"]]
    others = [one.cell for one in store.cells("small") if one.cell not in lost]
    store.plan(store.study("small"), [*others, *(cell for cell in lost if cell.labels["source"] == "file")])
    for ranking in rank_again(store).rankings:
        assert ranking.seeds == (0, 2)


@pytest.mark.long
def test_numbers_are_judged_by_r2(store: Store, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(160, 4)).astype(np.float32)
    for name, y in (("near", x[:, :1] + x[:, 1:2]), ("far", x[:, 2:3] ** 2), ("target", x[:, :1] + 0.9 * x[:, 1:2])):
        np.savez(tmp_path / f"{name}.npz", x_train=x[:100], y_train=y[:100], x_test=x[100:], y_test=y[100:])
    study = classification(_folder(tmp_path), seeds=2) | {
        "target": {"data": f"npz:{tmp_path}/target.npz", "labels": [20]},
        "sources": {name: {"data": f"npz:{tmp_path}/{name}.npz"} for name in ("near", "far")},
        "pretraining": {"steps": 100, "lr": 0.05},
        "methods": {"scratch": {}, "linear-probe": {}},
    }
    found = ranked(store, study, scores=("knn", "leep"))
    (ranking,) = found.rankings
    assert [one.score for one in ranking.left_out] == ["leep"]
    assert (found.hindsight.method, found.hindsight.measure) == ("linear probe", "r2")
    near, far = found.hindsight.transferred
    assert near.performance.value > far.performance.value


@pytest.mark.long
def test_a_study_of_methods_that_do_not_count_has_no_hindsight(store: Store, tmp_path: Path) -> None:
    study = tables(tmp_path, methods={"scratch": {}, "inner": {"method": "merlin-ft"}})
    study["pretraining"] = {"steps": 20, "lr": 0.1}
    found = ranked(store, study)
    assert found.hindsight is None
    other = rank_again(store, method="inner")
    assert other.hindsight.method == "inner"


@pytest.mark.long
def test_mistakes_are_one_sentence(store: Store, tmp_path: Path) -> None:
    study = tables(tmp_path)
    run_study(parse_spec(study), store, work=REMEMBERED)
    with pytest.raises(UnknownNameError, match=r"^unknown study in .*store\.sqlite 'smal': did you mean 'small'\? "):
        rank(store.place, study="smal")
    with pytest.raises(UnknownNameError, match=r"^unknown score 'h_score': did you mean 'h-score'\? known are "):
        rank_again(store, scores=["h_score"])
    with pytest.raises(
        UnknownNameError,
        match=r"^unknown method with results of sources 'finetune': did you mean 'fine-tune'\? known are fine-tune, ",
    ):
        rank_again(store, method="finetune")
    for file in store.files.glob("*.safetensors"):
        file.unlink()
    with pytest.raises(
        DataError, match=r"^there is no network pretrained on source .*; restore the folder of networks"
    ):
        rank_again(store)


def test_one_source_is_held_against_random_features_and_none_is_refused(store: Store, tmp_path: Path) -> None:
    study = classification(tmp_path, pretraining={"steps": 20})
    run_study(parse_spec(study), store, work=REMEMBERED)
    found = rank_again(store, scores=("logme", "knn"))
    assert found.hindsight is None
    assert all(ranking.candidates == ("source", "random features") for ranking in found.rankings)
    assert all(score.of("source").above_random is not None for ranking in found.rankings for score in ranking.scores)
    run_study(
        replace(parse_spec(study), methods={"scratch": parse_spec(study).methods["scratch"]}), store, work=REMEMBERED
    )
    with pytest.raises(DataError, match=r"^small has no pretrained networks that a finished method starts from; give "):
        rank_again(store)


@pytest.mark.long
def test_too_few_labels_are_refused(store: Store, tmp_path: Path) -> None:
    study = tables(tmp_path, target={"data": f"npz:{tmp_path}/target.npz", "labels": [3, 5]})
    run_study(parse_spec(study), store, work=REMEMBERED)
    with pytest.raises(DataError, match=r"^labels of small = 5 is out of range; expected at least 6"):
        rank_again(store)


@pytest.mark.long
def test_a_method_that_lacks_results_of_a_candidate_cannot_judge(store: Store, tmp_path: Path) -> None:
    study = tables(tmp_path, methods={"scratch": {}, "fine-tune": {}, "joint": {}})
    run_study(parse_spec(study), store, work=REMEMBERED)
    with pytest.raises(
        SettingsError, match=r"^joint has no result for some of source .*; compare the scores with fine-"
    ):
        rank_again(store, method="joint")


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "classes"
    folder.mkdir()
    return folder


@pytest.mark.long
def test_a_study_whose_data_were_moved_says_what_brings_its_paths_up_to_date(store: Store, tmp_path: Path) -> None:
    run_study(parse_spec(tables(tmp_path)), store, work=REMEMBERED)
    (tmp_path / "target.npz").rename(tmp_path / "moved.npz")
    with pytest.raises(
        MissingDataError,
        match=r"target\.npz.*; if the study was moved, .* `transferscope run STUDY\.toml`",
    ):
        rank_again(store)
