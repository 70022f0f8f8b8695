"""A stored study as tables, for figures and statistics."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from transferscope.data.task import UNLABELLED
from transferscope.numerics.class_measures import class_measure
from transferscope.records import FinishedRuns, Meaning
from transferscope.store import RecordColumns, Store, StoredCell, StudyRow
from transferscope.study.measure import ACCURACY, METRICS, Measure
from transferscope.study.places import metric_of
from transferscope.study.tables import settings_of
from transferscope.wording import Called, candidate_words, capitalised, method_words

LABELS = ["source", "method", "n_target", "n_source", "seed", "pretrain_step", "diagnostic"]
RECORD_COLUMNS = ["key", "name", "part", "step", "value", "stderr", "status"]


@dataclass(frozen=True, eq=False)  # distinguished by identity, by which what is derived from it is kept
class StudyFrames:
    """The tables of a study.

    Attributes:
        study: Its row: name, study file, facts.
        cells: One row per cell: key, role ("method" for a command too; "checkpoint" for a method that starts from an
            earlier step of pretraining), state, source ("" for none), origin (the source without the sizes that
            distinguish several), method, n_target, n_source, seed, pretrain_step (NaN for the end of pretraining),
            diagnostic (its table in the study file, "" for none), headline ("" unless it is finished), meaning (the
            words of a diagnostic; None for others), left_out (names of weights that it could not read), last_step (the
            training step of its end; NaN for none), stopped_early (whether early stopping ended its training),
            best_step (the step whose weights early stopping kept; NaN without), tuning (what the run noted of its
            search for settings; empty without one), pretrained (key of the pretraining it starts from, "" for none),
            seconds, peak_memory, trained_parameters, examples_seen, failure_kind, failure_message, failure_details (""
            unless failed).
        records: One row per record: RECORD_COLUMNS (step is NaN for final values) and the columns role and LABELS of
            its cell.
        predictions: Predictions on the target test set by cell key, shape (N,) or (N, n_outputs).
        test_labels: Labels of the target test set, shape (N,) or (N, n_outputs); None when the study keeps none.
        documents: Documents of other analyses kept with the study, by name.
        test_groups: Group number of each test example, shape (N,); None without groups.
    """

    study: StudyRow
    cells: pd.DataFrame
    records: pd.DataFrame
    predictions: Mapping[str, np.ndarray]
    test_labels: np.ndarray | None
    documents: Mapping[str, Mapping[str, Any]]
    test_groups: np.ndarray | None = None

    @cached_property
    def metric(self) -> Measure:
        """The metric of the study."""
        if (named := Measure.from_facts(self.study.facts)) is not None:
            return named
        kinds = self.records[["part", "name"]].drop_duplicates().astype(str)
        measured = set(kinds.loc[kinds["part"].str.startswith("target"), "name"])  # a source can be of another kind
        return next((metric for metric in METRICS if metric.record in measured), ACCURACY)

    @cached_property
    def method_cells(self) -> pd.DataFrame:
        """The rows of `cells` that compare methods."""
        return _rows_where(self.cells, self.cells["role"] == "method")

    @cached_property
    def methods(self) -> list[str]:
        """The methods in the order of the study file, the baseline first."""
        return sorted(self.method_cells["method"].unique().tolist(), key=lambda method: method != self.baseline)

    @cached_property
    def sources(self) -> list[str]:
        """The sources in the order of the study file."""
        return [source for source in self.method_cells["source"].unique().tolist() if source]

    @cached_property
    def sizes(self) -> list[int]:
        """The numbers of target labels, ascending."""
        return sorted(self.method_cells["n_target"].unique().tolist())

    @cached_property
    def planned_arms(self) -> frozenset[tuple[int, str, str]]:
        """Numbers of labels with the method and source ("" for none) of every arm that is planned at them."""
        arms = self.method_cells[["n_target", "method", "source"]].drop_duplicates()
        return frozenset(arms.itertuples(index=False, name=None))

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the study, ascending."""
        return sorted(self.method_cells["seed"].unique().tolist())

    @cached_property
    def n_seeds(self) -> int:
        """The most seeds of an arm at one number of labels: fewer than there are where arms share none."""
        of_arms = self.method_cells.groupby(["method", "source", "n_target"], dropna=False)
        return int(of_arms["seed"].nunique().max())

    @cached_property
    def finished_runs(self) -> FinishedRuns:
        """The finished method cells, including those from earlier pretraining checkpoints."""
        trained = self.cells["role"].isin(["method", "checkpoint"]) & (self.cells["state"] == "done")
        return FinishedRuns.of(self.cells.loc[trained, "key"])

    @cached_property
    def baseline(self) -> str | None:
        """The name of training from scratch in the study; None if it is not part of it."""
        tables = self.study.spec.get("methods", {})
        for name in self.method_cells["method"].unique().tolist():
            table = tables.get(name)
            if table is not None and table.get("name", table.get("method", name)) == "scratch":  # in a store, or a file
                return str(name)
        return None

    @cached_property
    def controls(self) -> frozenset[str]:
        """The names of methods of the study that derive from `methods.Control`, as planned."""
        return frozenset(self.study.facts.get("controls", ())).intersection(self.methods)

    @cached_property
    def source_unnamed(self) -> frozenset[str]:
        """The methods whose source has no known name, as in a table of results."""
        return frozenset(map(str, self.study.facts.get("source_unnamed", ())))

    @cached_property
    def called(self) -> Called:
        """The display names of methods, as stored with the plan."""
        return called_in(self.study.facts)

    @property
    def is_of_others(self) -> bool:
        """Whether the runs come from another tool, without a study file (`analyses.results`)."""
        return bool(self.study.facts.get("of_others"))

    @property
    def classes(self) -> list[str] | None:
        """The names of the target's classes or labels of whole inputs; None for others, or if the facts have none."""
        target = self.study.facts.get("target", {})
        of_whole = isinstance(target, Mapping) and target.get("kind") != "segmentation"
        names = target.get("classes") if isinstance(target, Mapping) and of_whole else None
        return None if names is None else [str(name) for name in names]

    @cached_property
    def keys(self) -> "pd.Index[Any]":
        """The keys of the cells, to find their rows in `cells`."""
        index: pd.Index[Any] = pd.Index(self.cells["key"])
        return index

    @cached_property
    def pretrained_at(self) -> Int[np.ndarray, " n_cells"]:
        """The row of the pretraining that each cell starts from; -1 for none."""
        return self.keys.get_indexer(pd.Index(self.cells["pretrained"]))

    def final_values(self, name: str, part: str = "target_test") -> Float[np.ndarray, " n_cells"]:
        """Return the final value of one record for each row of `cells`; NaN if it was not measured."""
        if (name, part) not in self._final_by_cell:
            rows, values = self.final(name, part), np.full(len(self.cells), np.nan)
            values[self.keys.get_indexer(pd.Index(rows["key"]))] = rows["value"]
            self._final_by_cell[name, part] = values
        return self._final_by_cell[name, part]

    @cached_property
    def _final_by_cell(self) -> dict[tuple[str, str], np.ndarray]:
        return {}

    def final(self, name: str, part: str = "target_test") -> pd.DataFrame:
        """Return the final values of one record: columns of `records`, one row per cell."""
        rows = self._final_values.get((name, part))
        return self.records.iloc[:0] if rows is None else rows

    @cached_property
    def _final_values(self) -> dict[tuple[str, str], pd.DataFrame]:
        known = _rows_where(self.records, self.records["step"].isna() & self.records["value"].notna())
        return {(str(name), str(part)): rows for (name, part), rows in known.groupby(["name", "part"], sort=False)}

    @property
    def runs(self) -> pd.DataFrame:
        """The finished runs: columns source, method, n_target, seed, value."""
        final = self.final(self.metric.record)
        return final.loc[final["role"] == "method", ["source", "method", "n_target", "seed", "value"]]

    @cached_property
    def arms(self) -> tuple[tuple[str, str], ...]:
        """The source ("" for none) and method of every arm with a run, best first: the order of all tables and figures.

        Sorted by the distance of the mean score to that of all arms with the same number of labels, averaged over
        these.
        """
        scores = self.runs.groupby(["source", "method", "n_target"])["value"].mean()
        ahead = (scores - scores.groupby("n_target").transform("mean")).groupby(["source", "method"]).mean()
        means = (ahead if self.metric.higher_is_better else -ahead).to_dict()
        planned = [(source, method) for source in ["", *self.sources] for method in self.methods]
        return tuple(sorted((arm for arm in planned if arm in means), key=lambda arm: -means[arm]))

    def name_of(self, source: str, method: str) -> str:
        """Return an arm in tables and figures: its method, and the source if the method has several."""
        several = sum(other == method for _, other in self.arms) > 1
        return self.at_start(method, source if several else "")

    def tick_name(self, method: str) -> str:
        """Return the method in axes, legends and tables; a user's name unchanged."""
        return capitalised(method_words(method, self.called)) if method in self.called else method

    def at_start(self, method: str, source: str) -> str:
        """Return an arm at the start of a row or a sentence; a user's name unchanged."""
        return f"{self.tick_name(method)} from {source}" if source else self.tick_name(method)

    def in_prose(self, method: str, source: str) -> str:
        """Return an arm in prose; the source is "" for none."""
        return candidate_words(method, source, self.called)

    def curves(self, name: str, part: str = "target_test") -> pd.DataFrame:
        """Return the training curves of one record over the method cells."""
        return self.records.query(
            "name == @name and part == @part and step.notna() and value.notna() and role == 'method'"
        )


def _rows_where(table: pd.DataFrame, wanted: "pd.Series[bool]") -> pd.DataFrame:
    """Return some rows of a table; the table itself, which may be large, where these are all."""
    return table if wanted.all() else table.loc[wanted]


def called_in(facts: Mapping[str, Any]) -> Called:
    """Return the display names of methods, from the facts of a study; see `methods.called_of`."""
    return {str(name): str(words) for name, words in facts.get("names", {}).items()}


def read_study(store: Store, name: str) -> StudyFrames:
    """Read one study from the store; raises UnknownNameError if missing, StoreError if it is damaged."""
    cells, study = cells_frame(store.cells(name)), store.study(name)
    labels = store.study_array(name, "target_test_labels", fits=partial(are_labels, study.facts))
    predictions = store.arrays(name, "predictions", fits=partial(are_predictions, study.facts, labels))
    groups = None
    if study.facts.get("target_test_groups"):
        shape = None if labels is None else labels.shape[:1]
        groups = store.study_array(
            name, "target_test_groups", fits=lambda own: own.dtype.kind in "iu" and own.shape == shape
        )
    records = _judged_records(store.records(name), study, predictions, labels)
    return StudyFrames(
        study=study,
        cells=cells,
        records=records_frame(pd.DataFrame(records.columns()), cells),
        predictions=predictions,
        test_labels=labels,
        test_groups=groups,
        documents=store.study_documents(name),
    )


def _n_classes(facts: Mapping[str, Any]) -> float:
    classes = facts.get("target", {}).get("classes")
    return math.inf if classes is None else len(classes)


def are_labels(facts: Mapping[str, Any], array: np.ndarray) -> bool:
    """Return whether an array can be the test labels of a study, as in `data.LabelledSet`."""
    if not array.size:
        return False
    if array.dtype.kind == "f":
        return array.ndim in (2, 4) and bool(np.isfinite(array).all())
    if array.dtype.kind == "b":
        return array.ndim == 2 and array.shape[1] <= _n_classes(facts)
    least = {1: 0, 3: UNLABELLED}.get(array.ndim)
    if array.dtype.kind not in "iu" or least is None:
        return False
    return bool(least <= array.min() <= array.max() < _n_classes(facts))


def are_predictions(facts: Mapping[str, Any], labels: np.ndarray | None, array: np.ndarray) -> bool:
    """Return whether an array can be the predictions of a run: a class, or numbers, for each of its test labels.

    Args:
        labels: Labels of the test examples; None if runs leave a number for each test example.
    """
    if labels is None:
        return array.dtype.kind in "iuf" and array.ndim == 1 and len(array) > 0
    if array.shape != labels.shape:
        return False
    if labels.dtype.kind not in "iu":
        return array.dtype.kind == "f"
    return array.dtype.kind in "iu" and bool(0 <= array.min() <= array.max() < _n_classes(facts))


def _judged_records(
    records: RecordColumns, study: StudyRow, predictions: Mapping[str, np.ndarray], labels: np.ndarray | None
) -> RecordColumns:
    """Return the records of a study, with its metric for every run at its end."""
    metric = metric_of(study.spec, study.facts)
    if metric is None or labels is None:
        return records
    judged = [(key, class_measure(metric, own, labels)) for key, own in predictions.items()]
    unknown = float("nan")
    return replace(
        records,
        key=[*records.key, *(key for key, _ in judged)],
        name=[*records.name, *[metric] * len(judged)],
        part=[*records.part, *["target_test"] * len(judged)],
        step=[*records.step, *[None] * len(judged)],
        value=np.append(records.value, [one.value for _, one in judged]),
        stderr=np.append(records.stderr, [unknown if one.stderr is None else one.stderr for _, one in judged]),
        n=np.append(records.n, [one.n for _, one in judged]),
        status=[*records.status, *(one.status for _, one in judged)],
    )


def cells_frame(cells: Iterable[StoredCell]) -> pd.DataFrame:
    """Return one row per cell; see `StudyFrames.cells`."""
    stored = list(cells)
    planned, notes = [one.cell for one in stored], [one.notes for one in stored]
    labels, costs = [cell.labels for cell in planned], [one.cost for one in stored]
    failures = [one.failure for one in stored]
    pretraining = {cell.key for cell in planned if cell.role == "pretrain"}
    sizes = defaultdict[str, set[object]](set)
    for of in labels:
        sizes[str(of.get("source") or "")].add(of.get("n_source"))
    several = {source for source, seen in sizes.items() if len(seen - {None}) > 1}
    origins = _texts(labels, "source")
    columns = {  # column by column, and not a table for each of 100,000 cells
        "key": [cell.key for cell in planned],
        "role": [
            "checkpoint"
            if cell.role == "method" and "pretrain_step" in cell.labels
            else _ROLES.get(cell.role, cell.role)
            for cell in planned
        ],
        "state": [one.state for one in stored],
        "source": [
            f"{origin} ({of['n_source']:,} examples)" if origin in several and of.get("n_source") else origin
            for origin, of in zip(origins, labels, strict=True)
        ],
        "origin": origins,
        "method": _texts(labels, "method"),
        **{name: [int(of.get(name) or 0) for of in labels] for name in ("n_target", "n_source", "seed")},
        "pretrain_step": _numbers(labels, "pretrain_step"),
        "diagnostic": _texts(labels, "diagnostic"),
        "headline": _texts(notes, "headline"),
        "meaning": [_meaning(json.dumps(of["meaning"])) if "meaning" in of else None for of in notes],
        "left_out": [tuple(map(str, of.get("left_out") or ())) for of in notes],
        **{name: _numbers(notes, name) for name in _NUMBER_NOTES},
        "stopped_early": [of.get("status") == "converged" and "best_step" in of for of in notes],
        "tuning": [{name: of[name] for name in _TUNING_NOTES if name in of} for of in notes],
        "pretrained": [next((key for key in cell.needs if key in pretraining), "") for cell in planned],
        **{name: [getattr(cost, name) if cost else np.nan for cost in costs] for name in COSTS},
        **{f"failure_{name}": [getattr(of, name) if of else "" for of in failures] for name in _FAILURE},
    }
    return pd.DataFrame(columns)


@cache
def _meaning(text: str) -> Meaning:
    return settings_of(Meaning, json.loads(text))


def records_frame(records: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the records (RECORD_COLUMNS, `step` missing for final values) of known cells with their labels.

    Values that are not finite are NaN.
    """
    frame = records[RECORD_COLUMNS].astype({"key": str, "step": float, "value": float, "stderr": float})
    frame["value"] = frame["value"].where(np.isfinite(frame["value"]))
    labelled = cells[["role", *LABELS]]
    places = pd.Index(cells["key"].astype(str)).get_indexer(pd.Index(frame["key"]))
    known = places >= 0
    kept = frame[known].reset_index(drop=True)
    return pd.concat([kept, labelled.take(places[known]).reset_index(drop=True)], axis=1)


_ROLES = {"command": "method"}
"""A run of a command is compared as one of a method is."""

_NUMBER_NOTES = ("last_step", "best_step", "inner_risk", "read_side", "read_tokens")
_TUNING_NOTES = ("chosen", "trials", "tuning_cost", "labels_needed", "diverged")

COSTS = ("seconds", "peak_memory", "trained_parameters", "examples_seen")

_FAILURE = ("kind", "message", "details")


def _texts(tables: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    return [str(table.get(name) or "") for table in tables]


def _numbers(tables: Iterable[Mapping[str, Any]], name: str) -> list[float]:
    """Return the value of a name in each table; NaN if it is missing or zero."""
    return [float(table.get(name) or np.nan) for table in tables]
