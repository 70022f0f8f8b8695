"""Figures that are drawn from a finished study."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file
from scipy.spatial.distance import cdist
from torch import nn
from typer.testing import CliRunner

from remembered import REMEMBERED
from studies import tables
from transferscope.errors import DataError, StoreError
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, PlannedCell, Store, StudyRow
from transferscope.study.context import WorkContext
from transferscope.study.frames import read_study
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec
from transferscope_papers.command import app
from transferscope_papers.from_study import FinishedStudy
from transferscope_papers.liu2019.weight_map import figure_4, weight_distances
from transferscope_papers.merlin2020.features import features_of

pytestmark = pytest.mark.long


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def make_study(path: Path, name: str, sources: Mapping[str, str | None]) -> Path:
    """A store with one more finished study, a run of each method from a source; and its study file."""
    cells = [
        PlannedCell(
            f"{name}-{method}",
            "method",
            {"source": source, "method": method, "n_target": 9, "n_source": None, "seed": 0},
            {},
        )
        for method, source in sources.items()
    ]
    spec = {"name": name, "methods": {method: {"name": method} for method in sources}, "target": {"data": "usps"}}
    with Store.open(path) as store:
        store.plan(StudyRow(name, spec, {}, "2026-11-22T09:00:00+00:00"), cells)
        for cell in cells:
            record = Record("accuracy", Estimate(0.9, n=100), "target_test")
            store.finish(cell.key, Outcome((record,), Cost(seconds=1.0)))
    file = path.with_name(f"{name}.toml")
    file.write_text(f'name = "{name}"\nstore = "{path.name}"\n', encoding="utf-8")
    return file


def test_figures_of_two_sources_or_studies_are_refused_in_a_sentence(tmp_path: Path) -> None:
    two = make_study(tmp_path / "two.sqlite", "two", {"fine-tune": "mnist", "merlin": "usps", "scratch": None})

    def draw(place: Path) -> None:
        run("draw", "merlin2020", "fig2a", "--study", str(place), "--out", str(tmp_path / "out"))

    with pytest.raises(DataError, match=r"two has runs of 2 sources \(mnist, usps\), but Figure 2a shows one"):
        draw(two)
    make_study(tmp_path / "two.sqlite", "other", {"scratch": None})
    with pytest.raises(StoreError) as several:
        draw(place := tmp_path / "two.sqlite")
    assert str(several.value) == (
        f"{place} has 2 studies (two, other); choose one, as in --study STUDY.toml --store {place}"
    )
    with pytest.raises(DataError, match=r'other kept the networks of 0 methods in .*keep = "all" to \[engine\]'):
        draw(tmp_path / "other.toml")
    assert not (tmp_path / "out").exists()


def trained(folder: Path) -> Path:
    """A small study that was really trained, with landscapes and all networks kept."""
    landscape = {"diagnostic": "landscape", "resolution": 5, "n_examples": 12, "at": ["start", "end"]}
    study = tables(
        folder,
        name="trained",
        seeds=2,
        store=str(folder / "trained.sqlite"),
        methods={"scratch": {}, "linear-probe": {}, "fine-tune": {}, "merlin": {"target_batch": 8}},
        diagnostics={"all": landscape, "head": {**landscape, "blocks": ["head"]}, "weights": {"every": 100}},
        engine={"keep": "all", "workers": 0},
    )
    spec = parse_spec(study)
    with Store.open(spec.store) as store:
        run_study(spec, store, work=REMEMBERED)
    file = folder / "trained.toml"
    file.write_text(f'name = "trained"\nstore = "{spec.store}"\n', encoding="utf-8")
    return file


@pytest.mark.long
@pytest.mark.drawn
def test_landscapes_are_held_against_each_other_layer_by_layer(tmp_path: Path) -> None:
    file = trained(tmp_path)
    words = run("draw", "liu2019", "landscapes", "--study", str(file), "--out", str(tmp_path / "out"))
    assert words.count("the loss varies by") == 4
    table = pd.read_csv(tmp_path / "out" / "liu2019-landscapes-start.csv")
    assert sorted(table["seed"].unique()) == [0, 1]
    with Store.open(str(tmp_path / "trained.sqlite")) as store:
        planes = store.arrays("trained", "landscape_loss@0")
        cells = {cell.cell.key: cell.cell.labels for cell in store.cells("trained")}
    for key, plane in planes.items():
        labels = cells[key]
        if labels["method"] == "scratch":
            layer = {"all": "all layers", "head": "head"}[str(labels["diagnostic"])]
            own = (table["network"] == "from scratch") & (table["layer"] == layer) & (table["seed"] == labels["seed"])
            assert table.loc[own, "variation"].item() == pytest.approx(plane.max() - plane.min())


@pytest.mark.long
@pytest.mark.drawn
def test_weights_are_mapped_by_the_distances_between_networks(tmp_path: Path) -> None:
    file = trained(tmp_path)
    words = run("draw", "liu2019", "fig4", "--study", str(file), "--out", str(tmp_path / "out"))
    table = pd.read_csv(tmp_path / "out" / "liu2019-fig4.csv")
    assert table.groupby(["network", "at"]).size().unique().tolist() == [2]
    assert "8 of 8 runs kept their start and end" in words
    names = {"scratch": "Training from scratch"} | {
        method: f"{called} from source"
        for method, called in (("fine-tune", "Fine-tuning"), ("linear-probe", "Linear probe"), ("merlin", "MeRLin"))
    }
    moved: dict[str, list[float]] = {}
    with Store.open(str(tmp_path / "trained.sqlite")) as store:
        for cell in (one.cell for one in store.cells("trained") if one.cell.role == "method"):
            start, end = (load_file(store.files / f"{cell.key}{at}.safetensors") for at in (".step0", ""))
            way = names[str(cell.labels["method"])]
            parts = [np.square(end[name].numpy() - start[name].numpy()).sum() for name in end]
            moved.setdefault(way, []).append(float(np.sum(parts)) ** 0.5)
    assert set(moved) == set(table["network"])
    for way, distances in moved.items():
        assert f"{way} {np.mean(distances):.3g}" in words


@pytest.mark.long
@pytest.mark.drawn
def test_networks_of_other_sizes_are_named_apart_and_those_of_less_pretraining_left_out(tmp_path: Path) -> None:
    trained(tmp_path)
    with Store.open(str(tmp_path / "trained.sqlite")) as store:
        cells = store.cells("trained")
        fits = [one for one in cells if one.cell.role == "method"]
        changed = {fits[0].cell.key: {"pretrain_step": 5}, fits[1].cell.key: {"n_target": 6}}
        given = [
            replace(one, cell=replace(one.cell, labels={**one.cell.labels, **changed.get(one.cell.key, {})}))
            for one in cells
        ]
        made = figure_4(FinishedStudy(store, "trained", given, read_study(store, "trained")))
    assert "7 of 7 runs" in made.sentences[0]
    table = made.drawings[0].data
    assert len(table) == 14
    assert {name.rpartition(", ")[2] for name in table["network"]} == {"6 labels", "12 labels"}


def test_distances_of_weights_are_those_of_all_parameters_in_one_vector() -> None:
    networks = [nn.Sequential(nn.Linear(3, 2), nn.Linear(2, width)) for width in (1, 1, 1)]
    vectors = np.stack([np.concatenate([p.detach().numpy().ravel() for p in one.parameters()]) for one in networks])
    assert weight_distances(networks) == pytest.approx(cdist(vectors, vectors), rel=1e-6)
    with pytest.raises(DataError, match="the kept networks differ in architecture"):
        weight_distances([networks[0], nn.Linear(3, 2)])


def test_a_study_without_snapshots_has_no_map_of_weights(tmp_path: Path) -> None:
    study = make_study(tmp_path / "one.sqlite", "one", {"fine-tune": "mnist", "scratch": None})
    with pytest.raises(DataError, match=r"one kept start and end of 0 networks .*with every = 100"):
        run("draw", "liu2019", "fig4", "--study", str(study), "--out", str(tmp_path / "out"))


@pytest.mark.long
@pytest.mark.drawn
def test_features_of_all_methods_are_mapped_with_the_ratio_of_their_variances(tmp_path: Path) -> None:
    file = trained(tmp_path)
    run("draw", "merlin2020", "fig2a", "--study", str(file), "--out", str(tmp_path / "out"))
    document = json.loads(run("draw", "merlin2020", "fig2a", "--study", str(file), "--out", str(tmp_path), "--json"))
    answer = document["result"]
    assert all(Path(file).is_file() for file in answer["written"])
    assert {row["table"] for row in answer["rows"]} == {Path(one).stem for one in answer["written"]}
    table = pd.read_csv(tmp_path / "out" / "merlin2020-fig2a.csv")
    assert table.groupby(["method", "part"]).size().to_dict() == {
        (method, part): n
        for method in ("scratch", "linear-probe", "fine-tune", "merlin")
        for part, n in (("train", 12), ("test", 20))
    }
    with Store.open(str(tmp_path / "trained.sqlite")) as store:
        fits = [cell for cell in store.cells("trained") if cell.cell.role == "method"]
        predicted = store.arrays("trained", "predictions")
        for cell in fits:  # the head on these features predicts what the run predicted
            weights = load_file(store.files / f"{cell.cell.key}.safetensors")
            features = features_of(cell, WorkContext(store.files)).values["test"]
            outputs = features @ weights["head.weight"].numpy().T + weights["head.bias"].numpy()
            assert outputs.argmax(axis=1).tolist() == predicted[cell.cell.key].tolist()
    data = np.load(tmp_path / "target.npz")
    part = table[(table["method"] == "scratch") & (table["part"] == "test")]
    assert part["label"].tolist() == data["y_test"].tolist()
    assert len(fits) == 8
    assert answer["claims"] == []
