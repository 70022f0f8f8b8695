"""What somebody else's runs say: read, decided and shown as the runs of a study are."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pandas as pd

from transferscope.analyses.compare.summary import summarise_frames
from transferscope.analyses.results.frames import frames_of
from transferscope.analyses.results.readers import reader_of
from transferscope.analyses.results.result import ResultsComparison
from transferscope.analyses.results.runs import RunColumns, read_runs


def compare_results(
    results: pd.DataFrame | str | Path,
    *,
    without: Collection[str] | None = None,
    columns: RunColumns | None = None,
    predictions: str | Path | None = None,
    margin: float | None = None,
    name: str | None = None,
) -> ResultsComparison:
    """Say whether transfer helps, and which arm to use, from runs that are there, a row each.

    Args:
        results: A data frame; a CSV, TSV, JSON, JSON lines or parquet file; or a folder of runs (`readers`).
        without: Names of arms, methods or sources that need no source; empty where all have one, None where the table
            has a column of sources that is empty for them.
        columns: Which column holds what; None for the usual names.
        predictions: A folder with the predictions of each run as ARM/SEED.csv, or LABELS/ARM/SEED.csv where there are
            several numbers of labels: what is said then holds for other test examples too.
        margin: Differences of no interest, above 0, in points of percent or in the unit of the score; None for one
            point, or a hundredth.
        name: What the runs are called; None for the name of the file or folder.

    Raises:
        TransferscopeError: A table that cannot be used, or of which something must be said.

    Example:
        >>> rows = [(arm, s, at + 0.01 * s) for arm, at in (("scratch", 0.7), ("tuned", 0.8)) for s in range(3)]
        >>> table = pd.DataFrame(rows, columns=["arm", "seed", "accuracy"])
        >>> compare_results(table, without=["scratch"]).verdict.outcomes
        {0: 'helps'}
    """
    from transferscope.analyses.scaling.measurements import measured_rows  # here: other comparisons need none

    columns = columns or RunColumns()
    place = None if isinstance(results, pd.DataFrame) else Path(results)
    reader = None if place is None else reader_of(place)
    named = [column for column in (columns.seed, columns.arm) if column is not None]
    if place is not None and reader is not None:
        read = reader.read(place)
        table = measured_rows(read.rows, named)
        table = replace(table, notes=(*read.notes, *table.notes))
    else:
        table = measured_rows(results, named)
    runs = read_runs(
        table,
        columns,
        without,
        folder=Path() if place is None else place if place.is_dir() else place.parent,
        predictions=None if predictions is None else Path(predictions),
    )
    called = name or ("results" if place is None else place.resolve().stem)
    summary = summarise_frames(frames_of(runs, called, margin=margin))
    where = Path(called) if place is None else place
    return ResultsComparison(summary, str(where), where, runs)
