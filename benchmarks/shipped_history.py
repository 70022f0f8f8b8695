"""Make the table of finished runs that comes with the package.

    python -m benchmarks.shipped_history --stores FOLDER --tables FOLDER

stores: SQLite files of finished studies, whose names say what they are: `race.sqlite` of `race_recorded run` (0.3),
`demo.sqlite` of `transferscope demo`, `labels.sqlite` of docs/results/plan.md, `imagenet*.sqlite` of
docs/results/imagenet.md and `mnist-to-*16.sqlite` of docs/results/tuning.md. Only scores are taken, means over seeds.
tables: `llm_finetuning_*.csv`, `torchgeo_bench.csv`, `clip_linear_probes.json`; docs/history.md names their licences.

No setting of a published table is chosen by its test scores: rates and ways to scale the input are averaged over.
The same input gives the same bytes.
"""

import argparse
import json
from pathlib import Path

import pandas as pd

from transferscope.analyses.history.records import COLUMNS, SHIPPED, study_rows
from transferscope.store import Store
from transferscope.study.frames import read_study

STUDIES = {
    "race": ("recorded races", "{target} (16 px grey, mlp)"),
    "demo": ("demo", "{target} (LeNet)"),
    "labels": ("plan of labels", "{target} (LeNet, 300 steps)"),
    "imagenet": ("ImageNet networks", "{target} (64 px)"),
    "imagenet-usps": ("ImageNet networks", "{target} (64 px)"),
    "imagenet-fashion-mnist": ("ImageNet networks", "{target} (64 px)"),
    "mnist-to-svhn16": ("choosing settings", "{target} (small LeNet)"),
    "mnist-to-cifar16": ("choosing settings", "{target} (small LeNet)"),
}
TARGETS = {"svhn_1083": "svhn", "cifar10_18k": "cifar10", "svhn16": "svhn", "cifar16": "cifar10"}


def of_studies(folder: Path) -> pd.DataFrame:
    """Rows of every store whose name is known."""
    found = []
    for path in sorted(folder.glob("*.sqlite")):
        if path.stem not in STUDIES:
            continue
        origin, task = STUDIES[path.stem]
        with Store.open(str(path), create=False) as store:
            for row in store.studies():
                if not store.counts(row.name).done or "full-rate" in row.name or row.name.endswith("-tuned"):
                    continue
                rows = study_rows(read_study(store, row.name))
                named = str(rows["task"].iloc[0])
                found.append(rows.assign(task=task.format(target=TARGETS.get(named, named)), origin=origin))
    return pd.concat(found, ignore_index=True).drop_duplicates(["task", "arm", "labels"])


def of_language_models(folder: Path) -> pd.DataFrame:
    """Test losses of language models fine-tuned on three tasks, by number of examples."""
    found = []
    for task in ("flan", "gigaword", "wmt19"):
        table = pd.read_csv(folder / f"llm_finetuning_{task}.csv")
        sizes = [column for column in table if column.isdigit() and column != "0"]
        long = table.melt(id_vars="config name", value_vars=sizes, var_name="labels", value_name="score")
        found.append(long.rename(columns={"config name": "arm"}).assign(task=task))
    return pd.concat(found).assign(measure="test loss", better="lower", origin="Fine-tuning-Scaling-Law")


def of_remote_sensing(folder: Path) -> pd.DataFrame:
    """Accuracy of linear probes on remote sensing networks, means over ways to scale and to choose bands."""
    table = pd.read_csv(folder / "torchgeo_bench.csv", low_memory=False)
    table = table[(table["method"] == "linear") & (table["metric_name"] == "accuracy")]
    mean = table.groupby(["dataset", "name", "metric_name"])["metric_value"].mean().reset_index()
    mean = mean.rename(columns={"dataset": "task", "name": "arm", "metric_name": "measure", "metric_value": "score"})
    return mean.assign(labels=float("nan"), better="higher", origin="torchgeo-bench")


def of_clip(folder: Path) -> pd.DataFrame:
    """Linear probes of CLIP networks, means over learning rates; all examples, 25 or 10 of each class."""
    table = pd.DataFrame(json.loads((folder / "clip_linear_probes.json").read_text(encoding="utf-8")))
    parts = table["k"].map({-1: "", 10: ", 10 of each class", 25: ", 25 of each class"})
    table = table.assign(task=table["dataset"] + parts, arm=table["model"] + " " + table["pretrained"])
    mean = table.groupby(["task", "arm"])["lp_acc1"].mean().reset_index(name="score")
    return mean.assign(labels=float("nan"), measure="accuracy", better="higher", origin="CLIP_benchmark")


def main() -> None:
    """Read everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", type=Path, required=True)
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=SHIPPED)
    asked = parser.parse_args()
    parts = [
        of_studies(asked.stores),
        *(make(asked.tables) for make in (of_language_models, of_remote_sensing, of_clip)),
    ]
    table = pd.concat([part[list(COLUMNS)] for part in parts], ignore_index=True)
    table["labels"] = table["labels"].astype(float)
    table["score"] = table["score"].astype(float).round(5)
    table.to_csv(asked.out, index=False, compression={"method": "gzip", "mtime": 0, "compresslevel": 9})
    print(table.groupby("origin").agg(tasks=("task", "nunique"), arms=("arm", "nunique"), scores=("score", "size")))
    print(f"{asked.out}: {asked.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
