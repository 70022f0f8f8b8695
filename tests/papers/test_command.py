"""`transferscope papers` as a reader meets it."""

import csv
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner

from transferscope.cli.as_json import VERSION
from transferscope.cli.main import app as command_line
from transferscope.errors import DataError, MissingDataError, SettingsError, UnknownNameError
from transferscope.estimate import Estimate
from transferscope_papers.catalogue import FIGURES, PAPERS, found_at
from transferscope_papers.command import app
from transferscope_papers.figure import Point, TheoryFigure
from transferscope_papers.tahir2024.linear_transfer import RidgeFigure

SLOW_TO_IMPORT = {"torch", "numpy", "pandas", "scipy", "sqlalchemy", "matplotlib"}  # typer imports pydantic itself
JSON_PAGE = Path(__file__).resolve().parents[2] / "docs" / "json.md"
ROW = next(line for line in JSON_PAGE.read_text("utf-8").splitlines() if line.startswith("| `papers draw` |"))
DOCUMENTED = re.findall(r"`(\w+)`", ROW.split("|")[2])
RIDGE = ("draw", "tahir2024", "fig2", "--set", "d=10", "--set", "n=8", "--set", "seeds=5")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_list_names_every_figure_under_its_paper() -> None:
    lines = run("list").splitlines()
    at = lines.index("tahir2024: Tahir et al. 2024, Features are fate")
    assert lines[at + 1].split(maxsplit=1) == ["fig1", "Transferability of linear transfer with label noise"]
    assert sum(line.endswith("[--table]") for line in lines) == 12


def test_the_list_as_json_has_what_the_list_has() -> None:
    document = json.loads(run("list", "--json"))
    assert (document["command"], document["version"]) == ("papers list", VERSION)
    papers = document["result"]["papers"]
    assert {paper["paper"]: paper["title"] for paper in papers} == {name: one.title for name, one in PAPERS.items()}
    reads = [figure["reads"] for paper in papers for figure in paper["figures"]]
    assert reads.count("table") == 12
    assert set(reads) == {"nothing", "table", "study"}


def test_a_row_has_its_settings_beside_the_published_ones() -> None:
    study = tomllib.loads((Path(__file__).parents[2] / "studies" / "why-long.toml").read_text(encoding="utf-8"))
    rate, lines = study["training"]["lr"], run("list", "--protocol", "liu2019 Figure 9").splitlines()
    assert re.split(r"\s{2,}", next(line for line in lines if line.startswith("learning rate"))) == [
        "learning rate",
        "0.01",
        f"{rate} *",
    ]
    settings = json.loads(run("list", "--protocol", "liu2019 Figure 9", "--json"))["result"]["protocol"]
    marked = {one["name"] for one in settings if one["differs"]}
    assert marked == {re.split(r"\s{2,}", line)[0] for line in lines if line.endswith(" *")}


def test_a_row_without_a_protocol_is_named_with_those_that_have_one() -> None:
    with pytest.raises(UnknownNameError, match=r"liu2019 Figure 99.*liu2019 Figure 9"):
        CliRunner().invoke(app, ["list", "--protocol", "liu2019 Figure 99"], catch_exceptions=False)


def test_the_list_needs_nothing_that_is_slow_to_import() -> None:
    listing = (
        "import json, sys; from transferscope_papers.command import app; app(['list'], standalone_mode=False); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True)
    assert SLOW_TO_IMPORT.isdisjoint(json.loads(found.stdout.splitlines()[-1]))


def test_everything_that_is_listed_is_there_under_its_name() -> None:
    for paper, known in PAPERS.items():
        for name, figure in known.figures.items():
            if figure.reads != "nothing":
                assert callable(found_at(figure.place))
            else:
                assert isinstance(made := FIGURES[f"{paper}-{name}"], TheoryFigure)
                assert made.name == f"{paper}-{name}"


def test_the_commands_join_by_entry_points_of_the_distribution() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {name: place.partition(":") for name, place in project["entry-points"]["transferscope.commands"].items()}
    found = {name: getattr(import_module(module), attribute) for name, (module, _, attribute) in named.items()}
    assert found == {"papers": app}


def test_a_figure_is_written_with_its_numbers_and_a_sentence(tmp_path: Path) -> None:
    out = run(*RIDGE, "--out", str(tmp_path), "--workers", "0", "--quiet")
    assert out.startswith("Linear transfer with a ridge (tahir2024 fig2)\n14 points: largest |z| ")
    assert (tmp_path / "tahir2024-fig2.svg").read_text(encoding="utf-8").startswith("<?xml")
    page = (tmp_path / "tahir2024-fig2.html").read_text(encoding="utf-8")
    assert all(part in page for part in ("<svg", "14 points: largest |z| ", "Linear transfer with a ridge"))
    assert (tmp_path / "tahir2024-fig2.pdf").read_bytes().startswith(b"%PDF")
    with (tmp_path / "tahir2024-fig2.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["kind"] == "simulation" for row in rows) == 14
    assert {row["status"] for row in rows} == {"ok", "converged"}


@pytest.mark.long
def test_points_that_cannot_be_simulated_are_counted_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(figure: RidgeFigure, points: Sequence[Point]) -> tuple[Estimate, ...]:
        raise DataError("no digits here")

    arguments = [*RIDGE, "--out", str(tmp_path), "--workers", "0", "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr(RidgeFigure, "simulate", refuse)
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 1
    words = (
        "theory only: nothing is simulated\n14 of 14 points could not be simulated; they are tried again the next time"
    )
    assert words in result.stdout
    assert "14 points: largest |z| " in run(*arguments)
    answer = json.loads(run(*arguments, "--json"))
    assert answer["command"] == "papers draw"
    drawn = answer["result"]
    assert drawn.keys() == set(DOCUMENTED)
    assert (drawn["paper"], drawn["points"], drawn["points_failed"]) == ("tahir2024", 14, 0)
    with (tmp_path / "tahir2024-fig2.csv").open(encoding="utf-8") as file:
        assert len(drawn["rows"]) == len(list(csv.DictReader(file)))
    assert drawn["written"][0] == str(tmp_path / "tahir2024-fig2.svg")
    assert {claim["holds"] for claim in drawn["claims"]} <= {True, False, None}


@pytest.mark.real_data
def test_a_figure_from_the_authors_rows_prints_published_numbers_beside_ours(tmp_path: Path) -> None:
    rows = Path(os.environ["TRANSFERSCOPE_DATA"]) / "scaling" / "syn2real_finetune.csv"
    printed = run("draw", "mikami2021", "fig5", "--table", str(rows), "--out", str(tmp_path))
    assert "0.00218     0.0024" in printed
    assert {path.name for path in tmp_path.iterdir()} == {
        f"mikami2021-fig5.{kind}" for kind in ("svg", "pdf", "csv", "html")
    }


@pytest.mark.parametrize(
    ("words", "kind", "sentence"),
    [
        (("tahir2023", "fig1"), UnknownNameError, "unknown paper 'tahir2023': did you mean 'tahir2024'? known are "),
        (("tahir2024", "fig9"), UnknownNameError, "unknown figure of tahir2024 'fig9': did you mean 'fig7' or "),
        (
            ("tahir2024", "fig2", "--set", "sigma"),
            SettingsError,
            "--set sigma is invalid; write NAME=VALUE, as in --set sigma=0.5",
        ),
        (
            ("tahir2024", "fig2", "--table", "rows.csv"),
            SettingsError,
            "tahir2024 fig2 is computed and simulated and reads no table; leave --table rows.csv out",
        ),
        (
            ("mikami2021", "fig5"),
            SettingsError,
            "mikami2021 fig5 is drawn from the authors' rows; give them with --table syn2real_finetune.csv",
        ),
        (
            ("mikami2021", "fig5", "--table", "rows.csv", "--set", "d=3"),
            SettingsError,
            "mikami2021 fig5 is drawn from the authors' rows and has no settings; leave --set out",
        ),
        (("merlin2020", "fig2a"), SettingsError, "merlin2020 fig2a is drawn from a finished study; give its file"),
        (
            ("merlin2020", "fig2a", "--study", "a.toml", "--set", "d=3"),
            SettingsError,
            "merlin2020 fig2a is drawn from a finished study and has no settings",
        ),
        (("tahir2024", "fig2", "--study", "a.toml"), SettingsError, "tahir2024 fig2 is computed and simulated"),
        (("mikami2021", "fig5", "--table", "absent.csv"), MissingDataError, "there is no table absent.csv"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(
    words: tuple[str, ...], kind: type[Exception], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(kind) as wrong:
        run("draw", *words, "--out", str(tmp_path / "out"))
    assert str(wrong.value).startswith(sentence)
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_a_figure_that_nothing_is_said_of_has_its_page(tmp_path: Path) -> None:
    run("draw", "mikami2021", "fig7", "--set", "n=50", "--set", "seeds=2", "--out", str(tmp_path))
    assert (tmp_path / "mikami2021-fig7.html").is_file()


def test_a_folder_that_cannot_be_made_is_said_before_anything_is_simulated(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        run("draw", "tahir2024", "fig2", "--out", str(tmp_path / "file"), "--store", str(tmp_path / "points.sqlite"))
    assert not (tmp_path / "points.sqlite").exists()


def test_the_command_line_runs_the_command_of_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("papers", "transferscope_papers.command:app", "transferscope.commands")
    monkeypatch.setattr("transferscope.registry.entry_points", lambda group: (point,))
    result = CliRunner().invoke(command_line, ["papers", "list"], catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (0, run("list"))
