import psutil
import pytest
import torch
from torch.nn import functional as F

from transferscope.errors import NetworkError, TransferscopeError
from transferscope.models import BACKBONES, Network, NetworkSettings, build_network

IMAGE = (3, 32, 32)


def n_parameters(network: Network) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize(
    ("name", "input_shape", "published"),
    [
        ("linear", (1, 28, 28), 7850),
        ("lenet", (1, 28, 28), 431_080),  # Caffe's LeNet
        (
            "conv4",
            (3, 32, 32),
            3 * 9 * 32 + 3 * 32 * 9 * 32 + 4 * 2 * 32 + 128 * 10 + 10,
        ),  # no biases before batch norm
        ("resnet8", IMAGE, 75_290),
        ("resnet20", IMAGE, 269_722),  # He et al. 2016, table 6: 0.27M, 0.46M, 0.85M
        ("resnet32", IMAGE, 464_154),
        ("resnet56", IMAGE, 853_018),
    ],
)
def test_parameters_number_as_published(name: str, input_shape: tuple[int, ...], published: int) -> None:
    assert n_parameters(build_network(name, input_shape, 10, seed=0)) == published


@pytest.mark.parametrize("name", BACKBONES)
def test_features_are_as_wide_as_they_say_and_feed_the_head(name: str) -> None:
    network = build_network(name, IMAGE, 7, seed=0)
    inputs = torch.rand(2, *IMAGE)
    assert network.features(inputs).shape == (2, network.n_features)
    assert network(inputs).shape == (2, 7)


@pytest.mark.parametrize("name", BACKBONES)
def test_the_seed_decides_the_weights_and_nothing_else_moves(name: str) -> None:
    before = torch.get_rng_state()
    first = build_network(name, IMAGE, 3, seed=5).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)
    again = build_network(name, IMAGE, 3, seed=5).state_dict()
    other = build_network(name, IMAGE, 3, seed=6).state_dict()
    torch.set_rng_state(before)
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_lenet_equals_convolution_relu_pooling_written_out() -> None:
    network = build_network("lenet", IMAGE, 4, seed=0)
    weights = network.state_dict()
    inputs = torch.rand(3, *IMAGE)
    x = inputs
    for block in ("conv1", "conv2"):
        kernel, bias = weights[f"features.{block}.0.weight"], weights[f"features.{block}.0.bias"]
        x = F.max_pool2d(F.relu(F.conv2d(x, kernel, bias)), 2)
    x = F.relu(x.flatten(1) @ weights["features.hidden.1.weight"].T + weights["features.hidden.1.bias"])
    torch.testing.assert_close(network.features(inputs), x)


@pytest.mark.parametrize(
    ("name", "depth"), [("linear", 0), ("mlp", 2), ("lenet", 3), ("conv4", 4), ("resnet20", 1 + 9)]
)
def test_blocks_can_be_counted_from_the_input_up(name: str, depth: int) -> None:
    assert len(build_network(name, IMAGE, 2, seed=0).blocks()) == depth


def test_a_residual_block_starts_with_the_shortcut_of_option_a() -> None:
    network = build_network("resnet20", IMAGE, 2, seed=0)
    block = network.features.get_submodule("stage2_block1")
    for name in ("conv1", "conv2"):
        torch.nn.init.zeros_(block.get_submodule(name).get_parameter("weight"))
    x = torch.rand(2, 16, 8, 8)
    expected = torch.zeros(2, 32, 4, 4)
    expected[:, 8:24] = x[:, :, ::2, ::2]
    torch.testing.assert_close(block(x), expected)


def test_the_second_and_third_stage_of_a_residual_network_begin_by_halving_their_maps() -> None:
    """He et al. 2016, section 4.2: sides of 32, 16 and 8 pixels."""
    maps, sides = torch.rand(1, *IMAGE), []
    for block in build_network("resnet20", IMAGE, 2, seed=0).blocks():
        maps = block(maps)
        sides.append(maps.shape[-1])
    assert sides == [32] * (1 + 3) + [16] * 3 + [8] * 3


def test_widths_are_settings() -> None:
    network = build_network(NetworkSettings("mlp", widths=(7, 5, 3)), (4,), 2, seed=0)
    assert network.n_features == 3
    assert n_parameters(network) == (4 * 7 + 7) + (7 * 5 + 5) + (5 * 3 + 3) + (3 * 2 + 2)


@pytest.mark.parametrize(
    ("name", "shape", "widths"),
    [
        ("mlp", (6,), (2**62,)),
        ("mlp", (6,), (10**6, 10**6)),
        ("lenet", (1, 28, 28), (20, 50, 10**12)),
        ("conv4", (3, 32, 32), (10**7, 10**7, 4, 4)),
        ("mlp", (3, 10**5, 10**5), None),
    ],
)
def test_a_network_beyond_the_memory_is_refused_without_allocating_it(
    name: str, shape: tuple[int, ...], widths: tuple[int, ...] | None
) -> None:
    before = psutil.Process().memory_info().rss
    with pytest.raises(NetworkError, match=r"\(.* weights\) .* needs .* GiB of memory, but .* GiB are free"):
        build_network(NetworkSettings(name, widths), shape, 3, seed=0)
    assert psutil.Process().memory_info().rss - before < 100 * 2**20


@pytest.mark.parametrize(
    ("name", "widths", "shape", "said"),
    [
        ("linet", None, (1, 28, 28), "did you mean 'lenet' or 'linear'?"),
        ("lenet", (1, 2), (1, 28, 28), "lenet has widths = (1, 2)"),
        ("mlp", (), (4,), "mlp has widths = ()"),
        ("mlp", (0,), (4,), "mlp has widths = (0,)"),
        ("lenet", None, (1, 8, 8), "at least 16 x 16 pixels, but these have 8 x 8"),
        ("resnet20", None, (64,), "the inputs have shape (64,)"),
        ("resnet20", (8, 4, 4), IMAGE, "resnet20 has widths = (8, 4, 4)"),
    ],
)
def test_networks_that_cannot_be_are_refused(
    name: str, widths: tuple[int, ...] | None, shape: tuple[int, ...], said: str
) -> None:
    with pytest.raises(TransferscopeError) as refused:
        build_network(NetworkSettings(name, widths), shape, 10, seed=0)
    assert said in str(refused.value)


def test_at_least_one_output_and_the_smallest_image_that_lenet_reads() -> None:
    with pytest.raises(NetworkError, match="0 outputs"):
        build_network("linear", (4,), 0, seed=0)
    assert build_network("lenet", (1, 16, 16), 2, seed=0)(torch.rand(1, 1, 16, 16)).shape == (1, 2)
