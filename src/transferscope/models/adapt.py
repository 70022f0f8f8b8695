"""Any module as a network, by naming its head."""

import copy
from difflib import get_close_matches

import torch
from torch import Tensor, nn

from transferscope.errors import NetworkError
from transferscope.models.network import Network, seeded

_TOLERANCE = 1e-4


def adapt(module: nn.Module, head: str, *, input_shape: tuple[int, ...]) -> Network:
    """Split a module into the submodule called `head` and everything before it.

    The split is tried out on two random inputs: the head's outputs on the features must be what the module computes,
    so nothing but the head may follow the features (a softmax after the head, for one).

    Args:
        module: Any module from inputs (N, *input_shape) to outputs (N, n_outputs); it is copied, never changed.
        head: Name of a submodule, as in `module.named_modules()`: "fc", "classifier.1".
        input_shape: Shape of one input, for the trial.

    Returns:
        A network on the module's device that shares no memory with it. When the module is an `nn.Sequential` and the
        head its last part, the other parts are the blocks of the backbone; otherwise the backbone is one block.

    Raises:
        NetworkError: There is no such submodule; the module fails on inputs of this shape or returns something else
            than one tensor (N, n_outputs); or more than the head follows the features.

    Example:
        >>> whole = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        >>> adapt(whole, "2", input_shape=(4,)).n_features
        3
    """
    _check_name(module, head)
    features = copy.deepcopy(module)
    own_head = features.get_submodule(head)
    if isinstance(features, nn.Sequential) and features[-1] is own_head:
        features = features[:-1]
    else:
        _replace(features, head)
    with seeded(0), torch.no_grad():
        inputs = torch.randn(2, *input_shape).to(_place(module))
        n_features = _try_out(module, features, own_head, inputs)
    return Network(features, own_head, n_features)


def _check_name(module: nn.Module, head: str) -> None:
    names = [name for name, _ in module.named_modules() if name]
    if head in names:
        return
    near = get_close_matches(head, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(repr(name) for name in near)}? " if near else ""
    last = ", ".join(names[-3:]) or "none: it has no submodules"
    raise NetworkError(f"the network has no submodule {head!r}: {hint}its last ones are {last}")


def _replace(module: nn.Module, name: str) -> None:
    """Put the identity in the place of a submodule."""
    parent, _, child = name.rpartition(".")
    setattr(module.get_submodule(parent), child, nn.Identity())


def _place(module: nn.Module) -> torch.device:
    parameter = next(module.parameters(), None)
    return torch.device("cpu") if parameter is None else parameter.device


def _try_out(module: nn.Module, features: nn.Module, head: nn.Module, inputs: Tensor) -> int:
    """Width of the features, once the split computes what the module does."""
    _run(copy.deepcopy(module).train(), inputs, "the network in training mode")
    expected = _run(copy.deepcopy(module).eval(), inputs, "the network")
    seen = _run(copy.deepcopy(features).eval(), inputs, "the network without its head")
    outputs = _run(copy.deepcopy(head).eval(), seen, "the head")
    if outputs.shape != expected.shape or not torch.allclose(outputs, expected, rtol=_TOLERANCE, atol=_TOLERANCE):
        raise NetworkError(
            "the head's outputs are not those of the network, so the network does more than feed its features to the "
            "head (a softmax at the end?); wrap it in a module that ends in its head"
        )
    return int(seen.shape[1])


def _run(module: nn.Module, inputs: Tensor, what: str) -> Tensor:
    """One tensor (N, width) from a module, or an error that says what came instead."""
    try:
        outputs = module(inputs)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NetworkError(f"{what} fails on inputs of shape {tuple(inputs.shape)}: {first_line}") from error
    if not isinstance(outputs, Tensor):
        raise NetworkError(
            f"{what} returns {type(outputs).__name__}; expected one tensor (N, width): "
            "wrap it in a module that picks it"
        )
    if outputs.ndim != 2:
        raise NetworkError(
            f"{what} returns shape {tuple(outputs.shape)}; expected (N, width): flatten or pool it first"
        )
    return outputs
