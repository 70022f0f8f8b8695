"""`transferscope theory place` as a reader meets it."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from remembered import REMEMBERED
from transferscope.errors import StoreError
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import read_spec
from transferscope_papers.theory_command import app


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
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
    assert words.startswith("Over 2 cases ")
    assert len(re.findall(r"^source +(12|30) +\d", words, re.MULTILINE)) == 2
    assert "The model is linear: squared loss, " in words
    assert words.splitlines()[-1].startswith(str(tmp_path / "out" / "small-placement.svg"))
    assert (tmp_path / "out" / "small-placement.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert (tmp_path / "out" / "small-placement.pdf").read_bytes().startswith(b"%PDF")
    with (tmp_path / "out" / "small-placement.csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert {row["n_target"] for row in rows} == {"12", "30"}
    answer = json.loads(run("place", str(file), "--out", str(tmp_path / "out"), "--json"))["result"]
    assert (answer["analysis"], len(answer["rows"])) == ("place", len(rows))
    assert {row["name"] for row in rows} >= {"outside_share", "modelled", "measured", "scratch_modelled"}
    for row in rows:
        assert not row["low"] or float(row["low"]) <= float(row["value"]) <= float(row["high"])
