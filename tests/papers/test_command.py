"""`transferscope theory` as a reader meets it."""

import csv
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from transferscope.cli.theory import theory
from transferscope.errors import DataError, SettingsError, UnknownNameError
from transferscope.records import Estimate
from transferscope_papers.figure import Point
from transferscope_papers.tahir2024.linear_transfer import RidgeFigure

app = typer.Typer()
app.command()(theory)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_list_names_every_figure_with_its_paper() -> None:
    lines = run("list").splitlines()
    assert "001-figure-1      Transferability of linear transfer with label noise (001 Figure 1)" in lines


def test_a_figure_is_written_with_its_numbers_and_a_sentence(tmp_path: Path) -> None:
    changes = ["--set", "d=10", "--set", "n=8", "--set", "seeds=5"]
    out = run("001-figure-2", *changes, "--out", str(tmp_path), "--workers", "0", "--quiet")
    assert out.startswith("Linear transfer with a ridge (001 Figure 2)\n14 points: largest |z| ")
    assert (tmp_path / "001-figure-2.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert (tmp_path / "001-figure-2.pdf").read_bytes().startswith(b"%PDF")
    with (tmp_path / "001-figure-2.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["kind"] == "simulation" for row in rows) == 14
    assert {row["status"] for row in rows} == {"ok", "converged"}


def test_points_that_cannot_be_simulated_are_counted_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(figure: RidgeFigure, point: Point) -> Estimate:
        raise DataError("no digits here")

    arguments = ["001-figure-2", "--set", "d=10", "--set", "n=8", "--set", "seeds=5", "--out", str(tmp_path)]
    arguments += ["--workers", "0", "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr(RidgeFigure, "simulate", refuse)
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 1
    words = (
        "theory only: nothing is simulated\n14 of 14 points could not be simulated; they are tried again the next time"
    )
    assert words in result.stdout
    assert "14 points: largest |z| " in run(*arguments)


def test_mistakes_are_answered_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"^unknown figure '001-figure-9': did you mean '001-figure-7' or "):
        run("001-figure-9", "--out", str(tmp_path))
    with pytest.raises(SettingsError) as wrong:
        run("001-figure-2", "--set", "sigma", "--out", str(tmp_path))
    assert str(wrong.value) == "--set sigma cannot be read; expected NAME=VALUE, as in --set sigma=0.5"
