"""A network with an explicit split into features and head."""

import copy
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.errors import CorruptDataError, NetworkError
from transferscope.models.backbones import GlobalAverage
from transferscope.models.inputs import NetworkInput

Scaled = Literal["all", "numbers", "none"]
"""Features of vectors that are divided by their standard deviation: all, those with values other than 0 and 1, none."""

SCALE_NOTE = "transferscope.pixel_scale"
"""Metadata key of the input scaling in a file of weights, as JSON."""


def scaled_in(notes: Mapping[str, str]) -> Scaled | None:
    """Return which features a file of weights marks as scaled; None without a note on its scale.

    Raises:
        CorruptDataError: The note cannot be read.
    """
    if SCALE_NOTE not in notes:
        return None
    try:
        scaled: Scaled = json.loads(notes[SCALE_NOTE]).get("scaled", "all")
    except (ValueError, AttributeError, RecursionError):
        scaled = None  # type: ignore[assignment]
    if scaled not in get_args(Scaled):
        raise CorruptDataError(f"the file's note on its scale cannot be read: {notes[SCALE_NOTE][:80]}")
    return scaled


class GridHead(nn.Linear):
    """A linear head at every position of a map: a 1 x 1 convolution with interpolation to a grid.

    Args:
        grid: Rows and columns of the outputs.
    """

    def __init__(self, n_features: int, n_outputs: int, grid: tuple[int, int]) -> None:
        super().__init__(n_features, n_outputs)
        self.grid = grid

    def forward(self, maps: Float[Tensor, "N m h w"]) -> Float[Tensor, "N K H W"]:
        """Return outputs (N, n_outputs, *grid)."""
        outputs = super().forward(maps.movedim(1, -1)).movedim(-1, 1)
        if tuple(outputs.shape[2:]) == self.grid:
            return outputs
        return F.interpolate(outputs, size=self.grid, mode="bilinear", align_corners=False)


class TwoLayerHead(nn.Module):
    """A hidden layer with batch normalisation and leaky ReLU (slope 0.01) between features and outputs.

    Used by Liu et al. (2019, appendix A) on a frozen backbone, with 512 hidden units. A single example in training is
    normalised by the running statistics.

    Args:
        n_features: Width of the features, at least 1.
        n_outputs: Number of outputs, at least 1.
        hidden: Number of hidden units, at least 1.
    """

    def __init__(self, n_features: int, n_outputs: int, *, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(n_features, hidden)
        self.normalise = nn.BatchNorm1d(hidden)
        self.output = nn.Linear(hidden, n_outputs)

    @property
    def out_features(self) -> int:
        """The number of outputs."""
        return self.output.out_features

    def forward(self, features: Float[Tensor, "N m"]) -> Float[Tensor, "N K"]:
        """Return outputs (N, n_outputs)."""
        hidden, norm = self.hidden(features), self.normalise
        if self.training and len(features) == 1:
            hidden = F.batch_norm(hidden, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps)
        else:
            hidden = norm(hidden)
        outputs: Tensor = self.output(F.leaky_relu(hidden))
        return outputs


class Network(nn.Module):
    """A backbone that computes features and a head on them.

    Args:
        features: Maps inputs (N, *input_shape) to features (N, n_features), or to maps (N, n_features, h, w) under a
            `GridHead`. An `nn.Sequential` of blocks, so that the
            first k can be frozen; for any other module `block_names` names the blocks, or it counts as one.
        head: Maps features (N, n_features) to outputs (N, n_outputs): logits, or regression values.
        n_features: Width of the features.
        input: Input scaling; None for a network whose inputs are standardised by the training examples of their data.
        block_names: Names of the backbone's blocks within `features`, from the input up; empty for the parts of an
            `nn.Sequential`.
        is_frozen: Whether the backbone is an unchanged pretrained one, so that its features may be cached and shared;
            set by methods that do not train it.
        is_random: Whether the weights are initial ones, which a method that starts from scratch uses directly; others
            are initialised again (see `models.reinitialise`).
        scaled: Which features of vectors are scaled, by the statistics of their own data; set in training. None to
            choose again.

    Attributes:
        split: Name of the head in the module that `adapt` split; "" for other networks.
    """

    def __init__(
        self,
        features: nn.Module,
        head: nn.Module,
        n_features: int,
        *,
        input: NetworkInput | None = None,
        block_names: tuple[str, ...] = (),
        is_random: bool = False,
        scaled: Scaled | None = None,
    ) -> None:
        super().__init__()
        self.features = features
        self.head = head
        self.n_features = n_features
        self.input = input
        self.block_names = block_names
        self.is_random = is_random
        self.scaled = scaled
        self.is_frozen = False
        self.split = ""

    def forward(self, inputs: Num[Tensor, "N ..."]) -> Float[Tensor, "N K ..."]:
        """Return the outputs of the head on the features of `inputs`."""
        outputs: Tensor = self.head(self.features(inputs))
        return outputs

    def blocks(self) -> list[nn.Module]:
        """Return the backbone's blocks with parameters, from the input up; together they have all of its parameters."""
        return list(self.named_blocks().values())

    def named_blocks(self) -> dict[str, nn.Module]:
        """Return the blocks by name; parameters outside all blocks, such as a class token, belong to the first."""
        if self.block_names:
            blocks = {name: self.features.get_submodule(name) for name in self.block_names}
        elif isinstance(self.features, nn.Sequential):
            blocks = dict(self.features.named_children())
        else:
            blocks = {"features": self.features}
        blocks = {name: block for name, block in blocks.items() if any(True for _ in block.parameters())}
        inside = {id(parameter) for block in blocks.values() for parameter in block.parameters()}
        outside = [parameter for parameter in self.features.parameters() if id(parameter) not in inside]
        if blocks and outside:
            first = next(iter(blocks))
            together = nn.Module()
            together.block = blocks[first]
            together.outside = nn.ParameterList(outside)
            blocks[first] = together
        return blocks

    @property
    def grid(self) -> tuple[int, int] | None:
        """The grid of outputs over each image; None for outputs of whole inputs."""
        return self.head.grid if isinstance(self.head, GridHead) else None

    def on_grid(self, grid: tuple[int, int] | None) -> "Network":
        """Return a network that shares the weights, with outputs on a grid (rows, columns) over each image; None for
        whole inputs.

        Returns:
            A network with the same blocks and linear head; this network if nothing changes.

        Raises:
            NetworkError: It is not a built-in residual network, or the head is not linear.
        """
        if grid == self.grid:
            return self
        named = dict(self.features.named_children())
        last = next(reversed(named), "")
        if not isinstance(self.features, nn.Sequential) or not isinstance(named.get(last), GlobalAverage):
            raise NetworkError(
                "only resnet8, resnet20, resnet32 and resnet56 predict a grid of labels per image; use one of these"
            )
        if not isinstance(self.head, nn.Linear):
            raise NetworkError("the head is not linear, so it cannot predict a grid of labels; use a new head")
        named[last] = GlobalAverage(keeps_maps=grid is not None)
        head = self.head
        sizes = (head.in_features, head.out_features)
        with torch.device("meta"):
            read = nn.Linear(*sizes) if grid is None else GridHead(*sizes, grid)
        read.weight, read.bias = head.weight, head.bias
        other = self.under(read)
        other.features = nn.Sequential(OrderedDict(named)).train(self.features.training)
        return other.train(self.training)

    def copy(self) -> "Network":
        """Return a deep copy that shares no memory with this network."""
        return copy.deepcopy(self)

    def with_head(self, head: nn.Module) -> "Network":
        """Return a copy of the backbone with another head."""
        copied = self.under(head)
        copied.features = copy.deepcopy(self.features)
        return copied

    def under(self, head: nn.Module) -> "Network":
        """Return a network with this backbone, shared, and another head."""
        return Network(
            self.features,
            head,
            self.n_features,
            input=self.input,
            block_names=self.block_names,
            is_random=self.is_random,
            scaled=self.scaled,
        )


def new_head(n_features: int, n_outputs: int, *, seed: int, grid: tuple[int, int] | None = None) -> nn.Linear:
    """Return a linear head with torch's default initialisation, drawn from `seed`.

    Args:
        n_features: Width of the features, at least 1.
        n_outputs: Number of classes or regression targets, at least 1.
        seed: Seed of the draw; the global random state is left as it was.
        grid: Rows and columns of the outputs for each image, read from maps; None for outputs of whole inputs.

    Returns:
        The head; with and without a grid of the same weights.

    Raises:
        NetworkError: A width is below 1.
    """
    if n_features < 1 or n_outputs < 1:
        raise NetworkError(f"n_features = {n_features} and n_outputs = {n_outputs} make no head; expected at least 1")
    with seeded(seed):
        return nn.Linear(n_features, n_outputs) if grid is None else GridHead(n_features, n_outputs, grid)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from `seed` inside the block, on the CPU for any default device; restore the global state after it.

    Only the CPU generator is touched: `torch.manual_seed` would also reseed every GPU.
    """
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        yield


def linear_of(weight: Float[Tensor, "K m"], bias: Float[Tensor, " K"] | None, *, device: torch.device) -> nn.Linear:
    """Return a linear layer with the given numbers, in torch's default dtype."""
    layer = nn.Linear(weight.shape[1], len(weight), bias=bias is not None, device="meta").to_empty(device=device)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer


def n_weights(module: nn.Module) -> int:
    """Return the number of parameters of a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def device_of(module: nn.Module) -> torch.device:
    """Return the device of a module's parameters; the CPU if it has none."""
    return next((parameter.device for parameter in module.parameters()), torch.device("cpu"))


@contextmanager
def preserved_mode(module: nn.Module) -> Iterator[None]:
    """Restore every submodule's training / evaluation mode on exit."""
    modes = {part: part.training for part in module.modules()}
    try:
        yield
    finally:
        for part, mode in modes.items():  # from the outside in, as `train` of a module sets all within it
            if part.training != mode:
                part.train(mode)


@contextmanager
def evaluated(module: nn.Module) -> Iterator[None]:
    """Set evaluation mode; restore every submodule's mode on exit."""
    with preserved_mode(module):
        module.eval()
        yield


def is_recurrent(*networks: nn.Module) -> bool:
    """Return whether a network has recurrent layers (RNN, GRU, LSTM)."""
    return any(isinstance(module, nn.RNNBase) for network in networks for module in network.modules())


@contextmanager
def recurrent_backward(*networks: nn.Module) -> Iterator[None]:
    """Allow gradients of recurrent layers in evaluation mode on CUDA, which cuDNN does not support."""
    if not is_recurrent(*networks):
        yield
        return
    enabled = torch.backends.cudnn.enabled
    torch.backends.cudnn.enabled = False
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = enabled


@contextmanager
def computing(module: nn.Module, function: Callable[..., Any]) -> Iterator[None]:
    """Replace the forward of a module by a function inside the block."""
    before = module.__dict__.get("forward")
    module.__dict__["forward"] = function
    try:
        yield
    finally:
        if before is None:
            del module.__dict__["forward"]
        else:
            module.__dict__["forward"] = before
