"""What the store holds of a study, as tables that figures and statistics read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from transferscope.analyses.compare.metric import ACCURACY, METRICS, Metric
from transferscope.records import FinishedRuns
from transferscope.store import Store, StoredCell, StudyRow

LABELS = ["source", "method", "n_target", "n_source", "seed", "pretrain_step", "diagnostic"]
RECORD_COLUMNS = ["key", "name", "part", "step", "value", "stderr", "status"]

CONTROLS = frozenset({"raw", "random-features", "knn", "do-nothing"})
"""transferscope's methods that are no transfer but controls, beside training from scratch."""


@dataclass(frozen=True)
class StudyFrames:
    """A study, read once.

    Attributes:
        study: Its row: name, study file, facts.
        cells: One row per cell: key, role ("checkpoint" for a method that starts from an earlier step of pre-training),
            state, source ("" for none), method, n_target, n_source, seed, pretrain_step (NaN for the end of
            pre-training), diagnostic (its table in the study file, "" for none), headline ("" unless
            it is finished), title and limits (the words of a diagnostic from outside), left_out (names of weights that
            it could not read), note (what an earlier version said of them), last_step (the training step of its end;
            NaN for none), stopped_early (whether early stopping ended its training), tuning (what the run noted of its
            search for settings; empty without one), pretrained (key of the pre-training it starts from, "" for none),
            seconds, peak_memory,
            trained_parameters, examples_seen, failure_kind, failure_message, failure_details ("" unless failed).
        records: One row per record: RECORD_COLUMNS (step is NaN for final values) and the columns role and LABELS of
            its cell.
        predictions: Predictions on the target test set by cell key, shape (N,) or (N, n_outputs).
        test_labels: Labels of the target test set, shape (N,) or (N, n_outputs); None when the study keeps none.
        documents: What other analyses keep with the study, by name, each with a reader of its own.
    """

    study: StudyRow
    cells: pd.DataFrame
    records: pd.DataFrame
    predictions: Mapping[str, np.ndarray]
    test_labels: np.ndarray | None
    documents: Mapping[str, Mapping[str, Any]]

    @cached_property
    def metric(self) -> Metric:
        """What the study is judged by."""
        of_target = self.records["part"].astype(str).str.startswith("target")  # a source can be of another kind
        measured = set(self.records.loc[of_target, "name"])
        return next((metric for metric in METRICS if metric.record in measured), ACCURACY)

    @cached_property
    def method_cells(self) -> pd.DataFrame:
        """The rows of `cells` that compare methods."""
        return self.cells.loc[self.cells["role"] == "method"]

    @cached_property
    def methods(self) -> list[str]:
        """Methods in the order of the study file, the baseline first."""
        return _baseline_first(list(dict.fromkeys(self.method_cells["method"])), self.baseline)

    @cached_property
    def sources(self) -> list[str]:
        """Sources in the order of the study file."""
        return [source for source in dict.fromkeys(self.method_cells["source"]) if source]

    @cached_property
    def sizes(self) -> list[int]:
        """Numbers of target labels, ascending."""
        return sorted(self.method_cells["n_target"].unique().tolist())

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds of the study, ascending."""
        return sorted(self.method_cells["seed"].unique().tolist())

    @cached_property
    def finished_runs(self) -> FinishedRuns:
        """The cells of methods that are done, those from earlier steps of pre-training included."""
        trained = self.cells["role"].isin(["method", "checkpoint"]) & (self.cells["state"] == "done")
        return FinishedRuns.of(self.cells.loc[trained, "key"])

    @cached_property
    def baseline(self) -> str | None:
        """The name under which the study trains from scratch; None when it does not."""
        tables = self.study.spec.get("methods", {})
        for name in dict.fromkeys(self.method_cells["method"]):
            table = tables.get(name, {}) if isinstance(tables, Mapping) else {}
            if table.get("name", table.get("method", name)) == "scratch":  # as a store says it, or a study file
                return str(name)
        return None

    @cached_property
    def controls(self) -> frozenset[str]:
        """The names under which the study has methods that are controls."""
        return controls_of(self.study).intersection(self.methods)

    @property
    def classes(self) -> list[str] | None:
        """Names of the target's classes or labels of whole inputs; None for others, or when the facts do not say."""
        target = self.study.facts.get("target", {})
        of_whole = isinstance(target, Mapping) and target.get("kind") != "segmentation"
        names = target.get("classes") if isinstance(target, Mapping) and of_whole else None
        return None if names is None else [str(name) for name in names]

    def final(self, name: str, part: str = "target_test") -> pd.DataFrame:
        """Final values of one record: columns of `records`, one row per cell."""
        found = self._final_values.get((name, part))
        return self.records.iloc[:0] if found is None else found

    @cached_property
    def _final_values(self) -> dict[tuple[str, str], pd.DataFrame]:
        """What `final` finds, by name and part."""
        known = self.records[self.records["step"].isna() & self.records["value"].notna()]
        return {(str(name), str(part)): rows for (name, part), rows in known.groupby(["name", "part"], sort=False)}

    def curves(self, name: str, part: str = "target_test") -> pd.DataFrame:
        """Training curves of one record over the method cells."""
        return self.records.query(
            "name == @name and part == @part and step.notna() and value.notna() and role == 'method'"
        )


def controls_of(study: StudyRow) -> frozenset[str]:
    """The names under which a study has controls: what derives from `methods.Control`, as it was planned, and CONTROLS
    in studies of earlier versions.
    """
    tables, noted = study.spec.get("methods", {}), study.facts.get("controls", ())
    named = tables if isinstance(tables, Mapping) else {}
    kinds = {name: table.get("name", name) for name, table in named.items() if isinstance(table, Mapping)}
    return frozenset(map(str, noted)) | {str(name) for name, kind in kinds.items() if kind in CONTROLS}


def read_study(store: Store, name: str) -> StudyFrames:
    """Everything the store holds of one study.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The store cannot be read.
    """
    cells = cells_frame(store.cells(name))
    return StudyFrames(
        study=store.study(name),
        cells=cells,
        records=records_frame(pd.DataFrame(store.records(name).columns()), cells),
        predictions=store.arrays(name, "predictions"),
        test_labels=store.study_array(name, "target_test_labels"),
        documents=store.study_documents(name),
    )


def cells_frame(cells: Iterable[StoredCell]) -> pd.DataFrame:
    """One row per cell, as `StudyFrames.cells` describes."""
    stored = list(cells)
    roles = {cell.cell.key: cell.cell.role for cell in stored}
    several = _sources_with_several_sizes(stored)
    return pd.DataFrame([_cell_row(cell, roles, several) for cell in stored], columns=list(_CELL_COLUMNS))


def records_frame(records: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """The records of a study with the labels of their cells.

    Args:
        records: RECORD_COLUMNS, `step` missing for final values.
        cells: From `cells_frame`.

    Returns:
        One row per record of a known cell; values that are not finite are NaN.
    """
    frame = records[RECORD_COLUMNS].astype({"key": str, "step": float, "value": float, "stderr": float})
    frame["value"] = frame["value"].where(np.isfinite(frame["value"]))
    labelled = cells[["key", "role", *LABELS]].astype({"key": str})  # without any cell its type would be another
    return frame.merge(labelled, on="key", how="inner")


_TUNING_NOTES = ("chosen", "trials", "tuning_cost", "labels_needed", "diverged")

_CELL_COLUMNS = (
    "key",
    "role",
    "state",
    "source",
    "method",
    "n_target",
    "n_source",
    "seed",
    "pretrain_step",
    "diagnostic",
    "headline",
    "title",
    "note",
    "left_out",
    "limits",
    "last_step",
    "inner_risk",
    "stopped_early",
    "tuning",
    "pretrained",
    "seconds",
    "peak_memory",
    "trained_parameters",
    "examples_seen",
    "failure_kind",
    "failure_message",
    "failure_details",
)


def _cell_row(stored: StoredCell, roles: Mapping[str, str], several: frozenset[str]) -> dict[str, object]:
    cell, cost, failure = stored.cell, stored.cost, stored.failure
    pretrained = [key for key in cell.needs if roles.get(key) == "pretrain"]
    return {
        "key": cell.key,
        "role": "checkpoint" if cell.role == "method" and "pretrain_step" in cell.labels else cell.role,
        "state": stored.state,
        "source": _source_name(cell.labels, several),
        "method": str(cell.labels.get("method") or ""),
        "n_target": int(cell.labels.get("n_target") or 0),
        "n_source": int(cell.labels.get("n_source") or 0),
        "seed": int(cell.labels.get("seed") or 0),
        "pretrain_step": float(cell.labels.get("pretrain_step") or np.nan),
        "diagnostic": str(cell.labels.get("diagnostic") or ""),
        **{name: str(stored.notes.get(name) or "") for name in ("headline", "title", "note", "limits")},
        "left_out": tuple(map(str, stored.notes.get("left_out") or ())),
        "last_step": float(stored.notes.get("last_step") or np.nan),
        "inner_risk": float(stored.notes.get("inner_risk") or np.nan),
        "stopped_early": stored.notes.get("status") == "converged" and "best_step" in stored.notes,
        "tuning": {name: stored.notes[name] for name in _TUNING_NOTES if name in stored.notes},
        "pretrained": pretrained[0] if pretrained else "",
        "seconds": cost.seconds if cost else np.nan,
        "peak_memory": cost.peak_memory if cost else np.nan,
        "trained_parameters": cost.trained_parameters if cost else np.nan,
        "examples_seen": cost.examples_seen if cost else np.nan,
        "failure_kind": failure.kind if failure else "",
        "failure_message": failure.message if failure else "",
        "failure_details": failure.details if failure else "",
    }


def _sources_with_several_sizes(cells: Sequence[StoredCell]) -> frozenset[str]:
    sizes: dict[str, set[object]] = {}
    for stored in cells:
        labels = stored.cell.labels
        sizes.setdefault(str(labels.get("source") or ""), set()).add(labels.get("n_source"))
    return frozenset(source for source, seen in sizes.items() if len(seen - {None}) > 1)


def _source_name(labels: Mapping[str, object], several: frozenset[str]) -> str:
    source = str(labels.get("source") or "")
    if source in several and labels.get("n_source"):
        return f"{source} ({labels['n_source']:,} examples)"
    return source


def _baseline_first(methods: list[str], baseline: str | None) -> list[str]:
    return sorted(methods, key=lambda method: method != baseline)
