"""`transferscope show` of a network as a reader meets it."""

from pathlib import Path

import pytest
import torch
from PIL import Image
from torch import nn
from typer.testing import CliRunner

from cli.called import output
from transferscope.cli.main import app
from transferscope.errors import NetworkError, SettingsError
from transferscope.models import NetworkSettings, build_network, save_weights

NETS = """
from torch import nn


def net():
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 5), nn.ReLU(), nn.Linear(5, 3))
"""


def run(*arguments: str) -> list[str]:
    return output("show", *arguments).splitlines()


def test_a_network_is_shown_with_blocks_inputs_head_and_what_weights_give(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 5), nn.ReLU(), nn.Linear(5, 3))
    torch.save(module.state_dict(), tmp_path / "net.pt")
    weights, scaling = (
        ("--weights", f"{tmp_path}/net.pt"),
        ("--set", "input.mean=127", "input.std=128", "input.scale=1"),
    )
    shown = run(f"{tmp_path}/nets.py:net", "--shape", "1,8,8", *weights, *scaling)
    assert shown[1:] == [
        "inputs:    (byte - 127) / 128",
        "backbone:  385 parameters, 5 features; blocks from the input up:",
        "    1  0             20",
        "    2  2            365",
        "head:      Linear(in_features=5, out_features=3, bias=True), 18 parameters; every method puts a new one in "
        "its place",
        f"weights:   {tmp_path}/net.pt gives 385 of 385 numbers; its head has 3 outputs",
    ]
    save_weights(build_network(NetworkSettings("mlp", (5,)), (4,), 3, seed=0), tmp_path / "mlp.safetensors")
    of_file = run(f"{tmp_path}/mlp.safetensors", "--network", "mlp", "--set", "widths=5", "--shape", "4")
    assert of_file[-1] == f"weights:   {tmp_path}/mlp.safetensors gives 25 of 25 numbers; its head has 3 outputs"
    assert run("lenet", "--shape", "1,28,28")[1] == "inputs:    standardised by the training examples"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["lenet", "--shape", "a,b"], SettingsError("--shape 'a,b' is invalid")),
        (["lenet", "--set", "input.size=0"], SettingsError("size = 0 is out of range")),
        (["lenet", "--shape", "1,8,8"], NetworkError("lenet needs images of at least 16 x 16 pixels")),
        (["mlp", "--set", "head=fc"], SettingsError("mlp accepts neither options nor head")),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(arguments: list[str], error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)) as caught:
        CliRunner().invoke(app, ["show", *arguments], catch_exceptions=False)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_named_with_its_kind_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        Path("photos", name).mkdir(parents=True)
        for i in range(5):
            Image.new("RGB", (8, 8), (i, 0, 0)).save(Path("photos", name, f"{i}.png"))
    assert run("folder:photos")[0].endswith("8 training and 2 test examples, inputs 3 x 8 x 8")


@pytest.mark.parametrize("name", ["hf:none", "timm:none", "torchvision:none", "net.py:small", "net.py:wide"])
def test_what_is_written_as_package_and_class_may_be_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whatever the hub answers, and whether it is installed; a backbone of one's own may take widths."""
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(
        "from torch import nn\ndef small(input_shape):\n    return nn.Flatten()\n"
        "def wide(input_shape, widths=(4,)):\n    return nn.Flatten()\n"
    )
    found = CliRunner().invoke(app, ["show", name, "--shape", "1,8,8"])
    assert "data set" not in f"{found.output}{found.exception}"
    assert ":none" in name or "backbone:" in found.output
