"""Outputs of the network that was measured last, in memory: the end of a training curve is that of the run, too.

What is kept is found by the content of the weights and of the examples. A few examples are computed anew every time, as
in `feature_cache`: where they are not the same, bit for bit, all are computed again.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from transferscope.training.feature_cache import LEAST_PARAMETERS, content_key
from transferscope.training.tensors import TensorSet

MOST_KEPT, MOST_BYTES = 2, 2**26
"""Sets of outputs, those of training and test examples, and the bytes of the largest of them that is kept."""

_LOOKED_AT = 16
_kept: dict[str, tuple[Tensor, Tensor]] = {}


def recent_outputs(network: nn.Module, data: TensorSet, computed: Callable[[nn.Module, TensorSet], Tensor]) -> Tensor:
    """The outputs of all examples: those that were computed last, if network and examples are the same as then.

    Args:
        network: In evaluation mode. One with few weights computes its outputs sooner than they are found.
        data: The examples.
        computed: Gives the outputs of a network for examples.

    Returns:
        The same numbers as `computed(network, data)`.
    """
    if sum(parameter.numel() for parameter in network.parameters()) < LEAST_PARAMETERS:
        return computed(network, data)
    key = content_key(network, data)
    few = computed(network, data.spread(_LOOKED_AT))
    found = _kept.get(key)
    if found is not None and torch.equal(found[0], few):
        return found[1].clone()
    whole = computed(network, data)
    if whole.numel() * whole.element_size() <= MOST_BYTES:
        _kept[key] = (few, whole.clone())
        while len(_kept) > MOST_KEPT:
            del _kept[next(iter(_kept))]
    return whole
