"""Every file of data is opened, every study parsed and every network tried once by a command, however many steps ask.

Runs are made in the process of the command here; each worker process opens what its own runs read once more.
"""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from transferscope.cli.main import app
from transferscope.study import spec

OPENED: Counter[str] = Counter()
sys.addaudithook(lambda event, given: OPENED.update([str(given[0])]) if event == "open" else None)


MADE: Counter[str] = Counter()
"""How often a study is parsed and a network tried."""


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(what: str, function: Any, *given: Any) -> Any:
        MADE[what] += 1
        return function(*given)

    tries = sys.modules["transferscope.models.adapt"]
    monkeypatch.setattr(spec, "read_header", partial(count, "parsed", spec.read_header))
    monkeypatch.setattr(tries, "check_answers", partial(count, "tried", tries.check_answers))


def opened(command: Sequence[str], files: Sequence[Path]) -> list[int]:
    """How often each file is opened by a command, all of them just written."""
    for file in files:
        os.utime(file)
    OPENED.clear()
    MADE.clear()
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
    assert MADE == {"parsed": 1}
    study = next(Path("own").glob("*.toml"))
    text = study.read_text()
    study.write_text(text.replace("seeds = 2", "seeds = 3"))
    assert study.read_text() != text
    assert opened(["run", str(study)], files) == [1, 1]
    assert MADE == {"parsed": 1}
    assert max(opened(["report", str(study)], files)) <= 1
    assert max(opened(["rank", str(study)], files)) <= 1
    assert max(opened(["export", str(study), "--out", "best"], files)) <= 1
    assert MADE["parsed"] <= 1
    new = write(tmp_path / "new.csv", 2, 50)
    assert opened(["predict", "best", f"csv:{new.name}", "--out", "new-predicted.csv"], [new]) == [1]
    assert opened(["show", target], files[:1]) == [1]


NETWORK = """
import torch
from torch import nn


def tiny():
    network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
    network.load_state_dict(torch.load("tiny.pt"))
    return network


tiny.input = {"mean": 0.5, "std": 0.2}
"""


@pytest.mark.long
def test_a_network_is_tried_once_by_each_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nets.py").write_text(NETWORK)
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
    torch.save(layers.state_dict(), "tiny.pt")
    random, data = np.random.default_rng(0), Path("data.npz")
    y = random.integers(0, 3, 90)
    x = (40 * y[:, None, None, None] + random.integers(0, 60, (90, 1, 8, 8))).astype(np.uint8)
    np.savez(data, x_train=x[:60], y_train=y[:60], x_test=x[60:], y_test=y[60:])
    short = ["--labels", "20", "--seeds", "2", "--steps", "5", "--workers", "0", "--out", "own"]
    methods = ["--methods", "random-features", "linear-probe", "fine-tune"]
    asked = ["--trust-code", "compare", "npz:data.npz", "--from", "nets.py:tiny", *methods, *short]
    assert opened(asked, [data]) == [2]  # for its arrays, and for the checksum of its bytes
    assert MADE == {"parsed": 1, "tried": 1}
    # to tell whether it is trained takes two of seeds, and a third is kept; each random one is drawn anew
    assert OPENED["tiny.pt"] <= 3 + 1 + 2 + 2
    study = next(Path("own").glob("*.toml"))
    assert max(opened(["--trust-code", "report", str(study)], [data])) <= 2
    assert MADE == {}
    assert opened(["--trust-code", "rank", "npz:data.npz", "--from", "nets.py:tiny", "--labels", "40"], [data]) == [2]
    assert MADE == {"tried": 1}
    assert max(opened(["--trust-code", "export", str(study), "--out", "best"], [data])) <= 2
    assert MADE["tried"] <= 1
    assert opened(["--trust-code", "predict", "best", "npz:data.npz", "--out", "p.csv"], [data]) == [1]
    assert MADE["tried"] <= 1


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
