"""How much pre-training, and more data or other data: from a table of errors, or a study, to a verdict."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pandas as pd

from transferscope.analyses.result import AnalysisResult
from transferscope.errors import DataError
from transferscope.report.blocks import Section, Table
from transferscope.report.page import Verdict
from transferscope.report.scaling_page import curves_table, scaling_sections, surface_table, verdict_of
from transferscope.scaling.analysis import Analysis, analyse
from transferscope.scaling.fit import LawFit
from transferscope.scaling.question import Question
from transferscope.scaling.table import Columns, as_errors, curves, found_columns, read_table
from transferscope.study.places import one_study, open_existing


@dataclass(frozen=True)
class ScalingResult(AnalysisResult):
    """What a table of errors says about more data and other data.

    Attributes:
        analysis: Fits, forecasts, advice, comparisons.
        name: The table or the study.
    """

    kind: ClassVar[str] = "scaling"

    analysis: Analysis
    name: str

    @property
    def title(self) -> str:
        """The table or the study."""
        return self.name

    @property
    def verdict(self) -> Verdict:
        """Whether more of this data reaches the target error, and what to measure next."""
        return verdict_of(self.analysis)

    def table(self) -> pd.DataFrame:
        """The parameters of every fit.

        Returns:
            One row per curve or group over (n, s), law and parameter: curve, law, parameter, value (NaN where the data
            do not determine it), stderr, low and high (the 95 % set; NaN where it is open), status.
        """
        fits = [(curve.name, curve.fit) for curve in self.analysis.curves]
        fits += [(one.name, fit) for one in self.analysis.surfaces for fit in one.surface.fits.values()]
        columns = ["curve", "law", "parameter", "value", "stderr", "low", "high", "status"]
        return pd.DataFrame([row for name, fit in fits for row in _parameters(name, fit)], columns=columns)

    def shown_tables(self) -> tuple[Table, ...]:
        """Every curve with its forecast, and the law of each group over (n, s)."""
        analysis = self.analysis
        of_curves = (curves_table(analysis),) if analysis.curves else ()
        return (*of_curves, *(surface_table(one) for one in analysis.surfaces))

    def sections(self) -> list[Section]:
        """Curves, back-test, gaps, surfaces, what the data determine, fit cards."""
        return scaling_sections(self.analysis)


def scaling(
    table: str | Path | pd.DataFrame,
    question: Question | None = None,
    *,
    columns: Columns | None = None,
    study: str | None = None,
) -> ScalingResult:
    """Say how much pre-training it takes, and whether to make more data, other data or label more.

    Args:
        table: Errors at sizes: a data frame, a CSV file, a study file (with several pre-training sizes), or the path
            or URL of a store.
        question: The error that is wanted, costs, a budget; None for forecasts only.
        columns: Which column holds what; None for "error" and "n", or columns of common names. Of a study, only `by`
            is read.
        study: Which study, when a store holds several.

    Returns:
        The analysis.

    Raises:
        TransferscopeError: A table that cannot be used, or a question that does not fit it.

    Example:
        >>> import pandas as pd
        >>> measured = pd.DataFrame({"n": [1000, 2000, 4000, 8000], "error": [0.30, 0.25, 0.21, 0.18]})
        >>> scaling(measured, Question(target_error=0.15)).table()["curve"].unique().tolist()
        ['all rows']
    """
    asked, columns = question or Question(), columns or Columns()
    notes: tuple[str, ...] = ()
    if isinstance(table, pd.DataFrame) or _is_table(str(table)):
        name, frame = (
            ("table", table) if isinstance(table, pd.DataFrame) else (Path(table).stem, read_table(Path(table)))
        )
        columns, found = found_columns(frame, columns)
        frame, target, converted = as_errors(frame, columns, asked.target_error)
        groups, asked = curves(frame, columns), replace(asked, target_error=target)
        notes = (*found, *converted)
    else:
        frame, name = _study_frame(str(table), study)
        groups = curves(frame, _study_columns(frame, columns))
    analysis = analyse(groups, asked)
    return ScalingResult(replace(analysis, notes=(*notes, *analysis.notes)), name)


def _parameters(name: str, fit: LawFit) -> list[dict[str, object]]:
    rows = []
    for parameter, estimate in fit.estimates.items():
        profile = fit.profiles.get(parameter)
        low = high = math.nan
        if profile is not None and profile.found:  # an end that is open is the edge of the search and says nothing
            low = math.nan if profile.open_below else profile.low
            high = math.nan if profile.open_above else profile.high
        stderr = math.nan if estimate.stderr is None else estimate.stderr
        rows.append(
            {
                "curve": name,
                "law": fit.law.name,
                "parameter": parameter,
                "value": estimate.value,
                "stderr": stderr,
                "low": low,
                "high": high,
                "status": estimate.status,
            }
        )
    return rows


def _study_columns(frame: pd.DataFrame, columns: Columns) -> Columns:
    finetune = "s" if frame["s"].nunique() > 1 else None
    by = columns.by or ("source", "method")
    return replace(Columns(), finetune_size=finetune, by=by, repeats=True)


def _is_table(place: str) -> bool:
    return "://" not in place and not place.endswith((".toml", ".sqlite", ".db"))


def _study_frame(place: str, study: str | None) -> tuple[pd.DataFrame, str]:
    """Final target errors of a study by source, method, n (0: no source), s and seed, and the name of the study.

    Networks taken at earlier steps of the pre-training are left out: they are no repeats of the last one.
    """
    with open_existing(place) as store:
        name = one_study(store, place, study)
        labels = {
            stored.cell.key: stored.cell.labels
            for stored in store.cells(name)
            if stored.cell.role == "method" and stored.cell.labels.get("pretrain_step") is None
        }
        records = pd.DataFrame(store.records(name).columns())
    final = records[records["step"].isna() & (records["part"] == "target_test") & records["key"].isin(labels)]
    errors = [
        {
            "source": labels[key]["source"],
            "method": labels[key]["method"],
            "n": labels[key]["n_source"],
            "s": labels[key]["n_target"],
            "error": 1 - value if record == "accuracy" else value,
        }
        for key, record, value in zip(final["key"], final["name"], final["value"], strict=True)
        if record in ("accuracy", "mse") and labels[key].get("n_source") is not None
    ]
    frame = pd.DataFrame(errors, columns=["source", "method", "n", "s", "error"])
    n_sizes = frame.loc[frame["n"] > 0, "n"].nunique()
    if n_sizes < 2:
        raise DataError(
            f"the study {name} has target errors at {n_sizes} pre-training size(s), and a scaling law "
            "takes several; give sizes = [1000, 2000, 4000, 8000] under [pretraining] in its file and run it again"
        )
    return _from_nothing_for_all(frame), name


def _from_nothing_for_all(frame: pd.DataFrame) -> pd.DataFrame:
    """Errors of training from scratch as n = 0 of every source and method."""
    pretrained, scratch = frame[frame["n"] > 0], frame[frame["n"] == 0]
    pairs = pretrained[["source", "method"]].drop_duplicates()
    return pd.concat([pretrained, scratch.drop(columns=["source", "method"]).merge(pairs, how="cross")])
