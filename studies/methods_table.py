"""The tables of docs/results/methods.md, and every run behind them, from a finished study.

    python studies/methods_table.py runs/methods-cifar-classes.sqlite --runs docs/results/runs

prints a table in Markdown: a row for each method, the best mean of the fewest labels first. --runs writes all runs as
FOLDER/STUDY.csv: method, source, n_target, seed, accuracy, source_before and source_after (accuracy on the source),
seconds, and the settings that were chosen.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.store import Store
from transferscope.wording import counted


def signed(value: float) -> str:
    """A difference in points with one digit: "+1.5"."""
    return f"{100 * value:+.1f}".replace("-", "−")


def cells(c: Comparison) -> list[str]:
    """Mean ± standard deviation, and the difference to training from scratch with its 95 % t-interval over seeds."""
    score = f"{100 * c.score.value:.1f} ± {100 * c.score.sd:.1f}"
    if c.over_scratch is None or c.over_scratch.interval is None:
        return [score, ""]
    ends = ", ".join(signed(end) for end in (c.over_scratch.interval.low, c.over_scratch.interval.high))
    return [score, f"{signed(c.over_scratch.value)} ({ends})"]


def lines(summary: Summary) -> Iterator[str]:
    """The table."""
    sizes = summary.frames.sizes
    found = {(c.source or "", c.method, c.n_target): c for c in summary.comparisons}
    forgets = any(c.forgetting is not None for c in summary.comparisons)
    labels = [text for size in sizes for text in (counted(size, "label"), "over scratch")]
    columns = ["method", *labels, *([f"source forgotten, {counted(sizes[-1], 'label')}"] if forgets else [])]
    yield f"| {' | '.join(columns)} |"
    yield f"|---|{'---:|---|' * len(sizes)}{'---|' if forgets else ''}"
    arms = [arm for arm in summary.frames.arms if all((*arm, size) in found for size in sizes)]
    for arm in sorted(arms, key=lambda arm: -found[(*arm, sizes[0])].score.value):
        of_sizes = [found[(*arm, size)] for size in sizes]
        is_control = not (of_sizes[0].facts.with_source or of_sizes[0].is_baseline)
        row = [summary.frames.name_of(*arm) + (" (control)" if is_control else "")]
        row += [text for c in of_sizes for text in cells(c)]
        if forgets:
            last = of_sizes[-1].forgetting
            row.append("" if last is None else f"{100 * last.value:.1f}".replace("-", "−"))
        yield f"| {' | '.join(row)} |"


def runs(summary: Summary) -> pd.DataFrame:
    """One row for each finished run."""
    frames, keys = summary.frames, ["method", "source", "n_target", "seed"]
    final = frames.records[frames.records["step"].isna() & (frames.records["name"] == frames.metric.record)]
    parts = {part: rows.set_index("key")["value"] for part, rows in final.groupby("part")}
    done = frames.method_cells[frames.method_cells["state"] == "done"]
    table = done[keys].assign(
        accuracy=done["key"].map(parts["target_test"]),
        source_before=done["pretrained"].map(parts.get("source_test", {})),
        source_after=done["key"].map(parts.get("source_test", {})),
        seconds=done["seconds"].round(1),
        chosen=[json.dumps(note.get("chosen", {}), sort_keys=True) for note in done["tuning"]],
    )
    return table.sort_values(keys, ignore_index=True)


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--study", help="which, where the store holds several")
    parser.add_argument("--runs", type=Path, help="folder for a CSV of all runs")
    given = parser.parse_args()
    with Store.open(str(given.store), create=False) as store:
        summary = summarise(store, given.study or store.studies()[0].name)
    print("\n".join(lines(summary)))
    print(f"\n{summary.verdict.headline}")
    if given.runs is not None:
        given.runs.mkdir(parents=True, exist_ok=True)
        runs(summary).to_csv(given.runs / f"{summary.frames.study.name}.csv", index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
