"""A table is read in the features of the exported network that is to learn from it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tomli_w
import torch

from transferscope import rank
from transferscope.analyses.diagnose.subject import FileQuestion, subject_of
from transferscope.data import load
from transferscope.data.input_form import table_of_network
from transferscope.data.load import parse_name, seen_from
from transferscope.data.readers.tables import table_encoding
from transferscope.errors import CorruptDataError, DataError, SettingsError
from transferscope.models import NetworkSettings, build_network, save_weights
from transferscope.settings.data import DataSettings
from transferscope.store import Store
from transferscope.study.export import export
from transferscope.study.facts import load_data
from transferscope.study.read_alike import with_encodings
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec, read_spec

MLP = {"name": "mlp", "widths": [4]}
NETWORK = NetworkSettings("mlp", (4,))


def table(folder: Path, name: str, towns: str, *, gaps: bool = False) -> str:
    """Rows of a size and a town, whose label is whether the town is the first of them."""
    draw = np.random.default_rng(0)
    sizes = [f"{value:.3f}" for value in draw.normal(size=90)]
    if gaps:
        sizes[::9] = [""] * 10
    rows = [f"{size},{towns[i % 3]},{'yn'[i % 3 > 0]}" for i, size in enumerate(sizes)]
    (folder / f"{name}.csv").write_text("\n".join(["size,town,label", *rows]) + "\n")
    return f"csv:{folder}/{name}.csv?label=label"


def network_of(folder: Path, name: str, data: str) -> Path:
    """The file of a network that a study of the data trained."""
    tables: dict[str, Any] = {
        "name": name,
        "recipe": "equal",
        "store": str(folder / f"{name}.sqlite"),
        "seeds": 1,
        "target": {"data": data, "labels": [30]},
        "network": MLP,
        "training": {"steps": 5},
        "methods": {"scratch": {}},
        "engine": {"workers": 0, "device": "cpu"},
    }
    with Store.open(folder / f"{name}.sqlite") as store:
        run_study(parse_spec(tables), store)
    export(folder / f"{name}.sqlite", folder / name)
    return folder / name / "model.safetensors"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("towns")


@pytest.fixture(scope="module")
def network(folder: Path) -> Path:
    return network_of(folder, "own", table(folder, "own", "ABC"))


def study(data: str, *networks: Path) -> dict[str, Any]:
    return {
        "name": "s",
        "recipe": "equal",
        "target": {"data": data},
        "sources": {f"net{i}": {"network": str(file)} for i, file in enumerate(networks)},
        "network": MLP,
        "training": {"steps": 1},
        "methods": {"linear-probe": {}},
    }


def test_the_target_has_the_columns_of_the_network(folder: Path, network: Path) -> None:
    """Categories of its own had been as many, and meant other towns."""
    target = table(folder, "new", "CAZ")
    spec = parse_spec(study(target, network))
    assert spec.target.data == f"{target}&encoding={network}"
    inputs = load_data(spec).target.train.inputs
    assert table_of_network(network) is not None
    assert inputs.shape[1] == 4
    a, b, c = inputs[:, 1:].T
    assert b.sum() == 0
    assert 0 < a.sum() < len(a)
    assert 0 < c.sum() < len(c)
    assert ((a + b + c) == 0).any()  # Z
    asked: dict[str, Any] = {"network": NETWORK, "labels": 40, "seeds": 1, "scores": ["logme"]}
    assert rank(target, network, **asked).table().equals(rank(spec.target.data, network, **asked).table())
    data = DataSettings(target)
    found = subject_of(FileQuestion(network, data, NETWORK, source=data, scaling="none", device="cpu"))
    assert found.subject.examples.inputs[:, 2].sum() == 0
    assert torch.equal(found.subject.source.inputs, found.subject.examples.inputs)


def test_a_network_of_other_columns_is_refused(folder: Path, network: Path) -> None:
    target = table(folder, "new", "CAZ")
    other = network_of(folder, "other", table(folder, "other", "ABZ"))
    encoded = f"{target}&encoding={other}"
    with pytest.raises(DataError, match=r"other/model.safetensors was trained on 4 features, among them 'town = Z', "):
        load_data(parse_spec(study(target, network, other)))
    with pytest.raises(DataError, match=r"own/model.safetensors was trained on 4 features, among them 'town = C', "):
        load_data(parse_spec(study(encoded, network)))
    with pytest.raises(DataError, match=r"was trained on 4 features, among them 'town = C'"):
        subject_of(FileQuestion(network, DataSettings(encoded), NETWORK, device="cpu"))


def test_gaps_where_the_network_knows_none_are_filled_with_its_median_and_said(folder: Path, network: Path) -> None:
    with_gaps = f"{table(folder, 'gaps', 'ABC', gaps=True)}&encoding={network}"
    found = load(with_gaps)
    assert "gaps, where no training row has one; the median of these stands there" in found.provenance["understood"]
    middle = np.median(load(table(folder, "own", "ABC")).train.inputs[:, 0])
    assert np.isclose(found.train.inputs[:, 0], middle, atol=1e-6).sum() >= 5


def test_a_file_that_says_nothing_of_tables_is_no_encoding(folder: Path) -> None:
    plain = folder / "plain.safetensors"
    made = build_network(NETWORK, (4,), 2, seed=0)
    save_weights(made, plain)
    assert table_of_network(plain) is None
    target = table(folder, "new", "CAZ")
    assert parse_spec(study(target, plain)).target.data == target
    with pytest.raises(SettingsError, match=r"plain.safetensors, which is not a network of tables; give another$"):
        load(f"{target}&encoding={plain}")
    (folder / "broken.safetensors").write_bytes(b"no weights")
    assert table_of_network(folder / "broken.safetensors") is None  # what opens it refuses it
    save_weights(made, plain, notes={"transferscope.card": "{}"})
    with pytest.raises(CorruptDataError, match=r"plain.safetensors has no valid description of its inputs; export "):
        table_of_network(plain)


def test_numbers_counted_in_another_unit_are_not_compared(folder: Path) -> None:
    """A source head was measured on prices in units of 1,000 by what it says in units of 100,000."""

    def prices(name: str, middle: float, spread: float) -> str:
        draw = np.random.default_rng(0).normal(size=60)
        rows = [f"{value:.3f},{middle + spread * value + 0.5:.2f}" for value in draw]
        (folder / f"{name}.csv").write_text("\n".join(["x,price", *rows]) + "\n")
        return f"csv:{folder}/{name}.csv?label=price"

    dear, cheap = prices("dear", 3e5, 1e5), prices("cheap", 5e3, 1e3)
    tables = {
        "name": "s",
        "recipe": "equal",
        "target": {"data": dear},
        "sources": {"own": {"data": dear, "held_out": {"cheap": cheap}}},
        "network": MLP,
        "pretraining": {"steps": 1},
        "training": {"steps": 1},
        "methods": {"fine-tune": {}},
    }
    with pytest.raises(DataError, match=r"the labels of cheap and dear have different units"):
        load_data(parse_spec(tables))


def test_a_network_is_found_from_the_folder_of_the_study(folder: Path, network: Path) -> None:
    """A relative file was looked up in the working directory alone."""
    name = f"csv:{network.parent.parent.name}/new.csv?label=label&encoding=own/model.safetensors"
    seen = seen_from(name.replace(f"{network.parent.parent.name}/", ""), folder)
    assert seen == f"csv:{folder}/new.csv?label=label&encoding={network}"
    table(folder, "new", "CAZ")
    assert load(seen).train.inputs.shape[1] == 4
    (folder / "s.toml").write_text(tomli_w.dumps(study("csv:new.csv?label=label", Path("own/model.safetensors"))))
    assert read_spec(folder / "s.toml").target.data == seen
    with pytest.raises(DataError) as refused:
        load_data(parse_spec(study(f"{table(folder, 'new', 'CAZ')}&encoding={folder}/gone.safetensors", network)))
    assert str(refused.value).count("gone.safetensors") == 1


def test_source_and_target_are_encoded_together(folder: Path) -> None:
    """Of 5,451 rows of a source, 5,141 had become "other", because the target has other towns."""
    target, source = table(folder, "near", "ABC"), table(folder, "far", "BDE", gaps=True)
    tables = with_encodings({"target": {"data": target}, "sources": {"own": {"data": source}}})
    assert with_encodings(tables) == tables
    names = tables["target"]["data"], tables["sources"]["own"]["data"]
    for name, file in zip(names, ("near", "far"), strict=True):
        found = load(name)
        assert table_encoding(parse_name(name), 0).features == (
            *("size", "size is missing", "town = A", "town = B", "town = C", "town = D", "town = E"),
        )
        rows = pd.read_csv(folder / f"{file}.csv")
        towns = np.concatenate([found.train.inputs, found.test.inputs])[:, 2:].sum(axis=0)
        assert towns.tolist() == [float((rows["town"] == town).sum()) for town in "ABCDE"]
        assert "other" not in found.provenance["understood"]
