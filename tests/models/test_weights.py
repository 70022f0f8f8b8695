import os
import random
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from transferscope.errors import CorruptDataError, MissingDataError, NetworkError
from transferscope.models import LoadReport, Network, NetworkSettings, build_network, load_weights, save_weights
from transferscope.models.weights import is_whole, load_trained


def network(seed: int, *, n_outputs: int = 3, width: int = 5) -> Network:
    return build_network(NetworkSettings("mlp", widths=(width,)), (4,), n_outputs, seed=seed)


def agree(first: Network, second: Network) -> bool:
    ours, theirs = first.state_dict(), second.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("kind", ["safetensors", "torch", "torch under a key"])
def test_weights_come_back_as_they_were(kind: str, tmp_path: Path) -> None:
    saved, loaded = network(0), network(1)
    path = tmp_path / ("weights.safetensors" if kind == "safetensors" else "weights.pt")
    if kind == "safetensors":
        save_weights(saved, path)
    else:
        torch.save(saved.state_dict() if kind == "torch" else {"state_dict": saved.state_dict()}, path)
    assert load_weights(loaded, path) == LoadReport(missing=(), unexpected=())
    assert agree(saved, loaded)


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod."])
def test_what_wrappers_put_before_every_name_is_left_out(prefix: str, tmp_path: Path) -> None:
    saved, loaded = network(0), network(1)
    torch.save({f"{prefix}{name}": tensor for name, tensor in saved.state_dict().items()}, tmp_path / "w.pt")
    assert load_weights(loaded, tmp_path / "w.pt") == LoadReport(missing=(), unexpected=())
    assert agree(saved, loaded)


@pytest.mark.parametrize("bias", [True, False])
def test_a_trained_network_comes_with_its_own_head(bias: bool, tmp_path: Path) -> None:
    saved = network(0).with_head(torch.nn.Linear(5, 7, bias=bias))
    save_weights(saved, tmp_path / "w.safetensors")
    frame = network(1)
    before = {name: tensor.clone() for name, tensor in frame.state_dict().items()}
    loaded = load_trained(frame, tmp_path / "w.safetensors")
    assert agree(saved, loaded)
    assert loaded.state_dict().keys() == saved.state_dict().keys()
    assert all(torch.equal(tensor, before[name]) for name, tensor in frame.state_dict().items())


def test_a_trained_network_of_another_architecture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_file({"head.weight": torch.zeros(3, 5), "head.bias": torch.zeros(3)}, path)
    with pytest.raises(NetworkError) as refused:
        load_trained(network(0), path)
    missing = "features.hidden1.0.weight, features.hidden1.0.bias"
    assert str(refused.value) == f"{path} is not of this architecture: only one of the two has {missing}"


def test_buffers_are_saved_too(tmp_path: Path) -> None:
    saved = build_network("resnet20", (3, 8, 8), 2, seed=0)
    saved(torch.rand(4, 3, 8, 8))
    save_weights(saved, tmp_path / "w.safetensors")
    assert "features.stem.1.running_mean" in load_file(tmp_path / "w.safetensors")
    loaded = build_network("resnet20", (3, 8, 8), 2, seed=1)
    load_weights(loaded, tmp_path / "w.safetensors")
    assert agree(saved, loaded)


def test_saving_again_replaces_the_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    for seed in (0, 1):
        save_weights(network(seed), tmp_path / "w.safetensors")
    loaded = network(2)
    load_weights(loaded, tmp_path / "w.safetensors")
    assert agree(loaded, network(1))
    assert [file.name for file in tmp_path.iterdir()] == ["w.safetensors"]


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


def test_a_file_of_an_earlier_version_is_whole_when_its_header_fits(tmp_path: Path) -> None:
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


def test_names_without_counterpart_are_reported(tmp_path: Path) -> None:
    weights = network(0).state_dict()
    extra = {"optimiser.step": torch.ones(1)}
    save_file({"head.weight": weights["head.weight"], **extra}, tmp_path / "w.safetensors")
    loaded = network(1)
    report = load_weights(loaded, tmp_path / "w.safetensors")
    assert report.missing == ("features.hidden1.0.weight", "features.hidden1.0.bias", "head.bias")
    assert report.unexpected == ("optimiser.step",)
    assert torch.equal(loaded.state_dict()["head.weight"], weights["head.weight"])


def test_another_head_can_be_ignored(tmp_path: Path) -> None:
    save_weights(network(0, n_outputs=7), tmp_path / "w.safetensors")
    loaded = network(1)
    head = loaded.state_dict()["head.weight"].clone()
    assert load_weights(loaded, tmp_path / "w.safetensors", heads="ignore") == LoadReport((), ())
    assert torch.equal(loaded.state_dict()["head.weight"], head)
    assert torch.equal(
        loaded.state_dict()["features.hidden1.0.weight"], network(0).state_dict()["features.hidden1.0.weight"]
    )


def test_weights_of_other_shapes_are_refused_and_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_weights(network(0, n_outputs=7), path)
    loaded = network(1)
    with pytest.raises(NetworkError) as caught:
        load_weights(loaded, path)
    assert str(caught.value) == (
        f"{path} does not fit the network: head.weight (7, 5) instead of (3, 5), head.bias (7,) instead of (3,); "
        'build the network with the file\'s widths and outputs, or leave the head out (heads = "ignore") '
        "if only that differs"
    )
    assert agree(loaded, network(1))


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.pt"
    torch.save({"layer1.weight": torch.ones(2), "layer1.bias": torch.ones(2)}, path)
    with pytest.raises(NetworkError) as caught:
        load_weights(network(0), path)
    assert str(caught.value) == (
        f"{path} shares no name with the network: it has layer1.weight, layer1.bias, and the network "
        "features.hidden1.0.weight, features.hidden1.0.bias, head.weight, head.bias"
    )


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    with pytest.raises(MissingDataError) as caught:
        load_weights(network(0), path)
    assert str(caught.value) == (f"there is no file of weights {path}; expected a safetensors file or a state dict")


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("harm",)


@pytest.mark.parametrize("name", ["w.safetensors", "w.pt"])
@pytest.mark.parametrize("content", [b"", b"not weights at all"])
def test_a_file_of_something_else_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CorruptDataError) as caught:
        load_weights(network(0), path)
    assert str(caught.value) == (
        f"{path} cannot be read as weights; expected a safetensors file, or a state dict (tensors by name) written "
        "by torch.save"
    )


def test_code_in_a_file_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"weight": Harmful()}, tmp_path / "w.pt")
    with pytest.raises(CorruptDataError):
        load_weights(network(0), tmp_path / "w.pt")
    assert not (tmp_path / "harm").exists()


def test_a_whole_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.pt"
    torch.save({"epoch": 3, "weights": network(0).state_dict()}, path)
    with pytest.raises(CorruptDataError) as caught:
        load_weights(network(0), path)
    assert str(caught.value) == f"{path} holds something else than tensors by name; save network.state_dict() alone"
