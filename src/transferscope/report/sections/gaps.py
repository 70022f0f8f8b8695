"""What is missing: cells not done yet, and failures in full."""

import pandas as pd

from transferscope.report.blocks import Block, Cell, Column, Folded, Listing, Section, Table, Text
from transferscope.report.frames import LABELS
from transferscope.report.results import Summary
from transferscope.wording import candidate_words, capitalised, counted

_MOST_ROWS = 100
_STATE_WORDS = {"blocked": "waits for a cell that failed"}


def gaps_section(summary: Summary) -> Section | None:
    """Missing cells and failures; None for a complete study."""
    cells = summary.frames.cells
    failed = cells[cells["state"] == "failed"]
    missing = cells[~cells["state"].isin(["done", "failed"])]
    if failed.empty and missing.empty:
        return None
    blocks = [*_missing(missing), *_failures(failed)]
    return Section("Missing and failed", "gaps", tuple(blocks), _files(failed))


def _files(failed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    columns = ["role", *LABELS, "failure_kind", "failure_message", "failure_details"]
    return {} if failed.empty else {"failures": failed[columns]}


def _missing(missing: pd.DataFrame) -> list[Block]:
    if missing.empty:
        return []
    kinds = ["role", "source", "method", "diagnostic", "n_target", "state"]
    counts = missing.groupby(kinds, sort=False).size().reset_index(name="n")
    rows = tuple(
        (
            Cell(_what(row)),
            Cell(f"{row['n_target']:,}" if row["n_target"] else "–"),
            Cell(_STATE_WORDS.get(str(row["state"]), str(row["state"]))),
            Cell(str(row["n"])),
        )
        for _, row in counts.head(_MOST_ROWS).iterrows()
    )
    columns = (Column("Cell", numeric=False), Column("Labels"), Column("State", numeric=False), Column("Cells"))
    return [
        Text(f"{counted(len(missing), 'cell')} not done yet; run the study again and only these are done."),
        Table(columns, rows),
    ]


def _failures(failed: pd.DataFrame) -> list[Block]:
    if failed.empty:
        return []
    blocks: list[Block] = [
        Text(f"{counted(len(failed), 'cell')} failed; `transferscope run STUDY.toml --retry-failed` does them again.")
    ]
    for _, row in failed.head(_MOST_ROWS).iterrows():
        blocks.extend(_failure(row))
    if len(failed) > _MOST_ROWS:
        blocks.append(Text(f"The other {len(failed) - _MOST_ROWS:,} failures are in the file failures.csv."))
    return blocks


def _failure(row: pd.Series) -> list[Block]:
    where = f"{row['n_target']:,} labels, seed {row['seed']}" if row["n_target"] else f"seed {row['seed']}"
    kind = str(row["failure_kind"]).replace("_", " ")
    said = Text(f"{_what(row)}, {where} ({kind}): {row['failure_message']}", "warning")
    details = str(row["failure_details"])
    return [said, Folded("Traceback", (Listing(details),))] if details else [said]


def _what(row: pd.Series) -> str:
    network = candidate_words(row["method"] or row["role"], row["source"] or None)
    return capitalised(f"{row['diagnostic']} of {network}" if row["diagnostic"] else network)
