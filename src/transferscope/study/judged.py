"""The records of a study with what it is judged by, where that comes from the predictions of its runs."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from transferscope.numerics.class_measures import CLASS_MEASURES, ClassMeasure, class_measure
from transferscope.store import RecordColumns, Store
from transferscope.study.places import read_toml


def metric_of(spec: Mapping[str, object]) -> ClassMeasure | None:
    """The record that a stored study asks to be judged by; None for the one that suits its labels."""
    target = spec.get("target")
    asked = target.get("metric") if isinstance(target, Mapping) else None
    return next((name for name in CLASS_MEASURES if name.replace("_", "-") == asked), None)


def metric_in_words(path: Path, stored: Mapping[str, object]) -> str:
    """What to do where a study file asks for another measure than the stored study is judged by; empty otherwise.

    Args:
        path: The study file.
        stored: The study as the store has it, from `StudyRow.spec`.
    """
    if metric_of(read_toml(path)) == metric_of(stored):
        return ""
    return (
        f"{path} asks for another metric than this study is judged by: `transferscope run {path}` takes it over, and "
        "trains nothing again for that"
    )


def judged_records(store: Store, study: str) -> RecordColumns:
    """The records of a study; where it names what it is judged by, that of every run at the end of them.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The store cannot be read.
    """
    records = store.records(study)
    metric = metric_of(store.study(study).spec)
    labels = None if metric is None else store.study_array(study, "target_test_labels")
    if metric is None or labels is None:
        return records
    found = [(key, class_measure(metric, own, labels)) for key, own in store.arrays(study, "predictions").items()]
    unknown = float("nan")
    return replace(
        records,
        key=[*records.key, *(key for key, _ in found)],
        name=[*records.name, *[metric] * len(found)],
        part=[*records.part, *["target_test"] * len(found)],
        step=[*records.step, *[None] * len(found)],
        value=np.append(records.value, [one.value for _, one in found]),
        stderr=np.append(records.stderr, [unknown if one.stderr is None else one.stderr for _, one in found]),
        n=np.append(records.n, [one.n for _, one in found]),
        status=[*records.status, *(one.status for _, one in found)],
    )
