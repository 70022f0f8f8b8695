import copy
from collections import OrderedDict

import pytest
import torch
from torch import Tensor, nn

from transferscope.errors import NetworkError
from transferscope.models import adapt, build_network
from transferscope.models.adapt import find_blocks


class Two(nn.Module):
    def forward(self, inputs: Tensor) -> list[Tensor]:
        return [inputs, inputs]


class Wrapped(nn.Module):
    """Features, a head and whatever `finish` does."""

    def __init__(self, finish: nn.Module) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten())
        self.classifier = nn.Sequential(nn.Dropout(0.5), nn.Linear(3 * 36, 5))
        self.finish = finish

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.finish(self.classifier(self.body(inputs)))
        return outputs


@pytest.mark.parametrize(("head", "kind"), [("classifier.1", nn.Linear), ("classifier", nn.Sequential)])
def test_the_network_computes_what_the_module_does(head: str, kind: type[nn.Module]) -> None:
    module = Wrapped(nn.Identity()).eval()
    network = adapt(module, head, input_shape=(1, 8, 8)).eval()
    inputs = torch.rand(4, 1, 8, 8)
    assert (type(network.head), network.n_features) == (kind, 108)
    torch.testing.assert_close(network(inputs), module(inputs))


def test_batch_normalisation_and_shortcuts_are_adapted() -> None:
    module = build_network("resnet20", (3, 32, 32), 7, seed=0)
    network = adapt(module, "head", input_shape=(3, 32, 32))
    assert network.n_features == 64
    assert sum(p.numel() for p in network.parameters()) == sum(p.numel() for p in module.parameters())


def test_the_module_and_the_random_state_are_left_as_they_were() -> None:
    module = Wrapped(nn.Identity()).train()
    before, state = copy.deepcopy(module.state_dict()), torch.get_rng_state()
    network = adapt(module, "classifier.1", input_shape=(1, 8, 8))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert module.training
    assert torch.equal(torch.get_rng_state(), state)


def test_a_sequential_keeps_its_parts_as_blocks() -> None:
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    assert len(adapt(module, "4", input_shape=(4,)).blocks()) == 2


class ListedBackwards(nn.Module):
    """What runs last is listed first, and a list of modules, which is never called itself, between the two."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.last = nn.Linear(6, 4)
        self.middle = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6)])
        self.first = nn.Linear(5, 6)

    def forward(self, inputs: Tensor) -> Tensor:
        out = self.first(inputs).relu()
        for layer in self.middle:
            out = layer(out).relu()
        outputs: Tensor = self.head(self.last(out).relu())
        return outputs


def test_blocks_are_in_the_order_in_which_they_run() -> None:
    module = ListedBackwards()
    network = adapt(module, input_shape=(5,))
    assert list(network.named_blocks()) == ["first", "middle.0", "middle.1", "last"]
    assert torch.equal(next(network.blocks()[0].parameters()), module.first.weight)
    assert not any(part._forward_pre_hooks for part in network.modules())


@pytest.mark.parametrize(("width", "blocks"), [(4, ["body", "last"]), (5, ["body.0", "body.1", "last"])])
def test_a_group_with_more_than_nine_tenths_of_the_weights_is_several_blocks(width: int, blocks: list[str]) -> None:
    """Of 10 weights it has 4 + 5, or of 11 it has 5 + 5."""
    body = nn.Sequential(nn.Linear(width, 1, bias=False), nn.Linear(1, 5, bias=False))
    features = nn.Sequential(OrderedDict(body=body, last=nn.Conv1d(1, 1, 1, bias=False)))
    assert list(find_blocks(features)) == blocks


@pytest.mark.parametrize(
    ("module", "head", "said"),
    [
        (Wrapped(nn.Identity()), "clasifier", "no submodule 'clasifier': did you mean 'classifier'"),
        (Wrapped(nn.LogSoftmax(dim=1)), "classifier", "the network's outputs are not those of its head"),
        (Wrapped(Two()), "classifier", "the network returns list"),
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.Conv2d(2, 4, 1)), "1", "the network returns shape (3, 4, 6, 6)"),
        (nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)), "1", "the network fails on inputs of shape (3, 1, 8, 8)"),
        (nn.Sequential(nn.Conv2d(3, 2, 8), nn.Flatten(), nn.Linear(2, 2)), "2", "input = { size = 224, channels = 3 }"),
    ],
)
def test_modules_that_are_no_features_and_a_head_are_refused(module: nn.Module, head: str, said: str) -> None:
    with pytest.raises(NetworkError) as refused:
        adapt(module, head, input_shape=(1, 8, 8))
    assert said in str(refused.value)
