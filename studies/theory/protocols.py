"""docs/results/protocols.md: the settings of the papers beside those of the runs that a row of papers.md rests on.

    python studies/theory/protocols.py

Published settings are data (published/PAPER.toml), each with where it stands in the paper; ours are read from the study
file, and the accuracy on training labels from its runs. `papers list --protocol` prints the same table.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import gradient_magnitude
import pandas as pd
import scene_entropy
from imagenet_heads import study_of as heads_of
from scipy.stats import spearmanr
from stored import RUNS, training_accuracies, write_page
from verdicts import CLAIMED_OF_WEIGHTS, STUDIES, above, below, every_study, points, share, source_adds, study_of, times

from transferscope.errors import DataError
from transferscope_papers.catalogue import FIGURES, PAPERS
from transferscope_papers.mikami2021.common_d import PUBLISHED_RATES
from transferscope_papers.mikami2021.rows import FIGURE_5_LARGEST, PUBLISHED_D
from transferscope_papers.protocols import TABLE, Setting, protocols

PUBLISHED = Path(__file__).with_name("published")
INTRODUCTION = """# Differences from the protocols of the papers

What each row of [five papers, item by item](papers.md) was run with, beside what its paper states; the few rows that
are not here rest on algebra or on draws that they name. Bold: differs. *Fitted* is the lowest mean accuracy on training
labels of the arms that train. This page is written by `python studies/theory/protocols.py` from the study files, their
runs, the settings of figures and `studies/theory/published`.
"""
STUDIES_READ = """## Every stored study of a claim

What Liu et al. (2019) claim to be larger from scratch than after pre-training: the ratio of the two in every stored
study that has both arms, with 95 % t-intervals over seeds, unadjusted. Arms differ in rate, and few have fitted their
labels: the rows of [papers](papers.md) say which of them test the claim.
"""
SOURCE_ADDS = """
## When MeRLin gains from its source

MeRLin less its own objective without a source (`merlin-target-only`), in points, in every stored study that has both,
largest first, beside what fine-tuning from the same source gains over training from scratch, which says how near the
source is; 95 % t-intervals over seeds, unadjusted. Budgets are those of the papers, equal for all arms, or settings are
searched on the target's labels, or arms are trained by the library's recipes, with augmentation
([competence](competence.md#evidence-for-the-recipes-of-images)).
"""
HEADINGS = {
    "network": "network",
    "inputs": "inputs",
    "labels": "labels",
    "half_noise": "noise of half images",
    "batch": "examples a step",
    "length": "length",
    "rate": "learning rate",
    "fine_tuning": "fine-tuning at",
    "schedule": "schedule",
    "statistics": "batch statistics",
    "landscape": "landscape",
    "seeds": "seeds",
    "fitted": "fitted",
}
"""What is compared, in the order of the tables."""

SCRIPTS = {
    "scene_entropy": {
        "network": "conv4",
        "inputs": "16 pixels",
        "learnt": "CIFAR-10",
        "images": f"{scene_entropy.N_SCENES:,}",
        "seeds": "5",
    },
    "gradient_magnitude": {
        "network": "EfficientNet-lite0",
        "inputs": "64 pixels",
        "statistics": "those of the batch",
        "layer": "25th of 50",
        "images": str(gradient_magnitude.N_IMAGES),
        "seeds": str(gradient_magnitude.STARTS),
    },
}
"""What runs of a script of this folder were made with."""
OF_AUTHORS = {
    "rows": "syn2real_finetune.csv of the authors' repository",
    "D": f"{PUBLISHED_D:g} held",
    "alpha": "{:g} to {:g}".format(*PUBLISHED_RATES),
    "residuals": "of the error",
    "sizes": f"up to {FIGURE_5_LARGEST:,} of the series of 64,000",
}
"""How the authors' rows are fitted in the figures that read them."""
SIDES = {"mnist": 28, "fashion-mnist": 28, "usps": 16, "svhn": 32, "cifar10": 32}
"""Pixels on a side of data that no transform resizes."""


def ours(study: dict[str, Any]) -> dict[str, str]:
    """Return the settings of a study as the tables show them."""
    training, target = study["training"], study["target"]
    resized = [t.partition(":")[2] for t in target.get("transforms", []) if t.startswith("resize")]
    as_is = [side for name, side in SIDES.items() if name in re.split(r"[:_.]", target["data"])]
    size = study["network"].get("input", {}).get("size") or [*(as_is or ["as they are"]), *resized][-1]
    length = f"{training['steps']} steps" if "steps" in training else f"{training['epochs']} passes"
    share = study["methods"].get("fine-tune", {}).get("lr_scale", 1.0)
    landscape = study.get("diagnostics", {}).get("landscape-all", {})
    names = [end.get("data", "") for end in (target, *study["sources"].values())]
    noises = [name.partition("noise=")[2].partition("&")[0] or "0.2" for name in names if "half-images" in name]
    return {
        "network": Path(str(study["network"]["name"]).partition(":")[2] or study["network"]["name"]).name,
        "inputs": f"{size} pixels" if str(size).isdigit() else str(size),
        "labels": ", ".join(map(str, target.get("labels", ["all of the target"]))),
        "batch": str(training.get("batch_size", 64)),
        "length": length,
        "rate": str(training.get("lr", 0.01)),
        "fine_tuning": f"{share:g} x the rate" if isinstance(share, float) and "tuning" not in study else "searched",
        "schedule": training.get("schedule", "cosine"),
        "half_noise": ", ".join(dict.fromkeys(noises)),
        "statistics": f"those of the {training.get('batch_norm', 'auto')}",
        "landscape": f"radius {landscape.get('radius', 0.5)}, {landscape.get('resolution')} points a side",
        "seeds": str(study["seeds"]),
    }


def fitted_of(runs: str, study: str) -> str:
    """Return the lowest mean accuracy on training labels of the arms of a study; "not kept" without any."""
    if not (RUNS / runs).is_file():
        return "no runs"
    chosen = training_accuracies(runs).query("study == @study")
    means = 100 * chosen.groupby(["method", "source", "n_target"])["value"].mean()
    return f"{means.min():.0f} %" if len(means) else "not kept"


def published_of(paper: str) -> dict[str, dict[str, Any]]:
    """Return the published settings by row; a DataError where they do not say where they stand in the paper."""
    file = PUBLISHED / f"{paper}.toml"
    if not file.is_file():
        return {}
    listed = tomllib.loads(file.read_text(encoding="utf-8"))
    if not listed.get("source"):
        raise DataError(f'{file.name} has no `source`; say where in the paper its settings stand, as in "appendix A"')
    found: dict[str, dict[str, Any]] = listed["rows"]
    return found


def run_with(paper: str, published: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the study or command that a row rests on, and what it was run with.

    Of a figure these are its settings in the quick profile, whose claims papers.md counts, and with `--full`; `set`
    holds those that its row changes. Of a figure from the authors' rows they are what is fitted and how.
    """
    if "script" in published:
        return f"studies/theory/{published['script']}.py", SCRIPTS[published["script"]]
    if "figure" in published:
        if PAPERS[paper].figures[published["figure"]].reads == "table":
            return f"papers draw {paper} {published['figure']} --table", OF_AUTHORS
        figure = FIGURES[f"{paper}-{published['figure']}"]
        chosen = published.get("set", {})
        quick, full = (figure.configured(quick=quick, changes=chosen).settings for quick in (True, False))
        own = {
            key: f"{value:g}" if value == full[key] else f"{value:g} ({full[key]:g} with --full)"
            for key, value in quick.items()
        }
        return f"papers draw {paper} {published['figure']}", own
    name = published["study"]
    is_file = (STUDIES / f"{name}.toml").is_file()
    return name, ours(study_of(name) if is_file else heads_of(name.removeprefix("imagenet-heads-")))


def settings() -> list[Setting]:
    """Return every setting that is compared, published and ours; of a figure without published ones, all of its own.

    Rows without a figure and without runs, which rest on algebra and draws, have none.
    """
    rows = pd.read_csv(Path(__file__).with_name("papers.csv"), keep_default_na=False)
    found, stated = [], {paper: published_of(paper) for paper in PAPERS}
    known = set(zip(rows["paper"], rows["item"], strict=True))
    if unknown := [f"{paper} {item}" for paper, own in stated.items() for item in own if (paper, item) not in known]:
        raise DataError(f"published settings of {', '.join(unknown)}: papers.csv has no such row; mend the name")
    for row in rows.itertuples():
        paper, item = str(row.paper), str(row.item)
        published = stated[paper].get(item, {"figure": row.figure} if row.figure else {})
        if not published:
            continue
        name, own = run_with(paper, published)
        own = own | {"fitted": fitted_of(str(row.runs), name)} if "fitted" in published else own
        given = {key: str(published[key]) for key in own if key in published}
        found += [
            Setting(paper, item, name, HEADINGS.get(key, key), value, own[key])
            for key in dict.fromkeys((*HEADINGS, *own))
            if (value := given.get(key, "" if given else "not said")) and key in own
        ]
    return found


SEARCHED = {"fashion-mnist": "methods-fashion-mnist-usps", "mnist": "merlin-labels"}
"""By source, the study of the pair of the recipes with settings that were searched."""


def map_of_sources() -> list[str]:
    """Return the lines on when the source pays for MeRLin: one sentence, and a row for each stored pair."""
    found = source_adds()
    pays, harms = ([one for one in found if sure(one.added)] for sure in (above, below))
    near = [(one.added.value, one.gained.value) for one in found if one.gained]
    own = [one for one in found if one.budget == "recipes"]
    rank, large = spearmanr(*zip(*near, strict=True)), sum(one.added.value > 1 for one in pays)
    lines = [
        f"**The source surely pays in {len(pays)} of {len(found)} cases, in {large} by more than a point, and surely "
        f"harms in {len(harms)}.** What it adds goes with what fine-tuning gains: rank correlation "
        f"{share(float(rank.statistic))} over {len(near)} cases (p {rank.pvalue:.3f}), which share sources, "
        "targets and runs.",
        "",
        f"**By recipes with augmentation it surely pays in {sum(above(one.added) for one in own)} "
        f"of {len(own)} cases**: "
        + "; ".join(
            f"from {one.source} with {one.labels} labels {points(one.added)} "
            f"(searched settings without it, {before.study}: {points(before.added)})"
            for one in own
            for before in found
            if (before.study, before.labels) == (SEARCHED[one.source], one.labels)
        )
        + ".",
        "",
        "| study | source | classes | labels | budget | what the source adds | fine-tuning over scratch |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in found:
        gained = points(one.gained) if one.gained else ""
        cells = (one.study, one.source, one.classes, one.labels, one.budget, points(one.added), gained)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def page() -> str:
    """Return the page."""
    lines, last = [INTRODUCTION], ""
    for (paper, item), compared in protocols().items():
        if paper != last:
            lines += [f"## {PAPERS[paper].title}", ""]
            last = paper
        lines += [f"### {item}", "", f"| | published | ours (`{compared[0].study}`) |", "|---|---|---|"]
        for one in compared:
            lines.append(f"| {one.name} | {one.published} | {f'**{one.ours}**' if one.differs else one.ours} |")
        lines.append("")
    lines += [STUDIES_READ]
    for item, (name, step) in CLAIMED_OF_WEIGHTS.items():
        ratios = "; ".join(f"{study} after {source} {times(one)}" for study, source, one in every_study(name, step))
        lines += [f"- **{item}** (`{name}`, {'the end' if step < 0 else 'the start'}): {ratios}"]
    lines += [SOURCE_ADDS, *map_of_sources()]
    return "\n".join([*lines, ""])


def settings_then_page() -> str:
    """Write the table of settings, which the page and `papers list` read, and return the page."""
    pd.DataFrame(settings()).to_csv(TABLE, index=False, lineterminator="\n")
    return page()


if __name__ == "__main__":
    write_page("protocols.md", settings_then_page)
