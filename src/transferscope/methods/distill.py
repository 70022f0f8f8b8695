"""Distillation of features: the features of the source network are an additional target."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from transferscope.methods.method import Value
from transferscope.methods.target_training import Beginning, FineTuning
from transferscope.records import NotNegative, Says
from transferscope.training import Batch, TrainingSettings, batch_loss, frozen_features


@dataclass(frozen=True)
class Distill(FineTuning):
    """Minimise L_target + beta |f(x; w) - f(x; w0)|^2 / s, of the features of a network and its pretrained teacher.

    After "FitNets: Hints for Thin Deep Nets" (Romero et al. 2015, arXiv:1412.6550), equation 3, with the last features
    as the hint and no regressor, as both networks have the same width. The square is summed over features and averaged
    over the batch; s is the mean of |f(x; w0) - mean f|^2 over the target's training examples, so that beta means the
    same for every network. The teacher reads the same batch in evaluation mode.
    """

    beta: Annotated[NotNegative, Says("Weight of the distance")] = 0.1

    name: ClassVar[str] = "distill"
    called: ClassVar[str] = "distillation of features"
    version: ClassVar[int] = 2

    def loss(self, begun: Beginning) -> Callable[[Batch], Float[Tensor, ""]]:
        """Return the task's loss and the distance."""
        own, teacher = begun.own, begun.own.copy().eval().requires_grad_(False)
        known = frozen_features(teacher, begun.target.train)
        scale = (known - known.mean(dim=0)).square().sum(dim=1).mean() if len(known) else torch.ones(())
        scale = torch.where(scale > 0, scale, 1.0)

        def loss(batch: Batch) -> Float[Tensor, ""]:
            features = own.features(batch.inputs)
            with torch.no_grad():
                taught = teacher.features(batch.inputs)
            distance = (features - taught).square().sum(dim=1).mean() / scale
            total: Tensor = batch_loss(own.head(features), batch) + self.beta * distance
            return total

        return loss

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return a stronger penalty."""
        return {"beta": (self.beta, 10 * self.beta or 0.1)}
