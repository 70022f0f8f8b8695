"""Contract tests of networks: built-in backbones, those of a hub, and user functions."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from transferscope.errors import NetworkError
from transferscope.models import Network, NetworkSettings, build_network, open_network, reinitialise, save_weights
from transferscope.models.adapt import check_answers
from transferscope.models.texts import sample_tokens
from transferscope.testing.promises import check_all, require

_OUTPUTS = 3


@dataclass(frozen=True)
class NetworkCase:
    """A network by name, and the shape of one test input."""

    settings: NetworkSettings
    input_shape: tuple[int, ...]

    def build(self, seed: int = 0) -> Network:
        """Return a network of random weights."""
        return build_network(self.settings, self.input_shape, _OUTPUTS, seed=seed)

    def inputs(self, n: int = 5) -> torch.Tensor:
        """Return random inputs, always the same."""
        known = self.build().input
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            if known is not None and known.vocabulary is not None:
                return sample_tokens(known.vocabulary, self.input_shape, n=n)
            return torch.randn(n, *self.input_shape)


def check_network(network: str | NetworkSettings, input_shape: tuple[int, ...] = (1, 28, 28)) -> None:
    """Test the contract of a network with random weights; takes a few steps.

    Args:
        network: Its name, as in "examples/network.py:small_net", or with its settings.
        input_shape: Shape of one input that it reads: (C, H, W) for images, (D,) for vectors.

    Raises:
        AssertionError: It breaks a promise of `NETWORK_PROMISES`.
    """
    settings = NetworkSettings(network) if isinstance(network, str) else network
    check_all(NETWORK_PROMISES, NetworkCase(settings, input_shape), f"the network {settings.name}")


def _equal(one: Network, other: Network) -> bool:
    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def _is_a_function_of_the_seed(case: NetworkCase) -> None:
    state = torch.get_rng_state()
    one, again, other = case.build(0), case.build(0), case.build(1)
    require(_equal(one, again), "one seed gives two networks; draw weights from torch's global generator alone")
    has_weights = any(True for _ in one.features.parameters())
    require(not has_weights or not _equal(one, other), "two seeds give the same network")
    require(torch.equal(torch.get_rng_state(), state), "building it changes the global random state")


def _gives_outputs(case: NetworkCase) -> None:
    network = case.build().eval()
    with torch.no_grad():
        for n in (1, 2, 5):
            outputs = network(case.inputs(n))
            require(outputs.shape == (n, _OUTPUTS), f"{n} inputs give outputs of shape {tuple(outputs.shape)}")
            require(torch.isfinite(outputs).all(), "random inputs give outputs that are not finite")


def _reads_examples_alone(case: NetworkCase) -> None:
    network = case.build()
    vocabulary = None if network.input is None else network.input.vocabulary
    check_answers(network, case.input_shape, vocabulary)


def _learns_everywhere(case: NetworkCase) -> None:
    network = case.build().train()
    inputs = case.inputs()
    loss = network(inputs).square().sum()
    torch.autograd.backward(loss)
    without = [name for name, p in network.named_parameters() if p.requires_grad and p.grad is None]
    require(not without, f"no gradient reaches {', '.join(without[:3])}; leave out what is not used")


def _has_blocks(case: NetworkCase) -> None:
    network = case.build()
    of_blocks = {id(p) for block in network.blocks() for p in block.parameters()}
    missing = [name for name, p in network.features.named_parameters() if id(p) not in of_blocks]
    require(not missing, f"{', '.join(missing[:3])} belong to no block, so that they cannot be frozen")


def _is_kept(case: NetworkCase) -> None:
    network, inputs = case.build(), case.inputs()
    with TemporaryDirectory() as folder, torch.no_grad():
        file = Path(folder) / "network.safetensors"
        save_weights(network, file)
        try:
            again = open_network(case.build(1), file).network
        except NetworkError as error:
            raise AssertionError(f"its file cannot be opened: {error}") from error
        same = torch.equal(network.eval()(inputs), again.eval()(inputs))
    require(same, "a network that was written to a file and read again gives other outputs; keep its state in buffers")


def _is_drawn_again(case: NetworkCase) -> None:
    network = case.build()
    network.is_random = False  # as if it were trained
    drawn = reinitialise(network, seed=3)
    for name, parameter in drawn.features.named_parameters():
        own = network.features.get_parameter(name)
        constant = bool((own == own.flatten()[0]).all())
        require(constant or not torch.equal(parameter, own), f"{name} cannot be drawn again, as scratch needs")


NETWORK_PROMISES: dict[str, Callable[[NetworkCase], None]] = {
    "it is a function of the seed": _is_a_function_of_the_seed,
    "it gives finite outputs for any number of inputs": _gives_outputs,
    "it reads every example for itself": _reads_examples_alone,
    "every weight learns": _learns_everywhere,
    "its blocks hold all of its weights": _has_blocks,
    "its file gives the same network": _is_kept,
    "its weights can be drawn again": _is_drawn_again,
}
"""Checks by their descriptions."""
