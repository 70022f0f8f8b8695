"""Batch Spectral Shrinkage: fine-tuning that lets go of what does not transfer."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.errors import SettingsError
from transferscope.methods.method import Value
from transferscope.methods.target_training import FineTuning, Regulariser
from transferscope.models.network import Network
from transferscope.training import TrainingSettings


@dataclass(frozen=True)
class Bss(FineTuning):
    """Minimise L_target + eta (sigma_1^2 + ... + sigma_k^2), of the k smallest singular values of a batch's features.

    "Catastrophic Forgetting Meets Negative Transfer: Batch Spectral Shrinkage for Safe Transfer Learning" (Chen, Wang,
    Fu, Long, Wang 2019), equation 4. F is the matrix (batch, features); its singular values are computed in at least
    float32.

    Attributes:
        eta: Weight of the penalty, at least 0.
        k: How many singular values, at least 1; all where there are fewer.
    """

    eta: float = 0.001
    k: int = 1

    name: ClassVar[str] = "bss"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        if self.eta < 0 or self.k < 1:
            raise SettingsError(f"eta = {self.eta} and k = {self.k}; expected eta of 0 or more and k of at least 1")

    def regulariser(self, own: Network) -> Regulariser:
        """The penalty on the smallest singular values."""

        def regularised(loss: Float[Tensor, ""], features: Float[Tensor, "n m"]) -> Float[Tensor, ""]:
            if not features.isfinite().all():
                return loss * torch.nan  # a run that diverged, of which there are no singular values
            with torch.autocast(features.device.type, enabled=False):
                exact = features if features.dtype == torch.float64 else features.float()
                smallest = torch.linalg.svdvals(exact)[-self.k :]
            total: Tensor = loss + self.eta * smallest.square().sum()
            return total

        return regularised

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """A stronger penalty."""
        return {"eta": (self.eta, 10 * self.eta or 0.001)}
