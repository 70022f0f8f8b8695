"""The tables of a page of docs/results, to hold them to the runs behind them."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def rows_of(page: str, heading: str) -> dict[str, list[str]]:
    """The rows of the table below a heading, by their first cell."""
    text = (RESULTS / page).read_text(encoding="utf-8")
    below = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in below.splitlines() if line.startswith("|")][2:]
    return {cells[0].strip().replace(",", ""): [cell.strip() for cell in cells[1:]] for cells in lines}


def numbers(cell: str) -> list[float]:
    return [float(one) for one in re.findall(r"[+-]?\d+\.\d+", cell.replace("−", "-"))]


def finished_runs(name: str) -> pd.DataFrame:
    """What `studies/runs_csv.py` wrote; no source and no diagnostic are ""."""
    texts = {"source": str, "diagnostic": str}
    table: pd.DataFrame = pd.read_csv(RESULTS / "runs" / name, comment="#", dtype=texts)
    return table.assign(**{column: table[column].fillna("") for column in texts})


def ends(values: ArrayLike, among: int = 1) -> list[float]:
    """Mean of what is finite, and the ends of its t-interval of level 1 - .05 / among."""
    own = np.asarray(values, dtype=float)
    own = own[np.isfinite(own)]
    mean, error = float(own.mean()), float(own.std(ddof=1)) / len(own) ** 0.5
    half = float(stats.t.ppf(1 - 0.025 / among, len(own) - 1)) * error
    return [mean, mean - half, mean + half]


def over_seeds(first: pd.Series, second: pd.Series, *, among: int = 1) -> list[float]:
    """The difference of two arms on the same seeds in points, with the `ends` of its interval."""
    return ends(100 * (first - second), among)


def module_of(path: str) -> ModuleType:
    """A script of this repository, as a module."""
    file = RESULTS.parents[1] / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
