"""Maps in the plane: of many trained networks by their weights, and of examples by their features."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from transferscope.errors import NetworkError, SettingsError


def weight_distances(networks: Sequence[nn.Module]) -> Float[np.ndarray, "M M"]:
    """Euclidean distances between all parameters of every two networks.

    Source: "Towards Understanding the Transferability of Deep Representations", section A. Two networks are read at a
    time.

    Returns:
        Symmetric, zero diagonal, float64.

    Raises:
        NetworkError: Parameters differ in names or shapes.
    """
    shapes = [{name: tuple(p.shape) for name, p in network.named_parameters()} for network in networks]
    for i, other in enumerate(shapes):
        if other != shapes[0]:
            raise NetworkError(
                f"network {i} has other parameters than network 0; a map of weights needs networks of one architecture"
            )
    distances = np.zeros((len(networks), len(networks)))
    for i, first in enumerate(networks):
        for j in range(i):
            distances[i, j] = distances[j, i] = _distance(first, networks[j])
    return distances


def _distance(network: nn.Module, other: nn.Module) -> float:
    pairs = zip(network.parameters(), other.parameters(), strict=True)
    squares = [(a.detach().double() - b.detach().double().to(a.device)).square().sum() for a, b in pairs]
    return float(torch.stack(squares).sum().sqrt())


def tsne_of_distances(
    distances: Float[np.ndarray, "M M"], *, perplexity: float = 5.0, seed: int = 0
) -> Float[np.ndarray, "M 2"]:
    """t-SNE map from pairwise distances, symmetric with a zero diagonal (Fig. 4 of the paper).

    Args:
        perplexity: About how many neighbours count, above 0 and below M.

    Returns:
        Positions without unit or orientation; only neighbourhoods mean something.

    Raises:
        SettingsError: The perplexity is out of range.
    """
    _check_perplexity(perplexity, len(distances))
    from sklearn.manifold import TSNE

    tsne = TSNE(perplexity=perplexity, metric="precomputed", init="random", random_state=seed, method="exact")
    positions: np.ndarray = tsne.fit_transform(distances.copy())  # it squares them in place
    return positions


def tsne_of_features(
    features: Float[np.ndarray, "N D"], *, perplexity: float = 30.0, seed: int = 0
) -> Float[np.ndarray, "N 2"]:
    """t-SNE map of examples by their features.

    Args:
        features: Shape (N, D), such as from `features_of`.
        perplexity: About how many neighbours count, above 0 and below N.

    Returns:
        Positions without unit or orientation; only neighbourhoods mean something.

    Raises:
        SettingsError: The perplexity is out of range.
    """
    _check_perplexity(perplexity, len(features))
    from sklearn.manifold import TSNE

    positions: np.ndarray = TSNE(perplexity=perplexity, init="random", random_state=seed).fit_transform(features)
    return positions


def _check_perplexity(perplexity: float, n: int) -> None:
    if not 0 < perplexity < n:
        raise SettingsError(f"perplexity = {perplexity} for {n} points; expected a number above 0 and below {n}")
