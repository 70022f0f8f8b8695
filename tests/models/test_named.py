"""Networks of functions and classes of the user, their heads and blocks, and weights drawn again."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, load_model, save_model
from torch import nn

from transferscope.errors import NetworkError, SettingsError
from transferscope.models import (
    Network,
    NetworkInput,
    NetworkSettings,
    Pretrained,
    adapt,
    build_network,
    open_pretrained,
    reinitialise,
)

CODE = """
import random

import numpy as np
import torch
from torch import nn


class Small(nn.Module):
    def __init__(self, width=4, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3)
        self.stages = nn.ModuleList([nn.Conv2d(width, width, 3) for _ in range(2)])
        self.norm = nn.BatchNorm2d(width)
        self.classifier = nn.ModuleDict({"drop": nn.Dropout(0.5), "out": nn.Linear(width, classes)})

    def forward(self, x):
        x = torch.relu(self.stem(x))
        for stage in self.stages:
            x = torch.relu(stage(x))
        return self.classifier["out"](self.classifier["drop"](self.norm(x).mean((2, 3))))


def trained(kind=Small):
    with torch.random.fork_rng():
        torch.manual_seed(7)
        return kind()


def in_part():
    module = trained()
    module.stages[1] = nn.Conv2d(4, 4, 3)
    return module


def token():
    module = Small()
    module.stem = Shifted()
    return module


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(4))
        self.conv = nn.Conv2d(1, 4, 3)

    def forward(self, x):
        return self.conv(x) + self.token[:, None, None]


def trained_token():
    return trained(token)


def softmax():
    return nn.Sequential(Small(), nn.Softmax(1))


def broken():
    raise ValueError("no such depth")


def number():
    return 3


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3)
        self.first, self.second = nn.Conv2d(4, 4, 3), nn.Conv2d(4, 4, 3)
        self.second.weight = self.first.weight
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        for layer in (self.stem, self.first, self.second):
            x = torch.relu(layer(x))
        return self.out(x.mean((2, 3)))


class Odd(nn.Module):

    def __init__(self, how="none"):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.batch = nn.BatchNorm2d(4, track_running_stats=False)
        self.out = nn.Linear(4, 3)
        self.how, self.calls = how, 0

    def train(self, mode=True):
        return super().train(mode or self.how == "eval without effect")

    def forward(self, x):
        self.calls += 1
        x = self.conv(x)
        if self.how in ("statistics of the batch", "eval without effect"):
            x = self.batch(x)
        x = torch.relu(x).mean((2, 3))
        if self.how == "dropout":
            x = nn.functional.dropout(x, 0.5)
        if self.how == "rare dropout":
            x = nn.functional.dropout(x, 0.02)
        if self.how == "depth" and random.random() < 0.1:
            x = 2 * x
        if self.how == "noise":
            x = x + 0.01 * torch.from_numpy(np.random.randn(*x.shape)).to(x.dtype)
        if self.how == "counting":
            x = x + self.calls
        if self.how == "mean of the batch":
            x = x - x.mean(0)
        if self.how == "the one before":
            x = x + x.roll(1, 0)
        return self.out(x)
"""

SCALED = NetworkInput(mean=0.0, std=1.0)
SHAPE = (1, 12, 12)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "nets.py"
    path.write_text(CODE)
    return path


def named(code: Path, what: str, **settings: object) -> NetworkSettings:
    return NetworkSettings(f"{code}:{what}", **settings)  # type: ignore[arg-type]


def drawn(settings: NetworkSettings, seed: int) -> nn.Module:
    """The module itself, with weights of a seed."""
    assert settings.module is not None
    return settings.module.random(seed)


def same(first: nn.Module, second: nn.Module) -> bool:
    one, other = first.state_dict(), second.state_dict()
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_class_of_a_file_is_a_network_whose_head_and_blocks_are_found(code: Path) -> None:
    network = build_network(named(code, "Small", options={"width": 6}), SHAPE, 5, seed=0)
    assert (network.n_features, network.eval()(torch.zeros(2, *SHAPE)).shape) == (6, (2, 5))
    assert list(network.named_blocks()) == ["stem", "stages.0", "stages.1", "norm"]
    assert sum(p.numel() for b in network.blocks() for p in b.parameters()) == sum(
        p.numel() for p in network.features.parameters()
    )
    assert same(network, build_network(named(code, "Small", options={"width": 6}), SHAPE, 5, seed=0))
    assert not same(network, build_network(named(code, "Small", options={"width": 6}), SHAPE, 5, seed=1))


def test_parameters_outside_of_all_blocks_belong_to_the_first() -> None:
    features = nn.Module()
    features.token = nn.Parameter(torch.zeros(3))
    features.a, features.b = nn.Linear(2, 2), nn.Linear(2, 2)
    network = Network(features, nn.Linear(2, 2), 2, block_names=("a", "b"))
    for block in network.blocks()[:1]:
        block.requires_grad_(False)
    frozen = {name for name, parameter in features.named_parameters() if not parameter.requires_grad}
    assert frozen == {"token", "a.weight", "a.bias"}


def test_weights_of_a_file_give_the_outputs_of_the_module(code: Path, tmp_path: Path) -> None:
    settings = named(code, "Small", input=SCALED)
    module = drawn(settings, 3)
    torch.save(module.state_dict(), tmp_path / "net.pt")
    opened = open_pretrained(Pretrained(settings, tmp_path / "net.pt"), SHAPE, head="either")
    inputs = torch.randn(4, *SHAPE)
    torch.testing.assert_close(opened.network.eval()(inputs), module.eval()(inputs), rtol=0, atol=0)
    assert (opened.report.n_outputs, opened.report.matched) == (3, opened.report.backbone)
    backbone = sum(p.numel() for p in module.parameters()) - (4 * 3 + 3) + 2 * 4  # and two running statistics
    assert opened.report.backbone == backbone


def stem(network: Network) -> nn.Parameter:
    return network.features.get_submodule("stem").get_parameter("weight")


def test_a_function_that_loads_weights_is_a_source_and_starts_from_scratch_at_random(code: Path) -> None:
    settings = named(code, "trained", input=SCALED)
    opened = open_pretrained(Pretrained(settings), SHAPE, head="either")
    with torch.random.fork_rng():
        torch.manual_seed(7)
        expected = nn.Conv2d(1, 4, 3).weight
    torch.testing.assert_close(stem(opened.network), expected, rtol=0, atol=0)
    fresh = build_network(settings, SHAPE, 3, seed=0)
    assert not torch.equal(stem(fresh), expected)
    assert same(fresh, build_network(settings, SHAPE, 3, seed=0))


def test_drawn_again_nothing_of_the_weights_is_left(code: Path) -> None:
    first, second = (adapt(drawn(named(code, "Small"), seed), input_shape=SHAPE) for seed in (1, 2))
    kept = first.features.get_submodule("norm").get_buffer("running_mean").fill_(5.0)
    assert not same(first, second)
    before = torch.get_rng_state()
    assert same(reinitialise(first, seed=9), reinitialise(second, seed=9))
    assert torch.equal(torch.get_rng_state(), before)
    assert float(kept[0]) == 5.0  # the caller's is as it was


def test_a_fraction_of_the_weights_is_taken_only_when_that_is_said(code: Path, tmp_path: Path) -> None:
    settings = named(code, "Small", input=SCALED)
    state = drawn(settings, 3).state_dict()
    del state["stages.1.weight"]
    torch.save(state, tmp_path / "part.pt")
    with pytest.raises(
        NetworkError, match=r"has 208 of the 352 numbers of the backbone and lacks stages.1.weight; all"
    ):
        open_pretrained(Pretrained(settings, tmp_path / "part.pt"), SHAPE)
    with pytest.raises(NetworkError, match=r"least_share = 0.9 of them are needed"):
        open_pretrained(Pretrained(settings, tmp_path / "part.pt", 0.9), SHAPE)
    report = open_pretrained(Pretrained(settings, tmp_path / "part.pt", 0.5), SHAPE).report
    assert (report.matched, report.backbone, report.missing) == (208, 352, ("stages.1.weight",))


def test_a_function_that_loads_a_part_of_the_weights_is_found_out(code: Path) -> None:
    with pytest.raises(NetworkError, match=r"has 204 of the 352 numbers .* and lacks stages.1.weight, stages.1.bias"):
        open_pretrained(Pretrained(named(code, "in_part", input=SCALED)), SHAPE)


@pytest.mark.parametrize(
    ("what", "settings", "message"),
    [
        ("broken", {}, r"broken cannot be made: no such depth$"),
        ("number", {}, r"number returns int; expected a torch.nn.Module$"),
        ("Small", {"options": {"depth": 3}}, r"Small cannot be made: .*unexpected keyword argument 'depth'$"),
        ("softmax", {}, r"network's head is unknown.*0.classifier.out \(3 outputs\)\); name it"),
        ("Small", {"head": "clasifier"}, r"no submodule 'clasifier': did you mean 'classifier'"),
        ("trained_token", {}, r"needs reset_parameters\(\), but stem.token lacks it"),
    ],
)
def test_a_network_that_cannot_be_made_is_refused_in_one_sentence(
    code: Path, what: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(NetworkError, match=message) as caught:
        build_network(named(code, what, **settings), SHAPE, 3, seed=0)
    assert "\n" not in str(caught.value)


def test_a_module_that_draws_no_token_can_be_transferred_from_and_begin_at_random(code: Path) -> None:
    assert build_network(named(code, "token"), SHAPE, 3, seed=0).is_random  # its function draws it
    opened = open_pretrained(Pretrained(named(code, "trained_token", input=SCALED)), SHAPE)
    with pytest.raises(NetworkError, match="training from scratch needs"):
        reinitialise(opened.network, seed=0)


def test_what_is_not_known_of_a_pretrained_network_is_asked_for(code: Path, tmp_path: Path) -> None:
    torch.save({"other": torch.ones(2, 2)}, tmp_path / "other.pt")
    cases = {
        "the input scaling of .* is unknown": Pretrained(named(code, "trained")),
        "builds a network of random weights": Pretrained(named(code, "Small", input=SCALED)),
        "lenet is a backbone without weights": Pretrained(NetworkSettings("lenet")),
        "has no weight of .* by name and shape": Pretrained(named(code, "Small", input=SCALED), tmp_path / "other.pt"),
    }
    for message, pretrained in cases.items():
        with pytest.raises(NetworkError, match=message) as caught:
            open_pretrained(pretrained, (1, 28, 28))
        assert "\n" not in str(caught.value)


def test_a_checkpoint_of_a_lightning_module_is_read_below_its_attribute(code: Path, tmp_path: Path) -> None:
    asked = named(code, "Small", input=SCALED)
    weights = build_network(asked, SHAPE, 3, seed=1).features.state_dict()
    plain = {name.removeprefix("module."): tensor for name, tensor in weights.items()}
    held = {"epoch": 3, "pytorch-lightning_version": "2.5.0", "hyper_parameters": {"lr": 0.1}}
    torch.save({**held, "state_dict": {f"model.{name}": one for name, one in plain.items()}}, tmp_path / "last.ckpt")
    opened = open_pretrained(Pretrained(asked, tmp_path / "last.ckpt"), SHAPE)
    for name, tensor in opened.network.features.state_dict().items():
        torch.testing.assert_close(tensor, weights[name], rtol=0, atol=0)


def test_inputs_are_read_as_the_formula_says() -> None:
    known = NetworkInput(mean=127, std=128, scale=1)
    mean, std = known.per_unit
    byte = 200
    assert (byte / 255 - mean[0]) / std[0] == pytest.approx((byte - 127) / 128, rel=1e-5)
    assert NetworkInput(size=32).over(known) == NetworkInput(32, 127, 128, None, 1)


@pytest.mark.parametrize(
    "given",
    [
        *({"mean": (0.1, 0.2), "std": (1, 1, 1)}, {"std": 0}, {"size": 0}, {"channels": 2}),
        *({"size": 224, "resize": 200}, {"resize": 200}, {"resample": "cubic"}),
    ],
)
def test_an_input_that_cannot_be_is_refused_in_one_sentence(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError) as caught:
        NetworkInput(**given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", ["pt", "safetensors"])
def test_tied_weights_are_read_from_whatever_wrote_them(form: str, code: Path, tmp_path: Path) -> None:
    """The truth is `safetensors.torch.load_model`, and the module itself."""
    settings, inputs = named(code, "Tied", input=SCALED), torch.ones(1, *SHAPE)
    module, file = drawn(settings, 3), tmp_path / f"tied.{form}"
    if form == "pt":
        torch.save(module.state_dict(), file)
    else:
        save_model(module, str(file))
        assert len(load_file(file)) == len(module.state_dict()) - 1
        again = drawn(settings, 4)
        load_model(again, str(file))
        assert torch.equal(again(inputs), module(inputs))
    network = open_pretrained(Pretrained(settings, file), SHAPE, head="either").network.eval()
    assert torch.equal(network(inputs), module(inputs))
    untied = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    untied["second.weight"] += 1
    torch.save(untied, tmp_path / "untied.pt")
    with pytest.raises(
        NetworkError, match=r"different numbers for first\.weight and second\.weight, which the network shares"
    ):
        open_pretrained(Pretrained(settings, tmp_path / "untied.pt"), SHAPE)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("none", None),
        *((how, "differ between calls") for how in ("dropout", "rare dropout", "depth", "noise", "counting")),
        ("statistics of the batch", "depends on its batch"),
        ("eval without effect", "depends on its batch"),
        ("mean of the batch", "depends on its batch"),
        ("the one before", "depends on its batch"),
    ],
)
def test_answers_that_are_not_each_inputs_own_are_refused(
    how: str, message: str | None, code: Path, tmp_path: Path
) -> None:
    settings = named(code, "Odd", options={"how": how}, input=SCALED)
    torch.save(drawn(settings, 1).state_dict(), tmp_path / "odd.pt")
    random.seed(0)
    if message is None:
        assert open_pretrained(Pretrained(settings, tmp_path / "odd.pt"), SHAPE).network.n_features == 4
        return
    with pytest.raises(NetworkError, match=message):
        open_pretrained(Pretrained(settings, tmp_path / "odd.pt"), SHAPE)
    with pytest.raises(NetworkError, match=message):
        build_network(settings, SHAPE, 3, seed=0)
