"""What a candidate's features must be before a score reads them."""

import numpy as np
import pytest
import torch

from transferscope.analyses.rank.candidates import CandidateNetwork, labelled_target
from transferscope.data.task import LabelledSet
from transferscope.errors import NetworkError
from transferscope.models import NetworkSettings, build_network


def test_features_that_are_the_same_for_all_examples_are_said() -> None:
    inputs = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    subset = LabelledSet(inputs, np.arange(12) % 2, ("a", "b"))
    network = build_network(NetworkSettings("mlp", (4,)), (3,), 2, seed=0)
    target = labelled_target(subset, torch.device("cpu"))
    assert target.view_of(CandidateNetwork("one", network, None)).features.shape == (12, 4)
    with torch.no_grad():
        for parameter in network.features.parameters():
            parameter.zero_()
    with pytest.raises(NetworkError, match="features of dead are equal for all 12 target examples"):
        target.view_of(CandidateNetwork("dead", network, None))
