"""The tables of pages of docs/results from their runs, and those of several stores in one file.

python studies/runs_csv.py runs/why.sqlite A.csv --diagnostics NAMES         # NAMES as below; runs/why-resnet.sqlite
python studies/page_tables.py A.csv B.csv docs/results/runs/why.csv           # one CSV of both
python studies/page_tables.py docs/results/runs/why.csv                       # the tables; any page of TABLES below

NAMES: "weight_deviation|hessian_eigenvalue/1|landscape_highest_rise|loss_variation_fixed_step|gradient_growth|
weight_projection/.*|variance_ratio|feature_label_alignment" in one line.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.numerics.intervals import t_interval

KEYS = ["study", "method", "source"]


def read(path: Path) -> pd.DataFrame:
    """The runs, none of them twice; no source is "", the end of training step −1."""
    runs: pd.DataFrame = pd.read_csv(path, comment="#", dtype={"source": str, "diagnostic": str, "name": str})
    texts = runs.assign(source=runs["source"].fillna(""), diagnostic=runs["diagnostic"].fillna(""))
    return texts.assign(step=texts["step"].fillna(-1).astype(int))


def by_seed(runs: pd.DataFrame, name: str, *, step: int = -1, diagnostic: str = "") -> pd.DataFrame:
    """One number of each run: seeds as rows, arms of studies (study, method, source) as columns."""
    chosen = runs[(runs["name"] == name) & (runs["step"] == step) & (runs["diagnostic"] == diagnostic)]
    if not diagnostic:
        chosen = chosen[(chosen["part"] == "target_test") & (chosen["n_target"] > 0)]
    table: pd.DataFrame = chosen.pivot_table(index="seed", columns=KEYS, values="value")
    return table


def interval(differences: pd.Series, *, as_ratio: bool = False) -> str:
    """Mean over seeds with its 95 % t-interval (unadjusted), of logarithms as a ratio."""
    found = t_interval(differences.dropna().to_numpy(np.float64))
    assert found.interval is not None
    ends = (found.value, found.interval.low, found.interval.high)
    value, low, high = (f"{np.exp(end):.3g}" if as_ratio else f"{end:.1f}".replace("-", "−") for end in ends)
    return f"{value} ({low} to {high})"


def arm(method: str, source: str) -> str:
    """An arm in words."""
    kind = {"scratch": "from scratch", "fine-tune": "fine-tuned", "fixed": "head alone"}.get(method, method)
    return f"{kind}, {source}" if source else kind


def accuracies(runs: pd.DataFrame) -> list[str]:
    """Every arm: its accuracy, what that is over training from scratch, and how far its weights moved."""
    scores, moved = by_seed(runs, "accuracy"), by_seed(runs, "weight_deviation", diagnostic="weights")
    lines = ["| study | arm | accuracy, % | over scratch, points | deviation |", "|---|---|---|---|---|"]
    for study in (
        "why",
        "why-svhn",
        "why-fixed",
        "why-clothes",
        "why-resnet",
        "why-resnet-fixed",
        "why-resnet-clothes",
    ):
        for _, method, source in [key for key in scores if key[0] == study]:
            own, scratch = scores[study, method, source], scores[study, "scratch", ""]
            over = "" if method == "scratch" else interval(100 * (own - scratch))
            level = f"{100 * own.mean():.1f} ± {100 * own.std():.1f}"
            key = (study, method, source)
            lines.append(f"| {study} | {arm(method, source)} | {level} | {over} | {_mean(moved, key)} |")
    return lines


def _mean(table: pd.DataFrame, key: tuple[str, str, str]) -> str:
    return f"{table[key].mean():.3g}" if key in table else ""


def beside_scratch(runs: pd.DataFrame) -> list[str]:
    """Curvature, change of the loss and gradients of fine-tuned networks beside those trained from scratch."""
    names = (
        ("hessian_eigenvalue/1", -1, "curvature"),
        ("loss_variation_fixed_step", 0, "gradient-stability"),
        ("landscape_highest_rise", 0, "landscape"),
        ("landscape_highest_rise", -1, "landscape"),
    )
    tables = [by_seed(runs, name, step=step, diagnostic=diagnostic) for name, step, diagnostic in names]
    growth = by_seed(runs, "gradient_growth", step=0, diagnostic="gradient-scaling")
    is_weights = (runs["step"] == 0) & runs["name"].str.startswith("weight_projection/")
    projections = runs[is_weights].groupby(KEYS)["value"].apply(lambda own: np.exp(np.log(own).mean()))
    heads = ("largest eigenvalue, end", "change of the loss, start", "rise of the loss, start", "the same, end")
    lines = [
        f"| study | fine-tuned from | {' | '.join(heads)} | gradient growth, start | projection, start |",
        "|---" * 8 + "|",
    ]
    for study in ("why", "why-svhn", "why-resnet"):
        scratch = (study, "scratch", "")
        for key in [key for key in tables[0] if key[0] == study]:
            ratios = [
                interval(np.log(table[key] / table[scratch]), as_ratio=True) if key != scratch and key in table else ""
                for table in tables
            ]
            more = f"{growth[key].mean():.2g} | {projections[key]:.3f}"
            lines.append(f"| {study} | {key[2] or '(scratch)'} | {' | '.join(ratios)} | {more} |")
    return lines


def landscapes(runs: pd.DataFrame) -> list[str]:
    """Highest rise of the loss around a network from scratch over that around a fine-tuned one, by what moves.

    Where the loss rises in no direction, the number of seeds in which that from scratch is the higher one.
    """
    lines = ["| study | what moves | start | end |", "|---|---|---|---|"]
    chosen = runs[runs["diagnostic"].str.startswith("landscape-")]
    for (study, diagnostic), own in chosen.groupby(["study", "diagnostic"], sort=False):
        cells = []
        for step in (0, -1):
            table = by_seed(own, "landscape_highest_rise", step=step, diagnostic=diagnostic)
            scratch, (tuned,) = table[study, "scratch", ""], [key for key in table if key[1] == "fine-tune"]
            rises = [scratch, table[tuned]]
            higher = f"higher in {(scratch > table[tuned]).sum()} of {len(table)} seeds"
            is_ratio = all((rise > 0).all() for rise in rises)
            cells.append(interval(np.log(scratch / table[tuned]), as_ratio=True) if is_ratio else higher)
        lines.append(f"| {study} | {diagnostic.removeprefix('landscape-')} | {' | '.join(cells)} |")
    return lines


def lengths(runs: pd.DataFrame) -> list[str]:
    """Accuracy of fine-tuning by the steps of pretraining, and what the last loses to each."""
    own = runs[(runs["study"] == "why-steps") & (runs["part"] == "target_test") & (runs["name"] == "accuracy")]
    tuned = own[own["method"] == "fine-tune"].assign(pretrain_step=own["pretrain_step"].fillna(3000).astype(int))
    table = tuned.pivot_table(index="seed", columns="pretrain_step", values="value")
    scratch = own[own["method"] == "scratch"].set_index("seed")["value"]
    levels = [100 * scratch.mean(), *(100 * table.mean())]
    over = [100 * (column - table[3000]) for column in (scratch, *(table[step] for step in table if step < 3000))]
    return [
        f"| steps of pretraining | 0 | {' | '.join(f'{step:,}' for step in table)} |",
        "|---" * (len(table.columns) + 2) + "|",
        f"| accuracy, % | {' | '.join(f'{level:.1f}' for level in levels)} |",
        f"| over the last, points | {' | '.join(interval(one) for one in over)} | |",
    ]


def features(runs: pd.DataFrame) -> list[str]:
    """Spread and alignment of the features of four methods on test images."""
    spread = by_seed(runs, "variance_ratio", diagnostic="test-separation")
    cost = by_seed(runs, "feature_label_alignment", diagnostic="test-alignment")
    lines = ["| method | variance within over between classes | cost of reading the labels |", "|---|---|---|"]
    for key in [key for key in spread if key[0] == "why-methods"]:
        ratio, reading = spread[key], cost[key]
        levels = f"{ratio.mean():.2f} ± {ratio.std():.2f} | {reading.mean():,.0f} ± {reading.std():,.0f}"
        lines.append(f"| {key[1]} | {levels} |")
    return lines


def targets(runs: pd.DataFrame) -> list[str]:
    """One pretrained network on six targets: gradients and losses at the start, errors and deviations at the end."""
    growth = by_seed(runs, "gradient_growth", step=0, diagnostic="gradient-scaling")
    change = by_seed(runs, "loss_variation_fixed_step", step=0, diagnostic="gradient-stability")
    scores, moved = by_seed(runs, "accuracy"), by_seed(runs, "weight_deviation", diagnostic="weights")
    heads = [f"{what}, {of}" for what in ("gradient growth", "change of the loss") for of in ("random", "ImageNet")]
    ways = {"scratch": "from scratch", "fine-tune": "every layer", "fixed": "head alone"}
    heads += [head for way in ways.values() for head in (f"{way}: error, %", "deviation")]
    lines = [f"| target | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for name in ("cifar10", "svhn", "fashion-mnist", "usps", "mnist", "glyphs"):
        arms = {way: (f"imagenet-why-{name}", way, "" if way == "scratch" else "imagenet") for way in ways}
        cells = [f"{growth[arms[way]].mean():.3g}" for way in ("scratch", "fine-tune")]
        cells += [f"{change[arms[way]].mean():.3f}" for way in ("scratch", "fine-tune")]
        for key in arms.values():
            error = 100 * (1 - scores[key])
            cells += [f"{error.mean():.1f} ± {error.std():.1f}", f"{moved[key].mean():.3f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def beside(runs: pd.DataFrame, *, columns: Mapping[str, tuple[str, int]], base: str) -> list[str]:
    """Accuracy of every method in some studies (by name, with their labels), and what it is over one of them."""
    parts = [
        runs[(runs["study"] == study) & (runs["n_target"] == n)].pivot_table(
            index="seed", columns=["part", "method"], values="value"
        )
        for study, n in columns.values()
    ]
    test = [table["target_test"] for table in parts]
    lines = [f"| | {' | '.join(f'{name} | over {base}' for name in columns)} |", "|---" * (1 + 2 * len(parts)) + "|"]
    for method in test[0].mean().sort_values(ascending=False).index:
        cells = []
        for table, own in zip(test, (table["target_train"] for table in parts), strict=True):
            level = f"{100 * table[method].mean():.1f} ± {100 * table[method].std():.1f}"
            over = "" if method == base else interval(100 * (table[method] - table[base]))
            cells += [f"{level} ({100 * own[method].mean():.0f})", over]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return lines


def statistics(runs: pd.DataFrame) -> list[str]:
    """What following the statistics of batches costs, with 100 labels."""
    own = runs[(runs["part"] == "target_test") & (runs["n_target"] == 100)]
    table = 100 * own.pivot_table(index="seed", columns=["study", "method"], values="value")
    lines = ["| from the probe's head | statistics of ImageNet | of the batches | difference |", "|---" * 4 + "|"]
    for method in ("fine-tune", "l2-sp"):
        kept, followed = (table[study, method] for study in ("imagenet-tuning", "imagenet-statistics"))
        levels = [f"{one.mean():.1f} ± {one.std():.1f}" for one in (kept, followed)]
        lines.append(f"| {method} | {' | '.join(levels)} | {interval(followed - kept)} |")
    return lines


def over_rho_and_lambda(runs: pd.DataFrame) -> list[str]:
    """Accuracy of MeRLin for every rho and lambda, means over the seeds that ended."""
    own = runs[(runs["study"] == "merlin-grid") & (runs["part"] == "target_test")]
    settings = own["method"].str.extract(r"rho-(?P<rho>[\d.]+)-lambda-(?P<ridge>[\d.]+)").astype(float)
    found = settings.assign(value=100 * own["value"]).dropna().groupby(["rho", "ridge"])["value"]
    ridges = sorted(settings["ridge"].dropna().unique())
    lines = [f"| ρ | {' | '.join(f'λ = {ridge:g}' for ridge in ridges)} |", "|---" * (1 + len(ridges)) + "|"]
    for rho in sorted(settings["rho"].dropna().unique()):
        ended = [found.get_group((rho, ridge)) if (rho, ridge) in found.groups else pd.Series() for ridge in ridges]
        cells = [
            f"{one.mean():.1f}{'' if len(one) == 3 else f' ({len(one)} of 3)'}" if len(one) else "0 of 3"
            for one in ended
        ]
        lines.append(f"| {rho:g} | {' | '.join(cells)} |")
    return lines


TABLES: dict[str, tuple[Callable[[pd.DataFrame], list[str]], ...]] = {
    "why": (accuracies, beside_scratch, landscapes, lengths, features),
    "imagenet-why": (targets,),
    "imagenet-why-landscapes": (landscapes,),
    "text": (
        partial(
            beside,
            columns={"MRPC": ("text", 500), "RTE": ("text-rte", 500), "CoLA": ("text-cola", 500)},
            base="linear-probe",
        ),
        partial(
            beside,
            columns={"MRPC": ("text-sequence-mrpc", 4076), "RTE": ("text-sequence-rte", 2490)},
            base="fine-tune",
        ),
    ),
    "merlin-more": (
        over_rho_and_lambda,
        partial(beside, columns={"600 images of SVHN to USPS": ("merlin-svhn", 600)}, base="scratch"),
    ),
    "imagenet": (
        partial(
            beside,
            columns={f"{n} labels": ("imagenet-tuning", n) for n in (100, 600)},
            base="linear-probe",
        ),
        statistics,
    ),
}
"""The tables of each page of docs/results; "merlin-more" is of that of MeRLin."""


def main(paths: list[Path]) -> None:
    """Join runs, or print the tables."""
    if len(paths) == 1:
        print("\n\n".join("\n".join(table(read(paths[0]))) for table in TABLES[paths[0].stem]))
        return
    heads = [path.read_text(encoding="utf-8").split("\n", 1)[0] for path in paths[:-1]]
    whole = pd.concat([pd.read_csv(path, comment="#", dtype=str, keep_default_na=False) for path in paths[:-1]])
    paths[-1].write_text(heads[0] + "\n" + whole.to_csv(index=False, lineterminator="\n"), encoding="utf-8")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
