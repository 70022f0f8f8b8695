"""Random initial weights for training a given network from scratch."""

from typing import Any

import torch
from torch import nn

from transferscope.errors import NetworkError
from transferscope.models.network import Network, device_of, seeded
from transferscope.wording import few


def reinitialise(network: Network, *, seed: int) -> Network:
    """Return a copy with newly initialised weights.

    Each module with parameters draws them by its own `reset_parameters`, from the inputs up; a module may also draw
    those of the modules within it.

    Args:
        seed: Seed of the draw; the global random state is unchanged.

    Returns:
        The network on the device where it was; the same weights for the same architecture and seed.

    Raises:
        NetworkError: A module holds parameters, or numbers that are saved with it, and cannot draw them.
    """
    fresh = network.copy()
    place = device_of(fresh)
    draw_again(fresh.to("cpu"), seed=seed)
    fresh.is_random = True
    return fresh.to(place)


def draw_again(module: nn.Module, *, seed: int) -> None:
    """Initialise the weights of a module on the CPU in place; see `reinitialise`.

    All saved tensors are first set to NaN, so that none can be missed.

    Raises:
        NetworkError: A module holds parameters, or numbers that are saved with it, and does not draw them.
    """
    saved = {name: tensor for name, tensor in module.state_dict(keep_vars=True).items() if tensor.is_floating_point()}
    with seeded(seed), torch.no_grad():
        for tensor in saved.values():
            tensor.fill_(torch.nan)
        for part in _inner_first(module):
            _reset(part)()
        stuck = [name for name, tensor in module.state_dict().items() if name in saved and tensor.isnan().any()]
    if stuck:
        raise NetworkError(
            f"training from scratch needs reset_parameters(), but {few(stuck)} lacks it; add that method, name the "
            "network by a function with random weights, or leave scratch out"
        )


def _inner_first(module: nn.Module) -> list[nn.Module]:
    inner = [one for child in module.children() for one in _inner_first(child)]
    return [*dict.fromkeys(inner), *([module] if _reset(module) is not None else [])]


def _reset(module: nn.Module) -> Any:
    """Return the function that initialises a module; None if it has none."""
    if isinstance(module, nn.MultiheadAttention):
        return module._reset_parameters
    reset = getattr(module, "reset_parameters", None)
    return reset if callable(reset) else None
