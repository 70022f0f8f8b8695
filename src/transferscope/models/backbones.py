"""The built-in networks without heads, each a function (input_shape, widths) -> Backbone."""

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.errors import NetworkError
from transferscope.wording import transforms_to_add


@dataclass(frozen=True, slots=True)
class Backbone:
    """Features without a head.

    Attributes:
        features: Named blocks from the input up; maps (N, *input_shape) to (N, n_features).
    """

    features: nn.Module
    n_features: int


def check_image(name: str, input_shape: tuple[int, ...], *, smallest: int) -> None:
    """Refuse inputs that a convolutional backbone cannot read.

    Args:
        input_shape: Shape of one input; should be (C, H, W).
        smallest: Least height and width in pixels.

    Raises:
        NetworkError: The inputs are not images, or too small.
    """
    if len(input_shape) != 3:
        raise NetworkError(
            f"{name} reads images (channels, height, width), but the inputs have shape {input_shape}; use mlp "
            "(--network mlp)"
        )
    _, height, width = input_shape
    if min(height, width) < smallest:
        raise NetworkError(
            f"{name} needs images of at least {smallest} x {smallest} pixels, but these have {height} x {width}; "
            f"use mlp (--network mlp), or {transforms_to_add(f'resize:{max(28, smallest)}')}"
        )


def linear(input_shape: tuple[int, ...], widths: tuple[()]) -> Backbone:
    """Return a backbone without layers: features are the flattened inputs, and the network is one linear map."""
    return Backbone(nn.Sequential(OrderedDict(flatten=nn.Flatten())), prod(input_shape))


def mlp(input_shape: tuple[int, ...], widths: tuple[int, ...]) -> Backbone:
    """Return a multilayer perceptron with ReLU after every layer; blocks `hidden1`, `hidden2`, ... on flattened inputs.

    Args:
        widths: Units of each hidden layer, from the input up; the last one is the width of the features.
    """
    sizes = (prod(input_shape), *widths)
    blocks: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    for depth, (n_in, n_out) in enumerate(pairwise(sizes), start=1):
        blocks[f"hidden{depth}"] = nn.Sequential(nn.Linear(n_in, n_out), nn.ReLU())
    return Backbone(nn.Sequential(blocks), widths[-1])


LENET_SMALLEST = 16  # pixels: the side that leaves one pixel after two convolutions and poolings


def lenet(input_shape: tuple[int, ...], widths: tuple[int, int, int]) -> Backbone:
    """Return two 5 x 5 convolutions without padding, each with 2 x 2 max pooling and ReLU, and one hidden layer.

    The Caffe variant of LeNet-5 (LeCun et al. 1998), with 431,080 parameters on 28 x 28 grey images and ten classes.

    Blocks `conv1`, `conv2` and `hidden`.

    Args:
        widths: Channels of both convolutions and units of the hidden layer.
    """
    check_image("lenet", input_shape, smallest=LENET_SMALLEST)
    channels, height, width = input_shape
    first, second, hidden = widths
    n_pooled = second * _pooled(_pooled(height)) * _pooled(_pooled(width))
    blocks: OrderedDict[str, nn.Module] = OrderedDict(
        conv1=nn.Sequential(nn.Conv2d(channels, first, 5), nn.MaxPool2d(2), nn.ReLU()),
        conv2=nn.Sequential(nn.Conv2d(first, second, 5), nn.MaxPool2d(2), nn.ReLU()),
        hidden=nn.Sequential(nn.Flatten(), nn.Linear(n_pooled, hidden), nn.ReLU()),
    )
    return Backbone(nn.Sequential(blocks), hidden)


def _pooled(side: int) -> int:
    """Return the side in pixels after a 5 x 5 convolution and 2 x 2 pooling."""
    return (side - 4) // 2


CONV4_SMALLEST = 16  # pixels: the side that leaves one pixel after four poolings


def conv4(input_shape: tuple[int, ...], widths: tuple[int, int, int, int]) -> Backbone:
    """Return four blocks of a 3 x 3 convolution, batch normalisation, ReLU and 2 x 2 max pooling.

    Conv-4 of "Matching Networks for One Shot Learning" (Vinyals et al. 2016, section 4.1.1; there with 64 channels),
    with the 32 channels of "Model-Agnostic Meta-Learning" (Finn et al. 2017, section 5.2) by default: on 32 x 32 images
    as many multiplications as LeNet with a twentieth of its weights. Blocks `conv1` to `conv4`.

    Args:
        widths: Channels of the four blocks.
    """
    check_image("conv4", input_shape, smallest=CONV4_SMALLEST)
    blocks: OrderedDict[str, nn.Module] = OrderedDict()
    for depth, (n_in, n_out) in enumerate(pairwise((input_shape[0], *widths)), start=1):
        convolution = nn.Conv2d(n_in, n_out, 3, padding=1, bias=False)
        blocks[f"conv{depth}"] = nn.Sequential(convolution, nn.BatchNorm2d(n_out), nn.MaxPool2d(2), nn.ReLU())
    blocks["flatten"] = nn.Flatten()
    _, height, width = input_shape
    return Backbone(nn.Sequential(blocks), widths[-1] * (height // 16) * (width // 16))


class GlobalAverage(nn.Module):
    """Global average pooling of maps (N, C, h, w) to means (N, C), or the identity with `keeps_maps`.

    A linear head reads either: the outputs of a linear map of means are the means of its outputs at every place.
    """

    def __init__(self, *, keeps_maps: bool = False) -> None:
        super().__init__()
        self.keeps_maps = keeps_maps

    def forward(self, maps: Float[Tensor, "N C h w"]) -> Float[Tensor, "N C ..."]:
        """Return the means, or the maps."""
        return maps if self.keeps_maps else F.adaptive_avg_pool2d(maps, 1).flatten(1)


class ResidualBlock(nn.Module):
    """relu(x' + bn(conv(relu(bn(conv(x)))))), with the parameter-free shortcut x' of He et al. (2016), option A.

    Args:
        n_out: Output channels, at least `n_in`; the shortcut fills the new channels with zeros.
        stride: Stride of the first convolution and of the shortcut.
    """

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.stride = stride
        self.n_new = n_out - n_in

    def forward(self, x: Float[Tensor, "N C H W"]) -> Float[Tensor, "N K h w"]:
        """Return the block's output, at 1 / stride of the input's resolution."""
        residual = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        before = self.n_new // 2
        shortcut = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, before, self.n_new - before))
        return F.relu(shortcut + residual)


def resnet(input_shape: tuple[int, ...], widths: tuple[int, int, int], *, name: str, n_per_stage: int) -> Backbone:
    """Return a residual network with one, three, five or nine blocks in each of its three stages.

    The CIFAR-10 networks of section 4.2 of "Deep Residual Learning for Image Recognition" (He et al. 2016): a 3 x 3
    convolution, three stages at full, half and quarter resolution, and global average pooling. Batch normalisation
    after every convolution; weights from He's normal initialisation. Blocks `stem`, `stage1_block1`, ..., and as many
    features as the last stage has channels. Images have 32 x 32 pixels in the paper, and any size of at least 4 x 4
    here.

    Args:
        widths: Channels of the three stages, not decreasing.

    Raises:
        NetworkError: The widths decrease; or as in `check_image`.
    """
    check_image(name, input_shape, smallest=4)
    if list(widths) != sorted(widths):
        raise NetworkError(f"{name} has widths = {widths}; expected widths that do not decrease, for its shortcuts")
    n_in = widths[0]
    stem = nn.Sequential(nn.Conv2d(input_shape[0], n_in, 3, padding=1, bias=False), nn.BatchNorm2d(n_in), nn.ReLU())
    blocks: OrderedDict[str, nn.Module] = OrderedDict(stem=stem)
    for stage, n_out in enumerate(widths, start=1):
        for index in range(1, n_per_stage + 1):
            stride = 2 if stage > 1 and index == 1 else 1
            blocks[f"stage{stage}_block{index}"] = ResidualBlock(n_in, n_out, stride)
            n_in = n_out
    blocks["pool"] = GlobalAverage()
    features = nn.Sequential(blocks)
    for module in features.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
    return Backbone(features, n_in)
