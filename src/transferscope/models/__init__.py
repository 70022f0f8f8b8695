"""Networks: torch modules with an explicit split into features and head.

`build_network` makes one by name with random weights (`BACKBONES` lists the built-in ones), `open_pretrained` one with
trained weights, `adapt` converts any module, and `save_weights` and `open_network` write and read weights.
"""

from transferscope.models.adapt import adapt
from transferscope.models.build import BACKBONES, NetworkSettings, build_network, input_of
from transferscope.models.initialise import reinitialise
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import Network, TwoLayerHead, new_head
from transferscope.models.pretrained import Pretrained, open_pretrained
from transferscope.models.weights import LoadReport, OpenedNetwork, open_network, save_weights

__all__ = [
    "BACKBONES",
    "LoadReport",
    "Network",
    "NetworkInput",
    "NetworkSettings",
    "OpenedNetwork",
    "Pretrained",
    "TwoLayerHead",
    "adapt",
    "build_network",
    "input_of",
    "new_head",
    "open_network",
    "open_pretrained",
    "reinitialise",
    "save_weights",
]
