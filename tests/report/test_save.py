import csv
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from fabricate import Fabrication, fabricate
from pages import held_tables
from transferscope.analyses.compare.study_page import build_report
from transferscope.cli.main import main
from transferscope.files import written_whole
from transferscope.report.figures.style import drawing, new_figure, to_svg
from transferscope.report.save import file_name, save_figure, write_table, write_text

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("x")']


def read(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


@pytest.mark.parametrize("kind", [object, "string", "category"])
def test_no_cell_of_a_table_is_a_formula_and_no_number_changes(kind: str, tmp_path: Path) -> None:
    names = [*FORMULAS, "nine", "-0.5", "+1e-3", "ü", "a\r=b"]
    table = pd.DataFrame(
        {"name": pd.Series(names, dtype=kind), "value": [-0.5] * len(names), "=head": ["x"] * len(names)}
    )
    write_table(table, tmp_path / "t.csv")
    head, *rows = read(tmp_path / "t.csv")
    assert head == ["name", "value", "'=head"]
    text = [f"'{formula}" for formula in FORMULAS]
    text[FORMULAS.index("\r=1")] = "'\n=1"
    assert [row[0] for row in rows] == [*text, "nine", "-0.5", "+1e-3", "ü", "a\n=b"]
    assert [row[1] for row in rows] == ["-0.5"] * len(names)
    assert list(table["name"]) == names  # the caller's table stays


def test_a_table_without_text_is_the_file_that_pandas_writes(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"x": [0.1 + 0.2, None, -1e-300], "n": [1, -2, 3], "b": [True, False, True], "t": [None, "a", 2]}
    )
    write_table(table, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == table.to_csv(index=False, lineterminator="\n")


@pytest.mark.long
def test_a_class_that_is_a_formula_is_text_in_every_table_of_a_report(tmp_path: Path, small: Fabrication) -> None:
    with fabricate(tmp_path / "s.sqlite", small) as store:
        row = store.study("usps")
        target = row.facts["target"]
        classes = [f"=1+{i}" for i in range(len(target["classes"]))]
        facts = {**row.facts, "target": {**target, "classes": classes}}
        store.plan(type(row)(row.name, row.spec, facts, row.created), [stored.cell for stored in store.cells("usps")])
        written = build_report(store, "usps", tmp_path / "r.html")
    tables = held_tables(written.html.read_text(encoding="utf-8"))
    cells = [cell for table in tables.values() for line in csv.reader(table.splitlines()) for cell in line]
    assert any(cell.startswith("'=1+") for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("usps", "usps"),
        ("theory-fine-tuning_sign.2", "theory-fine-tuning_sign.2"),
        ("../../x", "__.._x"),
        ("/etc/passwd", "_etc_passwd"),
        ("..", "_"),
        ("a\\b:c\0d", "a_b_c_d"),
        ("", "_"),
        ("ü" * 300, "ü" * 100),
    ],
)
def test_a_name_is_no_path(name: str, expected: str) -> None:
    assert file_name(name) == expected
    assert Path(expected).name == expected


def test_a_study_of_any_name_is_reported_on_in_the_current_folder(
    tmp_path: Path, small: Fabrication, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "../../x"
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    fabricate(folder / "s.sqlite", small).close()
    with closing(sqlite3.connect(folder / "s.sqlite")) as raw, raw:
        raw.execute("UPDATE studies SET name = ?", (name,))
    raw.close()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["transferscope", "report", "s.sqlite"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert {path.name for path in tmp_path.iterdir()} == {"a"}
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"b"}
    assert (folder / f"{file_name(name)}.html").exists()


@pytest.mark.drawn
def test_a_figure_is_an_svg_and_a_pdf(tmp_path: Path) -> None:
    with drawing():
        (canvas := new_figure(3, 2)).subplots()
        svg = to_svg(canvas)
    first, second = save_figure(canvas, svg, tmp_path, "curve")
    assert (first.name, first.read_text(encoding="utf-8")) == ("curve.svg", svg)
    assert (second.name, second.read_bytes()[:5]) == ("curve.pdf", b"%PDF-")


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    write_text(path, "before")
    with pytest.raises(OSError, match="No space left"), written_whole(path) as unfinished:
        _write_half(unfinished)
    assert [found.name for found in tmp_path.iterdir()] == ["r.html"]
    assert path.read_text() == "before"
    write_text(path, "after \udcff")
    assert path.read_text() == "after \\udcff"
    write_text(Path(os.devnull), "what is no file is written to, and stays what it is")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    link = tmp_path / "link.html"
    link.symlink_to(path)
    write_text(link, "through a link")
    assert (link.is_symlink(), path.read_text()) == (True, "through a link")


def _write_half(path: Path) -> None:
    path.write_text("half of")
    raise OSError(28, "No space left on device")
