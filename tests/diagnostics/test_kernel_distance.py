import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from diagnostics.subjects import mlp_subject
from transferscope.diagnostics.kernel_distance import KernelDistance
from transferscope.diagnostics.subject import Examples
from transferscope.errors import DataError


def _golden(ridge: float) -> dict[str, float]:
    x_source = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0.6, 0.8, 0]]).double()
    x_target = torch.tensor([[0.0, 0, 1], [0.8, 0, 0.6]]).double()
    source = Examples(x_source, torch.tensor([[1.0], [-0.5], [0.25]]))
    target = Examples(x_target, torch.tensor([[0.5], [1.0]]))
    subject = replace(mlp_subject(), examples=target, source=source)
    return {r.name: r.estimate.value for r in KernelDistance(ridge=ridge).measure(subject).records}


def test_published_values() -> None:
    values = _golden(0.0)
    assert values["kernel_task_distance"] == pytest.approx(np.sqrt(0.3706306969 / 1.25), rel=1e-7)
    assert values["kernel_gradient_change"] == pytest.approx(0.3706306969 / 1.25 - 1, rel=1e-7)
    assert values["kernel_deviation"] == pytest.approx(0.7382155940, rel=1e-7)
    assert values["kernel_deviation_scratch"] == pytest.approx(1.4193231769, rel=1e-7)


def test_the_same_task_is_close_and_permuted_labels_are_far() -> None:
    subject = mlp_subject()
    classes = (subject.examples.inputs[:, 0] > 0).long() + (subject.examples.inputs[:, 1] > 0).long()
    target = Examples(subject.examples.inputs, classes)
    permuted = Examples(target.inputs, (classes + 1) % 3)
    same, other = (
        KernelDistance().measure(replace(subject, examples=target, source=source)) for source in (target, permuted)
    )
    assert same["kernel_task_distance"].value < 1e-3
    assert other["kernel_task_distance"].value > 1
    assert other["kernel_deviation"].value > other["kernel_deviation_scratch"].value


def test_source_examples_are_needed() -> None:
    message = "kernel-distance compares two tasks; give the subject source examples"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        KernelDistance().measure(replace(mlp_subject(), source=None))
