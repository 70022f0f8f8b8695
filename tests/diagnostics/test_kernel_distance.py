from dataclasses import replace

import numpy as np
import pytest
import torch

from numerics.test_ntk import SOURCE, TARGET, Y_SOURCE, Y_TARGET
from transferscope.diagnostics import kernel_distance
from transferscope.diagnostics.kernel_distance import KernelDistance
from transferscope.diagnostics.subject import Examples
from transferscope.errors import DataError
from transferscope.testing.diagnostics import mlp_subject


def test_published_values_in_units_of_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_distance, "RIDGE", 0.0)
    source, target = (
        Examples(torch.from_numpy(inputs), torch.from_numpy(labels))
        for inputs, labels in ((SOURCE, Y_SOURCE), (TARGET, Y_TARGET))
    )
    found = KernelDistance().measure(replace(mlp_subject(), examples=target, source=source))
    values = [record.estimate.value for record in found.records]
    expected = [np.sqrt(0.3706306969 / 1.25), 0.3706306969 / 1.25 - 1, 0.7382155940, 1.4193231769]
    assert values == pytest.approx(expected, rel=1e-7)


def test_source_examples_are_needed() -> None:
    with pytest.raises(DataError, match="kernel-distance compares two tasks"):
        KernelDistance().measure(replace(mlp_subject(), source=None))


def test_classes_are_told_by_their_names() -> None:
    """A source with its classes in another order, or with one more before them, was as far as another task.

    The same task is close, and one with permuted labels far.
    """
    subject = mlp_subject()
    classes = (subject.examples.inputs[:, 0] > 0).long() + (subject.examples.inputs[:, 1] > 0).long()
    target = Examples(subject.examples.inputs, classes, classes=("a", "b", "c"))
    turned = Examples(target.inputs, (classes + 1) % 3, classes=("c", "a", "b"))
    shifted = Examples(target.inputs, classes + 1, classes=("A", "a", "b", "c"))
    unnamed = Examples(target.inputs, (classes + 1) % 3, classes=("x", "y", "z"))

    same, of_turned, of_shifted, other = (
        KernelDistance().measure(replace(subject, examples=target, source=source))
        for source in (target, turned, shifted, unnamed)
    )
    assert same["kernel_task_distance"].value < 1e-3
    assert of_turned["kernel_task_distance"].value == same["kernel_task_distance"].value
    assert of_shifted["kernel_task_distance"].value < 0.01
    assert other["kernel_task_distance"].value > 1  # by their index, where no name is the same
    assert other["kernel_deviation"].value > other["kernel_deviation_scratch"].value
    assert target.first(3).classes == target.take(torch.tensor([1])).classes == ("a", "b", "c")
