"""`transferscope report --table`: the same numbers in every format, and what a paper prints."""

import io
import json
import re
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from markdown_it import MarkdownIt

import transferscope
from cli.called import output
from fabricate import HOSTILE, Fabrication, fabricate
from transferscope.errors import SettingsError, StoreError
from transferscope.report.blocks import Cell, Column, Table
from transferscope.report.paper_tables import escaped, latex_table, markdown_table

SEEDS = 4
GAINS = {"fashion": {"fine-tune": 0.05, "merlin": 0.12}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("table") / "usps.sqlite"
    fabricate(path, Fabrication(sizes=(50, 200), n_seeds=SEEDS, gains=GAINS)).close()
    return str(path)


ask = partial(output, "report")


@pytest.mark.long
def test_every_format_holds_the_numbers_of_the_table(place: str, tmp_path: Path) -> None:
    frame = transferscope.open_result(place).table()
    printed = io.StringIO(ask(place, "--table", "csv"))
    pd.testing.assert_frame_equal(pd.read_csv(printed, keep_default_na=False, na_values={
        name: [""] for name in frame.columns if frame[name].dtype == float
    }), frame, check_dtype=False)  # fmt: skip
    rows = json.loads(ask(place, "--json"))["result"]["rows"]
    assert [row["mean"] for row in rows] == list(frame["mean"])
    assert ask(place, "--table", "parquet", "--out", str(tmp_path / "t.parquet")) == f"written: {tmp_path}/t.parquet\n"
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), frame, check_dtype=False)
    assert ask(place, "--table", "latex", "--out", str(tmp_path)) == f"written: {tmp_path}/usps.tex\n"


@pytest.mark.long
def test_a_paper_prints_means_with_their_intervals_and_the_best_in_bold(place: str) -> None:
    frame = transferscope.open_result(place).table()
    text = ask(place, "--table", "latex")
    body = text.split("\\midrule\n")[1].split("\\bottomrule")[0]
    printed = {line.split(" & ")[0]: line.removesuffix(" \\\\").split(" & ")[1:] for line in body.splitlines()}
    assert len(printed) == frame.groupby(["source", "method"]).ngroups
    scratch = frame[frame["method"] == "scratch"].sort_values("n_target")
    for shown, (_, row) in zip(printed["Training from scratch"], scratch.iterrows(), strict=True):
        half = 100 * (row["high"] - row["low"]) / 2
        assert shown == f"{100 * row['mean']:.1f} $\\pm$ {half:.1f}"
    for column, size in enumerate((50, 200)):
        assert frame[frame["n_target"] == size].sort_values("mean")["method"].iloc[-1] == "merlin"
        bold = [name for name, cells in printed.items() if cells[column].startswith("\\textbf{")]
        assert bold == ["MeRLin"]
    assert f"mean of {SEEDS} seeds with its 95 \\% CI over seeds" in text
    settled = frame[frame["call"] == "better"]
    assert len(re.findall(r"\$\^\{\*\}\$", body)) == len(settled) > 0
    assert transferscope.open_result(place).to_latex() == text


def test_names_cannot_steer_the_typesetting() -> None:
    assert escaped(r"\input{x}_1 & 5% #$~^") == (
        r"\textbackslash{}input\{x\}\_1 \& 5\% \#\$\textasciitilde{}\textasciicircum{}"
    )
    assert escaped("a\nb\x00c\x1b") == "a bc"
    columns = (Column("[1]", numeric=False), Column("x\\\\"))
    text = latex_table(Table(columns, ((Cell("[2em]"), Cell("1", "2", "best")), (Cell(HOSTILE), Cell("–")))))
    assert text == (
        "\\begin{table}\n\\centering\n\\begin{tabular}{lr}\n\\toprule\n"
        "{[1]} & x\\textbackslash{}\\textbackslash{} \\\\\n\\midrule\n"
        "{[2em]} & \\textbf{1 (2)} \\\\\n$<$script$>$alert(1)$<$/script$>$ & -- \\\\\n"
        "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    )


def rendered(text: str) -> list[list[ElementTree.Element]]:
    """The cells of the one table in a page of Markdown, header first."""
    page = MarkdownIt("commonmark").enable("table").render(text)
    return [list(row) for row in ElementTree.fromstring(f"<page>{page}</page>").iter("tr")]


def test_markdown_shows_the_same_cells(place: str) -> None:
    frame = transferscope.open_result(place).table()
    header, *rows = rendered(ask(place, "--table", "markdown"))
    shown = {"".join(row[0].itertext()): row[1:] for row in rows}
    assert ["".join(cell.itertext()) for cell in header] == ["Method", "50 labels", "200 labels"]
    assert len(shown) == frame.groupby(["source", "method"]).ngroups
    scratch = frame[frame["method"] == "scratch"].sort_values("n_target")
    for cell, (_, row) in zip(shown["Training from scratch"], scratch.iterrows(), strict=True):
        assert cell.text == f"{100 * row['mean']:.1f} ± {50 * (row['high'] - row['low']):.1f}"
    assert [name for name, cells in shown.items() if cells[0].find("strong") is not None] == ["MeRLin"]
    assert transferscope.open_result(place).to_markdown() == ask(place, "--table", "markdown")


def test_names_cannot_steer_markdown() -> None:
    hostile = ["a|b", "*x* _y_ `z`", "[l](x.html)", "<b>&amp;</b>", "\\", "# no heading", "![i](j)", HOSTILE]
    columns = (Column("name", numeric=False), Column("n"))
    _, *rows = rendered(markdown_table(Table(columns, tuple((Cell(text), Cell("1")) for text in hostile))))
    assert [row[0].text for row in rows] == hostile
    assert all(len(cell) == 0 for row in rows for cell in row)  # no tag within


def test_what_cannot_be_written_is_said(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"^parquet is not text; give a file with --out, as in --out table"):
        ask(place, "--table", "parquet")
    with pytest.raises(SettingsError, match=r"^--table asks for the table alone, and --json was given"):
        ask(place, "--table", "latex", "--json")
    for name in ("usps", "other"):
        fabricate(tmp_path / "two.sqlite", Fabrication(name=name, sizes=(50,), n_seeds=2, gains=GAINS)).close()
    with pytest.raises(StoreError, match="choose one with --study"):
        ask(str(tmp_path / "two.sqlite"), "--table", "csv")
    assert ask(str(tmp_path / "two.sqlite"), "--study", "other", "--table", "csv").startswith("source,method,")
