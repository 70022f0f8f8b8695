"""Batch Spectral Shrinkage: fine-tuning that suppresses untransferable features."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.methods.method import Value
from transferscope.methods.target_training import FineTuning, Regulariser
from transferscope.models.network import Network
from transferscope.records import NotNegative, Says
from transferscope.training import TrainingSettings

K = 1
"""Number of singular values, as chosen by the authors."""


@dataclass(frozen=True)
class Bss(FineTuning):
    """Minimise L_target + eta (sigma_1^2 + ... + sigma_k^2), of the k smallest singular values of a batch's features.

    "Catastrophic Forgetting Meets Negative Transfer: Batch Spectral Shrinkage for Safe Transfer Learning" (Chen, Wang,
    Fu, Long, Wang 2019), equation 4. F is the matrix (batch, features); its singular values are computed in at least
    float32.
    """

    eta: Annotated[NotNegative, Says("Weight of the penalty")] = 0.001

    name: ClassVar[str] = "bss"
    called: ClassVar[str] = "BSS"
    version: ClassVar[int] = 1

    def regulariser(self, own: Network) -> Regulariser:
        """Return the penalty on the smallest singular values."""

        def regularised(loss: Float[Tensor, ""], features: Float[Tensor, "n m"]) -> Float[Tensor, ""]:
            if not features.isfinite().all():
                return loss * torch.nan  # a run that diverged, of which there are no singular values
            with torch.autocast(features.device.type, enabled=False):
                exact = features if features.dtype == torch.float64 else features.float()
                smallest = torch.linalg.svdvals(exact)[-K:]
            total: Tensor = loss + self.eta * smallest.square().sum()
            return total

        return regularised

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return a stronger penalty."""
        return {"eta": (self.eta, 10 * self.eta or 0.001)}
