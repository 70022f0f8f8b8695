"""BitFit: training only biases and normalisation layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from transferscope.errors import SettingsError
from transferscope.methods.method import FitOptions, Value
from transferscope.methods.target_training import FewWeights, other_head
from transferscope.models.network import Network
from transferscope.training import TrainingSettings


@dataclass(frozen=True)
class BitFit(FewWeights):
    """Train the head, the biases and the normalisation layers; all other weights stay as they are.

    "BitFit: Simple Parameter-efficient Fine-tuning for Transformer-based Masked Language-models" (Ben-Zaken, Goldberg,
    Ravfogel 2022, arXiv:2106.10199), with the scales of normalisation layers, which "Training BatchNorm and Only
    BatchNorm" (Frankle, Schwab, Morcos 2021, arXiv:2003.00152) found to matter most. Statistics of batch normalisation
    are those of target batches, as in fine-tuning. The few trained parameters use a larger learning rate than full
    fine-tuning.
    """

    name: ClassVar[str] = "bitfit"
    called: ClassVar[str] = "BitFit"
    version: ClassVar[int] = 1
    recipe: ClassVar[str] = "bitfit"

    def adapt(self, own: Network, options: FitOptions) -> Sequence[nn.Module]:
        """Freeze all other weights.

        Raises:
            SettingsError: The backbone has neither biases nor normalisation layers.
        """
        backbone = own.features
        trained = {
            id(parameter)
            for module in backbone.modules()
            for name, parameter in module.named_parameters(recurse=False)
            if "bias" in name or is_normalisation(module)
        }
        free = [parameter for parameter in backbone.parameters() if parameter.requires_grad]
        held = [parameter for parameter in free if id(parameter) not in trained]
        if held and len(held) == len(free):
            raise SettingsError(
                "bitfit trains biases and normalisation layers, but the backbone has none; use lora or fine-tune"
            )
        for parameter in held:
            parameter.requires_grad_(False)
        return ()

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return both initial heads."""
        return other_head(self.head)


def is_normalisation(module: nn.Module) -> bool:
    """Return whether a module is a normalisation layer, of torch or, by its class name, of another package.

    A module that contains others with parameters, such as `PreNorm` around attention, is not.
    """
    holds = any(True for child in module.children() for _ in child.parameters())
    return "Norm" in type(module).__name__ and not holds
