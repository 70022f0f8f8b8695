"""The family of a network, by its modules."""

from collections.abc import Iterable
from typing import Literal

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from transferscope.models.network import Network
from transferscope.models.texts import POOLING, reads_texts

Family = Literal[
    "small-cnn",
    "small-resnet",
    "mlp",
    "cnn-batch-norm",
    "cnn",
    "vision-transformer",
    "text-encoder",
    "sentence-encoder",
    "text-decoder",
]
"""The own small convolutional networks without and with batch normalisation; networks on vectors; larger convolutional
networks with and without it; transformers on images and on texts, of which sentence encoders say how tokens are pooled
and decoders predict the next token."""

_NEXT_TOKEN = ("ForCausalLM", "LMHeadModel")


def family_of(network: Network, name: str) -> Family:
    """Return the family of a network.

    Args:
        name: As in `NetworkSettings.name`; those of the package's own have no colon.
    """
    modules = list(network.features.modules())
    for module in modules:
        if reads_texts(module):
            made_for = getattr(module.config, "architectures", None) or ()
            if any(str(one).endswith(_NEXT_TOKEN) for one in made_for):
                return "text-decoder"
            return "sentence-encoder" if hasattr(module, POOLING) else "text-encoder"
    convolutional = _has(modules, nn.Conv1d | nn.Conv2d | nn.Conv3d)
    if not convolutional:
        return "mlp"
    if ":" not in name:
        return "small-resnet" if _has(modules, _BatchNorm) else "small-cnn"
    if any("Attention" in type(module).__name__ for module in modules) and not _has(modules, _BatchNorm):
        return "vision-transformer"
    return "cnn-batch-norm" if _has(modules, _BatchNorm) else "cnn"


def _has(modules: Iterable[nn.Module], kind: object) -> bool:
    return any(isinstance(module, kind) for module in modules)  # type: ignore[arg-type]
