"""Networks of torchvision by name, with their default weights."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import nn

from transferscope.errors import NetworkError
from transferscope.models.hubs.hub import NamedModule, WithWeights, as_network_error, imported
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import seeded


@dataclass(frozen=True)
class Torchvision(NamedModule):
    """A network of torchvision, named as in `torchvision.models.list_models()`."""

    name: str

    @cached_property
    def input(self) -> NetworkInput | None:
        """The preprocessing of the default weights; None for a network without weights."""
        weights = self._weights
        if weights is None:
            return None
        preset = weights.transforms()
        (size,), (side,) = preset.crop_size, preset.resize_size
        return NetworkInput(
            size=size,
            mean=tuple(preset.mean),
            std=tuple(preset.std),
            channels=3,
            resize=None if side == size else side,
            resample=preset.interpolation.value,
            centre="even",
            fit="crop",
        )

    def random(self, seed: int) -> nn.Module:
        """Return the network with torchvision's initialisation."""
        with seeded(seed), as_network_error(f"torchvision:{self.name}", "made"):
            module: nn.Module = self._models.get_model(self.name, weights=None)
        return module

    def trained(self) -> WithWeights:
        """Return the network with its default weights, which torchvision downloads once."""
        if self._weights is None:
            raise NetworkError(f"torchvision has no weights of {self.name}; give them as weights = FILE")
        with seeded(0), as_network_error(f"torchvision:{self.name}", "opened"):
            return WithWeights(self._models.get_model(self.name, weights=self._weights))

    @cached_property
    def _models(self) -> Any:
        return imported("torchvision", "torchvision").models

    @property
    def _weights(self) -> Any:
        with as_network_error(f"torchvision:{self.name}", "found"):
            known = self._models.get_model_weights(self.name)
        return known.DEFAULT if len(known) else None
