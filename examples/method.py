"""A method of your own, on one page: Batch Spectral Shrinkage as a template to copy.

    transferscope compare digits --from glyphs --labels 50 --methods scratch examples/method.py:BatchSpectralShrinkage

or in a study file

    [methods.my-bss]
    method = "examples/method.py:BatchSpectralShrinkage"
    eta = 0.01
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from transferscope.methods import FineTune, Regulariser
from transferscope.models import Network
from transferscope.records import Count, NotNegative, Says


@dataclass(frozen=True)
class BatchSpectralShrinkage(FineTune):
    """Fine-tuning that also minimises eta times the k smallest squared singular values of a batch's features.

    "Catastrophic Forgetting Meets Negative Transfer: Batch Spectral Shrinkage for Safe Transfer Learning" (Chen, Wang,
    Fu, Long, Wang 2019), equation 4. The settings of fine-tuning (head, rates, frozen blocks) are inherited.
    """

    # what lies outside of its range is refused before anything runs
    eta: Annotated[NotNegative, Says("Weight of the penalty")] = 0.001
    k: Annotated[Count, Says("How many singular values")] = 1

    name: ClassVar[str] = "my-bss"
    called: ClassVar[str] = "spectral shrinkage"  # in prose, as studies keep it; without it, the name
    version: ClassVar[int] = 1  # raise it when the same settings give other results than before

    def regulariser(self, own: Network) -> Regulariser:
        """The penalty on the smallest singular values."""

        def regularised(loss: Tensor, features: Tensor) -> Tensor:
            if not features.isfinite().all():
                return loss * torch.nan  # a run that diverged, of which there are no singular values
            smallest = torch.linalg.svdvals(features.float())[-self.k :]
            return loss + self.eta * smallest.square().sum()

        return regularised
