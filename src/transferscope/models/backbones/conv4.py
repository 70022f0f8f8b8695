"""The four-block convolutional network of few-shot learning."""

from collections import OrderedDict

from torch import nn

from transferscope.models.backbones.backbone import Backbone, check_image

SMALLEST = 16  # pixels: the side that leaves one pixel after four poolings


def conv4(input_shape: tuple[int, ...], widths: tuple[int, int, int, int]) -> Backbone:
    """Four blocks of a 3 x 3 convolution, batch normalisation, ReLU and 2 x 2 max pooling.

    Conv-4 of "Matching Networks for One Shot Learning" (Vinyals et al. 2016, section 4.1.1; there with 64 channels),
    with the 32 channels of "Model-Agnostic Meta-Learning" (Finn et al. 2017, section 5.2) by default: on 32 x 32 images
    as many multiplications as LeNet with a twentieth of its weights.

    Args:
        input_shape: Shape of one image (C, H, W), at least 16 x 16 pixels.
        widths: Channels of the four blocks; (32, 32, 32, 32) by default.

    Returns:
        The backbone, with blocks `conv1` to `conv4`.

    Raises:
        NetworkError: The inputs are no images, or too small.
    """
    check_image("conv4", input_shape, smallest=SMALLEST)
    channels = (input_shape[0], *widths)
    blocks: OrderedDict[str, nn.Module] = OrderedDict(
        (f"conv{i}", _block(channels[i - 1], channels[i])) for i in range(1, len(channels))
    )
    blocks["flatten"] = nn.Flatten()
    _, height, width = input_shape
    return Backbone(nn.Sequential(blocks), widths[-1] * (height // 16) * (width // 16))


def _block(n_in: int, n_out: int) -> nn.Sequential:
    convolution = nn.Conv2d(n_in, n_out, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(n_out), nn.MaxPool2d(2), nn.ReLU())
