"""papers.md and mended.md: every number of a row with runs, computed again from its CSV without the pages' code."""

import itertools
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from papers.pages import RESULTS, ends, finished_runs, module_of

RUNS = RESULTS / "runs"


def cells() -> Iterator[list[str]]:
    for line in (RESULTS / "mended.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| ["):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def rows_of_papers() -> dict[str, list[str]]:
    """The cells of each row of papers.md, by "Authors year: item"."""
    found, title = {}, ""
    for line in (RESULTS / "papers.md").read_text(encoding="utf-8").splitlines():
        title = line[3:].partition(",")[0] if line.startswith("## ") else title
        if line.startswith("| ") and not line.startswith("| |"):
            item, *rest = [cell.strip() for cell in line.strip("|").split(" | ")]
            found[f"{title}: {item.removeprefix('| ')}"] = rest
    return found


def ours_of(name: str) -> str:
    """What a row says was seen: of papers.md, or of mended.md for a sentence of another page."""
    papers = rows_of_papers()
    return papers[name][1] if name in papers else next(own[5] for own in cells() if own[0].startswith(f"[{name}]"))


def raw(name: str) -> Any:
    return finished_runs(name).fillna({"step": -1.0, "pretrain_step": -1.0})


def number(
    runs: Any, method: str, source: str = "", name: str = "accuracy", part: str = "target_test", **also: object
) -> Any:
    own = runs[(runs["method"] == method) & (runs["source"] == source) & (runs["name"] == name)]
    own = own[own["part"] == part] if name == "accuracy" else own[own["diagnostic"] != ""]
    for column, value in ({"step": -1} | also).items():
        own = own[own[column] == value]
    return own.drop_duplicates("seed").set_index("seed")["value"].sort_index()


def ratio(first: Any, second: Any, among: int = 1) -> list[float]:
    return [math.exp(end) for end in ends(np.log(first / second), among)]


def figure_9() -> list[float]:
    runs, steps = raw("why-long.csv"), (25, 100, 300, 1000, 3000, -1)
    scratch = number(runs, "scratch")
    tuned = {c: number(runs, "fine-tune", "first-five", pretrain_step=c) for c in steps}
    source = {c: number(runs, "fine-tune", "first-five", part="source_test", pretrain_step=c) for c in steps}
    best = max(steps, key=lambda c: (tuned[c] - scratch).mean())
    return [
        100 * scratch.mean(),
        *(100 * tuned[c].mean() for c in steps),
        *ends(100 * (tuned[best] - scratch), len(steps)),
        *ends(100 * (tuned[best] - tuned[-1])),
        *ends(100 * (source[best] - source[-1])),
    ]


def heads(targets: tuple[str, ...] = ()) -> tuple[Any, Any]:
    runs = raw("imagenet-heads.csv").query("step == -1")
    runs = runs.assign(target=runs["study"].str.removeprefix("imagenet-heads-"))
    runs = runs[runs["target"].isin(targets)] if targets else runs
    test, moved = runs[runs["part"] == "target_test"], runs[runs["name"] == "weight_deviation"]
    return (
        1 - test.pivot_table(index="seed", columns="target", values="value"),
        moved.pivot_table(index="seed", columns="target", values="value"),
    )


def table_1() -> list[float]:
    targets = ("cifar10", "svhn", "fashion-mnist", "usps", "mnist")
    error, moved = heads(targets)
    by_seed = [stats.spearmanr(error.loc[k, targets], moved.loc[k, targets]).statistic for k in error.index]
    rank = stats.spearmanr(error.mean()[list(targets)], moved.mean()[list(targets)]).statistic
    shown = itertools.chain(*((100 * error[t].mean(), moved[t].mean()) for t in targets))
    return [0.01, rank, min(by_seed), max(by_seed), 0.70, *shown]  # .01: the rate; .70: published


def figure_2() -> list[float]:
    error, moved = heads()
    found = stats.spearmanr(error.mean(), moved.mean()[error.columns], alternative="greater")
    assert found.pvalue < 0.01
    return [found.statistic, 0.01]


EQUAL = (("scratch", ""), ("fine-tune", "first-five"))


def figure_3() -> list[float]:
    runs = raw("why-equal.csv")
    first = ratio(*(number(runs, *arm, name="hessian_eigenvalue/1") for arm in EQUAL))
    sums = [sum(number(runs, *arm, name=f"hessian_eigenvalue/{k}").mean() for k in range(1, 21)) for arm in EQUAL]
    return [*first, sums[0] / sums[1]]


def figure_4() -> list[float]:
    runs = raw("why-equal.csv")
    return [*ratio(*(number(runs, *arm, name="weight_deviation") for arm in EQUAL)), 1.6, 3.8]  # published


def landscapes() -> list[float]:
    runs = raw("why-equal.csv")
    found = []
    for what, step in itertools.product(("all", "first", "last"), (0, -1)):
        own = runs[runs["diagnostic"] == f"landscape-{what}"]
        scratch, tuned = (number(own, *arm, name="landscape_highest_rise", step=step) for arm in EQUAL)
        found += ratio(scratch, tuned, among=6)
    return found


def figure_6() -> list[float]:
    runs, name = raw("why-equal.csv"), "loss_variation_fixed_step"
    steps = sorted(set(runs.loc[runs["name"] == name, "step"]))
    logs = [
        np.log(number(runs, *EQUAL[0], name=name, step=s) / number(runs, *EQUAL[1], name=name, step=s)) for s in steps
    ]
    whole = [math.exp(end) for end in ends(np.mean(logs, axis=0))]
    return [*whole, *ratio(*(number(runs, *arm, name=name, step=0) for arm in EQUAL))]


def figure_7ab() -> list[float]:
    runs: Any = pd.read_csv(RUNS / "imagenet-gradients.csv")
    assert set(runs["layer"]) == {"features._blocks.8._expand_conv"}
    means = runs.set_index(["target", "weights", "start"])["mean"].sort_index()
    targets = ("cifar10", "svhn", "fashion-mnist", "usps", "mnist", "glyphs")
    spread = (runs["high"] / runs["low"]).groupby(runs["weights"]).mean()
    ratios = (ratio(means[target, "random"], means[target, "imagenet"], 6) for target in targets)
    return [*itertools.chain(*ratios), spread["random"], spread["imagenet"]]


def figure_8ab() -> list[float]:
    runs, found = raw("why-labels.csv"), []
    for study in ("why-labels", "why-labels-svhn"):
        tuned, scratch = (number(runs, *arm, study=study) for arm in (("fine-tune", "brightness"), ("scratch", "")))
        found += ends(100 * (tuned - scratch), 2)
    return found


def figure_8cd() -> list[float]:
    runs, found = raw("why.csv"), []
    for study, near, far in (
        ("why", "mnist", "fashion-mnist"),
        ("why-svhn", "mnist", "fashion-mnist"),
        ("why-clothes", "fashion-mnist", "mnist"),
        ("why-resnet", "cifar10", "fashion-mnist"),
    ):
        found += ends(
            100 * (number(runs, "fine-tune", near, study=study) - number(runs, "fine-tune", far, study=study)), 4
        )
    return found


def merlin_figure_1() -> list[float]:
    small = raw("merlin-more.csv").query("study == 'halves-features'")
    long = raw("halves-length.csv")
    merlin = number(small, "merlin", "AB")
    leads = [end for other in ("joint", "fine-tune") for end in ends(100 * (merlin - number(small, other, "AB")), 2)]
    scratch = number(long, "scratch")
    over = [end for m in ("fine-tune", "joint", "merlin") for end in ends(100 * (number(long, m, "AB") - scratch), 3)]
    return [*leads, 100 * scratch.mean(), *over]


def merlin_table_1() -> list[float]:
    runs: Any = pd.read_csv(RUNS / "methods-fashion-mnist-usps.csv").query("n_target == 600")
    arms = runs.pivot(index="seed", columns="method", values="accuracy")
    published = {"scratch": 91.1, "joint": 89.6, "fine-tune": 90.8, "l2-sp": 89.7, "merlin": 93.3}
    levels = itertools.chain(*((100 * arms[name].mean(), level) for name, level in published.items()))
    over = ends(100 * (arms["merlin"] - arms["scratch"]), 4)
    return [*levels, *over, *ends(100 * (arms["merlin"] - arms["merlin-target-only"]))]


def fitted_alpha(errors: Any, weights: Any) -> tuple[float, float]:
    """Alpha and the weighted squares of E = C + D (n / 256)^-alpha with C, D >= 0 for each source and s, one alpha."""
    means = errors.mean(axis=1)

    def left(alpha: float) -> float:
        total = 0.0
        for (_, s), own in means.groupby(level=["source", "s"]):
            falls = (own.index.get_level_values("n") / 256) ** -alpha
            design = np.column_stack([falls, np.ones(len(own))]) * weights[s]
            total += 2 * optimize.lsq_linear(design, own.to_numpy() * weights[s], (0, np.inf), tol=1e-12).cost
        return total

    found = optimize.minimize_scalar(left, bounds=(0.02, 2.0), method="bounded")
    return float(found.x), float(found.fun)


def weights_by_hand(errors: Any) -> Any:
    weights = {}
    for s, own in errors.groupby(level="s"):
        seeds, places = own.shape[1], len(own)
        effects = own.mean(axis=0) - own.to_numpy().mean()  # of a seed on all errors at this s
        rest = own.sub(own.mean(axis=1), axis=0) - effects
        weights[s] = math.sqrt(seeds * (places - 1) * (seeds - 1) / float((rest**2).to_numpy().sum()))
    return pd.Series(weights)


def alpha_by_hand(errors: Any) -> list[float]:
    whole, seeds = fitted_alpha(errors, weights_by_hand(errors))[0], list(errors)
    parts = []
    for seed in seeds:
        rest = errors.drop(columns=seed)
        parts.append(len(seeds) * whole - (len(seeds) - 1) * fitted_alpha(rest, weights_by_hand(rest))[0])
    return [whole, *ends(np.array(parts))[1:]]


def glyph_law() -> Any:
    runs = pd.read_csv(RUNS / "glyph-law.csv", keep_default_na=False)
    return runs.pivot_table(index=["source", "s", "n"], columns="seed", values="error")


def glyph_alpha() -> list[float]:
    errors = glyph_law().loc[["plain", "several", "light", "background", "texture", "all"]]
    weights, sources = weights_by_hand(errors), errors.index.get_level_values("source")
    one = fitted_alpha(errors, weights)[1]
    rise = one - sum(fitted_alpha(errors[sources == name], weights)[1] for name in set(sources))
    return [*alpha_by_hand(errors), rise, stats.chi2.sf(rise, 5)]


def glyph_held_out() -> list[float]:
    means = glyph_law().loc["plain"].mean(axis=1)
    s, n = (means.index.get_level_values(name).to_numpy(float) for name in ("s", "n"))
    left, logs = n == n.max(), np.log(means.to_numpy())

    def missed(law: Callable[..., Any], *starts: list[float]) -> float:
        def residuals(p: Any) -> Any:
            return np.log(law(np.exp(p), n[~left], s[~left])) - logs[~left]

        fits = [optimize.least_squares(residuals, np.log(start)) for start in starts]
        best = min(fits, key=lambda fit: fit.cost)
        return float(np.sqrt(np.mean((np.log(law(np.exp(best.x), n[left], s[left])) - logs[left]) ** 2)))

    def effective(p: Any, n: Any, s: Any) -> Any:
        return p[0] + p[1] * (s + p[2] * n ** p[3]) ** -p[4]

    def full(p: Any, n: Any, s: Any) -> Any:
        return p[0] * (p[1] + n ** -p[2]) * s ** -p[3]

    def floor(p: Any, n: Any, s: Any) -> Any:
        return full(p, n, s) + p[4]

    return [
        missed(effective, [0.01, 3.0, 5.0, 0.3, 0.7], [0.02, 1.0, 20.0, 0.1, 0.9], [0.01, 3.0, 10.0, 0.2, 0.8]),
        missed(full, [1.0, 0.5, 0.3, 0.5], [1.0, 1.0, 0.1, 0.5], [3.0, 0.1, 0.1, 0.6]),
        missed(floor, [1.0, 0.5, 0.3, 0.7, 0.01], [3.0, 1.0, 0.3, 0.9, 0.02], [5.0, 0.3, 0.2, 0.9, 0.02]),
    ]


def own_law(study: str = "glyph-disjoint") -> list[float]:
    runs = raw("glyph-disjoint.csv").query("method == 'fine-tune' and part == 'target_test'")
    runs = runs[runs["study"] == study]
    runs = runs.assign(source=runs["source"].str.split(" ").str[0], s=runs["n_target"], n=runs["n_source"])
    errors = (1 - runs.pivot_table(index=["source", "s", "n"], columns="seed", values="value")).dropna(axis=1)
    labels = sorted(set(errors.index.get_level_values("s")))
    slopes, gains = [], []
    for s in labels:
        own = -100 * errors.loc["classes-94", s]
        slopes += ends(np.array([stats.linregress(np.log(own.index), own[k]).slope for k in own]), len(labels))
        ended = [100 * errors.loc[(f"classes-{k}", s, 65536)] for k in (12, 94)]
        gains += ends(ended[0] - ended[1], len(labels))
    seen = errors[errors.index.get_level_values("n") < 65536]
    alpha, misses = fitted_alpha(seen, weights_by_hand(seen))[0], []
    for (source, s), own in seen.mean(axis=1).groupby(level=["source", "s"]):
        n, last = own.index.get_level_values("n").to_numpy(float), errors.loc[(source, s, 65536)].mean()
        design = np.column_stack([(n / 256) ** -alpha, np.ones(len(n))])
        D, C = optimize.lsq_linear(design, own.to_numpy(), (0, np.inf), tol=1e-12).x
        line = stats.linregress(np.log(n), np.log(own))
        power = math.exp(line.intercept + line.slope * math.log(65536))
        misses.append([math.log(one / last) for one in (C + D * 256**-alpha, power, own.iloc[-1])])
    return [*slopes, *gains, *alpha_by_hand(errors), *np.sqrt(np.mean(np.square(misses), axis=0))]


def probe_on_disjoint_classes() -> list[float]:
    runs, found = raw("glyph-disjoint.csv").query("n_source == 65536"), []
    runs = runs[runs["source"].str.startswith("classes-94")].assign(source="")
    for study, labels in (("glyph-disjoint", (30, 100, 300, 1000)), ("glyph-disjoint-usps", (30, 100, 300))):
        for s in labels:
            tuned, probe = (number(runs, m, study=study, n_target=s) for m in ("fine-tune", "linear-probe"))
            found += ends(100 * (tuned - probe), len(labels))
    return found


RENDERED = {
    "several": (("bop-lv0", "bop-lv2"), ("bop-lv1", "bop-lv3")),
    "light": (("bop-lv2", "bop-lv2.5"), ("bop-lv3", "bop-lv4")),
    "background": (("bop-lv2.5", "bop-lv5"), ("bop-lv4", "bop")),
    "texture": (("bop-lv0", "bop-lv1"), ("bop-lv2", "bop-lv3"), ("bop-lv2.5", "bop-lv4"), ("bop-lv5", "bop")),
}
"""Pairs of renderings that differ in one attribute, less before more."""


def figure_7() -> list[float]:
    table: Any = pd.read_csv(RUNS / "scene-entropy.csv").pivot(index="network", columns="source", values="value")
    return [float(np.mean([(table[more] - table[few]).mean() for few, more in own])) for own in RENDERED.values()]


def figure_2b() -> list[float]:
    runs: Any = pd.read_csv(RUNS / "shachaf-fig2b.csv").set_index(["share", "factor", "scaled"])["risk"]
    shares = sorted(set(runs.index.get_level_values("share")))
    least = [min(runs[at, k, "target"] / runs[at, k, "source"] for k in (2.0, 3.5)) for at in shares]
    first = {times: shares[max(i for i, one in enumerate(least) if one <= times) + 1] for times in (1, 2)}
    return [*itertools.chain(*zip(least, shares, strict=True)), first[1], first[2]]


def shachaf_table_1() -> list[float]:
    runs: Any = pd.read_csv(RUNS / "shachaf-table1.csv").query("panel == 'draws' and kind == 'simulation'")
    values = [
        runs[runs["series"] == name]["value"].to_numpy() for name in ("theorem 4.2, c = 0.5", "bartlett", "distance")
    ]
    return [*(own.mean() for own in values), values[0].std(ddof=1), values[2].std(ddof=1)]


def wide_networks() -> list[float]:
    found = []
    for n, d in ((5, 10), (20, 10), (60, 10), (200, 5)):
        random, ratios = np.random.default_rng(n), []
        for _ in range(20):
            x = random.standard_normal((n, d))
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            apart = random.standard_normal(d)
            products = np.clip(x @ x.T, -1, 1)
            gram = products * (math.pi - np.arccos(products)) / (2 * math.pi) + 0.5e-6 * np.eye(n)
            ratios.append(math.sqrt((x @ apart) @ np.linalg.solve(gram, x @ apart) / (apart @ apart)))
        found.append(max(ratios))
    return found


def over_targets(first: tuple[str, str], second: tuple[str, str]) -> list[float]:
    runs, found = raw("imagenet-why.csv"), []
    for target in ("cifar10", "svhn", "fashion-mnist", "usps", "mnist", "glyphs"):
        arms = [number(runs, *arm, study=f"imagenet-why-{target}") for arm in (first, second)]
        found += ends(100 * (arms[0] - arms[1]), 6)
    return found


def merlin_figure_2a() -> list[float]:
    runs = raw("merlin-more.csv").query("study == 'halves-features'")
    return [100 * number(runs, method, "AB").mean() for method in ("linear-probe", "joint", "fine-tune", "merlin")]


def merlin_table_2() -> list[float]:
    runs, found = raw("text.csv"), []
    for task in ("mrpc", "rte"):
        own = runs[runs["study"] == f"text-sequence-{task}"]
        found += ends(100 * (number(own, "merlin-ft", "minilm") - number(own, "fine-tune", "minilm")), 2)
    return found


def labels_to_usps() -> Any:
    return pd.concat([raw("merlin-labels.csv"), raw("merlin-labels-few.csv")])


def merlin_table_3() -> list[float]:
    runs, found = labels_to_usps(), []
    for n in (50, 100, 300, 600):
        with_source, without = (
            number(runs, *arm, n_target=n) for arm in (("merlin", "mnist"), ("merlin-target-only", ""))
        )
        found += ends(100 * (with_source - without), 4)
    return found


def merlin_figure_4b() -> list[float]:
    runs = raw("merlin-more.csv").query("study == 'merlin-grid'")
    arms = {name: 100 * own["value"].mean() for name, own in runs[runs["part"] == "target_test"].groupby("method")}
    inside = [arms[f"rho-{rho}-lambda-{ridge}"] for rho in ("0.5", "2", "10") for ridge in ("0.1", "1", "10")]
    trained = runs[(runs["part"] == "target_train") & (runs["method"] == "scratch")]["value"]
    published_range = [0.5, 0.1]
    return [min(inside), max(inside), *published_range, arms["scratch"], 100 * trained.mean()]


def tiles(k: int, method: str, source: str = "tiles", part: str = "target_test") -> Any:
    return number(raw("merlin-tiles.csv"), method, source, part=part, study=f"merlin-tiles-{k}")


def theorem_1_on_images() -> list[float]:
    return [
        end for k in (2, 3, 4, 8) for end in ends(100 * (tiles(k, "merlin") - tiles(k, "merlin-target-only", "")), 4)
    ]


def theorem_2_on_images() -> list[float]:
    return ends(100 * (tiles(2, "merlin") - tiles(2, "joint")))


def algorithms() -> list[float]:
    runs = raw("merlin-ablation.csv")
    steps = [f"merlin-{name}" for name in ("20-inner-steps", "5-inner-steps", "1-inner-step")]
    closed = number(labels_to_usps(), "merlin", "mnist", n_target=100)
    return [*(100 * number(runs, arm, "mnist").mean() for arm in steps), 100 * closed.mean()]


def whole_numbers(name: str) -> list[str]:
    """The numbers of a row without a point, as in "1,015"."""
    return re.findall(r"(?<![\d.,])\d[\d,]*(?![\w.,])", ours_of(name))


def test_growth_of_gradients_of_figure_7() -> None:
    runs, random, given = raw("imagenet-why.csv"), [], []
    for target in ("cifar10", "svhn", "fashion-mnist", "usps", "mnist", "glyphs"):
        own = runs[(runs["study"] == f"imagenet-why-{target}") & (runs["name"] == "gradient_growth")]
        at_start = own[own["step"] == 0].groupby("method")["value"].mean()
        random.append(at_start["scratch"])
        given.append(at_start["fine-tune"])
    expected = [f"{end:.0f}" for ends_of in (random, given) for end in (min(ends_of), max(ends_of))]
    assert whole_numbers("Liu et al. 2019: Figure 7")[:4] == expected


def test_features_of_figures_3_and_4a() -> None:
    runs = raw("why.csv").query("study == 'why-methods' and part == 'target_test' and step == -1")
    shown = ours_of("Liu et al. 2020: Figures 3, 4a")
    for name, form in (("variance_ratio", "{:.2f}"), ("feature_label_alignment", "{:,.0f}")):
        means = runs[runs["name"] == name].groupby("method")["value"].mean()
        others = means.drop("merlin")
        assert "{} for {} to {}".format(*map(form.format, (means["merlin"], others.min(), others.max()))) in shown


def test_arms_of_figures_3_and_4a_fit_their_training_labels_when_run_again() -> None:
    again = raw("why-fitted.csv").query("study == 'why-methods' and part == 'target_train'")
    means = again.groupby("method")["value"].mean()
    assert set(means.index) == {"scratch", "fine-tune", "joint", "merlin"}
    assert means.min() > 0.99
    assert "**inconclusive**" in rows_of_papers()["Liu et al. 2020: Figures 3, 4a"][2]


def test_what_the_source_head_of_two_tiles_reads() -> None:
    read = [100 * tiles(2, "merlin", part=f"source_test/tile{tile}").mean() for tile in (1, 2)]
    assert "reads {:.0f} % by the shared tile and {:.0f} % by the other".format(*read) in ours_of(
        "Liu et al. 2020: Theorem 2 on images"
    )


def test_a_pre_trained_start_of_table_3() -> None:
    pretrained = number(raw("merlin-ablation.csv"), "merlin-pretrained", "mnist")
    expected = ends(100 * (pretrained - number(labels_to_usps(), "merlin", "mnist", n_target=100)))
    said = ours_of("Liu et al. 2020: Table 3").partition("random one ")[2].partition(", published")[0]
    assert [float(one.replace("−", "-")) for one in re.findall(r"[+−]\d+\.\d", said)] == pytest.approx(
        expected, abs=0.051
    )


def test_counts_of_draws_of_table_1() -> None:
    runs: Any = pd.read_csv(RUNS / "shachaf-table1.csv").query("panel == 'draws' and kind == 'simulation'")
    best, second, last = (
        runs[runs["series"] == name].sort_values("x")["value"].to_numpy()
        for name in ("theorem 4.2, c = 0.5", "bartlett", "distance")
    )
    (row,) = [own for own in cells() if own[0].startswith("[Shachaf et al. 2021: Table 1]")]
    assert f"published order in {((best > second) & (second > last)).sum()} draws" in row[5]
    printed = {"best": (0.86, 0.89, 0.84, 0.75, 0.69), "second": (0.73, 0.75, 0.74, 0.71, 0.67)}
    printed |= {"last": (0.69, 0.68, 0.66, 0.64, 0.62)}
    shares = [
        100 * (own < np.mean(printed[name])).mean() for name, own in zip(printed, (best, second, last), strict=True)
    ]
    assert f"above {', '.join(f'{one:.0f}' for one in shares)} % of draws" in row[5]


BY_HAND: dict[str, Callable[[], list[float]]] = {
    "Liu et al. 2019: Figure 9": figure_9,
    "Liu et al. 2019: Table 1": table_1,
    "Liu et al. 2019: Figure 2": figure_2,
    "Liu et al. 2019: Figure 4": figure_4,
    "Liu et al. 2019: Figure 3": figure_3,
    "Liu et al. 2019: Figures 5, 10, 12, 13": landscapes,
    "Liu et al. 2019: Figures 6, 11": figure_6,
    "Liu et al. 2019: Figure 7a, b": figure_7ab,
    "Liu et al. 2019: Figure 8a, b": figure_8ab,
    "Liu et al. 2019: Figure 8c, d": figure_8cd,
    "Liu et al. 2020: Figure 1": merlin_figure_1,
    "Liu et al. 2020: Table 1": merlin_table_1,
    "Mikami et al. 2021: The law with own runs": own_law,
    "Mikami et al. 2021: The law on a second target": lambda: own_law("glyph-disjoint-usps"),
    "Mikami et al. 2021: The probe with own runs": probe_on_disjoint_classes,
    "Mikami et al. 2021: Figure 7": figure_7,
    "Shachaf et al. 2021: Figure 2b": figure_2b,
    "Shachaf et al. 2021: Table 1": shachaf_table_1,
    "Liu et al. 2019: Table 2": partial(over_targets, ("fine-tune", "imagenet"), ("scratch", "")),
    "Liu et al. 2019: Table 1, fine-tuning": partial(over_targets, ("fine-tune", "imagenet"), ("fixed", "imagenet")),
    "Liu et al. 2020: Figure 2a": merlin_figure_2a,
    "Liu et al. 2020: Table 2": merlin_table_2,
    "Liu et al. 2020: Table 3": merlin_table_3,
    "Liu et al. 2020: Figure 4b": merlin_figure_4b,
    "Liu et al. 2020: Theorem 1 on images": theorem_1_on_images,
    "Liu et al. 2020: Theorem 2 on images": theorem_2_on_images,
    "Liu et al. 2020: Algorithms 1, 2": algorithms,
    "Shachaf et al. 2021: Theorem 6.1, Corollaries 6.2, 6.3": wide_networks,
    "glyph page, α": glyph_alpha,
    "glyph page, held out": glyph_held_out,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_the_numbers_of_a_row_are_those_of_its_runs(name: str) -> None:
    shown = re.findall(r"(?<![\d,])[+−]?\d*\.\d+", ours_of(name).partition("; published")[0])
    expected = BY_HAND[name]()
    assert len(shown) >= len(expected)
    for text, value in zip(shown, expected, strict=False):
        places = len(text.rpartition(".")[2])
        assert float(text.replace("−", "-")) == pytest.approx(value, abs=0.51 * 10**-places), (text, expected)


def test_the_worth_of_pre_training_by_labels() -> None:
    errors = glyph_law()
    scratch = errors.loc[("", slice(None), 0), :].mean(axis=1).droplevel(["source", "n"])
    tuned = errors.loc[("plain", slice(None), 65536), :].mean(axis=1).droplevel(["source", "n"])
    (row,) = [own for own in cells() if own[0].startswith("[`scaling` with s]")]
    shown = row[5].partition("worth ")[2].partition(" labels")[0].split(", ")
    within = [s for s in tuned.index if scratch.min() <= tuned[s]]
    assert [int(s) for s in row[5].partition("at s = ")[2].partition(";")[0].split(", ")] == within
    for s, text in zip(within, shown, strict=True):
        below = scratch[scratch > tuned[s]].index.max()
        above = scratch[scratch <= tuned[s]].index.min()
        share = math.log(scratch[below] / tuned[s]) / math.log(scratch[below] / scratch[above])
        expected = math.exp(math.log(below) + share * math.log(above / below)) - s
        assert float(text) == pytest.approx(expected, abs=0.51)


def test_every_row_with_runs_is_computed_again_and_the_page_is_what_is_written() -> None:
    mended = {own[0][1:].partition("]")[0] for own in cells() if own[6].startswith("[")}
    papers = {name for name, own in rows_of_papers().items() if "](runs/" in own[-1]}
    elsewhere = {"`scaling` with s", "Liu et al. 2019: Figure 7", "Liu et al. 2020: Figures 3, 4a"}
    assert (mended | papers) - elsewhere <= set(BY_HAND)
    assert set(BY_HAND) - (mended | papers) == {"Shachaf et al. 2021: Theorem 6.1, Corollaries 6.2, 6.3"}  # of draws
    assert (RESULTS / "mended.md").read_text(encoding="utf-8") == module_of("studies/theory/mended_page.py").page()


def test_sentences_of_then_stood_with_a_verdict() -> None:
    rows = list(cells())
    assert len(rows) >= 17
    assert all(own[1] and own[2] and own[3] and own[4].startswith("**") for own in rows)
    assert Path(RESULTS / "mended.md").stat().st_size < 30_000
