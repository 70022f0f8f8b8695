"""Every file of data is opened once by a command, however many of its steps read it."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from transferscope.cli.main import app

OPENED: Counter[str] = Counter()
sys.addaudithook(lambda event, given: OPENED.update([str(given[0])]) if event == "open" else None)


def opened(command: Sequence[str], files: Sequence[Path]) -> list[int]:
    """How often each file is opened by a command, all of them just written."""
    for file in files:
        os.utime(file)
    OPENED.clear()
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 0, answer.output
    return [sum(n for name, n in OPENED.items() if Path(name).name == file.name) for file in files]


def write(path: Path, seed: int, n: int) -> Path:
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 3)).round(4)
    town = random.choice(["Rome", "Oslo", "Bonn"], n)
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "town": town})
    table.assign(y=np.where(x[:, 0] + x[:, 1] > 0, "high", "low")).to_csv(path, index=False)
    return path


@pytest.mark.long
def test_a_table_is_opened_once_by_each_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = [write(tmp_path / "target.csv", 0, 300), write(tmp_path / "source.csv", 1, 400)]
    target, source = (f"csv:{file.name}?label=y" for file in files)
    few = ["--labels", "20", "--seeds", "2", "--network", "mlp", "--steps", "5", "--recipe", "equal", "--workers", "0"]
    asked = ["compare", target, "--from", source, "--methods", "scratch", "fine-tune", *few, "--out", "own"]
    assert opened([*asked, "--set", "pretraining.steps=5"], files) == [1, 1]
    study = next(Path("own").glob("*.toml"))
    text = study.read_text()
    study.write_text(text.replace("seeds = 2", "seeds = 3"))
    assert study.read_text() != text
    assert opened(["run", str(study)], files) == [1, 1]
    assert max(opened(["report", str(study)], files)) <= 1
    assert max(opened(["export", str(study), "--out", "best"], files)) <= 1
    new = write(tmp_path / "new.csv", 2, 50)
    assert opened(["predict", "best", f"csv:{new.name}", "--out", "new-predicted.csv"], [new]) == [1]
    assert opened(["show", target], files[:1]) == [1]


def test_a_table_that_is_written_again_is_read_again(tmp_path: Path) -> None:
    from transferscope.data.frame import read_frame

    path, stamp = tmp_path / "t.csv", (1_700_000_000, 1_700_000_000)
    for cells in ("1.5,2", "3.5,4"):  # of the same size, with the same time
        path.write_text(f"a,b\n{cells}\n")
        os.utime(path, stamp)
        rows = read_frame(path).rows
        assert rows.iloc[0].tolist() == [float(one) for one in cells.split(",")]
        rows["a"] = 7.0
        assert read_frame(path).rows.iloc[0, 0] != 7.0
