import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from diagnostics.subjects import cnn_subject, mlp_subject, vectors
from transferscope.diagnostics.features import class_labels, features_of, label_codes
from transferscope.diagnostics.subject import Examples
from transferscope.errors import DataError, NetworkError
from transferscope.models.network import Network


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


class _Unused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(5, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs[:, :3]


def test_a_head_that_is_not_called_is_said() -> None:
    message = "the forward pass called head on 0 of 40 examples; name a submodule that sees every example once"
    with pytest.raises(NetworkError, match=f"^{re.escape(message)}$"):
        features_of(_Unused().double(), vectors())


def test_codes_sum_to_zero_over_the_classes_that_occur() -> None:
    codes = label_codes(Examples(torch.zeros(4, 1), torch.tensor([5, 2, 5, 7])))
    np.testing.assert_allclose(codes, np.eye(3)[[1, 0, 1, 2]] - 1 / 3)


def test_numbers_are_no_classes() -> None:
    examples = Examples(torch.zeros(4, 1), torch.zeros(4, 2))
    message = "class-separation needs class labels and the labels are numbers; leave it out for regression"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        class_labels(examples, "class-separation")


def test_inputs_that_are_not_finite_are_refused() -> None:
    with pytest.raises(DataError, match=r"^inputs hold NaN or infinity; drop or fill those examples$"):
        replace(vectors(), inputs=torch.full((40, 5), torch.nan))


def test_lengths_must_agree() -> None:
    message = "there are 3 inputs and 2 labels; expected at least one example and one label for each input"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        Examples(torch.zeros(3, 1), torch.zeros(2, dtype=torch.int64))


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
    with pytest.raises(NetworkError, match="the features of two examples are others when these are read alone"):
        features_of(_Together(is_random=is_random), examples)
