"""Checks of the test set: no test input may be in training data, or have two labels."""

import hashlib
from dataclasses import dataclass

import numpy as np
from jaxtyping import Num

from transferscope.data.task import Dataset, LabelledSet, TransferTask, pieces
from transferscope.data.transforms.pixels import full_scale
from transferscope.errors import DataError


@dataclass(frozen=True, slots=True)
class LeakageReport:
    """Numbers of target test examples that are also training examples, with equal values.

    Attributes:
        in_target_train: Number also in the target training set.
        in_source_train: Number also in the source training set; 0 without a source.
        in_any: Number in at least one of the two.
    """

    n_test: int
    in_target_train: int
    in_source_train: int
    in_any: int

    def require_at_most(self, share: float) -> None:
        """Refuse a test set with more than this share of leaked examples.

        Args:
            share: Largest accepted share, from 0 to 1.

        Raises:
            DataError: More test examples are in a training set.
        """
        if self.in_any > share * self.n_test:
            raise DataError(
                f"leakage: {self.in_any} of {self.n_test} target test examples are also training examples "
                f"({self.in_target_train} of the target, {self.in_source_train} of the source); remove them from the "
                "training data"
            )


def check_leakage(task: TransferTask) -> LeakageReport:
    """Count the target test examples whose inputs occur, value by value, in a training set.

    Bytes and floating-point pixels compare as pixels in [0, 1]. Near duplicates (another crop, another compression)
    are not found. A few exact ones can be natural where inputs are small or coarse (a table of few categories,
    images reduced to a few pixels), so the caller sets the limit with `LeakageReport.require_at_most`.
    """
    sets = [task.target.test, task.target.train, *([] if task.source is None else [task.source.train])]
    as_bytes = all(examples.inputs.dtype == np.uint8 for examples in sets)
    test, *training = (_digests(examples, as_bytes=as_bytes) for examples in sets)
    repeated = [np.isin(test, one) for one in training]
    return LeakageReport(
        n_test=len(test),
        in_target_train=int(repeated[0].sum()),
        in_source_train=int(repeated[1].sum()) if len(repeated) > 1 else 0,
        in_any=int(np.logical_or.reduce(repeated).sum()),
    )


def remarks_of(dataset: Dataset) -> tuple[str, ...]:
    """Describe oddities of examples and labels: inputs with several labels, inputs in both parts, a single class.

    Inputs are compared as by `check_leakage`.
    """
    parts = (dataset.train, dataset.test)
    as_bytes = all(part.inputs.dtype == np.uint8 for part in parts)
    inputs = [_digests(part, as_bytes=as_bytes) for part in parts]
    remarks = []
    shared = int(np.isin(inputs[1], inputs[0]).sum())
    if shared:
        remarks.append(f"{shared:,} of {len(inputs[1]):,} test inputs are among the training inputs")
    if dataset.train.kind in ("classification", "multi-label"):  # numeric labels of one input may differ by noise
        labels = np.concatenate([part.labels.reshape(len(part), -1) for part in parts])
        everything, codes = np.concatenate(inputs), np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1)
        pairs = np.unique(np.stack([everything, codes.astype(np.uint64)], axis=1), axis=0)
        of_inputs, n_labels = np.unique(pairs[:, 0], return_counts=True)
        n = int(np.isin(everything, of_inputs[n_labels > 1]).sum())
        if n:
            remarks.append(f"{n:,} of {len(everything):,} examples have an input that occurs with other labels, too")
    if dataset.train.kind == "classification" and dataset.train.classes is not None:
        for what, part in zip(("training", "test"), parts, strict=True):
            counts = part.class_counts()
            if len(counts) > 1 and (counts > 0).sum() == 1:
                only = dataset.train.classes[int(counts.argmax())]
                remarks.append(f"all {len(part):,} {what} examples are of the class {only!r}")
    return tuple(remarks)


def _digests(examples: LabelledSet, *, as_bytes: bool) -> Num[np.ndarray, " N"]:
    """Return a 64-bit hash of each input: two of 1e5 different inputs collide with a chance below 1e-9."""
    hashes: list[bytes] = []
    for inputs in pieces(examples.inputs):
        if not as_bytes:
            inputs = inputs.astype(np.float32) / np.float32(full_scale(inputs)) + np.float32(0)  # -0.0 becomes 0.0
        rows = np.ascontiguousarray(inputs.reshape(len(inputs), -1))
        hashes += [hashlib.blake2b(row.data, digest_size=8).digest() for row in rows]
    return np.frombuffer(b"".join(hashes), np.uint64)
