from dataclasses import replace

import pytest
import torch
from torch import nn

from transferscope.diagnostics.subject import Subject
from transferscope.diagnostics.weights import Weights, weight_deviation
from transferscope.errors import NetworkError
from transferscope.testing.diagnostics import cnn_subject, mlp, mlp_subject


def test_deviation_by_hand() -> None:
    network, start = (nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)) for _ in range(2))
    zeros = {name: torch.zeros_like(p) for name, p in network.named_parameters()}
    moved = {"0.weight": torch.tensor([[3.0, 0.0], [4.0, 0.0]]), "0.bias": torch.ones(2)}  # biases do not count
    network.load_state_dict(zeros | moved)
    start.load_state_dict(zeros | {"1.weight": torch.tensor([[0.0, 2.0]])})
    layers = weight_deviation(network, start)
    assert (layers["0"].distance, layers["1"].distance, layers["1"].relative) == (5.0, 2.0, 1.0)
    findings = Weights().measure(Subject(network, replace(mlp_subject().examples), start=start, head="1", n_train=4))
    assert findings["weight_deviation/0"].value == 2.5
    assert findings["weight_deviation/1"].value == 1.0
    assert findings["weight_deviation"].value == 3.5
    assert findings["weight_deviation_relative/0"].status == "non_finite"


def test_a_deviation_beyond_the_largest_number_of_half_precision_is_measured() -> None:
    network, start = (nn.Linear(2, 1, bias=False).half() for _ in range(2))
    with torch.no_grad():
        network.weight.fill_(60000.0)
        start.weight.copy_(torch.tensor([[1.0, 0.0]]))
    assert weight_deviation(network, start)["weight"].distance == pytest.approx(60000 * 2**0.5, rel=1e-4)


def test_layers_are_matrices_and_kernels_in_the_networks_order() -> None:
    subject = cnn_subject()
    assert list(weight_deviation(subject.network, subject.start)) == ["conv", "second", "head"]


def test_networks_of_two_architectures_are_refused() -> None:
    with pytest.raises(NetworkError, match=r"features.0.bias has shape \(7,\) in the network and \(8,\) in the start"):
        replace(mlp_subject(), start=mlp(width=8))
