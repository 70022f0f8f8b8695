"""What docs/results/glyph-law.md and syn2real.md say, held to the runs behind them."""

import re
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import lsq_linear

from papers.pages import RESULTS, ends, module_of, numbers, over_seeds, rows_of
from papers.test_mended import RENDERED

RUNS = RESULTS / "runs"
GLYPH_LAW = (RESULTS / "glyph-law.md").read_text(encoding="utf-8")
FALLING = ("plain", "several", "light", "background", "texture", "all")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return module_of("examples/syn2real.py")


@pytest.fixture(scope="module")
def runs(script: ModuleType) -> pd.DataFrame:
    found: pd.DataFrame = script.runs(RUNS / "glyph-law.csv", "fine-tune")
    return found


SIZES = (256, 1024, 4096, 16384, 65536)
DISJOINT = {
    "Disjoint classes": ("glyph-disjoint", "fine-tune", 18),
    "Disjoint classes, to USPS": ("glyph-disjoint-usps", "fine-tune", 12),
    "The linear probe on disjoint classes": ("glyph-disjoint", "linear-probe", 16),
}
"""Study, method and number of rows of each table."""


def disjoint(study: str, part: str = "target_test") -> Any:
    """Errors in % by method, K (0: from scratch), n, s and seed."""
    runs: Any = pd.read_csv(RUNS / "glyph-disjoint.csv", comment="#")
    runs = runs[(runs["study"] == study) & (runs["part"] == part)].fillna({"source": "", "n_source": 0})
    runs["classes"] = runs["source"].str.extract(r"classes-(\d+)")[0].fillna("0").astype(int)
    return 100 * (1 - runs.set_index(["method", "classes", "n_source", "n_target", "seed"])["value"].sort_index())


def section_of(heading: str) -> str:
    return GLYPH_LAW.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def over(errors: Any, arm: tuple[str, int, int], other: tuple[str, int, int], *, among: int = 1) -> Any:
    """Mean and interval of the paired difference of two arms, a row for each s."""
    apart = (errors.loc[arm] - errors.loc[other]).groupby(level=0)
    return pd.DataFrame({s: ends(own, among) for s, own in apart}, index=["mean", "low", "high"]).T


@pytest.mark.parametrize("heading", DISJOINT)
def test_classes_that_are_not_the_targets_are_what_their_runs_say(heading: str) -> None:
    study, method, n_rows = DISJOINT[heading]
    errors, rows = disjoint(study), rows_of("glyph-law.md", heading)
    digits = pd.read_csv(RUNS / "glyph-law-others.csv")
    digits = digits[(digits["network"] == "8x16x32x32") & (digits["target"] == "mnist") & (digits["source"] == "plain")]
    scratch = errors.loc["scratch"].groupby("n_target").mean()
    alpha = float("0" + section_of(heading).partition("**one alpha, ")[2].partition(" ")[0])
    assert len(rows) == n_rows
    assert (errors.loc[method].groupby(["classes", "n_source", "n_target"]).size() == 5).all()
    for row, (alone, *cells) in rows.items():
        s, kind = int(row.split()[0]), row.split(" labels ")[1].split()[0]
        assert float(alone) == pytest.approx(scratch[s], abs=0.051)
        if kind == "ten":
            means = 100 * digits[digits["s"] == s].groupby("n")["error"].mean()
        else:
            means = errors.loc[method, int(kind)].groupby(["n_target", "n_source"]).mean().loc[s]
            falls = (np.array(SIZES) / 256) ** -alpha
            D, C = lsq_linear(np.column_stack([falls, np.ones(5)]), means.to_numpy(), (0, np.inf)).x
            assert [float(cell) for cell in cells[5:]] == pytest.approx([C, D], abs=0.16, rel=0.03), (
                row
            )  # of two digits
        assert [float(cell) for cell in cells[:5]] == pytest.approx(means[list(SIZES)].tolist(), abs=0.051), row


@pytest.mark.parametrize("heading", list(DISJOINT)[:2])
def test_what_sources_of_other_classes_are_worth(heading: str) -> None:
    study, method, _ = DISJOINT[heading]
    errors, section = disjoint(study), section_of(heading)
    least = 100 - disjoint(study, "target_train").loc[[method, "scratch"]].max()
    assert f"read {least:.1f} to 100 % of their training labels" in section.replace("\n", " ")
    few, many = (over(errors, (method, 94, n), ("scratch", 0, 0)) for n in (256, 65536))
    (said,) = re.findall(r"with 256 images .*", section)
    assert numbers(said)[: 2 * len(few)] == pytest.approx([*few["mean"], *many["mean"]], abs=0.051)
    assert list(few["low"] > 0) == {"glyph-disjoint": [False] * 4}.get(study, [True, True, False])
    assert list(many["high"] < 0) == {"glyph-disjoint": [True] * 3 + [False]}.get(study, [True, True, False])
    means = [errors.loc[method, k, 65536, 30].mean() for k in (94, 48, 12, 4)]
    lead = numbers(next(line for line in GLYPH_LAW.splitlines() if line.startswith("**With 30 labels")))
    expected = [errors.loc["scratch", 0, 0, 30].mean(), *means]
    assert (lead[:5] if study == "glyph-disjoint" else lead[5:]) == pytest.approx(expected, abs=0.051)
    if study == "glyph-disjoint":
        last = {k: over(errors, (method, k, 65536), ("scratch", 0, 0)) for k in (4, 12, 48, 94)}
        assert all(last[k].loc[1000, "high"] > 0 for k in last)  # with 1,000 labels none surely helps
        (said,) = re.findall(r"Many images of four classes harm.*", section)
        assert numbers(said) == pytest.approx([*last[4].loc[300], *last[4].loc[1000]], abs=0.051)


def test_the_probe_on_disjoint_classes_beside_fine_tuning_and_scratch() -> None:
    said = [
        [float(one) for one in re.findall(r"-?\d*\.\d+", line)]
        for line in section_of("The linear probe on disjoint classes").replace("−", "-").splitlines()
        if line.startswith(("- **That fine-tuning", "- Beside"))
    ]
    found = []
    for study, among in (("glyph-disjoint", 4), ("glyph-disjoint-usps", 3)):
        errors = disjoint(study)
        apart = over(errors, ("linear-probe", 94, 65536), ("fine-tune", 94, 65536), among=among)
        assert list(apart["low"] > 0) == ([False, False, True, True] if among == 4 else [True] * 3)
        found += apart.to_numpy().ravel().tolist()
    assert said[0] == pytest.approx(found, abs=0.051)
    alone = over(disjoint("glyph-disjoint"), ("linear-probe", 94, 65536), ("scratch", 0, 0))
    gained, lost = -alone.loc[30, ["mean", "high", "low"]], alone.loc[300]
    assert said[1] == pytest.approx([*gained, *lost], abs=0.051)


def test_the_means_of_the_page_are_those_of_the_runs(runs: pd.DataFrame) -> None:
    chosen = runs[runs["source"].isin(["", "plain"])]
    means = 100 * chosen.groupby(["s", "n"])["error"].mean()
    shown = rows_of("glyph-law.md", "The error over n and s")
    assert len(shown) == 7
    for s, cells in shown.items():
        assert [numbers(cell)[0] for cell in cells] == pytest.approx(means[int(s)].tolist(), abs=0.051)


def test_the_error_falls_with_n_but_from_upright_characters(script: ModuleType, runs: pd.DataFrame) -> None:
    slopes = script.slopes(runs).set_index(["source", "s"])
    for source, cells in rows_of("glyph-law.md", "Error against pretraining size").items():
        for cell, (_, one) in zip(cells, slopes.loc[source].sort_index().iterrows(), strict=True):
            assert numbers(cell) == pytest.approx([100 * one[end] for end in ("mean", "low", "high")], abs=0.0051)
            assert cell.startswith("**") == (one["high"] < 0)
    few = slopes[slopes.index.get_level_values("s") <= 200]
    assert (few.loc[list(FALLING), "high"] < 0).all()
    assert (slopes.loc["upright", "high"] > 0).all()
    assert sum(slopes.loc[list(FALLING), "high"] < 0) == 37


def test_textures_and_upright_characters_transfer_worse(script: ModuleType, runs: pd.DataFrame) -> None:
    beside = script.beside_plain(runs).set_index(["source", "s"])
    for source, cells in rows_of("glyph-law.md", "The attributes (Figure 6)").items():
        for s, level, apart in zip((30, 100, 300, 1000), cells[::2], cells[1::2], strict=True):
            one = beside.loc[source, s]
            assert numbers(level) == pytest.approx([100 * one["error"]], abs=0.051)
            if source != "plain":
                assert numbers(apart) == pytest.approx([100 * one[end] for end in ("mean", "low", "high")], abs=0.051)
                assert apart.startswith("**") == (one["low"] > 0 or one["high"] < 0)
    assert (beside.loc["upright", "low"] > 0).loc[[30, 100, 300, 1000]].all()
    assert (beside.loc["texture", "low"] > 0).loc[[30, 300]].all()


def slope_cell(script: ModuleType, rows: pd.DataFrame, cell: str) -> bool:
    """Hold a slope with its interval to the runs; whether it surely falls, as bold says."""
    (_, one), *others = script.slopes(rows).iterrows()
    assert not others
    assert numbers(cell) == pytest.approx([100 * one[end] for end in ("mean", "low", "high")], abs=0.0051)
    assert cell.startswith("**") == (one["high"] < 0)
    return bool(one["high"] < 0)


def test_usps_and_other_widths(script: ModuleType, runs: pd.DataFrame) -> None:
    path = RUNS / "glyph-law-others.csv"
    others = script.runs(path, "fine-tune")
    usps, sure = others[(others["target"] == "usps") & others["source"].isin(["", "plain"])], {}
    first = others[(others["target"] == "usps") & (others["seed"] < 3)]
    beside = script.beside_plain(first).set_index(["source", "s"])
    for source, cells in rows_of("glyph-law.md", "Textures and upright characters on USPS").items():
        for s, level, apart in zip((30, 100, 300, 1000), cells[::2], cells[1::2], strict=True):
            one = beside.loc[source, s]
            assert numbers(level) == pytest.approx([100 * one["error"]], abs=0.051)
            if source != "plain":
                assert numbers(apart) == pytest.approx([100 * one[end] for end in ("mean", "low", "high")], abs=0.051)
                assert one["mean"] > 0
                assert apart.startswith("**") == (one["low"] > 0)
    for labels, cells in rows_of("glyph-law.md", "On USPS").items():
        own = usps[usps["s"] == int(labels)]
        means = 100 * own.groupby("n")["error"].mean()
        assert [numbers(cell)[0] for cell in cells[:-1]] == pytest.approx(means.tolist(), abs=0.051)
        sure[int(labels)] = slope_cell(script, own, cells[-1])
        assert means.idxmax() == 0
    assert sure == dict.fromkeys((30, 100, 300, 1000), True)
    svhn, falls = others[others["target"] == "svhn"], {}
    for name, cells in rows_of("glyph-law.md", "On SVHN").items():
        source, labels = name.removesuffix(" labels").split()
        own = svhn[svhn["source"].isin(["", source]) & (svhn["s"] == int(labels))]
        means = 100 * own.groupby("n")["error"].mean()
        assert [numbers(cell)[0] for cell in cells[:-1]] == pytest.approx(means.tolist(), abs=0.051)
        falls[source, int(labels)] = slope_cell(script, own, cells[-1])
        assert (script.slopes(own)["mean"] < 0).all() or source == "upright"
    assert [key for key, fell in falls.items() if fell] == [("texture", 300)]
    both = pd.concat([others[others["target"] == "mnist"], runs[runs["source"].isin(["", "plain"])]])
    both = both[both["n"].isin([0, 256, 4096, 65536]) & (both["seed"] < 3)]
    errors = {}
    for name, cells in rows_of("glyph-law.md", "The width of the network (Figure 4)").items():
        width, labels = name.split(" channels ")
        own = both[both["network"].str.startswith(f"{width}x") & (both["s"] == int(labels.split()[0]))]
        means = 100 * own.groupby("n")["error"].mean()
        assert [numbers(cell)[0] for cell in cells[:-1]] == pytest.approx(means.tolist(), abs=0.051)
        slope_cell(script, own, cells[-1])
        errors[int(width), int(labels.split()[0])] = means[65536]
    assert all(errors[8, s] > max(errors[16, s], errors[32, s]) for s in (100, 300))


SCENES = {"several appearances": "several", "all four attributes": "all", "several labels of each (`kinds`)": "kinds"}


def test_scenes_transfer_nothing(script: ModuleType) -> None:
    runs = script.runs(RUNS / "syn2real.csv", "fine-tune")
    many = 100 * runs[runs["s"] == 1000].groupby(["target", "source", "n"])["error"].mean()
    for target, risen in (("fashion-mnist", [2.2, 2.2, 1.0]), ("fashion-mnist-1000-steps", [0.6, 0.9, -0.65])):
        shown = [many[target, source, 16000] - many[target, source, 250] for source in ("plain", "all", "kinds")]
        assert shown == pytest.approx(risen, abs=0.051)
    dense = runs[runs["network"] == "8x16x32"]
    means = 100 * dense.groupby(["source", "n"])["error"].mean()
    learnt = ("all", "segmentation", "normals")
    for source, cells in zip(learnt, rows_of("syn2real.md", "A larger network with 300 labels").values(), strict=True):
        shown = [means[source, n] for n in (250, 1000, 4000, 16000)]
        assert [numbers(cell)[0] for cell in cells[:-1]] == pytest.approx(shown, abs=0.051)
        assert slope_cell(script, dense[dense["source"] == source], cells[-1]) == (source != "normals")
    last = dense[dense["n"].isin([0, 16000])].pivot_table(index="seed", columns="source", values="error")
    assert over_seeds(last["segmentation"], last[""]) == pytest.approx((-4.5, -5.7, -3.3), abs=0.051)
    runs = runs[(runs["target"] != "fashion-mnist-1000-steps") & (runs["network"] != "8x16x32")]
    targets, falls, rises = ("cifar10", "fashion-mnist", "usps"), 0, 0
    few = runs[runs["s"] == 300]
    means = 100 * few.groupby(["target", "source", "n"])["error"].mean()
    slopes = script.slopes(few).set_index(["target", "source"])
    for name, cells in rows_of("syn2real.md", "Nine sources, three targets").items():
        source = SCENES.get(name, name)
        for target, *shown in zip(targets, cells[::3], cells[1::3], cells[2::3], strict=True):
            one = slopes.loc[target, source]
            assert [numbers(cell)[0] for cell in shown[:2]] == pytest.approx(
                [means[target, source, n] for n in (250, 16000)], abs=0.051
            )
            assert numbers(shown[2]) == pytest.approx([100 * one[end] for end in ("mean", "low", "high")], abs=0.0051)
            falls, rises = falls + (one["high"] < 0), rises + (one["low"] > 0)
        if source in ("kinds", "box"):
            assert all(means[target, source, 16000] <= means[target, "all", 16000] for target in targets)
    assert (falls, rises) == (1, 3)
    better, worse = 0, 0
    for _, part in runs[runs["n"].isin([0, 16000])].groupby(["target", "s"]):
        errors = part.pivot_table(index="seed", columns="source", values="error")
        for source in set(errors) - {""}:
            _, low, high = over_seeds(errors[source], errors[""])
            better, worse = better + (high < 0), worse + (low > 0)
    assert (better, worse) == (0, 17)


def test_52_kinds_of_solids_teach_no_more_than_13() -> None:
    runs: Any = pd.read_csv(RUNS / "scenes-kinds.csv", comment="#").query("n_target in (0, 300)")
    source = runs["source"].fillna("").str.split(" ").str[0]
    at = ["method", "part", "source", "n_source"]
    runs = 100 * runs.assign(source=source).pivot_table(index="seed", columns=at, values="value")
    before = runs["pretrain", "source_test"]
    runs = runs[["fine-tune", "scratch"]].droplevel(0, axis=1).sort_index(axis=1)
    assert runs["target_train"].mean().mean() == pytest.approx(99.95, abs=0.0051)
    assert (100 - runs["target_test", "", 0]).mean() == pytest.approx(66.95, abs=0.0051)
    for row, cells in rows_of("syn2real.md", "52 kinds of solids").items():
        name = f"{row.split(',')[0].split()[0]}-{row[-2:]}"
        errors = 100 - runs["target_test", name]
        assert [numbers(cell)[0] for cell in cells[:3]] == pytest.approx(errors.mean().tolist(), abs=0.051)
        assert numbers(cells[5])[0] == pytest.approx(before[name, 16000].mean(), abs=0.051)
        if row.endswith("13"):
            continue
        for cell, other in ((cells[3], ("", 0)), (cells[4], (f"{name[:-2]}13", 16000))):
            gap = errors[16000] - (100 - runs["target_test", *other])
            assert numbers(cell) == pytest.approx(ends(gap, 4), abs=0.051)


def test_how_varied_scenes_look_to_networks() -> None:
    runs = pd.read_csv(RUNS / "scene-entropy.csv")
    table = runs.pivot(index="network", columns="source", values="value")
    shown = rows_of("syn2real.md", "Negative entropy of features (Figure 7)")
    names = ("several solids", "random light", "random background", "texture")
    for name, own in zip(names, RENDERED.values(), strict=True):
        changes = ends(np.mean([table[more] - table[few] for few, more in own], axis=0), 4)
        assert numbers(shown.pop(name)[0]) == pytest.approx(changes, abs=5.1e-4)
        assert changes[1] * changes[2] > 0
    assert not shown
