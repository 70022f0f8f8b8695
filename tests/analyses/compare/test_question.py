"""A comparison from Python, end to end on small data in memory."""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from studies import write_npz
from transferscope.analyses.compare.question import compare
from transferscope.analyses.compare.study_file import (
    Question,
    matching_transforms,
    network_in_words,
    study_tables,
    write_study,
)
from transferscope.data.load import load
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import SettingsError, TransferscopeError
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec, read_spec, seen_from_folder

QUICK: dict[str, Any] = {"training": {"steps": 20}, "pretraining": {"steps": 20}, "engine": {"workers": 0}}


def tables_of(*sources: str | Dataset, target: str | Dataset = "digits", **given: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"labels": [100], "methods": ["fine-tune"], "seeds": 2, "recipe": "equal"}
    asked = usual | {"diagnostics": []} | given
    tables, spec = study_tables(Question(target, sources, **asked))
    assert spec == parse_spec(seen_from_folder(tables, asked["folder"].absolute()))  # what its file says
    return tables


@pytest.mark.long
def test_a_regression_has_its_absolute_error_in_the_units_of_the_file(tmp_path: Path) -> None:
    for seed, (name, n) in enumerate({"own": 40, "held": 15, "other": 60}.items()):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, 3))
        price = 90_000 + 20_000 * x @ [1.0, -0.5, 0.25] + 4_000 * rng.normal(size=n)
        pd.DataFrame({**{f"x{i}": x[:, i] for i in range(3)}, "price": price}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    target = f"csv:{tmp_path}/own.csv?label=price&test={tmp_path}/held.csv"
    result = compare(
        target,
        f"csv:{tmp_path}/other.csv?label=price",
        labels=[20],
        methods=["raw", "linear-probe"],
        seeds=2,
        **QUICK,
        folder=tmp_path / "runs",
    )
    frames, prices = result.summary.frames, pd.read_csv(tmp_path / "held.csv")["price"].to_numpy()
    ((offset, unit),) = json.loads(load(target).provenance["label_units"])
    assert unit > 100
    for row in result.table().itertuples():
        cells = frames.method_cells[frames.method_cells["method"] == row.method]
        errors = [np.abs(offset + unit * frames.predictions[key].ravel() - prices).mean() for key in cells["key"]]
        assert row.mae == pytest.approx(np.mean(errors), rel=1e-4)
    assert "abs. error" in "\n".join(result.summary.verdict.lines)


def test_what_is_unknown_is_said_before_any_data_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(*_: object, **__: object) -> None:
        raise AssertionError("data were fetched")

    monkeypatch.setattr("transferscope.analyses.compare.study_file.load", fetch)
    for wrong, message in (
        ({"network": "lenett"}, "unknown network 'lenett': did you mean 'lenet'"),
        ({"methods": ["finetune"]}, "unknown method 'finetune': did you mean 'fine-tune'"),
        ({"diagnostics": ["weight"]}, "unknown diagnostic 'weight': did you mean 'weights'"),
        ({"seeds": 0}, "seeds = 0; expected"),
        ({"training": {"lr": -1.0}}, r"\[training\] lr = -1.0 is out of range"),
    ):
        with pytest.raises(SettingsError, match=message):
            compare("usps", "mnist", folder=tmp_path, **wrong)


@pytest.mark.long
def test_a_comparison_names_data_from_the_current_folder_and_its_study_runs_from_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("source", "target")):
        write_npz(f"{name}.npz", seed=seed)
    result = compare(
        "npz:target.npz", "npz:source.npz", labels=[12], methods=["joint"], seeds=1, **QUICK, folder="runs"
    )
    _, said = result.to_dict()["recipes"]  # the first is the arm without a source
    assert (said["method"], said["source"], said["labels"]) == ("joint", "source", [12])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    spec = read_spec(tmp_path / result.study)
    assert spec.store == str(tmp_path / "runs" / "source-to-target.sqlite")
    assert spec.target.data == f"npz:{tmp_path}/target.npz"
    with Store.open(spec.store, create=False) as store:
        before = store.counts(spec.name)
        assert run_study(spec, store).counts == before
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    ("source", "message"), [([], "there is no source; give at least one"), ("mnits", "did you mean 'mnist'")]
)
def test_arguments_of_another_kind(source: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(TransferscopeError, match=message):
        compare("digits", source, folder=tmp_path)


def test_a_mistake_leaves_an_earlier_study_file_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "digits-to-glyphs.toml").write_text("# edited by hand")
    with pytest.raises(SettingsError, match=r"\[target\] labels holds 0, which is out of range; expected at least 1"):
        compare("glyphs?n_train=20&n_test=5&size=8", "digits", labels=[0], methods=["fine-tune"], folder=tmp_path)
    assert (tmp_path / "digits-to-glyphs.toml").read_text() == "# edited by hand"


@pytest.mark.parametrize(
    ("shapes", "transforms"),
    [
        ([(1, 28, 28), (1, 28, 28)], [[], []]),
        ([(3, 64, 64), (3, 32, 32)], [["resize:32"], []]),  # a larger source comes down
        ([(1, 8, 8), (1, 28, 28)], [["resize:28"], []]),  # a smaller source comes up
        ([(1, 28, 28), (1, 8, 8)], [["resize:16"], ["resize:16"]]),  # LeNet reads no less
        ([(1, 8, 8), (1, 8, 8)], [["resize:16"], ["resize:16"]]),
        ([(3, 32, 32), (1, 28, 28)], [["grey", "resize:28"], []]),
        ([(1, 28, 28), (3, 64, 64), (3, 32, 32)], [["colour", "resize:32"], ["resize:32"], []]),
        ([(3, 32, 32), (3, 32, 32)], [[], []]),
        ([(3, 32, 32), (3, 32, 48)], [["resize:48"], ["resize:48"]]),
        ([(5,), (5,)], [[], []]),
    ],
)
def test_sources_are_brought_to_the_shape_of_the_target(
    shapes: list[tuple[int, ...]], transforms: list[list[str]]
) -> None:
    assert matching_transforms(shapes) == transforms


@pytest.mark.parametrize(("own", "side"), [(8, 16), (12, 24), (16, 28), (28, 28), (40, 40), (70, 64)])
def test_where_no_network_is_named_small_images_come_to_the_size_of_lenet_and_at_most_to_twice_theirs(
    own: int, side: int
) -> None:
    expected = [] if own == side else [f"resize:{side}"]
    assert matching_transforms([(1, own, own), (1, own, own)], largest=64) == [expected, expected]


@pytest.mark.parametrize(
    ("side", "named", "network", "transforms", "said"),
    [
        (40, None, "lenet", [], ""),
        (41, None, "conv4", [], "more than 40 pixels on a side; --network"),
        (70, None, "conv4", ["resize:64"], "and images are resized to 64 x 64 to save time; --network"),
        (70, "conv4", "conv4", [], ""),
        (70, "lenet", "lenet", [], ""),
    ],
)
def test_the_network_goes_by_the_size_of_the_images_and_says_why(
    tmp_path: Path, side: int, named: str | None, network: str, transforms: list[str], said: str
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (8, 3, side, side)).astype(np.uint8)
    part = LabelledSet(pixels, np.arange(8) % 2, ("a", "b"))
    photos = Dataset("photos", part, part)
    tables = tables_of("digits", target=photos, labels=[4], network=named, folder=tmp_path)
    note = network_in_words(tables, named)
    assert (tables["network"], tables["target"]["transforms"]) == ({"name": network}, transforms)
    assert tables["sources"]["digits"]["transforms"] == ["colour", f"resize:{min(side, 64) if not named else side}"]
    assert said in note
    assert bool(said) == bool(note)
    study, _ = write_study(tables, tmp_path, note=note)
    assert (f"# {note}" in study.read_text().splitlines()) == bool(note)
    assert read_spec(study).network.name == network
    assert write_study(tables, tmp_path)[1] is None  # a note is no edit


def test_the_study_of_a_comparison_can_be_read_again(tmp_path: Path) -> None:
    sources = ["glyphs?n_train=50&n_test=10", "glyphs?n_train=60&n_test=10"]
    spec = parse_spec(tables_of(*sources, labels=[600, 100], diagnostics=["weights"], folder=tmp_path))
    assert spec.name == "glyphs-glyphs-2-to-digits"
    assert list(spec.sources) == ["glyphs", "glyphs-2"]
    assert spec.target.labels == (100, 600)
    assert list(spec.methods) == ["scratch", "fine-tune"]
    assert list(spec.diagnostics) == ["weights"]


def test_adamw_is_searched_around_a_rate_of_its_own(tmp_path: Path) -> None:
    def tables(**training: Any) -> dict[str, Any]:
        return tables_of("glyphs?n_train=50&n_test=10", training=training, folder=tmp_path)

    found = tables(optimiser="adamw")
    for part in ("training", "pretraining"):
        assert (found[part]["optimiser"], found[part]["lr"]) == ("adamw", 0.001)
    assert found["tuning"]["grid"]["scratch"]["lr"] == [0.001, 0.0002, 0.005]
    assert parse_spec(found).training.optimiser == "adamw"
    assert tables(optimiser="adamw", lr=0.02)["training"]["lr"] == 0.02
    assert "optimiser" not in tables()["training"]
    assert tables()["training"]["lr"] == 0.01
    with pytest.raises(SettingsError, match="optimiser"):
        tables(optimiser="adam")


def test_a_study_file_that_was_edited_is_set_aside(tmp_path: Path) -> None:
    tables = {"name": "a-to-b", "seeds": 2}
    path, _ = write_study(tables, tmp_path)
    assert write_study({**tables, "seeds": 3}, tmp_path) == (path, None)
    for i in (1, 2):
        edited = path.read_text() + f"# my note {i}\n"
        path.write_text(edited)
        assert write_study(tables, tmp_path) == (path, tmp_path / f"a-to-b.edited-{i}.toml")
        assert (tmp_path / f"a-to-b.edited-{i}.toml").read_text() == edited
    assert tomllib.loads(path.read_text()) == tables
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("n", "labels", "n_test"),
    [
        (500, [10], 250),  # half
        (500, [10, 120], 140),  # three times as many as the most labels are left: 360
        (500, [160], 100),  # a fifth, as usual
        (500, [], 100),
        (2600, [20], 988),  # 38 %, of which whole percents stay below 1,000
        (6000, [20], 1200),
    ],
)
def test_what_few_labels_leave_is_tested(n: int, labels: list[int], n_test: int, tmp_path: Path) -> None:
    x, y = np.random.default_rng(0).normal(size=(n, 3)), np.arange(n) % 2
    np.savez(tmp_path / "t.npz", x=x, y=y)
    tables = tables_of("digits", target=f"npz:{tmp_path}/t.npz", labels=labels, network="mlp", folder=tmp_path)
    assert len(load(tables["target"]["data"]).test) == n_test


def test_a_test_part_that_was_not_drawn_for_want_of_another_stays(tmp_path: Path) -> None:
    x, y = np.random.default_rng(0).normal(size=(500, 3)), np.arange(500) % 2
    np.savez(tmp_path / "parts.npz", x_train=x[:400], y_train=y[:400], x_test=x[400:], y_test=y[400:])
    np.savez(tmp_path / "whole.npz", x=x, y=y, day=np.arange(500.0))
    own = "def own(spec, seed):\n    from transferscope.data import load\n    return load(f'npz:{PATH!r}')\n"
    (tmp_path / "mine.py").write_text(own.replace("{PATH!r}", str(tmp_path / "whole.npz")))
    for name in ("npz:parts.npz", "npz:whole.npz?time=day", "npz:whole.npz?test_share=0.2", "mine.py:own"):
        kind, _, path = name.partition(":")
        data = f"{tmp_path}/{name}" if kind == "mine.py" else f"{kind}:{tmp_path}/{path}"
        tables = tables_of("digits", target=data, labels=[10], network="mlp", folder=tmp_path)
        assert tables["target"]["data"] == data
        assert len(load(data).test) == 100


@pytest.mark.long
def test_arrays_and_frames_in_memory_score_as_their_files_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(120, 3)), np.arange(120) % 2
    x[:, 0] += 2 * y
    table = pd.DataFrame(x, columns=["a", "b", "c"]).assign(label=y)
    table[:60].to_csv(tmp_path / "t.csv", index=False)
    table[60:].to_csv(tmp_path / "s.csv", index=False)
    np.savez(tmp_path / "t.npz", x=x[:60], y=y[:60])
    np.savez(tmp_path / "s.npz", x=x[60:], y=y[60:])
    both = {
        "arrays": ((x[:60], y[:60]), (x[60:], y[60:])),
        "npz": (f"npz:{tmp_path}/t.npz", f"npz:{tmp_path}/s.npz"),
        "frames": (table[:60], table[60:]),
        "csv": (f"csv:{tmp_path}/t.csv?label=label", f"csv:{tmp_path}/s.csv?label=label"),
    }
    scores = {}
    for name, (target, source) in both.items():
        asked: dict[str, Any] = {"labels": [20], "methods": ["raw", "fine-tune"], "seeds": 2, "network": "mlp"}
        result = compare(target, source, **asked, **QUICK, folder=tmp_path / name)
        scores[name] = result.table()[["method", "mean"]].values.tolist()
    assert scores["arrays"] == scores["npz"]
    assert scores["frames"] == scores["csv"]
    with pytest.raises(SettingsError, match="label was given too"):
        compare((x, y), (x, y), label="price", folder=tmp_path)
    with pytest.raises(SettingsError, match="task was given too"):
        compare("digits", "glyphs", task="regression", folder=tmp_path)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"recipe": "equal"}, "recipe"),
        ({"tuning": False}, "tuning"),
        ({"minutes": 2.0}, "minutes"),
        ({"group": np.arange(4)}, "group"),
        ({"labels": [20]}, "labels"),
    ],
)
def test_what_training_alone_reads_is_refused_beside_results(given: dict[str, Any], named: str) -> None:
    results = pd.DataFrame({"arm": ["a", "b"] * 3, "seed": [0, 0, 1, 1, 2, 2], "accuracy": [0.7, 0.8] * 3})
    assert compare(results, without=["a"], methods=[], training={}).table()["n_seeds"].tolist() == [3, 3]
    with pytest.raises(SettingsError, match=f"{named} was given too"):
        compare(results, without=["a"], **given)
