from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from transferscope.diagnostics.features import class_labels, features_of, label_codes
from transferscope.diagnostics.subject import Examples
from transferscope.errors import NetworkError, TransferscopeError
from transferscope.models.network import Network
from transferscope.testing.diagnostics import cnn_subject, mlp_subject, vectors


def test_features_are_what_the_head_reads() -> None:
    subject = mlp_subject()
    assert isinstance(subject.network, Network)
    expected = subject.network.features(subject.examples.inputs).detach()
    torch.testing.assert_close(features_of(subject.network, subject.examples, batch_size=7), expected)


def test_plain_modules_are_read_in_evaluation_mode() -> None:
    subject = cnn_subject()
    assert isinstance(subject.network, nn.Sequential)
    found = features_of(subject.network, subject.examples)
    torch.testing.assert_close(found, subject.network.eval()[:-1](subject.examples.inputs).detach())


def test_codes_sum_to_zero_over_the_classes_that_occur() -> None:
    codes = label_codes(Examples(torch.zeros(4, 1), torch.tensor([5, 2, 5, 7])))
    np.testing.assert_allclose(codes, np.eye(3)[[1, 0, 1, 2]] - 1 / 3)


class _Together(nn.Module):
    """Features that are random, or normalised by the batch, in evaluation mode too."""

    def __init__(self, *, is_random: bool) -> None:
        super().__init__()
        self.body, self.batch = nn.Linear(6, 4), nn.BatchNorm1d(4, track_running_stats=False)
        self.head, self.is_random = nn.Linear(4, 3), is_random

    def forward(self, inputs: Tensor) -> Tensor:
        made = self.body(inputs)
        outputs: Tensor = self.head(nn.functional.dropout(made, 0.5) if self.is_random else self.batch(made))
        return outputs


@pytest.mark.parametrize("is_random", [True, False])
def test_features_that_are_not_each_examples_own_are_refused(is_random: bool) -> None:
    torch.manual_seed(0)
    examples = Examples(torch.randn(9, 6), torch.arange(9) % 3)
    with pytest.raises(NetworkError, match="random or depend on its batch"):
        features_of(_Together(is_random=is_random), examples)


class _Unused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(5, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs[:, :3]


@pytest.mark.parametrize(
    ("said", "attempt"),
    [
        ("called head on 0 of 40 examples", lambda: features_of(_Unused().double(), vectors())),
        ("did you mean 'head'", lambda: features_of(mlp_subject().network, vectors(), head="haed")),
        ("labels are numbers", lambda: class_labels(Examples(torch.zeros(4, 1), torch.zeros(4, 2)), "x")),
        ("NaN or infinity", lambda: replace(vectors(), inputs=torch.full((40, 5), torch.nan))),
        ("3 inputs and 2 labels", lambda: Examples(torch.zeros(3, 1), torch.zeros(2, dtype=torch.int64))),
    ],
)
def test_examples_and_networks_that_do_not_fit_are_refused(said: str, attempt: Callable[[], object]) -> None:
    with pytest.raises(TransferscopeError, match=said):
        attempt()
