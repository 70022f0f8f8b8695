"""The real learning curves that the scaling benchmarks run on."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope_papers.mikami2021.rows import GROUP, read_errors


@dataclass(frozen=True)
class TestCurve:
    """Points to fit on, and points to score on.

    Attributes:
        suite: Where it comes from.
        name: Its name in the suite.
        x, y: Sizes and errors to fit on.
        x_test, y_test: Sizes and errors to predict.
        development: Whether a setting may be chosen by looking at its test points; the other half confirms.
    """

    suite: str
    name: str
    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    development: bool


def benchmark_curves(data: Path) -> list[TestCurve]:
    """All curves of scaling/learning_curves.csv, cut where its column `fit` says."""
    table = pd.read_csv(data / "scaling" / "learning_curves.csv")
    return [
        _cut(str(suite), str(name), rows, rows["fit"] == 1) for (suite, name), rows in table.groupby(["suite", "curve"])
    ]


def syn2real_curves(data: Path, *, seen: int) -> list[TestCurve]:
    """Syn2Real curves with seven sizes, cut after the `seen` smallest."""
    errors = read_errors(data / "scaling" / "syn2real_finetune.csv")
    errors = errors[(errors["n"] > 0) & (errors["pdata"] != "imagenet")].rename(columns={"n": "x", "error": "y"})
    curves = []
    for key, rows in errors.groupby(list(GROUP)):
        rows = rows.sort_values("x")
        if len(rows) == 7:
            curves.append(_cut("syn2real", f"{key} first {seen}", rows, rows["x"].rank() <= seen, split_by=str(key)))
    return curves


def language_model_curves(data: Path) -> list[TestCurve]:
    """Test losses of 30 language models over fine-tuning examples, on three tasks."""
    curves = []
    for task in ("flan", "gigaword", "wmt19"):
        table = pd.read_csv(data / "results" / f"llm_finetuning_{task}.csv").set_index("config name")
        losses = table.drop(columns=["0", "size", "family"])
        for name, row in losses.iterrows():
            rows = pd.DataFrame({"x": losses.columns.astype(float), "y": row.to_numpy(float)})
            curves.append(_cut("llm", f"{task} {name}", rows, rows["x"] < rows["x"].median(), split_by=str(name)))
    return curves


def simulated_curves() -> list[TestCurve]:
    """Sixty curves of twelve sizes: a shifted power law, a Hill curve and a power law, with .3 to 3 % of noise."""
    generator, curves = np.random.default_rng(0), []
    x = np.geomspace(10, 10 * 2**11, 12)
    for number in range(60):
        top = generator.uniform(0.3, 0.9)
        floor, half = top * generator.choice([0, 0.05, 0.2]), 10 ** generator.uniform(1, 3)
        rate = generator.uniform(0.3, 1.2)
        falls = ((1 + x / half) ** -rate, 1 / (1 + (x / half) ** rate), (x / 10) ** (-rate / 2))[number % 3]
        noise = generator.choice([0.003, 0.01, 0.03]) * generator.standard_normal(12)
        rows = pd.DataFrame({"x": x, "y": (floor + (top - floor) * falls) * np.exp(noise)})
        curves.append(_cut("simulated", str(number), rows, rows["x"] < x[-3]))
    return curves


def thinned(curve: TestCurve, k: int) -> TestCurve:
    """The curve with about k of its points to fit on, evenly spaced in log size, the largest kept."""
    targets = np.linspace(np.log(curve.x.min()), np.log(curve.x.max()), k)
    index = np.unique([np.abs(np.log(curve.x) - target).argmin() for target in targets])
    return replace(curve, x=curve.x[index], y=curve.y[index])


def _cut(suite: str, name: str, rows: pd.DataFrame, seen: pd.Series, split_by: str = "") -> TestCurve:
    rows = rows.sort_values("x", kind="stable")
    first, rest = rows[seen.reindex(rows.index)], rows[~seen.reindex(rows.index)]
    digest = hashlib.sha256(f"{suite}/{split_by or name}".encode()).digest()
    x, y, x_test, y_test = (part[column].to_numpy(float) for part in (first, rest) for column in ("x", "y"))
    return TestCurve(suite, str(name), x, y, x_test, y_test, development=digest[-1] % 2 == 0)
