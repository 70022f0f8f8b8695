import re

import numpy as np
import pytest
import torch

from diagnostics.subjects import mlp
from transferscope.diagnostics.maps import tsne_of_distances, tsne_of_features, weight_distances
from transferscope.errors import NetworkError, SettingsError


def test_distances_of_weights_by_hand() -> None:
    networks = [mlp(seed) for seed in range(3)]
    flat = [torch.cat([p.detach().reshape(-1) for p in network.parameters()]) for network in networks]
    expected = torch.cdist(torch.stack(flat), torch.stack(flat))
    np.testing.assert_allclose(weight_distances(networks), expected.numpy(), atol=1e-6)


def test_networks_of_two_architectures_have_no_map() -> None:
    message = "network 1 has other parameters than network 0; a map of weights needs networks of one architecture"
    with pytest.raises(NetworkError, match=f"^{re.escape(message)}$"):
        weight_distances([mlp(), mlp(width=8)])


def _two_groups() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.vstack([rng.standard_normal((12, 5)), rng.standard_normal((12, 5)) + 30])


def test_groups_stay_together_on_both_maps() -> None:
    points = _two_groups()
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    for positions in (tsne_of_distances(distances), tsne_of_features(points, perplexity=5.0)):
        between = np.linalg.norm(positions[:, None] - positions[None], axis=2)
        np.fill_diagonal(between, np.inf)
        assert (between.argmin(axis=1) // 12 == np.arange(24) // 12).all()


def test_maps_are_seeded() -> None:
    points = _two_groups()
    np.testing.assert_array_equal(tsne_of_features(points, perplexity=5.0), tsne_of_features(points, perplexity=5.0))


def test_perplexity_must_be_below_the_number_of_points() -> None:
    message = "perplexity = 30.0 for 24 points; expected a number above 0 and below 24"
    with pytest.raises(SettingsError, match=f"^{re.escape(message)}$"):
        tsne_of_features(_two_groups())


def test_distances_are_left_as_they_were() -> None:
    distances = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    before = distances.copy()
    tsne_of_distances(distances, perplexity=2.0)
    np.testing.assert_array_equal(distances, before)
