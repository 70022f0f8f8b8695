"""Every run behind docs/results/real.md as one CSV, and the tables of that page.

python studies/real_runs.py runs docs/results/runs/real.csv   # from the stores real-*.toml in one or more folders
python studies/real_runs.py docs/results/runs/real.csv        # the tables from it, and real-recipes.csv beside it
"""

import json
import sqlite3
import sys
from pathlib import Path

import pandas as pd
from page_tables import interval


def runs_of(store: Path) -> pd.DataFrame:
    """study, method, n_target, seed, score (accuracy or R^2) and seconds of each run."""
    with sqlite3.connect(store) as connection:
        found = pd.read_sql(
            "SELECT cell.labels, outcome.seconds, record.value FROM study_cells AS cell "
            "JOIN outcomes AS outcome USING (cell_id) JOIN records AS record USING (cell_id) "
            "WHERE record.name IN ('accuracy', 'r2') AND record.part = 'target_test' AND record.step IS NULL",
            connection,
        )
    labels = pd.json_normalize(found["labels"].map(json.loads).tolist())[["method", "n_target", "seed"]]
    return labels.assign(study=store.stem.removeprefix("real-"), score=found["value"], seconds=found["seconds"])


def table_of(runs: pd.DataFrame, studies: list[str]) -> list[str]:
    """Rows of Markdown: a study with a number of labels, and mean ± standard deviation of each method in per cent."""
    chosen = runs[runs["study"].isin(studies) & ~(runs["method"].isin(TRAINED) & ~runs["study"].isin(GROUPS[-1]))]
    methods = list(dict.fromkeys(chosen["method"]))
    lines = [f"| | labels | {' | '.join(methods)} |", "|---" * (2 + len(methods)) + "|"]
    for study in studies:
        for n, group in chosen[chosen["study"] == study].groupby("n_target"):
            means, spreads = (100 * group.groupby("method")["score"].agg(how) for how in ("mean", "std"))
            cells = [f"{means[m]:.1f} ± {spreads[m]:.1f}" if m in means else "" for m in methods]
            lines.append(f"| {study} | {n} | {' | '.join(cells)} |")
    return lines


TRAINED = ["last-block", "lora", "fine-tune", "tune-from-probe"]


def trained_further(runs: pd.DataFrame, studies: list[str]) -> list[str]:
    """Rows of Markdown: what trains a large network, and fine-tuning from the probe's head over the probe."""
    heads = ["linear-probe", *TRAINED, "over the probe", "seeds"]
    lines = [f"| | labels | {' | '.join(heads)} |", "|---" * (2 + len(heads)) + "|"]
    for study in studies:
        for n, group in runs[runs["study"] == study].groupby("n_target"):
            table = 100 * group.pivot_table(index="seed", columns="method", values="score")
            if "tune-from-probe" not in table:
                continue
            table = table.dropna(subset=TRAINED)
            levels = [f"{table[m].mean():.1f} ± {table[m].std():.1f}" for m in ("linear-probe", *TRAINED)]
            over = interval(table["tune-from-probe"] - table["linear-probe"])
            lines.append(f"| {study} | {n} | {' | '.join(levels)} | {over} | {len(table)} |")
    return lines


def beside_by_hand(runs: pd.DataFrame, by_hand: pd.DataFrame) -> list[str]:
    """Rows of Markdown: what benchmarks/by_hand.py reached on the same labels, beside the arm that does the same."""
    lines = ["| | labels | by hand | here | seconds by hand, all of the study |", "|---" * 5 + "|"]
    same = {"probe": "linear-probe", "ridge": "raw", "source": "source-boosting"}
    for (study, arm, n), group in by_hand.groupby(["study", "arm", "n_target"]):
        own = runs[(runs["study"] == study) & (runs["method"] == same[arm]) & (runs["n_target"] == n)]["score"]
        means = f"{100 * group['score'].mean():.1f} | {100 * own.mean():.1f}"
        lines.append(f"| {study}, {same[arm]} | {n} | {means} | {group['seconds'].iloc[0]:.0f} |")
    return lines


def by_recipes(runs: pd.DataFrame, again: pd.DataFrame) -> list[str]:
    """Rows of Markdown: arms that were run again by recipes, beside the same labels and seeds of before."""
    lines = ["| | labels | method | before | by recipes | difference |", "|---" * 6 + "|"]
    both = again.merge(runs, on=["study", "n_target", "method", "seed"], suffixes=("", "_before"))
    for (study, n, method), group in both.groupby(["study", "n_target", "method"]):
        now, before = 100 * group["score"], 100 * group["score_before"]
        if (now - before).abs().max() > 1e-3:  # others, as boosting, have no recipe
            levels = f"{before.mean():.1f} ± {before.std():.1f} | {now.mean():.1f} ± {now.std():.1f}"
            lines.append(f"| {study} | {n} | {method} | {levels} | {interval(now - before)} |")
    return lines


GROUPS = (
    ["cifar10", "svhn", "fashion-mnist", "usps", "mnist", "photos"],
    ["banking", "mrpc", "rte", "cola"],
    ["taxi", "diamonds", "computers"],
)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        frame = pd.concat([runs_of(store) for folder in sys.argv[1:-1] for store in Path(folder).glob("real-*.sqlite")])
        frame = frame.sort_values(["study", "method", "n_target", "seed"]).round({"score": 5, "seconds": 2})
        frame[["study", "method", "n_target", "seed", "score", "seconds"]].to_csv(sys.argv[-1], index=False)
    else:
        frame = pd.read_csv(sys.argv[1])
        by_hand = pd.read_csv(Path(sys.argv[1]).with_name("real-by-hand.csv"))
        tables = [table_of(frame, group) for group in GROUPS]
        again = pd.read_csv(Path(sys.argv[1]).with_name("real-recipes.csv"))
        tables += [trained_further(frame, GROUPS[0] + GROUPS[1]), beside_by_hand(frame, by_hand)]
        tables.append(by_recipes(frame, again))
        print("\n\n".join(map("\n".join, tables)))
