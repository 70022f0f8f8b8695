"""Networks: torch modules with an explicit split into features and head.

`build_network` makes one by name (`BACKBONES` lists them).
"""

from transferscope.models.build import BACKBONES, NetworkSettings, build_network
from transferscope.models.network import Network, new_head

__all__ = ["BACKBONES", "Network", "NetworkSettings", "build_network", "new_head"]
