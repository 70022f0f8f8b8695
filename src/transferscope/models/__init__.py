"""Networks: torch modules with an explicit split into features and head.

`build_network` makes one by name (`BACKBONES` lists them), `adapt` makes one of any module by naming its head, and
`save_weights` and `open_network` keep and fetch what a network has learnt.
"""

from transferscope.models.adapt import adapt
from transferscope.models.build import BACKBONES, NetworkSettings, build_network
from transferscope.models.network import Network, new_head
from transferscope.models.weights import LoadReport, OpenedNetwork, open_network, save_weights

__all__ = [
    "BACKBONES",
    "LoadReport",
    "Network",
    "NetworkSettings",
    "OpenedNetwork",
    "adapt",
    "build_network",
    "new_head",
    "open_network",
    "save_weights",
]
