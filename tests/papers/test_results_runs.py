"""What docs/results/merlin.md, why.md and imagenet-why.md say, held to the runs behind them."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from papers.pages import RESULTS, finished_runs, module_of, numbers, over_seeds, rows_of


def by_seed(runs: pd.DataFrame, *keys: str, part: str = "target_test") -> pd.DataFrame:
    """Final accuracy of each seed (rows) by the columns named."""
    chosen = runs[(runs["part"] == part) & (runs["name"] == "accuracy")]
    table: pd.DataFrame = chosen.pivot_table(index="seed", columns=list(keys), values="value")
    return table


def holds(cells: list[str], arm: pd.Series, *others: pd.Series) -> None:
    """Cells are the mean of an arm in per cent, then what it is over each of the others."""
    level, *apart = cells
    assert numbers(level) == pytest.approx([100 * arm.mean()], abs=0.051)
    for cell, other in zip(apart, others, strict=True):
        assert numbers(cell) == pytest.approx(over_seeds(arm, other), abs=0.051)


LABELS = by_seed(pd.concat(map(finished_runs, ("merlin-labels.csv", "merlin-labels-few.csv"))), "n_target", "method")
NAMES = {
    "from scratch": "scratch",
    "joint training": "joint",
    "fine-tuning": "fine-tune",
    "L2-SP": "l2-sp",
    "MeRLin's objective no source": "merlin-target-only",
    "MeRLin": "merlin",
}


@pytest.mark.parametrize(
    ("heading", "few", "many", "seeds"),
    [("Numbers of labels, and a similar source", 100, 600, 5), ("50 and 300 labels", 50, 300, 3)],
)
def test_the_table_of_labels_is_that_of_the_runs(heading: str, few: int, many: int, seeds: int) -> None:
    shown = rows_of("merlin.md", heading)
    assert set(shown) == set(NAMES)
    for name, cells in shown.items():
        for n, (level, apart) in ((few, cells[:2]), (many, cells[2:4])):
            arm = LABELS[n, NAMES[name]].dropna()
            assert len(arm) == seeds
            if name == "from scratch":
                holds([level], arm)
            else:
                holds([level, apart], arm, LABELS[n, "scratch"])


def test_other_sources() -> None:
    arms = by_seed(finished_runs("merlin-sources.csv"), "source", "method")
    scratch, objective = arms["", "scratch"], arms["", "merlin-target-only"]
    added = {}
    for name, cells in rows_of("merlin.md", "Other sources").items():
        for source, level, apart in zip(("glyphs", "fashion-mnist"), cells[::2], cells[1::2], strict=True):
            arm = arms[source, NAMES[name]]
            assert len(arm) == 3
            holds([level, apart], arm, scratch)
            if name == "MeRLin":
                assert over_seeds(arm, arms[source, "fine-tune"])[1] > 0
                added[source] = over_seeds(arm, objective)
    assert added["glyphs"] == pytest.approx((1.1, -0.8, 3.1), abs=0.051)
    assert added["fashion-mnist"] == pytest.approx((-0.3, -2.2, 1.6), abs=0.051)


def test_the_source_adds_most_to_the_objective_where_labels_are_fewest() -> None:
    worth = {n: over_seeds(LABELS[n, "merlin"], LABELS[n, "merlin-target-only"]) for n in (50, 100, 300, 600)}
    assert worth[50][0] > worth[100][0] > max(worth[300][0], worth[600][0])
    assert worth[50] == pytest.approx((4.2, 1.5, 7.0), abs=0.051)
    assert worth[300][1] < 0 < worth[300][2]
    assert over_seeds(LABELS[50, "merlin"], LABELS[50, "fine-tune"])[1] < 0
    assert over_seeds(LABELS[300, "merlin"], LABELS[300, "fine-tune"])[1] > 0


@pytest.mark.parametrize("n", [100, 600])
def test_merlin_leads_every_method_and_its_source_adds_to_its_objective(n: int) -> None:
    for other in set(NAMES.values()) - {"merlin"}:
        assert over_seeds(LABELS[n, "merlin"], LABELS[n, other])[1] > 0
    worth = over_seeds(LABELS[n, "merlin"], LABELS[n, "merlin-target-only"])
    assert worth == pytest.approx({100: (1.7, 1.3, 2.1), 600: (0.2, 0.1, 0.4)}[n], abs=0.051)


def test_algorithm_1_and_the_other_variants_are_those_of_the_runs() -> None:
    runs = by_seed(finished_runs("merlin-ablation.csv"), "method")
    names = ("pretrained", "ridge-1", "20-inner-steps", "5-inner-steps", "1-inner-step", "no-inner-fit")
    for name, cells in zip(names, rows_of("merlin.md", "Algorithm 1").values(), strict=True):
        holds(cells, runs[f"merlin-{name}"], LABELS[100, "merlin"], LABELS[100, "scratch"])
    for steps in ("20-inner-steps", "5-inner-steps", "1-inner-step"):
        assert over_seeds(runs[f"merlin-{steps}"], LABELS[100, "merlin"])[2] < 0


def test_an_over_fitted_source_transfers_worse() -> None:
    runs = finished_runs("why-overfitted.csv")
    runs["passes"] = runs["pretrain_step"].fillna(3200) / 32
    target, source = (by_seed(runs, "method", "passes", part=part) for part in ("target_test", "source_test"))
    chosen = {"source": source["linear-probe"], "probe": target["linear-probe"], "tuned": target["fine-tune"]}
    page = rows_of("why.md", "An overfitted source (Figure 9)")
    shown = {"source": page["source right labels"], "probe": page["linear probe"], "tuned": page["fine-tuning"]}
    for name, cells in shown.items():
        assert [numbers(cell)[0] for cell in cells] == pytest.approx(
            100 * np.asarray(chosen[name]).mean(axis=0), abs=0.051
        )
    for method, row in (("linear-probe", "lost by the probe"), ("fine-tune", "lost by fine-tuning")):
        for passes, cell in zip((1, 2, 5, 10, 20, 40), page[row][:6], strict=True):
            lost = over_seeds(target[method, passes], target[method, 100])
            assert numbers(cell) == pytest.approx(lost, abs=0.051)
            assert lost[1] > 0


def test_the_worth_of_a_source_falls_with_the_number_of_tiles() -> None:
    runs = finished_runs("merlin-tiles.csv")
    worth = {}
    for k, cells in rows_of("merlin.md", "One of K tiles transfers").items():
        table = by_seed(runs[runs["study"] == f"merlin-tiles-{k}"], "method")
        for cell, method in zip(cells, ("scratch", "fine-tune", "joint", "merlin-target-only"), strict=False):
            holds([cell], table[method])
        holds(cells[4:], table["merlin"], table["joint"], table["merlin-target-only"])
        assert (over_seeds(table["merlin"], table["joint"])[1] > 0) == (k != "8")
        worth[int(k)] = over_seeds(table["merlin"], table["merlin-target-only"])
        gain = over_seeds(table["fine-tune"], table["scratch"])
        assert gain[1] > 0 if k in "23" else gain[2] < 0 if k == "8" else gain[1] < 0 < gain[2]
        assert over_seeds(table["joint"], table["scratch"])[2] < 0 or k == "2"
    assert sorted(worth, key=lambda k: -worth[k][0]) == [2, 3, 4, 8]
    assert worth[2][1] > 0
    assert worth[4][2] < 0
    assert worth[8][2] < 0


def test_what_source_heads_read_of_two_tiles() -> None:
    runs = finished_runs("merlin-tiles.csv")
    runs = runs[runs["study"] == "merlin-tiles-2"]
    read = {tile: 100 * by_seed(runs, "method", part=f"source_test/tile{tile}").mean() for tile in (1, 2)}
    shown = {"merlin": (51, 44), "joint": (59, 35), "fine-tune": (68, 13)}
    for method, both in shown.items():
        assert [round(read[1][method]), round(read[2][method])] == list(both)


WHY = module_of("studies/page_tables.py")


@pytest.mark.parametrize("page", WHY.TABLES)
def test_the_tables_of_why_are_those_of_the_runs(page: str) -> None:
    runs = WHY.read(RESULTS / "runs" / f"{page}.csv")
    text = (RESULTS / f"{page.removesuffix('-more').removesuffix('-landscapes')}.md").read_text(encoding="utf-8")
    for table in WHY.TABLES[page]:
        assert "\n".join(table(runs)) in text


def test_deviations_and_rough_landscapes_with_twenty_layers() -> None:
    runs = WHY.read(RESULTS / "runs" / "why.csv")
    moved = WHY.by_seed(runs, "weight_deviation", diagnostic="weights")
    for source in ("cifar10", "fashion-mnist"):
        assert (moved["why-resnet-fixed", "fixed", source] < moved["why-resnet-fixed", "fine-tune", source]).all()
    rises = runs[(runs["study"] == "why-resnet-landscapes") & (runs["name"] == "landscape_highest_rise")]
    by_method = rises.pivot_table(index=["diagnostic", "step"], columns="method", values="value")
    assert len(by_method) == 12
    assert (by_method["scratch"] > by_method["fine-tune"]).all()


@pytest.mark.parametrize(
    ("study", "first", "second"),
    [
        ("why", "fine-tune mnist", "fine-tune fashion-mnist"),
        ("why-clothes", "fine-tune fashion-mnist", "fine-tune mnist"),
        ("why-svhn", "fine-tune mnist", "fine-tune fashion-mnist"),
        ("why-resnet", "fine-tune cifar10", "fine-tune fashion-mnist"),
        ("why-resnet-clothes", "fine-tune fashion-mnist", "fine-tune cifar10"),
        ("why-resnet-fixed", "fine-tune cifar10", "fixed cifar10"),
        ("why-resnet-fixed", "fine-tune fashion-mnist", "fixed fashion-mnist"),
        ("why-fixed", "fine-tune mnist", "fixed mnist"),
        ("why-fixed", "fine-tune fashion-mnist", "fixed fashion-mnist"),
    ],
)
def test_nearer_sources_and_frozen_layers(study: str, first: str, second: str) -> None:
    scores = WHY.by_seed(WHY.read(RESULTS / "runs" / "why.csv"), "accuracy")
    value, low, high = over_seeds(*(scores[study, *arm.split()] for arm in (first, second)))
    said = (f"{value:.1f} points ({low:.1f} to {high:.1f})", f"{value:.1f} ({low:.1f} to {high:.1f})")
    page = (RESULTS / "why.md").read_text(encoding="utf-8")
    assert any(re.sub(r"\b0\.", ".", one).replace("-", "−") in page for one in said)


def test_what_six_targets_read_of_their_training_labels() -> None:
    runs = by_seed(finished_runs("imagenet-why.csv"), "study", "method", part="target_train").mean()
    order = ("cifar10", "svhn", "fashion-mnist", "usps", "mnist", "glyphs")
    text = (RESULTS / "imagenet-why.md").read_text(encoding="utf-8")
    said = re.findall(r"\b\d\d\b", text.partition("fine-tuning reads ")[2].partition(". Fine-tuning")[0])
    read = [runs[f"imagenet-why-{target}", arm] for arm in ("fine-tune", "scratch", "fixed") for target in order]
    assert [one for one in said if one != "10"] == [f"{100 * one:.0f}" for one in read]
    assert f"leaves {100 * (1 - runs['imagenet-why-svhn', 'fine-tune']):.0f} % of the training labels wrong" in text
    of_landscapes = by_seed(finished_runs("imagenet-why-landscapes.csv"), "method", part="target_train").mean()
    tuned, scratch = (f"{100 * of_landscapes[arm]:.0f} %" for arm in ("fine-tune", "scratch"))
    assert f"reads {tuned} of its training labels and training from scratch {scratch}" in text


def test_one_network_and_six_targets() -> None:
    runs = WHY.read(RESULTS / "runs" / "imagenet-why.csv")
    growth = WHY.by_seed(runs, "gradient_growth", step=0, diagnostic="gradient-scaling")
    change = WHY.by_seed(runs, "loss_variation_fixed_step", step=0, diagnostic="gradient-stability")
    scores, moved = WHY.by_seed(runs, "accuracy"), WHY.by_seed(runs, "weight_deviation", diagnostic="weights")
    real = []
    for study in sorted({study for study, *_ in growth}):
        scratch, tuned, fixed = ((study, "scratch", ""), (study, "fine-tune", "imagenet"), (study, "fixed", "imagenet"))
        assert (growth[scratch] > 10 * growth[tuned]).all()
        assert (change[scratch] < change[tuned]).all()
        assert scores[scratch].mean() < scores[tuned].mean()
        assert (moved[scratch] > 10 * np.maximum(moved[tuned], moved[fixed])).all()
        if not study.endswith("glyphs"):
            real.append([(1 - scores[key].mean(), moved[key].mean()) for key in (tuned, fixed)])
    text = (RESULTS / "imagenet-why.md").read_text(encoding="utf-8")
    for place, name in enumerate(("every layer", "head alone")):
        errors, deviations = ([arms[place][of] for arms in real] for of in (0, 1))
        rank = spearmanr(errors, deviations).statistic
        assert f"{rank:.2f}".replace("0.", ".").replace("-", "−") + f" ({name})" in text


def test_half_images_at_the_papers_length() -> None:
    runs = finished_runs("halves-length.csv")
    target = by_seed(runs, "source", "method")
    on_source = {part: by_seed(runs, "source", "method", part=part) for part in ("source_test", "source_test/A")}
    methods = {**NAMES, "linear probe": "linear-probe", "joint training": "joint"}
    scratch = target["", "scratch"]
    for name, (level, apart, *read) in rows_of("halves.md", "Full training length at half resolution").items():
        called, _, source = name.partition(" with " if " with " in name else " from " if "scratch" not in name else "?")
        arm = (source, methods[called])
        assert len(target[arm].dropna()) == 3
        if called == "from scratch":
            holds([level], target[arm])
            continue
        holds([level, apart], target[arm], scratch)
        for part, cell in zip(on_source, read, strict=True):
            assert bool(cell) == (arm in on_source[part])
            assert not cell or numbers(cell) == pytest.approx([100 * on_source[part][arm].mean()], abs=0.051)
        assert (target[arm] < scratch).all() == (source == "AB")
    over_joint = over_seeds(target["AB", "merlin"], target["AB", "joint"])
    assert over_joint == pytest.approx((-0.9, -6.5, 4.6), abs=0.051)


def test_half_images_fail_their_acceptance_test_at_both_noises() -> None:
    runs = finished_runs("halves-resized.csv")
    probes = runs[(runs["method"] == "linear-probe") & (runs["name"] == "accuracy")]
    read: Any = 100 * probes.pivot_table(index="source", columns="part", values="value")
    shown = rows_of("halves.md", "Check of the generated images")
    for noise, source in ((".2", "noise-20"), (".447", "noise-45")):
        means = read.loc[source, ["source_test", "source_test/B", "source_test/A"]]
        assert [float(cell) for cell in shown[noise]] == pytest.approx(means.tolist(), abs=0.051)
        assert abs(means["source_test/A"] - 46) > 10
    assert [float(cell) for cell in shown["published"][1:]] == [92, 46]


def test_brightness_fits_its_labels_on_usps_and_not_on_svhn() -> None:
    runs = finished_runs("why-labels.csv")
    tuned = runs[(runs["method"] == "fine-tune") & (runs["part"] == "target_train")].set_index(["study", "seed"])[
        "value"
    ]
    assert tuned["why-labels"].min() > 0.99
    assert [f"{100 * value:.0f}" for value in tuned["why-labels-svhn"]] == ["20", "38", "20"]
    assert runs[(runs["method"] == "scratch") & (runs["part"] == "target_train")]["value"].min() > 0.99
    assert "reads 20, 38 and 20 % of its own 600 training labels" in (RESULTS / "why.md").read_text(encoding="utf-8")
