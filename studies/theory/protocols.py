"""docs/results/protocols.md: the settings of the papers beside those of the runs that a row of papers.md rests on.

    python studies/theory/protocols.py

Published settings are data (published/PAPER.toml); ours are read from the study file, and the accuracy on training
labels from its runs. A CSV that does not hold it is named.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from imagenet_heads import study_of as heads_of
from verdicts import RUNS, STUDIES, runs_of, study_of

from transferscope_papers.catalogue import PAPERS

PUBLISHED, PAGE = Path(__file__).with_name("published"), RUNS.parent / "protocols.md"
INTRODUCTION = """# Protocols beside those of the papers

What each row of [five papers, item by item](papers.md) that rests on stored runs was run with, beside what its paper
states. Bold: differs. *Fitted* is the lowest mean accuracy on training labels of the arms that train. This page is
written by `python studies/theory/protocols.py` from the study files, their runs and `studies/theory/published`.
"""
HEADINGS = {
    "network": "network",
    "inputs": "inputs",
    "labels": "labels",
    "batch": "examples a step",
    "length": "length",
    "rate": "learning rate",
    "fine_tuning": "fine-tuning at",
    "schedule": "schedule",
    "landscape": "landscape",
    "seeds": "seeds",
    "fitted": "fitted",
}
"""What is compared, in the order of the tables."""


def ours(study: dict[str, Any], runs: str) -> dict[str, str]:
    """Return the settings of a study as the tables show them."""
    training, target = study["training"], study["target"]
    resized = [t.partition(":")[2] for t in target.get("transforms", []) if t.startswith("resize")]
    size = study["network"].get("input", {}).get("size") or (resized or ["as they are"])[-1]
    length = f"{training['steps']} steps" if "steps" in training else f"{training['epochs']} passes"
    share = study["methods"].get("fine-tune", {}).get("lr_scale", 1.0)
    landscape = study.get("diagnostics", {}).get("landscape-all", {})
    return {
        "network": Path(str(study["network"]["name"]).partition(":")[2] or study["network"]["name"]).name,
        "inputs": f"{size} pixels" if str(size).isdigit() else str(size),
        "labels": ", ".join(map(str, target.get("labels", ["all of the target"]))),
        "batch": str(training.get("batch_size", 64)),
        "length": length,
        "rate": str(training.get("lr", 0.01)),
        "fine_tuning": f"{share:g} x the rate" if isinstance(share, float) and "tuning" not in study else "searched",
        "schedule": training.get("schedule", "cosine"),
        "landscape": f"radius {landscape.get('radius', 0.5)}, {landscape.get('resolution')} points a side",
        "seeds": str(study["seeds"]),
        "fitted": fitted_of(runs, study["name"]),
    }


def fitted_of(runs: str, study: str) -> str:
    """Return the lowest mean accuracy on training labels of the arms of a study; "not kept" where there is none."""
    if not (RUNS / runs).is_file() or "part" not in pd.read_csv(RUNS / runs, comment="#", nrows=1):
        return "not kept"
    table = runs_of(runs)
    chosen = table[(table["study"] == study) & (table["part"] == "target_train") & (table["name"] == "accuracy")]
    return (
        f"{100 * chosen.groupby(['method', 'source', 'n_target'])['value'].mean().min():.0f} %"
        if len(chosen)
        else "not kept"
    )


def rows() -> Iterator[tuple[str, str, str, dict[str, tuple[str, str]]]]:
    """Yield paper, item, study and what is compared, (published, ours) by setting."""
    known = pd.read_csv(Path(__file__).with_name("papers.csv"), keep_default_na=False).set_index(["paper", "item"])
    for paper in PAPERS:
        file = PUBLISHED / f"{paper}.toml"
        listed = tomllib.loads(file.read_text(encoding="utf-8"))["rows"] if file.is_file() else {}
        for item, published in listed.items():
            name = published["study"]
            target = name.removeprefix("imagenet-heads-")
            study = study_of(name) if (STUDIES / f"{name}.toml").is_file() else heads_of(target)
            own = ours(study, str(known.loc[(paper, item), "runs"]))
            yield paper, item, name, {key: (published[key], own[key]) for key in HEADINGS if key in published}


def page() -> str:
    """Return the page."""
    lines, last = [INTRODUCTION], ""
    for paper, item, study, settings in rows():
        if paper != last:
            lines += [f"## {PAPERS[paper].title}", ""]
            last = paper
        lines += [f"### {item}", "", f"| | published | ours (`{study}`) |", "|---|---|---|"]
        for key, (published, own) in settings.items():
            same = published.lower().replace("-", "") == own.lower().replace("-", "") or published == "not said"
            lines.append(f"| {HEADINGS[key]} | {published} | {own if same else f'**{own}**'} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
