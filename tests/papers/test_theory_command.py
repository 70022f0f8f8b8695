"""`transferscope theory place` as a reader meets it."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from remembered import REMEMBERED
from transferscope.analyses.study_page import build_report
from transferscope.cli.main import app
from transferscope.errors import SettingsError, StoreError
from transferscope.report.page import typeset
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import read_spec


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["theory", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def study_file(folder: Path) -> Path:
    generator = np.random.default_rng(0)
    for name in ("source", "target"):
        x, y = generator.normal(size=(160, 4)), np.arange(160) % 3
        x[:, 0] += 3 * y
        np.savez(folder / f"{name}.npz", x_train=x[:100], y_train=y[:100], x_test=x[100:], y_test=y[100:])
    file = folder / "small.toml"
    file.write_text(
        f"""
        name = "small"
        store = '{folder}/small.sqlite'
        seeds = 2
        engine = {{ workers = 0, device = "cpu" }}
        network = {{ name = "mlp", widths = [8] }}
        target = {{ data = 'npz:{folder}/target.npz', labels = [12, 30] }}
        sources.source = {{ data = 'npz:{folder}/source.npz' }}
        pretraining = {{ steps = 60, lr = 0.1 }}
        training = {{ steps = 10 }}
        methods = {{ scratch = {{}}, linear-probe = {{}} }}
        """,
        encoding="utf-8",
    )
    return file


@pytest.mark.long
def test_a_study_is_placed_with_figure_table_and_words(tmp_path: Path) -> None:
    file = study_file(tmp_path)
    with pytest.raises(StoreError, match=r"^there is no store at .*small\.sqlite; "):
        run("place", str(file), "--out", str(tmp_path / "out"))
    spec = read_spec(file)
    with Store.open(spec.store) as store:
        run_study(spec, store, work=REMEMBERED)
    words = run("place", str(file), "--out", str(tmp_path / "out"))
    assert " the pair from source (100 examples) with 12 labels" in words.splitlines()[0]
    assert "The model says a transferability of " in words
    assert "Measured (linear-probe against scratch, 2 seeds): " in words
    assert "The model is linear: squared loss, " in words
    assert words.splitlines()[-1] == f"The report shows this now: transferscope report {file}"
    assert (tmp_path / "out" / "small-placement.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert (tmp_path / "out" / "small-placement.pdf").read_bytes().startswith(b"%PDF")
    with (tmp_path / "out" / "small-placement.csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert {row["n_target"] for row in rows} == {"12", "30"}
    answer = json.loads(run("place", str(file), "--out", str(tmp_path / "out"), "--json"))["result"]
    assert (answer["analysis"], len(answer["rows"])) == ("place", len(rows))
    assert {row["name"] for row in rows} >= {"outside_share", "modelled", "measured", "gap", "scratch_modelled"}
    for row in rows:
        assert not row["low"] or float(row["low"]) <= float(row["value"]) <= float(row["high"])


@pytest.mark.long
def test_the_report_shows_what_was_placed(tmp_path: Path) -> None:
    spec = read_spec(study_file(tmp_path))
    with Store.open(spec.store) as store:
        run_study(spec, store, work=REMEMBERED)
        assert 'id="placements"' not in build_report(store, "small", tmp_path / "r.html").html.read_text("utf-8")
    words = run("place", spec.store, "--out", str(tmp_path / "out"), "--directions", "100")
    assert words.splitlines()[-1] == f"The report shows this now: transferscope report {spec.store}"
    with Store.open(spec.store) as store:
        page = build_report(store, "small", tmp_path / "r.html").html.read_text("utf-8")
    assert "The number of directions of the inputs, 100, was given by hand." in page
    (first,) = (line for line in words.splitlines() if "the pair from source (100 examples) with 12 labels" in line)
    assert str(typeset(first)) in page
    assert "The study has changed since" not in page


@pytest.mark.long
def test_a_store_that_cannot_be_written_is_placed_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = study_file(tmp_path)
    spec = read_spec(file)
    with Store.open(spec.store) as store:
        run_study(spec, store, work=REMEMBERED)

    def refuse(self: Store, study: str, name: str, document: object) -> None:
        raise StoreError("the store cannot be used: it cannot be written to")

    monkeypatch.setattr(Store, "put_study_document", refuse)
    words = run("place", str(file), "--out", str(tmp_path / "out"))
    assert words.splitlines()[-1] == (
        "The report will not show this: the store cannot be used: it cannot be written to"
    )
    assert (tmp_path / "out" / "small-placement.csv").is_file()


@pytest.mark.parametrize("words", [("list",), ("tahir2024-fig1",), ("figure-1", "--full", "--set", "d=3"), ("plaec",)])
def test_what_was_a_figure_is_answered_with_the_command_that_draws_it(words: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError) as moved:
        run(*words)
    assert str(moved.value) == (
        f"theory has no command {words[0]!r}: `transferscope theory place STUDY.toml` places a study, "
        "`transferscope theory bounds` bounds the risk of fine-tuning, and the figures "
        "of the papers are drawn by `transferscope papers draw PAPER FIGURE` (`transferscope papers list` names them)"
    )
