"""Which trained networks stay on the disk, whatever happens on the way there."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from transferscope.store import Store
from transferscope.study.frames import read_study
from transferscope.study.kept import winners
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec
from transferscope.study.status import kept_networks
from transferscope.trained import load_model


def write_data(folder: Path) -> Path:
    """Data of three classes, and of some of the same rows as another source beside them."""
    y = np.arange(120) % 3
    x = (np.eye(3)[y] * 2 + np.random.default_rng(0).normal(size=(120, 3))).astype(np.float32)
    np.savez(folder / "classes.npz", x_train=x[:60], y_train=y[:60], x_test=x[60:], y_test=y[60:])
    np.savez(folder / "other.npz", x_train=x[20:60], y_train=y[20:60], x_test=x[:30], y_test=y[:30])
    return folder / "classes.npz"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


def tables(data: Path, **changes: Any) -> dict[str, Any]:
    engine = {"workers": 0, "device": "cpu", **changes.pop("engine", {})}
    plain: dict[str, Any] = {
        "name": "kept",
        "recipe": "equal",
        "seeds": 2,
        "target": {"data": f"npz:{data}", "labels": [10, 20]},
        "sources": {"one": {"data": f"npz:{data}"}, "two": {"data": f"npz:{data.with_name('other.npz')}"}},
        "network": {"name": "mlp", "widths": [4]},
        "pretraining": {"steps": 4},
        "training": {"steps": 4},
        "methods": {"scratch": {}, "fine-tune": {}, "knn": {}},
        "engine": engine,
    }
    return plain | changes


def run(place: Path, plain: dict[str, Any]) -> None:
    with Store.open(place) as store:
        run_study(parse_spec(plain), store)


@pytest.fixture(scope="module")
def place(data: Path) -> Path:
    """A study that was run at one go."""
    run(data.with_name("s.sqlite"), tables(data))
    return data.with_name("s.sqlite")


def runs_on_disk(store: Store) -> dict[str, Path]:
    """The files of finished runs, by key, with the step for those on the way."""
    keys = {cell.cell.key for row in store.studies() for cell in store.cells(row.name) if cell.cell.role == "method"}
    return {file.stem: file for file in store.files.glob("*.safetensors") if file.name.partition(".")[0] in keys}


@pytest.mark.long
def test_the_best_of_each_method_and_number_of_labels_stays(data: Path, place: Path) -> None:
    with Store.open(place, create=False) as store:
        final = read_study(store, "kept").final("accuracy")
        means = final.groupby(["method", "n_target", "source"])["value"].mean()
        best = set(means.groupby(["method", "n_target"]).idxmax())
        first = final[final["seed"] == 0].set_index(["method", "n_target", "source"])["key"]
        expected = set(first[list(best)])
        assert winners(store, "kept") >= expected
        files = runs_on_disk(store)
        assert files.keys() == expected
        stored = store.arrays("kept", "predictions")
        x = np.load(data)["x_test"]
        for key, file in files.items():
            model = load_model(file)  # its metadata rebuild it
            assert (model.card.study, model.card.cell) == ("kept", key)
            assert model.card.classes is not None
            arm = f"{model.card.method} from {model.card.source}" if model.card.source else model.card.method
            assert re.fullmatch(rf"TrainedModel\({arm}, \d+ labels, seed 0: accuracy 0\.\d+\)", repr(model))
            np.testing.assert_array_equal(model.predict(x), np.array(model.card.classes)[stored[key]])
        found = kept_networks(store, "kept")
        assert (found.keep, found.n_done, found.n_runs, found.n_pretrained) == ("winners", 20, 6, 4)
        assert found.run_bytes == sum(file.stat().st_size for file in files.values())


@pytest.mark.long
def test_what_diagnostics_asked_for_goes_when_they_are_done_and_changes_no_number(data: Path, tmp_path: Path) -> None:
    measured = {}
    for keep in ("winners", "all"):
        weights = {"weights": {"at": ["start", "end"], "every": 2}}
        run(tmp_path / f"{keep}.sqlite", tables(data, diagnostics=weights, engine={"keep": keep}))
        with Store.open(tmp_path / f"{keep}.sqlite", create=False) as store:
            measured[keep] = store.records("kept")
            files = runs_on_disk(store)
            n_steps = sum(".step" in name for name in files)
            assert (n_steps > 0, len(files) - n_steps) == ((True, 20) if keep == "all" else (False, 6))
    assert measured["all"].key == measured["winners"].key
    np.testing.assert_array_equal(measured["all"].value, measured["winners"].value)


@pytest.mark.long
def test_of_a_study_that_was_extended_the_same_networks_stay(data: Path, place: Path, tmp_path: Path) -> None:
    for seeds in (1, 2):
        run(tmp_path / "parts.sqlite", tables(data, seeds=seeds))
    with Store.open(place, create=False) as store:
        whole = runs_on_disk(store)
    with Store.open(tmp_path / "parts.sqlite", create=False) as store:
        parts, kept = runs_on_disk(store), winners(store, "kept")
    assert parts
    assert set(parts) <= set(whole) == kept & set(whole)
    for key in parts:
        one, other = load_file(whole[key]), load_file(parts[key])
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_what_another_study_needs_or_an_earlier_version_wrote_stays(data: Path, tmp_path: Path) -> None:
    place = tmp_path / "s.sqlite"
    small: dict[str, Any] = {"methods": {"scratch": {}}, "sources": {}}
    run(place, tables(data, name="first", engine={"keep": "all"}, **small))
    with Store.open(place, create=False) as store:
        all_of_first = runs_on_disk(store)
        key, file = next(iter(all_of_first.items()))
        with safe_open(file, framework="np") as opened:
            notes = opened.metadata()
        assert notes.pop("transferscope.cell") == key
    run(place, tables(data, **small))
    with Store.open(place, create=False) as store:
        assert runs_on_disk(store) == all_of_first
    save_file(load_file(file), file, metadata=notes)
    run(place, tables(data, name="first", engine={"keep": "none"}, **small))
    run(place, tables(data, engine={"keep": "none"}, **small))
    with Store.open(place, create=False) as store:
        assert set(runs_on_disk(store)) == {key}
