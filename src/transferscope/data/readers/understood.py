"""Description of how user data were read, and their provenance."""

import json
from pathlib import Path

import numpy as np

from transferscope.data.arrays import Parts
from transferscope.data.spec import DataSpec
from transferscope.data.task import UNLABELLED, Dataset, LabelledSet, pieces
from transferscope.files import content_digest

_ROWS_COMPARED = 256
_BYTES_COMPARED = 2**20
_USUAL_CHANNELS = 4


def understood(parts: Parts) -> str:
    """Describe how the labels and inputs of user data were read and converted."""
    shown = ", ".join(
        f"in units of {unit:g}{f' from {offset:g}' if offset else ''}" for offset, unit in parts.label_units
    )
    units = f"labels are counted {shown}, and so are squared errors" if shown else ""
    return "; ".join(filter(None, (_taken_for(parts.train), units, parts.words)))


def _taken_for(train: LabelledSet) -> str:
    """Describe how user data were read, without the units of numeric labels."""
    rows = train.inputs.reshape(len(train), -1)
    same = np.ones(rows.shape[1], dtype=np.bool_)
    for start in range(0, len(rows), _ROWS_COMPARED):
        same &= (rows[start : start + _ROWS_COMPARED] == rows[0]).all(axis=0)
        if not same.any():
            break
    constant = int(same.sum())
    if train.classes is None:
        labels = f"regression of {train.n_outputs} {'number' if train.n_outputs == 1 else 'numbers'}{_on_grid(train)}"
    elif train.kind == "multi-label":
        counts = [f"{name} ({n})" for name, n in zip(train.classes[:10], train.class_counts(), strict=False)]
        none = int((~train.labels.any(axis=1)).sum())
        labels = (
            f"multi-label, {len(train.classes)} labels with their training examples: {', '.join(counts)}"
            f"{', ...' if len(train.classes) > 10 else ''}; {train.labels.sum() / len(train):.1f} labels an input on "
            f"average, {none} of {len(train)} without any"
        )
    else:
        shown = ", ".join(train.classes[:10]) + (", ..." if len(train.classes) > 10 else "")
        what = "classification" if train.grid is None else f"segmentation{_on_grid(train)}"
        labels = f"{what}, {len(train.classes)} {'class' if len(train.classes) == 1 else 'classes'}: {shown}"
        if train.grid is not None and train.labels.min() == UNLABELLED:
            labels += f"; {(train.labels == UNLABELLED).mean():.1%} of the cells are unlabelled"
    if train.is_image and train.input_shape[0] > _USUAL_CHANNELS:
        channels, height, width = train.input_shape
        labels = f"{labels}; images of {channels} channels, {height} x {width}"
    if train.inputs.dtype == np.uint8 and all((part <= 1).all() for part in pieces(train.inputs, _BYTES_COMPARED)):
        labels += (
            "; pixels are whole numbers 0 and 1 of 255, nearly black to a network that is not scaled by these images "
            "(booleans are black and white)"
        )
    if constant == rows.shape[1]:
        return f"{labels}; all {len(train)} training inputs are the same, so that nothing can be learnt"
    if train.is_tokens:
        pairs = train.input_shape[0] == 4 or bool((train.inputs[:, 1] > 0).any())
        return f"{labels}; {'pairs of texts' if pairs else 'texts'} in tokens"
    if train.is_image or not constant:
        return labels
    return f"{labels}; {constant} of {rows.shape[1]} features never change"


def _on_grid(train: LabelledSet) -> str:
    return "" if train.grid is None else f" on a grid of {train.grid[0]} x {train.grid[1]} over each image"


def checksum_of(path: Path) -> str:
    """Return the checksum of a file, as provenance."""
    return f"sha256:{content_digest(path)}"


def as_dataset(spec: DataSpec, path: Path, parts: Parts, name: str, **about: str) -> Dataset:
    """Return user data with a description of how they were read.

    Args:
        about: Further provenance.
    """
    units = {"label_units": json.dumps(parts.label_units)} if parts.label_units else {}  # to convert predictions back
    known = {"spec": spec.text, "address": str(path), **about, "understood": understood(parts), **units, **parts.about}
    return Dataset(name, parts.train, parts.test, known)
