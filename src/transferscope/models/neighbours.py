"""A head that predicts from the nearest neighbours among stored features."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

_ROWS = 512  # examples whose similarities are held at once
_TIE = 1e-3  # of a vote: among classes with as many votes, the nearer neighbours decide


class NeighbourHead(nn.Module):
    """A head that predicts from the nearest neighbours among stored features.

    Args:
        features: The stored features.
        values: Their targets: one-hot classes or regression targets.
        k: Number of neighbours, at least 1; all if there are fewer.
        votes: Whether values are counted as votes, rather than averaged.
    """

    k: Tensor
    votes: Tensor

    def __init__(self, features: Float[Tensor, "N m"], values: Float[Tensor, "N K"], *, k: int, votes: bool) -> None:
        super().__init__()
        self.directions = nn.Parameter(F.normalize(features, dim=1), requires_grad=False)
        self.values = nn.Parameter(values.clone(), requires_grad=False)
        self.register_buffer("k", torch.tensor(float(k), device=features.device))
        self.register_buffer("votes", torch.tensor(float(votes), device=features.device))

    @property
    def out_features(self) -> int:
        """The number of outputs."""
        return self.values.shape[1]

    def forward(self, features: Float[Tensor, "n m"]) -> Float[Tensor, "n K"]:
        """Return votes or means of the k nearest neighbours."""
        similarity, k = F.normalize(features, dim=1) @ self.directions.T, int(self.k)
        return self.read(self._nearest(similarity, k), k)

    def nearest_others(self, k: int) -> Tensor:
        """Return the indices of the k other features with the largest cosine, nearest first, shape (N, k)."""
        nearest = []
        for start in range(0, len(self.directions), _ROWS):
            similarity = self.directions[start : start + _ROWS] @ self.directions.T
            rows = torch.arange(len(similarity), device=similarity.device)
            similarity[rows, start + rows] = -torch.inf
            nearest.append(self._nearest(similarity, k))
        return torch.cat(nearest)

    def read(self, neighbours: Tensor, k: int) -> Float[Tensor, "n K"]:
        """Return the prediction of the first k of neighbours with shape (n, at least k)."""
        values = self.values[neighbours[:, :k]]
        if not self.votes:
            return values.mean(dim=1)
        nearness = torch.linspace(1.0, 0.0, values.shape[1], device=values.device)
        return (values * (1.0 + _TIE * nearness)[:, None]).sum(dim=1)

    def _nearest(self, similarity: Float[Tensor, "n N"], k: int) -> Tensor:
        return similarity.topk(min(k, similarity.shape[1]), dim=1).indices


def neighbours_of(given: Mapping[str, Tensor], n_features: int) -> NeighbourHead | None:
    """Return a head for tensors of these shapes; None if they are not those of nearest neighbours."""
    if given.keys() != {"directions", "values", "k", "votes"}:
        return None
    features, values, k, votes = (given[name] for name in ("directions", "values", "k", "votes"))
    kept = features.ndim == values.ndim == 2 and len(features) == len(values) > 0 and values.shape[1] > 0
    if not kept or features.shape[1] != n_features or k.ndim or votes.ndim:
        return None
    if not (float(k) >= 1 and float(k).is_integer() and float(votes) in (0.0, 1.0)):
        return None
    return NeighbourHead(torch.empty(features.shape), torch.empty(values.shape), k=int(k), votes=bool(votes))
