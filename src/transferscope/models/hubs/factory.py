"""Networks made by a function or class of the user: "package.module:factory" or "path/to/file.py:factory"."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import nn

from transferscope.errors import NetworkError
from transferscope.models.hubs.hub import NamedModule, WithWeights, as_network_error
from transferscope.models.initialise import draw_again
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import seeded


@dataclass(frozen=True)
class Factory(NamedModule):
    """A network made by a function.

    Attributes:
        function: Called with the options alone; returns a module.
        origin: Digest of its source, as `Registry.identity` gives it.
    """

    name: str
    function: Callable[..., object]
    options: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, str] = field(default_factory=dict)

    @property
    def input(self) -> NetworkInput | None:
        """The attribute `input` of the function, if it is a `NetworkInput` or its settings; otherwise None.

        Raises:
            NetworkError: The settings are invalid.
        """
        declared = getattr(self.function, "input", None)
        if isinstance(declared, Mapping):
            with as_network_error(self.name, "opened: its attribute input cannot be read"):
                return NetworkInput(**declared)
        return declared if isinstance(declared, NetworkInput) else None  # a class may have another of that name

    @property
    def identity(self) -> Mapping[str, Any]:
        """Options and source."""
        return {"options": dict(self.options), "origin": dict(self.origin)}

    def random(self, seed: int) -> nn.Module:
        """Call the function with that seed, and draw weights again that do not depend on the seed."""
        module = self.made(seed)
        if self._has_weights:
            draw_again(module, seed=seed)
        return module

    def trained(self) -> WithWeights:
        """Call the function; weights that depend on the seed count as missing."""
        if not self._has_weights:
            raise NetworkError(
                f"{self.name} builds a network of random weights; give trained ones as weights = FILE (safetensors or "
                "a state dict), or load them in the function"
            )
        return WithWeights(self.made(0), tuple(name for name, fixed in self._fixed.items() if not fixed))

    def made(self, seed: int) -> nn.Module:
        """Call the function with this global seed."""
        with seeded(seed), as_network_error(self.name, "made"):
            module = self.function(**self.options)
        if not isinstance(module, nn.Module):
            raise NetworkError(f"{self.name} returns {type(module).__name__}; expected a torch.nn.Module")
        return module.to("cpu")

    @cached_property
    def _fixed(self) -> dict[str, bool]:
        first, second = (dict(self.made(seed).named_parameters()) for seed in (0, 1))
        return {name: name in second and torch.equal(tensor, second[name]) for name, tensor in first.items()}

    @cached_property
    def _has_weights(self) -> bool:
        """Whether the function returns a trained module, at least in part.

        Decided by matrices and kernels, which are never equal by chance unless constant.
        """
        return any(self._fixed.values()) and any(
            self._fixed[name] and tensor.ndim > 1 and tensor.numel() > 1 and bool((tensor != tensor.flatten()[0]).any())
            for name, tensor in self.made(0).named_parameters()
        )
