"""Reading a network without changing it: modes, random state, and parameters apart from its gradients."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from transferscope.errors import NetworkError, SettingsError, first_line
from transferscope.models.network import computing, recurrent_backward
from transferscope.records import Says

BatchNorm = Annotated[
    Literal["running", "batch"],
    Says(
        "Statistics of batch normalisation",
        '"running", those of the network that makes predictions, or "batch", as training sees the loss, of batches of '
        "`batch_size`; see `loss_mode`.",
    ),
]


@contextmanager
def evaluation_mode(*networks: nn.Module) -> Iterator[None]:
    """Set networks to evaluation mode with gradients; restore modes and the global random state on exit.

    Parameters and buffers are protected by `frozen_state`, not here.
    """
    modes = [(module, module.training) for network in networks for module in network.modules()]
    with_cudnn = [module for module in dict(modes) if _asks_cudnn(module)]
    devices = sorted({p.device.index or 0 for network in networks for p in network.parameters() if p.is_cuda})
    try:
        for network in networks:
            network.eval()
        with ExitStack() as within:
            within.enter_context(torch.random.fork_rng(devices=devices))
            within.enter_context(torch.enable_grad())
            within.enter_context(recurrent_backward(*networks))
            for module in with_cudnn:
                within.enter_context(computing(module, partial(_without_cudnn, module.forward)))
            yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def loss_mode(network: nn.Module, batch_norm: BatchNorm, *, n_examples: int, batch_size: int) -> Iterator[None]:
    """Set `evaluation_mode` for a loss along changing weights, which batch normalisation may follow.

    Running means are those of the network that makes predictions. The training loss uses the statistics of each batch,
    and early in training the two differ by orders of magnitude. Running means that still have their initial values (0,
    with variance 1) are replaced by those of each batch.

    Raises:
        SettingsError: A batch of a single example would have no statistics.
    """
    norms = (module for module in network.modules() if isinstance(module, _BatchNorm))
    by_batch = [module for module in norms if batch_norm == "batch" or _is_initial(module)]
    alone = batch_size == 1 or n_examples % batch_size == 1
    if alone and any(isinstance(module, nn.BatchNorm1d) for module in by_batch):
        raise SettingsError(
            f"{n_examples} examples in batches of {batch_size} leave a batch of one, too few for batch normalisation; "
            "change n_examples or batch_size"
        )
    tracked = [module.track_running_stats for module in by_batch]
    try:
        with evaluation_mode(network):
            for module in by_batch:
                module.training, module.track_running_stats = True, False  # reads and writes no running mean
            yield
    finally:
        for module, track in zip(by_batch, tracked, strict=True):
            module.track_running_stats = track


def _asks_cudnn(module: nn.Module) -> bool:
    on_cuda = any(tensor.is_cuda for tensor in module.state_dict().values())
    return isinstance(module, _BatchNorm) and on_cuda and "forward" not in vars(module)


def _without_cudnn(forward: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    """Avoid cuDNN's batch normalisation, which queries the memory order of its input and so fails in vmap."""
    with torch.backends.cudnn.flags(enabled=False):
        return forward(inputs)


def _is_initial(module: _BatchNorm) -> bool:
    mean, variance = module.running_mean, module.running_var
    return mean is not None and variance is not None and not mean.any() and bool((variance == 1).all())


@dataclass(frozen=True)
class FrozenState:
    """Parameters and buffers of a network that share nothing with its gradients.

    Attributes:
        parameters: Detached views of the parameters (the memory is shared, so do not write to it).
        buffers: Copies of the buffers, which a forward pass may write to.
    """

    parameters: dict[str, Tensor]
    buffers: dict[str, Tensor]


def frozen_state(network: nn.Module) -> FrozenState:
    """Return the state of `network` for `torch.func.functional_call`.

    Raises:
        NetworkError: Part of it is compiled by TorchScript, whose parameters cannot be replaced.
    """
    if any(isinstance(module, torch.jit.ScriptModule) for module in network.modules()):
        raise NetworkError(
            "the network is compiled by torch.jit, so its weights cannot be replaced; give the module it was "
            "compiled from"
        )
    return FrozenState(
        {name: parameter.detach() for name, parameter in network.named_parameters()},
        {name: buffer.detach().clone() for name, buffer in network.named_buffers()},
    )


def first_outputs(network: nn.Module, inputs: Tensor, state: FrozenState) -> Tensor:
    """Return outputs for a few inputs, in evaluation mode and without gradients, to check that the network can read
    them.

    Args:
        inputs: Shape (n, ...).
        state: State used instead of the network's own; buffers are copied.

    Raises:
        NetworkError: The forward pass fails, or does not return one row per input.
    """
    tensors = {**state.parameters, **{name: buffer.clone() for name, buffer in state.buffers.items()}}
    with evaluation_mode(network), torch.no_grad():
        try:
            outputs = functional_call(network, tensors, (inputs,))
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise NetworkError(
                f"the network fails on inputs of shape {tuple(inputs.shape)} and type {inputs.dtype} "
                f"({first_line(error)}); give inputs as in its training"
            ) from error
    if not isinstance(outputs, Tensor) or outputs.dim() == 0 or len(outputs) != len(inputs):
        seen = f"shape {tuple(outputs.shape)}" if isinstance(outputs, Tensor) else f"a {type(outputs).__name__}"
        raise NetworkError(
            f"the network returns {seen} for {len(inputs)} inputs; expected one tensor with a row per input: wrap it "
            "in a module that returns it"
        )
    return outputs
