"""`transferscope export` and `predict`: from a finished study to a network in a folder and to its predictions."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from safetensors.numpy import load_file, save_file
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from cli.called import Call, output
from transferscope.data.load import load
from transferscope.errors import (
    CorruptDataError,
    DataError,
    MissingDataError,
    SettingsError,
    StoreError,
    TransferscopeError,
    UnknownNameError,
)
from transferscope.models import BACKBONES
from transferscope.models.weights import read_notes
from transferscope.store import Store
from transferscope.study.decisions import Arm, decisions
from transferscope.study.export import chosen_run, export
from transferscope.study.frames import read_study
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec
from transferscope.trained import TrainedModel, card_digest, load_model

ENGINE = {"workers": 0, "device": "cpu"}
METHODS: dict[str, Any] = {"scratch": {}, "fine-tune": {}, "linear-probe": {}, "raw": {}}


def study_of(folder: Path, name: str, data: str, **changes: Any) -> Path:
    """A finished study in a store of its own."""
    tables: dict[str, Any] = {
        "name": name,
        "seeds": 2,
        "store": str(folder / f"{name}.sqlite"),
        "target": {"data": data, "labels": [20, 40]},
        "sources": {"same": {"data": data}},
        "network": {"name": "mlp", "widths": [5]},
        "pretraining": {"steps": 20},
        "training": {"steps": 15},
        "methods": METHODS,
        "engine": ENGINE,
    }
    with Store.open(folder / f"{name}.sqlite") as store:
        run_study(parse_spec(tables | changes), store)
    return folder / f"{name}.sqlite"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    x = (np.eye(3)[y] * 2 + rng.normal(size=(240, 3))).astype(np.float32)
    names = np.array(["ant", "bee", "=cat"])[y]
    np.savez(folder / "classes.npz", x_train=x[:120], y_train=names[:120], x_test=x[120:], y_test=names[120:])
    table = pd.DataFrame(x, columns=["a", "b", "c"]).assign(price=x @ [1.0, -2.0, 0.5], id=np.arange(240))
    table.to_csv(folder / "prices.csv", index=False)
    for i, label in enumerate(y[:60]):
        place = folder / "photos" / ["dark", "mid", "light"][label] / f"{i:02}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.clip(60 + 80 * label + 20 * rng.normal(size=(12, 10, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(place)
    return folder


@pytest.fixture(scope="module")
def classes(folder: Path) -> Path:
    return study_of(folder, "classes", f"npz:{folder / 'classes.npz'}")


@pytest.fixture(scope="module")
def model(folder: Path, classes: Path) -> TrainedModel:
    return export(classes, folder / "best", method="fine-tune", source="same", labels=40, seed=1).model


def by_hand(file: Path, x: np.ndarray) -> np.ndarray:
    """Outputs of the one hidden layer of the exported file, written out."""
    from safetensors import safe_open

    weights = load_file(file)
    with safe_open(file, framework="np") as opened:
        scale = json.loads(opened.metadata()["transferscope.pixel_scale"])
    layers = [name.removesuffix(".weight") for name in weights if name.endswith("weight") and "head" not in name]
    assert len(layers) == 1
    standard = (x - np.float32(scale["mean"])) / np.float32(scale["std"])  # one number for all pixels of a grey image
    hidden = np.maximum(standard @ weights[f"{layers[0]}.weight"].T + weights[f"{layers[0]}.bias"], 0)
    return np.asarray(hidden @ weights["head.weight"].T + weights["head.bias"])


def test_a_network_predicts_what_the_study_stored(folder: Path, classes: Path, model: TrainedModel) -> None:
    data = np.load(folder / "classes.npz")
    with Store.open(classes, create=False) as store:
        stored = store.arrays("classes", "predictions")[model.card.cell]
    assert model.card.classes is not None
    np.testing.assert_array_equal(model.predict(data["x_test"]), np.array(model.card.classes)[stored])
    assert np.mean(model.predict(data["x_test"]) == data["y_test"]) == pytest.approx(model.card.score)


def test_a_folder_is_enough_to_predict_and_agrees_with_the_network_written_out(
    folder: Path, model: TrainedModel, tmp_path: Path
) -> None:
    shutil.copytree(folder / "best", tmp_path / "elsewhere")
    (tmp_path / "elsewhere/card.json").unlink()
    again = load_model(tmp_path / "elsewhere")
    x = np.load(folder / "classes.npz")["x_test"]
    np.testing.assert_array_equal(again.outputs(x), model.outputs(x))
    np.testing.assert_allclose(again.outputs(x), by_hand(folder / "best/model.safetensors", x), atol=1e-5)
    likely = again.predict_proba(x)
    np.testing.assert_allclose(likely.sum(axis=1), 1.0)
    logits = by_hand(folder / "best/model.safetensors", x).astype(np.float64)
    scaled = np.exp(logits / json.loads((folder / "best/card.json").read_text())["temperature"])
    np.testing.assert_allclose(likely, scaled / scaled.sum(axis=1, keepdims=True), atol=1e-6)
    own = np.arange(len(x)), np.unique(np.load(folder / "classes.npz")["y_test"], return_inverse=True)[1]
    plain = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert -np.log(likely[own]).mean() <= -np.log(plain[own]).mean() + 1e-4


def test_features_are_what_the_head_reads(folder: Path, model: TrainedModel) -> None:
    x = np.load(folder / "classes.npz")["x_test"]
    found = model.features(x)
    weights = load_file(folder / "best/model.safetensors")
    assert found.shape == (len(x), weights["head.weight"].shape[1])
    by_head = found @ weights["head.weight"].T + weights["head.bias"]
    np.testing.assert_allclose(by_head, by_hand(folder / "best/model.safetensors", x), atol=1e-5)
    with pytest.raises(DataError, match="the inputs"):
        model.features(x[:, :-1])


def test_the_command_writes_the_recommended_arm_and_predicts_in_a_table(folder: Path, tmp_path: Path) -> None:
    networks = {name: settings for name, settings in METHODS.items() if name != "raw"}
    place = study_of(tmp_path, "networks", f"npz:{folder / 'classes.npz'}", methods=networks)
    said = output("export", str(place), "--out", str(tmp_path / "best"))
    assert "its predictions of the test examples are those of the study, all of them" in said
    card = json.loads((tmp_path / "best/card.json").read_text())
    with Store.open(place, create=False) as store:
        decided = decisions(read_study(store, "networks"))
        records = pd.DataFrame(store.records("networks").columns())
        labels = {one.cell.key: one.cell.labels for one in store.cells("networks")}
    n_labels = max([n for n, one in decided.items() if one.decided] or decided)
    final = records[records["step"].isna() & (records["part"] == "target_test") & (records["name"] == "accuracy")]
    arms = [(labels[key]["method"], labels[key].get("source"), labels[key]["n_target"]) for key in final["key"]]
    assert str(Arm(card["method"], card["source"] or "")) == decided[n_labels].recommended
    assert (card["n_labels"], card["seed"]) == (n_labels, 0)
    own = [arm == (card["method"], card["source"], n_labels) for arm in arms]
    assert card["mean_score"] == pytest.approx(final["value"][own].mean())
    said = output("predict", str(tmp_path / "best"), f"npz:{folder / 'classes.npz'}", "--out", str(tmp_path / "p.csv"))
    assert said.startswith("120 predictions of ")
    table = pd.read_csv(tmp_path / "p.csv")
    assert list(table.columns) == ["input", "prediction", "p_=cat", "p_ant", "p_bee"]
    expected = load_model(tmp_path / "best").predict(np.load(folder / "classes.npz")["x_test"])
    assert [name.lstrip("'") for name in table["prediction"]] == expected.tolist()  # no spreadsheet runs "=cat"


@pytest.mark.parametrize("numbers", [False, True])
def test_nearest_neighbours_predict_from_their_folder_as_those_of_scikit_learn(
    numbers: bool, folder: Path, tmp_path: Path
) -> None:
    data = f"csv:{folder / 'prices.csv'}?label=price&drop=id" if numbers else f"npz:{folder / 'classes.npz'}"
    place = study_of(tmp_path, "near", data, methods={"knn": {}, "raw": {}}, target={"data": data, "labels": [40]})
    said = output("export", str(place), "--method", "knn", "--out", str(tmp_path / "near"))
    assert "its predictions of the test examples are those of the study, all of them" in said
    kept = load_file(tmp_path / "near/model.safetensors")
    assert len(kept["head.directions"]) == len(kept["head.values"]) == 40
    output("predict", str(tmp_path / "near"), data.partition("?")[0], "--out", str(tmp_path / "p.csv"))
    predicted, model = pd.read_csv(tmp_path / "p.csv"), load_model(tmp_path / "near")
    if numbers:
        inputs = pd.read_csv(folder / "prices.csv")[["a", "b", "c"]]
        ((offset, unit),) = model.card.label_units or ((0.0, 1.0),)
        one = KNeighborsRegressor(int(kept["head.k"]), metric="cosine", algorithm="brute")
        expected = offset + unit * one.fit(kept["head.directions"], kept["head.values"]).predict(model.features(inputs))
        np.testing.assert_allclose(predicted["output_0"], expected[:, 0], rtol=1e-4, atol=1e-4)
        return
    one = KNeighborsClassifier(int(kept["head.k"]), metric="cosine", algorithm="brute")
    one.fit(kept["head.directions"], kept["head.values"].argmax(axis=1))
    shares = one.predict_proba(model.features(np.load(folder / "classes.npz")["x_test"]))
    surest = np.sort(shares, axis=1)
    apart = surest[:, -1] > surest[:, -2]  # scikit-learn breaks ties by the order of classes
    assert apart.mean() > 0.8
    assert model.card.classes is not None
    names = np.array([name.lstrip("'") for name in predicted["prediction"]])
    np.testing.assert_array_equal(names[apart], np.array(model.card.classes)[shares.argmax(axis=1)][apart])


@pytest.mark.long
def test_numbers_of_a_table_are_predicted_by_column_name(folder: Path, tmp_path: Path) -> None:
    place = study_of(folder, "prices", f"csv:{folder / 'prices.csv'}?label=price&drop=id")
    found = export(place, tmp_path / "net", method="scratch")
    assert (found.n_equal, found.model.card.metric) == (found.n_test, "r2")
    assert found.model.card.inputs.columns == ("a", "b", "c")
    table = pd.read_csv(folder / "prices.csv").drop(columns=["price", "id"])
    table.assign(other="x")[["other", "c", "a", "b"]].to_csv(tmp_path / "new.csv", index=False)
    output("predict", str(tmp_path / "net"), f"csv:{tmp_path / 'new.csv'}", "--out", str(tmp_path / "p.csv"))
    predicted = pd.read_csv(tmp_path / "p.csv")["output_0"]
    expected = by_hand(tmp_path / "net/model.safetensors", table.to_numpy(dtype=np.float32))
    np.testing.assert_allclose(predicted, expected[:, 0], atol=1e-4)
    for unit, far in ((1, False), (1000, True)):  # a number in another unit
        table.assign(a=table["a"] * unit).to_csv(tmp_path / "new.csv", index=False)
        words = ("predict", str(tmp_path / "net"), f"csv:{tmp_path / 'new.csv'}", "--out", str(tmp_path / "p.csv"))
        remarks = json.loads(output(*words, "--json"))["result"]["remarks"]
        assert any("far from all training examples, in a (" in one for one in remarks) is far
    table[["a", "b"]].to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(UnknownNameError, match="'c'"):
        output("predict", str(tmp_path / "net"), f"csv:{tmp_path / 'less.csv'}", "--out", str(tmp_path / "p.csv"))


@pytest.mark.long
def test_numbers_of_arrays_are_predicted_as_they_were_given(folder: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(240, 3)).astype(np.float32)
    y = 100 + 15 * x @ [0.5, -0.7, 0.5]
    np.savez(tmp_path / "own.npz", x_train=x[:120], y_train=y[:120], x_test=x[120:], y_test=y[120:])
    training = {"training": {"steps": 300}, "methods": {"scratch": {}}}
    place = study_of(tmp_path, "arrays", f"npz:{tmp_path / 'own.npz'}", **training)
    found = export(place, tmp_path / "net", method="scratch", labels=40)
    assert found.model.card.label_units == ((100.0, 10.0),)
    output("predict", str(tmp_path / "net"), f"npz:{tmp_path / 'own.npz'}", "--out", str(tmp_path / "p.csv"))
    predicted = pd.read_csv(tmp_path / "p.csv")["output_0"].to_numpy()
    np.testing.assert_allclose(
        predicted, 100 + 10 * by_hand(tmp_path / "net/model.safetensors", x[120:])[:, 0], rtol=1e-5
    )
    assert np.corrcoef(predicted, y[120:])[0, 1] > 0.9
    assert abs(np.mean(predicted - y[120:])) < 5


@pytest.mark.long
def test_a_row_is_predicted_alike_whatever_rows_stand_beside_it(call: Call, tmp_path: Path) -> None:
    """Codes had been read as numbers where no other row had a letter, and all rows as "other"."""
    random = np.random.default_rng(0)
    code, flag = random.choice(["A1", "B2", "007", "008"], 240), random.choice(["TRUE", "FALSE", "unknown"], 240)
    at = 1.7e9 + random.normal(0, 50, 240)
    table = pd.DataFrame({"code": np.where(np.arange(240) < 2, "Z9", code), "flag": flag, "at": at})
    table["price"] = (code == "007") * 1.0 + (flag == "TRUE") * 2.0 + (at - 1.7e9) / 50
    table.to_csv(tmp_path / "own.csv", index=False)
    place = study_of(tmp_path, "rows", f"csv:{tmp_path / 'own.csv'}?label=price", methods={"scratch": {}})
    export(place, tmp_path / "net", method="scratch", labels=40)
    alone = table[(table.code == "007") & (table.flag != "unknown")]
    predicted = []
    for name, rows in (("whole", table), ("alone", alone)):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        said = call("predict", tmp_path / "net", f"csv:{tmp_path / name}.csv", "--out", tmp_path / "p.csv").err
        assert ("few or no training rows have" in said) is (name == "whole")  # Z9 is rare
        predicted.append(pd.read_csv(tmp_path / "p.csv")["output_0"].to_numpy())
    np.testing.assert_allclose(predicted[1], predicted[0][alone.index], rtol=1e-6)


@pytest.mark.long
def test_a_folder_of_photographs_is_read_as_that_of_the_study(folder: Path, tmp_path: Path) -> None:
    data = {"data": f"folder:{folder / 'photos'}?resize=8", "transforms": ["grey", "invert"]}
    place = study_of(folder, "photos", "", target={**data, "labels": [30]}, sources={"same": data})
    found = export(place, tmp_path / "net", method="scratch")
    assert found.n_equal == found.n_test
    assert (found.model.card.inputs.raw_shape, found.model.card.inputs.input_shape) == ((3, 8, 8), (1, 8, 8))
    new = tmp_path / "new/below"
    new.mkdir(parents=True)
    rng = np.random.default_rng(1)
    images = rng.integers(0, 255, size=(3, 20, 30), dtype=np.uint8)  # grey, where those of the study had colours
    for i, pixels in enumerate(images):
        Image.fromarray(pixels).save(new / f"{i}.png")
    (tmp_path / "new/notes.txt").write_text("no image")
    output("predict", str(tmp_path / "net"), str(tmp_path / "new"), "--out", str(tmp_path / "p.csv"))
    table = pd.read_csv(tmp_path / "p.csv")
    assert table["input"].tolist() == [f"below/{i}.png" for i in range(3)]
    small = [Image.fromarray(pixels).resize((8, 8), Image.Resampling.BILINEAR) for pixels in images]
    inverted = 255 - np.stack([np.asarray(one) for one in small]).astype(np.float32)
    logits = by_hand(tmp_path / "net/model.safetensors", (inverted / 255).reshape(3, -1))
    assert table["prediction"].tolist() == [["dark", "light", "mid"][i] for i in logits.argmax(axis=1)]


@pytest.mark.long
def test_a_run_that_kept_its_network_is_not_trained_again(folder: Path, classes: Path, tmp_path: Path) -> None:
    found = export(classes, tmp_path / "kept", method="scratch", labels=20)
    assert not found.trained_again
    assert found.n_equal == found.n_test
    none = study_of(folder, "none", f"npz:{folder / 'classes.npz'}", engine=ENGINE | {"keep": "none"})
    again = export(none, tmp_path / "again", method="scratch", labels=20)
    assert again.trained_again
    x = np.load(folder / "classes.npz")["x_test"]
    np.testing.assert_array_equal(found.model.outputs(x), again.model.outputs(x))
    other = export(classes, tmp_path / "other", method="scratch", labels=20, seed=1)
    assert other.trained_again  # the lowest seed is kept, not the best


def test_a_source_of_several_sizes_goes_by_the_names_of_the_tables(folder: Path, tmp_path: Path) -> None:
    place = study_of(
        tmp_path, "sizes", f"npz:{folder / 'classes.npz'}", pretraining={"steps": 20, "sizes": [30, 90]}, seeds=1
    )
    with Store.open(place, create=False) as store:
        for name, sizes in (("same (30 examples)", {30}), ("same (90 examples)", {90}), ("same", {30, 90})):
            run = chosen_run(store, "sizes", method="fine-tune", source=name).run
            assert run.cell.cell.labels["n_source"] in sizes
            assert run.source == f"same ({run.cell.cell.labels['n_source']} examples)"


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({"method": "fine-tun"}, UnknownNameError, "fine-tune"),
        ({"source": "other"}, UnknownNameError, "same"),
        ({"labels": 30}, UnknownNameError, "20"),
        ({"method": "scratch", "seed": 7}, UnknownNameError, "0"),
        ({"method": "raw"}, SettingsError, "raw is fitted without a network"),
        ({}, SettingsError, "the study recommends raw with 40 labels, which is fitted without a network"),
        ({"study": "clases"}, UnknownNameError, "classes"),
    ],
)
def test_what_was_not_run_is_not_exported(
    classes: Path, tmp_path: Path, asked: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        export(classes, tmp_path / "net", **asked)
    assert not (tmp_path / "net").exists()


def test_instead_of_an_arm_that_no_file_holds_the_best_within_the_margin_is_exported(
    classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(classes, create=False) as store:
        found = decisions(read_study(store, "classes"))
        assert found[40].recommended == "raw"
        with pytest.raises(SettingsError, match="of what was run, export --method"):
            chosen_run(store, "classes")
        wide = {n: replace(one, margin=100.0) for n, one in found.items()}
        monkeypatch.setattr("transferscope.study.export.decisions", lambda frames: wide)
        choice = chosen_run(store, "classes")
    means = {arm.name: arm.mean for arm in found[40].arms if arm.name != "raw"}
    best = max(means, key=lambda name: means[name] or 0.0)
    assert choice.instead_of == "raw"
    assert str(Arm(choice.run.method, choice.run.source or "")) == best
    assert 100 * choice.mean == pytest.approx(means[best])


def test_an_unfinished_study_and_a_folder_in_use_are_refused(classes: Path, tmp_path: Path) -> None:
    with Store.open(classes, create=False) as store:
        store_of_none = tmp_path / "none.sqlite"
        with Store.open(store_of_none) as empty:
            row = store.study("classes")
            empty.plan(row, [one.cell for one in store.cells("classes")])
            with pytest.raises(StoreError, match="no finished run"):
                chosen_run(empty, "classes")
    (tmp_path / "used").mkdir()
    (tmp_path / "used/thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="contains files other than"):
        export(classes, tmp_path / "used", method="scratch")
    assert (tmp_path / "used/thesis.txt").read_text() == "mine"


def test_what_is_no_exported_network_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="transferscope export"):
        load_model(tmp_path)
    save_file({"head.weight": np.zeros((2, 2), np.float32)}, tmp_path / "other.safetensors")
    with pytest.raises(CorruptDataError, match="was not written by `transferscope export`"):
        load_model(tmp_path / "other.safetensors")


DEEP = "[" * 100_000
OTHER_DIGITS = str.maketrans("0123456789", "1234567890")


@pytest.mark.parametrize("note", ["transferscope.card", "transferscope.pixel_scale", "transferscope.card.sha256"])
@pytest.mark.parametrize("change", [lambda text: text.translate(OTHER_DIGITS), lambda _: "", lambda _: DEEP, None])
def test_a_card_or_scale_that_was_changed_is_refused(
    note: str, change: Callable[[str], str] | None, folder: Path, model: TrainedModel, tmp_path: Path
) -> None:
    file = folder / "best/model.safetensors"
    notes = read_notes(file)
    before = notes.pop(note)
    save_file(load_file(file), tmp_path / "a.safetensors", metadata=notes | ({note: change(before)} if change else {}))
    with pytest.raises(CorruptDataError) as refused:
        load_model(tmp_path / "a.safetensors")
    assert len(str(refused.value)) < 500
    if note == "transferscope.card" and change is not None and change(before) == DEEP:
        with pytest.raises(TransferscopeError):
            load(f"csv:{folder / 'prices.csv'}?label=price&encoding={quote(str(tmp_path / 'a.safetensors'))}")


@pytest.mark.parametrize(
    "card", ["[]", "{}", "3", DEEP, '{"format": 1}', '{"format": 1, "code": 3}', '{"format": 1, "code": {}}']
)
def test_a_card_that_is_none_is_refused_whatever_its_digest(card: str, folder: Path, tmp_path: Path) -> None:
    file = folder / "best/model.safetensors"
    notes = read_notes(file) | {"transferscope.card": card}
    notes["transferscope.card.sha256"] = card_digest(notes)
    save_file(load_file(file), tmp_path / "a.safetensors", metadata=notes)
    with pytest.raises(CorruptDataError, match=r"export"):
        load_model(tmp_path / "a.safetensors")


def test_weights_with_flipped_bits_are_refused_wherever_they_are_opened(
    folder: Path, classes: Path, model: TrainedModel, tmp_path: Path
) -> None:
    whole, drawn = (folder / "best/model.safetensors").read_bytes(), np.random.default_rng(0)
    begin = 8 + int.from_bytes(whole[:8], "little")  # of the weights
    file, data = tmp_path / "flipped.safetensors", f"npz:{folder / 'classes.npz'}"
    network = ("--network", "mlp", "--set", "network.widths=5")
    for copy in range(30):
        raw = bytearray(whole)
        for place in drawn.choice(np.arange(begin, len(whole)), 3, replace=False):
            raw[place] ^= 1 << drawn.integers(8)
        file.write_bytes(bytes(raw))
        with pytest.raises(CorruptDataError, match="is damaged"):
            load_model(file)
        if copy > 0:
            continue
        for command in (
            ("predict", str(file), data, "--out", str(tmp_path / "p.csv")),
            ("rank", data, "--from", str(file), "--labels", "20", *network),
            ("diagnose", str(file), "--data", data, *network),
            ("show", "mlp", "--set", "widths=5", "--shape", "3", "--weights", str(file)),
        ):
            with pytest.raises(CorruptDataError, match="is damaged"):
                output(*command)
        with pytest.raises(CorruptDataError, match="is damaged"):
            study_of(tmp_path, "own", data, sources={"net": {"network": str(file)}})


def test_inputs_of_another_form_are_refused(folder: Path, model: TrainedModel, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"shape \(4,\); expected \(3,\)"):
        model.predict(np.zeros((2, 4)))
    with pytest.raises(DataError, match="expected numbers"):
        model.predict(np.array([["a", "b", "c"]]))
    np.savez(tmp_path / "z.npz", y=np.zeros(3))
    for data, said in [
        (f"npz:{tmp_path / 'z.npz'}", "expected the array x or x_test"),
        (f"csv:{folder / 'prices.csv'}", "is a table, but the network was trained on"),
        (f"folder:{folder / 'photos'}?resize=8", "inputs have shape"),
        (f"npz:{tmp_path / 'absent.npz'}", "absent.npz"),
    ]:
        with pytest.raises(Exception, match=said):
            output("predict", str(folder / "best"), data, "--out", str(tmp_path / "p.csv"))
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.long
def test_photographs_of_mixed_sizes_are_predicted_as_in_the_study(folder: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    for i in range(60):
        place = tmp_path / "mixed" / ["dark", "mid", "light"][i % 3] / f"{i:02}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        height, width = rng.integers(32, 50, 2)
        pixels = np.clip(60 + 80 * (i % 3) + 20 * rng.normal(size=(height, width, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(place)
    name = f"folder:{tmp_path / 'mixed'}"
    small = {"data": name, "transforms": ["resize:20"]}
    place = study_of(tmp_path, "mixed", name, target=small | {"labels": [20, 40]}, sources={"same": small})
    found = export(place, tmp_path / "net", method="scratch")
    assert found.n_equal == found.n_test == 12
    assert found.model.card.inputs.data == f"{name}?size=32"
    (new := tmp_path / "new").mkdir()  # the test images of the study in a folder of their own, and one of another size
    data, classes = load(name), found.model.card.classes
    for i, label in enumerate(data.test.labels):
        original = next(
            file
            for file in sorted((tmp_path / "mixed" / classes[label]).iterdir())
            if np.array_equal(load_image(file, 32), data.test.inputs[i])
        )
        shutil.copy(original, new / f"{i:03}.jpg")
    Image.new("RGB", (400, 300)).save(new / "999.png")
    output("predict", str(tmp_path / "net"), str(new), "--out", str(tmp_path / "p.csv"))
    with Store.open(place, create=False) as store:
        stored = store.arrays("mixed", "predictions")[found.model.card.cell]
    predicted = pd.read_csv(tmp_path / "p.csv")["prediction"].tolist()
    assert predicted[:-1] == [classes[one] for one in stored]
    assert len(predicted) == 13


def load_image(file: Path, side: int) -> np.ndarray:
    """The middle square of a photograph by Pillow alone, (3, side, side)."""
    with Image.open(file) as image:
        (width, height), short = image.size, min(image.size)
        left, top = (width - short) / 2, (height - short) / 2
        small = image.resize((side, side), Image.Resampling.BILINEAR, box=(left, top, left + short, top + short))
    return np.asarray(small).transpose(2, 0, 1)


NETS = "from torch import nn\n\ndef net(input_shape):\n    return nn.Sequential(nn.Linear(3, 5), nn.Tanh())\n"


def test_a_network_of_code_that_was_edited_predicts_nothing(folder: Path, tmp_path: Path) -> None:
    code, inputs = tmp_path / "nets.py", np.load(folder / "classes.npz")["x_test"]
    code.write_text(NETS)
    network = {"name": f"{code}:net"}
    store = study_of(tmp_path, "own", f"npz:{folder}/classes.npz", network=network, methods={"scratch": {}}, seeds=1)
    said = output("export", str(store), "--out", str(tmp_path / "out"), "--trust-code")
    assert said.rstrip().endswith("--trust-code")  # which the line that it prints needs
    kept = next(store.with_suffix(".files").glob("*.safetensors"))
    before = load_model(tmp_path / "out").predict(inputs)
    code.write_text(NETS.replace("Tanh", "ReLU"))
    assert list(load_model(tmp_path / "out").predict(inputs)) == list(before)  # the earlier code is in memory
    BACKBONES._loaded.clear()  # as in a new process
    for place in (tmp_path / "out", kept):
        with pytest.raises(
            CorruptDataError, match=r"^the code of the network .*nets\.py:net has changed since .* was wr"
        ):
            load_model(place)
    with pytest.raises(CorruptDataError, match=r"has changed since the study was planned with it"):
        export(store, tmp_path / "again")
    command = ("predict", str(tmp_path / "out"), f"npz:{folder}/classes.npz", "--out", str(tmp_path / "p.csv"))
    with pytest.raises(CorruptDataError, match="restore the earlier code"):
        output(*command, "--trust-code")
    assert not (tmp_path / "p.csv").exists()
    code.unlink()
    BACKBONES._loaded.clear()
    with pytest.raises(SettingsError, match=r"there is no file .*nets\.py"):
        load_model(tmp_path / "out")
