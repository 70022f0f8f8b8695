"""Losses with weights of classes, against scikit-learn's and written out."""

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from transferscope.training import Batch, batch_loss, class_weights, encode

SEVERAL = np.array([[1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0]], dtype=bool)
"""One, two, all and none of five examples have a label."""


def test_weights_of_classes_are_the_balanced_ones_of_scikit_learn() -> None:
    labels = np.array([0, 0, 0, 2, 2, 0, 3])
    found = class_weights(torch.from_numpy(labels), 5).numpy()
    assert found[[0, 2, 3]] == pytest.approx(compute_class_weight("balanced", classes=np.array([0, 2, 3]), y=labels))
    assert (found[1], found[4]) == (0, 0)


def test_the_weighted_loss_of_several_labels_is_the_mean_of_scikit_learns_log_losses() -> None:
    outputs = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.from_numpy(SEVERAL)
    each = [
        log_loss(own, 1 / (1 + np.exp(-column)), sample_weight=compute_sample_weight("balanced", own), labels=[0, 1])
        for own, column in zip(SEVERAL.T, outputs.numpy().T, strict=True)
    ]
    found = batch_loss(outputs, Batch(outputs, labels, weights=class_weights(labels, 4).double()))
    assert float(found) == pytest.approx(np.mean(each))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_of_classes_is_scikit_learns_log_loss(weighted: bool) -> None:
    outputs = torch.randn(6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = np.array([0, 0, 0, 1, 1, 2])
    weights = class_weights(torch.from_numpy(labels), 3).double() if weighted else None
    found = batch_loss(outputs, Batch(outputs, torch.from_numpy(labels), weights=weights))
    balanced = compute_sample_weight("balanced", labels) if weighted else None
    assert float(found) == pytest.approx(log_loss(labels, outputs.softmax(dim=1).numpy(), sample_weight=balanced))


def test_labels_become_targets_around_zero() -> None:
    assert encode(torch.tensor([2, 0]), 4).tolist() == [[-0.25, -0.25, 0.75, -0.25], [0.75, -0.25, -0.25, -0.25]]
    assert encode(torch.tensor([[True, False]]), 2).tolist() == [[0.5, -0.5]]
    assert encode(torch.tensor([[0.3, -2.0]]), 2).tolist() == torch.tensor([[0.3, -2.0]]).tolist()
