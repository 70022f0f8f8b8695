"""A study of labels on a grid over each image, from the file to the page."""

from pathlib import Path
from typing import Any

import pytest
import tomli_w
from typer.testing import CliRunner

from transferscope.analyses.compare.study_file import (
    Question,
    study_tables,
)
from transferscope.analyses.compare.summary import summarise
from transferscope.cli.main import app
from transferscope.data import load
from transferscope.errors import DataError, NetworkError, SettingsError
from transferscope.store import Store
from transferscope.study.plan import plan_study
from transferscope.study.spec import parse_spec, seen_from_folder

SCENES = "scenes?size=16&grid=4&appearance=several&kinds=sphere,box,cone&n_train=40&n_test=20&task="


def tables(**changes: Any) -> dict[str, Any]:
    study = {
        "name": "masks",
        "recipe": "equal",
        "seeds": 2,
        "target": {"data": f"{SCENES}segmentation", "labels": [20]},
        "sources": {"normals": {"data": f"{SCENES}normals&light=random"}, "class": {"data": f"{SCENES}class"}},
        "network": {"name": "resnet20", "widths": [4, 4, 4]},
        "pretraining": {"steps": 4, "batch_size": 8},
        "training": {"steps": 4, "batch_size": 8},
        "methods": {"scratch": {}, "fine-tune": {}},
        "engine": {"workers": 0},
    }
    return {**study, **changes}


@pytest.mark.long
def test_studies_of_masks_and_of_classes_from_masks_end_in_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    normals, masks = f"{SCENES}normals&light=random", f"{SCENES}segmentation"
    for name, target, source in (("masks", masks, normals), ("classes", f"{SCENES}class", masks)):
        target_table = {"data": target, "labels": [20]}
        study = tables(name=name, seeds=1, target=target_table, sources={"other": {"data": source}})
        (tmp_path / f"{name}.toml").write_text(tomli_w.dumps(study))
        for command in (["run", "--quiet"], ["report"]):
            result = CliRunner().invoke(app, [*command, str(tmp_path / f"{name}.toml")], catch_exceptions=False)
            assert result.exit_code == 0
    with Store.open(tmp_path / "runs" / "masks.sqlite", create=False) as store:
        table = summarise(store, "masks").table
        done = store.arrays("masks", "predictions")
    assert {predictions.shape for predictions in done.values()} == {(20, 4, 4)}
    assert table["mean_iou"].between(0, 1).all()
    assert "angular_error" not in table
    page = (tmp_path / "masks.html").read_text()
    assert "Mean IoU" in page
    assert "Each square of a grid of 4 × 4 over an image has a class; to say" in page
    with Store.open(tmp_path / "runs" / "classes.sqlite", create=False) as store:
        kept = summarise(store, "classes")
    assert kept.table["source_kept"].notna().any()  # the source head still reads masks from maps of that network


def test_what_cannot_be_done_on_a_grid_is_said_at_planning() -> None:
    with pytest.raises(DataError, match="linear-probe does not support the grid of labels"):
        plan_study(parse_spec(tables(methods={"scratch": {}, "linear-probe": {}})))
    tuned = {"grid": {"fine-tune": {"head": ["random", "probe"]}}}
    with pytest.raises(DataError, match=r"\[tuning.grid.fine-tune\] head = 'probe': fine-tune does not support"):
        plan_study(parse_spec(tables(tuning=tuned)))
    with pytest.raises(NetworkError, match=r"only resnet8, .* predict a grid of labels"):
        plan_study(parse_spec(tables(network={"name": "conv4", "widths": [4, 4, 4, 4]})))
    with pytest.raises(SettingsError, match="augment = 'flip-crop' moves pixels"):
        plan_study(parse_spec(tables(training={"steps": 4, "augment": "flip-crop"})))
    with pytest.raises(DataError, match="class-separation needs labels of classification, but these are of"):
        plan_study(parse_spec(tables(diagnostics={"class-separation": {}})))


def test_a_comparison_of_masks_takes_a_network_and_methods_that_learn_them(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"labels": [20], "diagnostics": [], "seeds": 2, "folder": tmp_path, "recipe": "equal"}
    made, spec = study_tables(Question(f"{SCENES}segmentation", [f"{SCENES}class"], **asked))
    assert made["network"] == {"name": "resnet20"}
    assert spec == parse_spec(seen_from_folder(made, tmp_path))
    assert set(made["methods"]) == {"scratch", "fine-tune", "l2-sp"}
    assert "head" not in made["tuning"]["grid"]["fine-tune"]
    masks = load(f"{SCENES}segmentation")
    named, _ = study_tables(Question(masks, [f"{SCENES}class"], methods=["fine-tune"], **asked))
    kept = load(f"{named['target']['data'].replace('npz:', f'npz:{tmp_path}/')}")
    assert kept.train.classes == masks.train.classes
    assert (kept.train.labels == masks.train.labels).all()
