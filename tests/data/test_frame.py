"""Where a row stands: the line of its file, as an editor counts them."""

import io
import random
from pathlib import Path

import pandas as pd
import pytest

from transferscope.analyses.columns import measured_rows, numbers_in
from transferscope.data.frame import place_of, read_frame
from transferscope.data.tables import TableSettings, load_table
from transferscope.errors import DataError


def written(draw: random.Random, separator: str, end: str, *, quotes: bool) -> tuple[str, list[int]]:
    """A file, and the line of each of its rows, counted while it is written."""
    text, line, places = "", 1, []

    def write(piece: str) -> None:
        nonlocal text, line
        text, line = text + piece, line + piece.count(end)

    if draw.random() < 0.3:
        write(f"sep={separator}{end}")
    header = f'"a{end}name"' if quotes and draw.random() < 0.3 else "a"
    write(separator.join([header, "b", "c"]) + end)
    for row in range(draw.randrange(2, 12)):
        for _ in range(draw.choice([0, 0, 1, 2])):
            write(draw.choice(["", "  "]) + end)
        places.append(line)
        cells = [f"r{row}", draw.choice(["1.5", "x y", 'so "called"' if quotes else "z"]), "7"]
        if quotes and draw.random() < 0.5:
            cells[1] = f'"two{end}lines{draw.choice(["", end, end + end])} ""and{separator} more"""'
        write(separator.join(cells) + (end if row < 11 else ""))
    return text, places


@pytest.mark.parametrize("seed", range(120))
def test_a_row_is_called_by_its_line_as_an_editor_counts_them(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    separator, end = draw.choice([",", ";", "\t"]), draw.choice(["\n", "\r\n", "\r"])
    quotes = seed % 3 > 0
    text, places = written(draw, separator, end, quotes=quotes)
    path = tmp_path / ("t.tsv" if separator == "\t" else "t.csv")
    path.write_bytes(draw.choice([b"", b"\xef\xbb\xbf"]) + text.encode())
    rows = read_frame(path, as_it_is=seed % 2 == 0).rows
    assert [place_of(rows.index, at) for at in range(len(rows))] == [f"line {place}" for place in places]
    for at, place in enumerate(places):  # what stands there
        assert io.StringIO(text.replace(end, "\n")).read().split("\n")[place - 1].startswith(str(rows.iloc[at, 0]))


def test_rows_without_lines_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('[{"a": 1, "b": 2},\n\n {"a": 3, "b": 4}]')
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_parquet(tmp_path / "t.parquet")
    for name in ("t.json", "t.parquet"):
        rows = read_frame(tmp_path / name).rows
        assert [place_of(rows.index, at) for at in range(2)] == ["row 1", "row 2"]


def test_the_line_stays_that_of_the_file_where_rows_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("seed,score\n0,1\n\nmean,2\n3,3\n")
    frame = read_frame(path)
    assert list(frame.rows.index) == [2, 5]
    assert frame.numbers.tolist() == [0, 2]


BAD = "arm,n,error\n\npre,10,.5\npre,20,.4\npre,40,many\n"


def test_every_reader_says_the_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(BAD)
    with pytest.raises(DataError, match="'many' in line 5"):
        numbers_in(measured_rows(path).rows, "error")
    rows = "".join(f"{k},{k % 2},{k}\n" for k in range(30))
    path.write_text("x,y,z\n" + rows.replace("7,1,7", "\n\n7,,7"))
    with pytest.raises(DataError, match=r"first: line 11\)"):
        load_table(path, TableSettings(("y",), kind="classification"), form="csv", seed=0)
    path.write_text("x,y,z\n" + rows.replace("7,1,7", "\n\ninf,1,7"))
    with pytest.raises(DataError, match="'inf' in line 11"):
        load_table(path, TableSettings(("y",), test_share=0.1), form="csv", seed=0)
