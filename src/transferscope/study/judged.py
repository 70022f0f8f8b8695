"""The records of a study with what it is judged by, where that comes from the predictions of its runs."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from transferscope.numerics.balanced_accuracy import balanced_accuracy
from transferscope.store import RecordColumns, Store
from transferscope.study.places import read_toml


def is_balanced(spec: Mapping[str, object]) -> bool:
    """Whether a stored study is judged by balanced accuracy."""
    target = spec.get("target")
    return isinstance(target, Mapping) and target.get("metric") == "balanced-accuracy"


def metric_in_words(path: Path, stored: Mapping[str, object]) -> str:
    """What to do where a study file asks for another measure than the stored study is judged by; empty otherwise.

    Args:
        path: The study file.
        stored: The study as the store has it, from `StudyRow.spec`.
    """
    if is_balanced(read_toml(path)) == is_balanced(stored):
        return ""
    return (
        f"{path} asks for another metric than this study is judged by: `transferscope run {path}` takes it over, and "
        "trains nothing again for that"
    )


def judged_records(store: Store, study: str) -> RecordColumns:
    """The records of a study; where it is judged by balanced accuracy, that of every run at the end of them.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The store cannot be read.
    """
    records = store.records(study)
    labels = store.study_array(study, "target_test_labels") if is_balanced(store.study(study).spec) else None
    if labels is None:
        return records
    found = [(key, balanced_accuracy(own, labels)) for key, own in store.arrays(study, "predictions").items()]
    unknown = float("nan")
    return replace(
        records,
        key=[*records.key, *(key for key, _ in found)],
        name=[*records.name, *["balanced_accuracy"] * len(found)],
        part=[*records.part, *["target_test"] * len(found)],
        step=[*records.step, *[None] * len(found)],
        value=np.append(records.value, [one.value for _, one in found]),
        stderr=np.append(records.stderr, [unknown if one.stderr is None else one.stderr for _, one in found]),
        n=np.append(records.n, [one.n for _, one in found]),
        status=[*records.status, *(one.status for _, one in found)],
    )
