"""What is missing: cells not done yet, and failures in full."""

import pandas as pd

from transferscope.report.blocks import Block, Cell, Column, Folded, Listing, Section, Table, Text
from transferscope.report.results import Summary
from transferscope.report.wording import candidate_words, capitalised, counted

_MOST_ROWS = 200
_STATE_WORDS = {"blocked": "waits for a cell that failed"}


def gaps_section(summary: Summary) -> Section | None:
    """Missing cells and failures; None for a complete study."""
    cells = summary.frames.cells
    failed = cells[cells["state"] == "failed"]
    missing = cells[~cells["state"].isin(["done", "failed"])]
    if failed.empty and missing.empty:
        return None
    blocks = [*_missing(missing), *_failures(failed)]
    return Section("Missing and failed", "gaps", tuple(blocks))


def _missing(missing: pd.DataFrame) -> list[Block]:
    if missing.empty:
        return []
    counts = missing.groupby(["role", "source", "method", "n_target", "state"], sort=False).size().reset_index(name="n")
    rows = tuple(
        (
            Cell(_what(row)),
            Cell(f"{row['n_target']:,}" if row["n_target"] else "–"),
            Cell(_STATE_WORDS.get(str(row["state"]), str(row["state"]))),
            Cell(str(row["n"])),
        )
        for _, row in counts.head(_MOST_ROWS).iterrows()
    )
    columns = (Column("Cell", numeric=False), Column("Labels"), Column("State", numeric=False), Column("Seeds"))
    return [
        Text(f"{counted(len(missing), 'cell')} not done yet; run the study again and only these are done."),
        Table(columns, rows),
    ]


def _failures(failed: pd.DataFrame) -> list[Block]:
    if failed.empty:
        return []
    blocks: list[Block] = [
        Text(f"{counted(len(failed), 'cell')} failed. `transferscope run STUDY.toml --retry-failed` tries them again.")
    ]
    blocks.extend(_failure(row) for _, row in failed.iterrows())
    return blocks


def _failure(row: pd.Series) -> Folded:
    where = f"{row['n_target']:,} labels, seed {row['seed']}" if row["n_target"] else f"seed {row['seed']}"
    kind = str(row["failure_kind"]).replace("_", " ")
    details = (Listing(str(row["failure_details"])),) if row["failure_details"] else ()
    return Folded(f"{_what(row)}, {where}: {kind}", (Text(str(row["failure_message"])), *details))


def _what(row: pd.Series) -> str:
    return capitalised(candidate_words(row["method"] or row["role"], row["source"] or None))
