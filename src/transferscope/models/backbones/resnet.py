"""The residual networks for 32 x 32 images."""

from collections import OrderedDict

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.errors import NetworkError
from transferscope.models.backbones.backbone import Backbone, check_image


class ResidualBlock(nn.Module):
    """relu(x' + bn(conv(relu(bn(conv(x)))))), with the parameter-free shortcut x' of He et al. (2016), option A.

    Args:
        n_in: Input channels.
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
        """The block's output, at 1 / stride of the input's resolution."""
        residual = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(self._shortcut(x) + residual)

    def _shortcut(self, x: Tensor) -> Tensor:
        before = self.n_new // 2
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, before, self.n_new - before))


def resnet20(input_shape: tuple[int, ...], widths: tuple[int, int, int]) -> Backbone:
    """3 residual blocks per stage, 0.27 million parameters at the default widths; see `resnet56`."""
    return _resnet("resnet20", input_shape, widths, n_per_stage=3)


def resnet32(input_shape: tuple[int, ...], widths: tuple[int, int, int]) -> Backbone:
    """5 residual blocks per stage, 0.46 million parameters at the default widths; see `resnet56`."""
    return _resnet("resnet32", input_shape, widths, n_per_stage=5)


def resnet56(input_shape: tuple[int, ...], widths: tuple[int, int, int]) -> Backbone:
    """9 residual blocks per stage, 0.85 million parameters at the default widths.

    The CIFAR-10 networks of section 4.2 of "Deep Residual Learning for Image Recognition" (He et al. 2016): a 3 x 3
    convolution, three stages at full, half and quarter resolution, and global average pooling. Batch normalisation
    after every convolution; weights from He's normal initialisation.

    Args:
        input_shape: Shape of one image (C, H, W); 32 x 32 in the paper, any size of at least 4 x 4 here.
        widths: Channels of the three stages, not decreasing; (16, 32, 64) by default.

    Returns:
        The backbone, with blocks `stem`, `stage1_block1`, ..., and as many features as the last stage has channels.

    Raises:
        NetworkError: The inputs are no images, too small, or the widths decrease.
    """
    return _resnet("resnet56", input_shape, widths, n_per_stage=9)


def _resnet(name: str, input_shape: tuple[int, ...], widths: tuple[int, int, int], *, n_per_stage: int) -> Backbone:
    check_image(name, input_shape, smallest=4)
    _check_widths(name, widths)
    n_in = widths[0]
    stem = nn.Sequential(nn.Conv2d(input_shape[0], n_in, 3, padding=1, bias=False), nn.BatchNorm2d(n_in), nn.ReLU())
    blocks: OrderedDict[str, nn.Module] = OrderedDict(stem=stem)
    for stage, n_out in enumerate(widths, start=1):
        for index in range(1, n_per_stage + 1):
            stride = 2 if stage > 1 and index == 1 else 1
            blocks[f"stage{stage}_block{index}"] = ResidualBlock(n_in, n_out, stride)
            n_in = n_out
    blocks["pool"] = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    features = nn.Sequential(blocks)
    _he_initialise(features)
    return Backbone(features, n_in)


def _he_initialise(features: nn.Sequential) -> None:
    for module in features.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)


def _check_widths(name: str, widths: tuple[int, int, int]) -> None:
    if list(widths) != sorted(widths):
        raise NetworkError(f"{name} has widths {widths}; its shortcuts need widths that do not decrease")
