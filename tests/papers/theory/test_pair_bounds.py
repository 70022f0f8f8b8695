"""Bounds of a pair that is known by its examples: dense formulas, known teachers, the command, refusals."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from transferscope.cli.main import app
from transferscope.data.task import LabelledSet
from transferscope.errors import DataError, SettingsError
from transferscope_papers.bounds import BoundsResult, bounds
from transferscope_papers.theory.pair_bounds import estimate_pair, pair_bounds

D = 6


def regression(weights: np.ndarray, n: int, seed: int) -> LabelledSet:
    x = np.random.default_rng(seed).standard_normal((n, D))
    return LabelledSet(x, (x @ weights)[:, None].astype(np.float32))


SOURCE, TARGET = np.array([1.0, 0, 0, 0, 0, 0]), np.array([0.6, 0.8, 0, 0, 0, 0])


def kernel(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """H(x, z) = x'z (pi - arccos x'z)/(2 pi) for rows of norm 1, by the definition of liu2019."""
    products = np.clip(x @ z.T, -1, 1)
    return np.asarray(products * (math.pi - np.arccos(products)) / (2 * math.pi))


def test_the_bounds_are_those_of_the_theorems_with_the_teachers_of_the_data() -> None:
    source, target, few = regression(SOURCE, 300, 0), regression(TARGET, 400, 1), regression(TARGET, 40, 2)
    pair = estimate_pair(source, target)
    both = np.concatenate([source.labels, target.labels]).astype(float)
    reach, centre = float(np.ptp(both) / 2), float(both.max() + both.min()) / 2
    scale = float(target.inputs.std())
    np.testing.assert_allclose(pair.difference[:, 0], (TARGET - SOURCE) * scale / reach, atol=0.02)
    found = pair_bounds(pair, few)
    x, z = ((one.inputs - target.inputs.mean()) / scale for one in (few, source))
    x, z = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, z))
    y, w = (np.clip((one.labels[:, 0].astype(float) - centre) / reach, -1, 1) for one in (few, source))
    gram, other = kernel(x, x) + 0.5e-6 * np.eye(40), kernel(z, z) + 0.5e-6 * np.eye(300)
    left = y - kernel(x, z) @ np.linalg.solve(other, w)
    assert found["theorem 6.1"] == pytest.approx(2 * math.sqrt(left @ np.linalg.solve(gram, left) / 40), rel=1e-4)
    alone = 2 * math.sqrt(y @ np.linalg.solve(gram, y) / 40)
    assert found["theorem 6.1, from scratch"] == pytest.approx(alone, rel=1e-4)
    size = float(np.linalg.norm(pair.difference))
    assert found["corollary 6.3, printed"] == pytest.approx(6 * size / math.sqrt(40))
    assert found["corollary 6.3, sharpened"] == pytest.approx(4 * size / math.sqrt(40))  # 40 inputs see everything
    assert found["corollary 6.3"] <= found["corollary 6.3, sharpened"]
    assert found["distance"] == pytest.approx(size**2)
    inputs = (target.inputs - target.inputs.mean()) / scale
    values = np.linalg.eigvalsh(inputs.T @ inputs / 400)[::-1]
    r = values.sum() / values[0]
    g = values[0] * max(math.sqrt(r / 40), r / 40, math.sqrt(1 / 40))
    squares = np.cumsum((np.linalg.eigh(inputs.T @ inputs / 400)[1][:, ::-1].T @ pair.difference[:, 0]) ** 2)
    bound = min(np.append(2 * g**3 * squares / values**2 + 2 * g * (squares[-1] - squares), values[0] * size**2))
    assert found["theorem 4.2"] == pytest.approx(bound)


def test_the_source_that_is_the_target_has_the_smaller_bounds() -> None:
    target, few = regression(TARGET, 300, 1), regression(TARGET, 40, 2)
    same, other = (pair_bounds(estimate_pair(regression(w, 300, 3), target), few) for w in (TARGET, -TARGET))
    assert same["theorem 6.1, from scratch"] == other["theorem 6.1, from scratch"]
    assert all(same[name] < other[name] for name in same if not name.endswith("scratch"))


def test_pairs_that_do_not_fit_are_refused_in_a_sentence() -> None:
    target = regression(TARGET, 20, 0)
    narrow = LabelledSet(target.inputs[:, :4], target.labels)
    with pytest.raises(DataError, match=r"^an input of the source has 4 values and one of the target 6; the bounds "):
        estimate_pair(narrow, target)
    classes = LabelledSet(target.inputs, np.arange(20) % 3, ("a", "b", "c"))
    with pytest.raises(DataError, match=r"^the labels of the source have 3 classes and those of the target 1 "):
        estimate_pair(classes, target)
    two = LabelledSet(target.inputs, np.arange(20) % 2, ("a", "b"))
    with pytest.raises(DataError, match=r"^the labels of the source have 1 number and those of the target 2 classes; "):
        estimate_pair(target, two)
    with pytest.raises(SettingsError, match=r"^--repeats 5 --constant nan "):
        bounds("digits", ["digits"], constant=np.nan)
    with pytest.raises(DataError, match=r"^the inputs or labels of the target are all alike; "):
        estimate_pair(target, LabelledSet(target.inputs, np.ones((20, 1), dtype=np.float32)))


def test_texts_are_refused() -> None:
    tokens = LabelledSet(np.zeros((20, 2, 5), dtype=np.int32), np.arange(20) % 2, ("a", "b"))
    with pytest.raises(DataError, match=r"^the inputs are texts, and the bounds are of inputs that are numbers: "):
        estimate_pair(tokens, tokens)


@pytest.mark.parametrize("several", [False, True])
def test_classes_are_told_by_their_names(several: bool) -> None:
    """The same source with its classes in another order had other bounds."""
    target, names = regression(TARGET, 200, 0), ("a", "b", "c")
    classes = np.random.default_rng(1).integers(0, 3, 200)
    labels = classes[:, None] == np.arange(3) if several else classes
    one = LabelledSet(target.inputs, labels, names)
    turned = ("c", "a", "b")
    moved = labels[:, [2, 0, 1]] if several else np.array([1, 2, 0])[classes]
    other = LabelledSet(target.inputs, moved, turned)
    few = one.take(np.arange(40))
    assert pair_bounds(estimate_pair(other, one), few) == pair_bounds(estimate_pair(one, one), few)


def test_the_command_ranks_sources(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    places = []
    for name, turn in (("target", 0.0), ("near", 0.1), ("far", 3.0)):
        x = generator.standard_normal((120, 4)).astype(np.float32)
        y = (x @ np.array([math.cos(turn), math.sin(turn), 0, 0]) > 0).astype(int)
        np.savez(tmp_path / f"{name}.npz", x_train=x, y_train=y, x_test=x[:10], y_test=y[:10])
        places.append(f"npz:{tmp_path}/{name}.npz")
    arguments = ["theory", "bounds", places[0], "--from", places[1], places[2]]
    page = tmp_path / "o" / "pair.html"
    words = (
        CliRunner()
        .invoke(app, [*arguments, "--labels", "30", "--repeats", "3", "--out", str(page)], catch_exceptions=False)
        .stdout
    )
    assert words.startswith(f"Start with {places[1]}: ")
    written = page.read_text(encoding="utf-8")
    assert all(part in written for part in ("<svg", "<table", "theorem 4.2", places[1]))
    command = [*arguments, "--labels", "30", "--repeats", "3", "--json", "--out", str(tmp_path / "p")]
    found = json.loads(CliRunner().invoke(app, command, catch_exceptions=False).stdout)["result"]
    assert {bound: found["preferred"][bound] for bound in ("corollary 6.3", "theorem 6.1", "theorem 4.2")} == {
        "corollary 6.3": places[1],
        "theorem 6.1": None,  # 3 draws are few
        "theorem 4.2": places[1],
    }
    assert len(found["rows"]) == 16
    assert set(found["rows"][0]) == {"source", "bound", "value", "stderr"}
    assert Path(found["written"][0]).is_file()
    assert "<list" not in CliRunner().invoke(app, ["theory", "bounds", "--help"]).stdout
    with pytest.raises(SettingsError, match=r"^--repeats 1 --constant 1 --examples 1000 --labels 30: expected "):
        CliRunner().invoke(app, [*arguments, "--labels", "30", "--repeats", "1"], catch_exceptions=False)


def test_sources_in_another_unit_are_refused_and_other_names_said(tmp_path: Path) -> None:
    draw = np.random.default_rng(0).standard_normal(80)

    def table(name: str, labels: list[str]) -> str:
        (tmp_path / name).write_text(
            "x,z,y\n" + "".join(f"{v},{v * v},{y}\n" for v, y in zip(draw, labels, strict=True))
        )
        return f"csv:{tmp_path}/{name}?label=y"

    prices, cheap = (
        table(n, [f"{c + s * v + 0.5:.2f}" for v in draw]) for n, c, s in (("a", 3e5, 1e5), ("b", 5e3, 1e3))
    )
    with pytest.raises(DataError, match=r"not counted in the same unit as those of"):
        CliRunner().invoke(app, ["theory", "bounds", prices, "--from", cheap, "--labels", "20"], catch_exceptions=False)
    cats, dogs = (table(n, [w[int(v > 0)] for v in draw]) for n, w in (("c", ("cat", "lion")), ("d", ("dog", "wolf"))))
    words = CliRunner().invoke(
        app,
        ["theory", "bounds", cats, "--from", dogs, "--labels", "20", "--out", str(tmp_path)],
        catch_exceptions=False,
    )
    assert f"The classes of {dogs} have other names than the target's" in words.stdout


@pytest.mark.drawn
def test_numbers_along_the_axis_are_plain(tmp_path: Path) -> None:
    """Of less than two decades, whose ticks between the powers of ten have numbers."""
    values = {"near": pd.DataFrame({"theorem 6.1": [1.9, 1.8], "corollary 6.3": [0.14, 0.15]})}
    page = BoundsResult("target", 30, values, ()).report(tmp_path / "page.html").html.read_text(encoding="utf-8")
    assert "mathdefault" not in page
    assert ">0.5<" in page
