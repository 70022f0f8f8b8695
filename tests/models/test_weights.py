import math
import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from transferscope.errors import CorruptDataError, MissingDataError, NetworkError
from transferscope.models import (
    LoadReport,
    Network,
    NetworkSettings,
    Pretrained,
    TwoLayerHead,
    build_network,
    open_network,
    open_pretrained,
    save_weights,
)
from transferscope.models.neighbours import NeighbourHead
from transferscope.models.weights import is_whole


def network(seed: int, *, n_outputs: int = 3, width: int = 5) -> Network:
    return build_network(NetworkSettings("mlp", widths=(width,)), (4,), n_outputs, seed=seed)


def agree(first: Network, second: Network) -> bool:
    ours, theirs = first.state_dict(), second.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def numbers(network: Network) -> int:
    """Parameters and statistics of the backbone, counted one by one."""
    return sum(tensor.numel() for tensor in network.features.state_dict().values() if tensor.dtype == torch.float32)


@pytest.mark.parametrize("key", ["", "safetensors", "state_dict", "model_state_dict", "model", "ema"])
def test_weights_come_back_as_they_were(key: str, tmp_path: Path) -> None:
    saved = network(0)
    path = tmp_path / ("weights.safetensors" if key == "safetensors" else "weights.pt")
    if key == "safetensors":
        save_weights(saved, path)
    else:
        torch.save({key: saved.state_dict(), "epoch": 3} if key else saved.state_dict(), path)
    opened = open_network(network(1), path)
    assert opened.report == LoadReport((), (), matched=25, backbone=25, n_outputs=3)  # 5 x 4 weights, 5 biases
    assert agree(saved, opened.network)


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod.", "averaged"])
def test_what_wrappers_put_before_every_name_is_left_out(prefix: str, tmp_path: Path) -> None:
    saved = network(0)
    averaged = torch.optim.swa_utils.AveragedModel(saved).state_dict()
    named = {f"{prefix}{name}": tensor for name, tensor in saved.state_dict().items()}
    torch.save(averaged if prefix == "averaged" else named, tmp_path / "w.pt")
    assert agree(saved, open_network(network(1), tmp_path / "w.pt").network)


Tensors = dict[str, torch.Tensor]


def named(weights: Tensors, change: Callable[[str], str]) -> Tensors:
    return {change(name): tensor for name, tensor in weights.items()}


TWO_SETS: dict[str, Callable[[Tensors, Tensors], object]] = {
    "two known keys": lambda last, ema: {"model": last, "ema": ema},
    "timm": lambda last, ema: {"epoch": 3, "arch": "x", "state_dict": last, "state_dict_ema": ema},
    "deit": lambda last, ema: {"model": last, "model_ema": ema, "scaler": {"scale": 1.0}},
    "basicsr": lambda last, ema: {"model": last, "params_ema": named(ema, lambda name: f"module.{name}")},
    "deeper": lambda last, ema: {"model": last, "averaged": {"module": {"weights": ema}, "decay": 0.99}},
    "lightning's averaging": lambda last, ema: {"state_dict": ema, "current_model_state": last, "loops": {}},
    "a callback of lightning": lambda last, ema: {"state_dict": last, "callbacks": {"EMA": {"ema_weights": ema}}},
    "an optimiser of nemo": lambda last, ema: {
        "state_dict": last, "optimizer_states": [{"opt": {"state": {}, "param_groups": []}, "ema": tuple(ema.values())}]
    },
    "shadows without names": lambda last, ema: {"model": last, "ema_helper": {"shadow_params": list(ema.values())}},
    "longer names": lambda last, ema: {"state_dict": {**last, **named(ema, lambda name: f"ema.module.{name}")}},
    "another first word": lambda last, ema: {
        "state_dict": {**last, **named(ema, lambda name: "copy." + name.partition(".")[2])}
    },
    "names without points": lambda last, ema: {
        **last, **named(ema, lambda name: "model_ema." + name.replace(".", ""))
    },
}  # fmt: skip


@pytest.mark.parametrize("layout", TWO_SETS)
def test_a_file_with_two_sets_of_weights_is_refused(layout: str, tmp_path: Path) -> None:
    path = tmp_path / "w.pt"
    torch.save(TWO_SETS[layout](network(0).state_dict(), network(1).state_dict()), path)
    with pytest.raises(CorruptDataError, match=r"^[^\n]*w\.pt has several sets of weights: [^\n]*$"):
        open_network(network(2), path)


def test_what_an_optimiser_keeps_is_no_second_set(tmp_path: Path) -> None:
    saved = network(0)
    optimiser = torch.optim.Adam(saved.parameters())
    saved(torch.ones(2, 4)).sum().backward()
    optimiser.step()
    further = {"optimizer": optimiser.state_dict(), "rng": torch.get_rng_state(), "best": {"loss": torch.tensor(1.0)}}
    torch.save({"state_dict": saved.state_dict(), **further}, tmp_path / "w.pt")
    assert agree(saved, open_network(network(1), tmp_path / "w.pt").network)


@pytest.mark.parametrize("bias", [True, False])
def test_a_network_comes_with_the_head_of_its_file_and_leaves_frame_and_random_state_alone(
    bias: bool, tmp_path: Path
) -> None:
    saved = network(0).with_head(torch.nn.Linear(5, 7, bias=bias))
    save_weights(saved, tmp_path / "w.safetensors")
    frame = network(1)
    before = {name: tensor.clone() for name, tensor in frame.state_dict().items()}
    state = torch.get_rng_state()
    opened = open_network(frame, tmp_path / "w.safetensors")
    assert torch.equal(torch.get_rng_state(), state)
    assert agree(saved, opened.network)
    assert opened.report.n_outputs == 7
    assert opened.network.state_dict().keys() == saved.state_dict().keys()
    assert all(torch.equal(tensor, before[name]) for name, tensor in frame.state_dict().items())


def test_a_head_of_two_layers_comes_back_with_its_statistics_and_incomplete_ones_do_not(tmp_path: Path) -> None:
    saved = network(0).with_head(TwoLayerHead(5, 7, hidden=4))
    saved(torch.rand(6, 4))
    path = tmp_path / "w.safetensors"
    save_weights(saved, path)
    opened = open_network(network(1), path)
    assert opened.report.n_outputs == 7
    inputs = torch.rand(3, 4)
    assert torch.equal(opened.network.eval()(inputs), saved.eval()(inputs))
    weights = load_file(path)
    for wrong in ("head.normalise.running_var", "head.output.weight", "head.hidden.bias"):
        save_file({name: tensor for name, tensor in weights.items() if name != wrong}, path)
        assert open_network(network(1), path, head="either").report.n_outputs == 0
        with pytest.raises(NetworkError, match="has no linear head"):
            open_network(network(1), path)


def test_neighbours_come_back_and_those_that_cannot_be_counted_do_not(tmp_path: Path) -> None:
    kept, values = torch.rand(6, 5), torch.eye(2)[torch.tensor([0, 0, 0, 1, 1, 1])]
    saved, path = network(0).with_head(NeighbourHead(kept, values, k=3, votes=True)), tmp_path / "w.safetensors"
    save_weights(saved, path)
    opened = open_network(network(1), path)
    assert opened.report.n_outputs == 2
    inputs = torch.rand(9, 4)
    assert torch.equal(opened.network.eval()(inputs), saved.eval()(inputs))
    weights = load_file(path)
    wrong = {"head.k": (0.0, 1.5, -1.0, math.nan, math.inf), "head.votes": (2.0, math.nan)}
    for name, numbers_of in wrong.items():
        for number in numbers_of:
            save_file(weights | {name: torch.tensor(number)}, path)
            assert open_network(network(1), path, head="either").report.n_outputs == 0
    for name in ("head.directions", "head.values"):
        save_file(weights | {name: weights[name][:-1].clone()}, path)
        with pytest.raises(NetworkError, match="has no linear head"):
            open_network(network(1), path)


def test_the_frame_keeps_its_head_where_the_file_has_none_to_take(tmp_path: Path) -> None:
    save_weights(network(0, n_outputs=7), tmp_path / "with.safetensors")
    headless = {name: tensor for name, tensor in network(0).state_dict().items() if name.startswith("features.")}
    save_file(headless, tmp_path / "without.safetensors")
    frame = network(1)
    for opened in (
        open_network(frame, tmp_path / "with.safetensors", head="frame"),
        open_network(frame, tmp_path / "without.safetensors", head="either"),
    ):
        assert opened.report.n_outputs == 0
        assert torch.equal(opened.network.head.get_parameter("weight"), frame.head.get_parameter("weight"))
        assert all(torch.equal(opened.network.state_dict()[name], tensor) for name, tensor in headless.items())
    with pytest.raises(NetworkError, match=r"has no linear head \(a matrix head\.weight\)"):
        open_network(frame, tmp_path / "without.safetensors")


def test_buffers_are_saved_too(tmp_path: Path) -> None:
    saved = build_network("resnet20", (3, 8, 8), 2, seed=0)
    saved(torch.rand(4, 3, 8, 8))
    save_weights(saved, tmp_path / "w.safetensors")
    assert "features.stem.1.running_mean" in load_file(tmp_path / "w.safetensors")
    opened = open_network(build_network("resnet20", (3, 8, 8), 2, seed=1), tmp_path / "w.safetensors")
    assert agree(saved, opened.network)
    assert opened.report.matched == opened.report.backbone == numbers(saved)


def test_only_counters_of_batches_may_be_absent(tmp_path: Path) -> None:
    """Any other tensor that lacks is an incomplete network, whatever it is; further layers are another network."""
    path = tmp_path / "w.safetensors"
    weights = build_network("resnet20", (3, 8, 8), 2, seed=0).state_dict()
    frame = build_network("resnet20", (3, 8, 8), 2, seed=1)
    counters = {name for name in weights if name.endswith("num_batches_tracked")}
    save_file({name: tensor for name, tensor in weights.items() if name not in counters}, path)
    assert set(open_network(frame, path).report.missing) == counters
    others = sorted(weights.keys() - counters - {"head.weight", "head.bias"})
    assert len(others[::7]) > 10  # convolutions, normalisations and their running means, of all stages
    for left_out in others[::7]:
        save_file({name: tensor for name, tensor in weights.items() if name != left_out}, path)
        for head in ("file", "frame", "either"):
            with pytest.raises(NetworkError, match=f"the backbone and lacks {left_out}; all are needed"):
                open_network(frame, path, head=head)


ONE = "features.hidden1.0.weight"


@pytest.mark.parametrize(
    ("weights", "frame", "message"),
    [
        (
            lambda: build_network("resnet32", (3, 8, 8), 2, seed=0).state_dict(),
            lambda: build_network("resnet20", (3, 8, 8), 2, seed=0),
            r"has another architecture: its backbone has features\.stage1_block4\S+",
        ),
        (
            lambda: {ONE: network(0).state_dict()[ONE]},
            lambda: network(0),
            r"has another architecture: it has 20 of the 25 numbers of the .+ was read as mlp of widths \(5,\)",
        ),
        (
            lambda: network(0, width=6).state_dict(),
            lambda: network(1),
            r"does not fit the network: features\.hidden1\.0\.weight \(6, 4\) instead of",
        ),
        (
            lambda: {"layer1.weight": torch.ones(2), "layer1.bias": torch.ones(2)},
            lambda: network(1),
            r"shares no name with the network's backbone: it has layer1\.bias, layer1\.weight;",
        ),
    ],
)
def test_weights_of_another_network_are_refused(
    weights: Callable[[], Tensors], frame: Callable[[], Network], message: str, tmp_path: Path
) -> None:
    save_file(weights(), tmp_path / "w.safetensors")
    read_as = NetworkSettings("mlp", widths=(5,)).read_as((4,))
    with pytest.raises(NetworkError, match=message):
        open_network(frame(), tmp_path / "w.safetensors", head="frame", read_as=read_as)


Spoil = Callable[[torch.Tensor], torch.Tensor]
FORMS: dict[str, Spoil] = {
    "bool": lambda tensor: tensor != 0,
    "int8": lambda tensor: tensor.to(torch.int8),
    "int64": lambda tensor: tensor.to(torch.int64),
    "float8": lambda tensor: tensor.to(torch.float8_e4m3fn),
    "complex64": lambda tensor: tensor.to(torch.complex64),
    "sparse": lambda tensor: tensor.to_sparse(),
    "meta": lambda tensor: tensor.to("meta"),
    "quantised": lambda tensor: torch.quantize_per_tensor(tensor, 0.1, 0, torch.qint8),
    "nan": lambda tensor: tensor * math.nan,
    "infinite": lambda tensor: tensor * math.inf,
    "too large for float32": lambda tensor: tensor.double() * 1e300,
}


@pytest.mark.filterwarnings("ignore:.*(quantiz|Sparse).*")
@pytest.mark.parametrize("head", ["file", "frame", "either"])
@pytest.mark.parametrize("name", ["features.hidden1.0.weight", "features.hidden1.0.bias", "head.weight"])
@pytest.mark.parametrize("form", FORMS)
def test_numbers_that_are_no_weights_are_refused_wherever_they_are_read(
    form: str, name: str, head: Literal["file", "frame", "either"], tmp_path: Path
) -> None:
    path = tmp_path / "w.pt"
    weights = network(0).state_dict()
    torch.save({**weights, name: FORMS[form](weights[name])}, path)
    if name == "head.weight" and head == "frame":
        assert open_network(network(1), path, head=head).report.n_outputs == 0
        return
    with pytest.raises((CorruptDataError, NetworkError)) as refused:
        open_network(network(1), path, head=head)
    said = str(refused.value)
    assert f"{path} has NaN or infinity in {name}: " in said or f"{path} holds {name} " in said
    assert "\n" not in said


@pytest.mark.filterwarnings("ignore:.*nested tensors.*")
@pytest.mark.parametrize("key", ["", "state_dict"])
def test_tensors_of_several_shapes_are_refused(key: str, tmp_path: Path) -> None:
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)])
    weights = {**network(0).state_dict(), "features.hidden1.0.weight": nested}
    torch.save({key: weights} if key else weights, tmp_path / "w.pt")
    with pytest.raises(CorruptDataError, match=r"holds features\.hidden1\.0\.weight nested; expected dense numbers"):
        open_network(network(1), tmp_path / "w.pt")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_are_read(dtype: torch.dtype, tmp_path: Path) -> None:
    weights = {name: tensor.to(dtype) for name, tensor in network(0).state_dict().items()}
    save_file(weights, tmp_path / "w.safetensors")
    opened = open_network(network(1), tmp_path / "w.safetensors").network.state_dict()
    assert all(opened[name].dtype == torch.float32 for name in weights)
    assert all(torch.equal(opened[name], tensor.to(torch.float32)) for name, tensor in weights.items())


@pytest.mark.parametrize("factor", [0.0, 1e-300])
def test_a_backbone_of_zeros_is_refused(factor: float, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    weights = {name: tensor.double() for name, tensor in network(0).state_dict().items()}
    save_file({name: tensor * factor if tensor.ndim > 1 else tensor for name, tensor in weights.items()}, path)
    with pytest.raises(NetworkError, match="has only zeros in the matrices of the backbone"):
        open_network(network(1), path)


def test_a_network_without_backbone_has_nothing_to_take_but_a_head(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    linear = build_network("linear", (4,), 3, seed=0)
    save_weights(linear, path)
    assert agree(open_network(build_network("linear", (4,), 2, seed=1), path).network, linear)
    with pytest.raises(NetworkError, match="has nothing to transfer: the network has no weights before its head"):
        open_network(linear, path, head="frame")


def test_saving_again_replaces_the_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    for seed in (0, 1):
        save_weights(network(seed), tmp_path / "w.safetensors")
    assert agree(open_network(network(2), tmp_path / "w.safetensors").network, network(1))
    assert [file.name for file in tmp_path.iterdir()] == ["w.safetensors"]


def test_what_lies_beside_backbone_and_head_is_left_out_and_reported(tmp_path: Path) -> None:
    save_file({**network(0).state_dict(), "projector.weight": torch.ones(1)}, tmp_path / "w.safetensors")
    opened = open_network(network(1), tmp_path / "w.safetensors")
    assert opened.report.unexpected == ("projector.weight",)
    assert agree(opened.network, network(0))


def test_a_file_with_any_damaged_byte_is_not_whole(tmp_path: Path) -> None:
    path, network = tmp_path / "w.safetensors", Network(nn.BatchNorm1d(3), nn.Linear(3, 2), 3)
    assert not is_whole(path)
    save_weights(network, path)
    whole = path.read_bytes()
    assert is_whole(path)
    for seed in range(150):
        generator, content = random.Random(seed), bytearray(whole)
        place = generator.randrange(len(content))
        content[place] ^= 1 << generator.randrange(8)
        path.write_bytes(bytes(content))
        if is_whole(path):  # nothing but a blank of the header has changed
            found = load_file(path)
            assert all(torch.equal(found[name], tensor) for name, tensor in network.state_dict().items())
    for length in (0, 1, 8, 100, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert not is_whole(path)


def test_a_file_without_a_checksum_is_whole_when_its_header_fits(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_file({"head.weight": torch.ones(2, 3)}, path)
    assert is_whole(path)
    path.write_bytes(path.read_bytes()[:-1])
    assert not is_whole(path)
    save_file({}, path)
    assert not is_whole(path)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool])
def test_tensors_of_any_type_and_shape_have_a_checksum(dtype: torch.dtype, tmp_path: Path) -> None:
    network = Network(nn.Identity(), nn.Linear(1, 1), 1)
    for name, shape in {"scalar": (), "empty": (0, 2), "matrix": (2, 3)}.items():
        network.register_buffer(name, torch.ones(shape).to(dtype))
    save_weights(network, tmp_path / "w.safetensors")
    assert is_whole(tmp_path / "w.safetensors")


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    with pytest.raises(MissingDataError, match="there is no file of weights"):
        open_network(network(0), path)


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("harm",)


@pytest.mark.parametrize("name", ["w.safetensors", "w.pt"])
@pytest.mark.parametrize("content", [b"", b"not weights at all"])
def test_a_file_of_something_else_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CorruptDataError, match="cannot be read as weights"):
        open_network(network(0), path)


def test_code_in_a_file_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"weight": Harmful()}, tmp_path / "w.pt")
    with pytest.raises(CorruptDataError):
        open_network(network(0), tmp_path / "w.pt")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "content",
    [
        {0: torch.ones(2)},
        {0: torch.ones(2), "features.hidden1.0.weight": torch.ones(5, 4)},
        {("a", "b"): torch.ones(2)},
        {"state_dict": {0: torch.ones(2)}},
        {"state_dict": [torch.ones(2)]},
        {"features.hidden1.0.weight": 3.0},
        {"epoch": 3, "weights": {"features.hidden1.0.weight": torch.ones(5, 4)}},  # a whole checkpoint
        [torch.ones(2)],
        torch.ones(2),
        None,
        "text",
    ],
    ids=str,
)
def test_what_is_no_state_dict_is_refused(content: object, tmp_path: Path) -> None:
    path = tmp_path / "w.pt"
    torch.save(content, path)
    with pytest.raises(CorruptDataError, match="is not a dict of tensors by name"):
        open_network(network(0), path)


def test_a_whole_or_a_scripted_module_is_refused(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, that scripts are on their way out
        torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "script.pt"))  # type: ignore[no-untyped-call]
    for name in ("module.pt", "script.pt"):
        with pytest.raises(CorruptDataError, match="cannot be read as weights"):
            open_network(network(0), tmp_path / name)


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_a_file_with_flipped_bytes_never_ends_in_another_error(suffix: str, tmp_path: Path) -> None:
    """The readers raise whatever comes first on a damaged file; here it is one kind of error, or weights that fit."""
    whole = tmp_path / f"whole{suffix}"
    if suffix == ".pt":
        torch.save(network(0).state_dict(), whole)
    else:
        save_weights(network(0), whole)
    content, generator = whole.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(content)
        for place in generator.integers(len(content), size=generator.integers(1, 5)):
            damaged[place] ^= int(generator.integers(1, 256))
        path = tmp_path / f"damaged{suffix}"
        path.write_bytes(
            bytes(damaged[: generator.integers(1, len(content) + 1)] if generator.random() < 0.2 else damaged)
        )
        try:
            open_network(network(1), path)
        except (CorruptDataError, NetworkError):
            refused += 1
    assert refused > 50


def test_weights_of_another_size_of_images_say_which(tmp_path: Path) -> None:
    lenet = NetworkSettings("lenet")
    save_weights(build_network(lenet, (1, 28, 28), 3, seed=0), tmp_path / "w.safetensors")
    with pytest.raises(NetworkError, match=r'for 28 x 28 pixels, but the images have 16 x 16; .*"resize:28"'):
        open_pretrained(Pretrained(lenet, tmp_path / "w.safetensors"), (1, 16, 16))
    with pytest.raises(NetworkError, match="of widths"):  # of no size
        open_pretrained(Pretrained(NetworkSettings("lenet", (3, 4, 5)), tmp_path / "w.safetensors"), (1, 16, 16))
