"""Networks of timm by name."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import nn

from transferscope.errors import NetworkError
from transferscope.models.hubs.hub import NamedModule, WithWeights, as_network_error, imported
from transferscope.models.inputs import Fit, NetworkInput
from transferscope.models.network import seeded

_FITS: dict[str, Fit] = {"center": "crop", "squash": "stretch"}
"""Treatment of non-square images, by the crop_mode of timm."""


@dataclass(frozen=True)
class Timm(NamedModule):
    """A network of timm, named as in `timm.list_models()`, with or without the tag of its weights."""

    name: str

    @cached_property
    def input(self) -> NetworkInput | None:
        """The input in the configuration of its weights."""
        config = self._config
        channels, size, width = config["input_size"]
        side, mode = math.floor(size / (config.get("crop_pct") or 1)), config.get("crop_mode") or "center"
        if size != width or mode not in _FITS:
            raise NetworkError(
                f"timm:{self.name} expects {size} x {width} pixels with crop_mode {mode!r}; expected square images "
                f"and {' or '.join(_FITS)}: give its input as size, mean, std and fit"
            )
        return NetworkInput(
            size=size,
            mean=tuple(config["mean"]),
            std=tuple(config["std"]),
            channels=channels if channels in (1, 3) else None,
            resize=None if side == size else side,
            resample=config.get("interpolation") or "bilinear",
            centre="even",
            fit=_FITS[mode],
        )

    @property
    def head(self) -> str | None:
        """The classifier layer according to timm."""
        name = self._config.get("classifier")
        return name if isinstance(name, str) else None

    def random(self, seed: int) -> nn.Module:
        """Return the network with timm's initialisation."""
        with seeded(seed), as_network_error(f"timm:{self.name}", "made"):
            module: nn.Module = self._timm.create_model(self.name, pretrained=False)
        return module

    def trained(self) -> WithWeights:
        """Return the network with the weights that timm downloads once."""
        with seeded(0), as_network_error(f"timm:{self.name}", "opened"):
            return WithWeights(self._timm.create_model(self.name, pretrained=True))

    @cached_property
    def _config(self) -> Mapping[str, Any]:
        with as_network_error(f"timm:{self.name}", "found"):
            config: Mapping[str, Any] = self._timm.get_pretrained_cfg(self.name, allow_unregistered=False).to_dict()
        return config

    @cached_property
    def _timm(self) -> Any:
        return imported("timm", "timm")  # it imports torchvision
