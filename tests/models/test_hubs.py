"""Networks of transformers, opened from what `save_pretrained` writes; what is not installed says so."""

import importlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.transforms import apply_transforms
from transferscope.errors import (
    CorruptDataError,
    MissingDataError,
    MissingExtraError,
    NetworkError,
    SettingsError,
    TransferscopeError,
)
from transferscope.models import (
    NetworkInput,
    NetworkSettings,
    Pretrained,
    build_network,
    input_of,
    open_pretrained,
    reinitialise,
)
from transferscope.models.hubs.timm import Timm
from transferscope.models.hubs.torchvision import Torchvision
from transferscope.models.inputs import _PLAIN, read_image_processor
from transferscope.trained import load_model

PROCESSOR = {
    "do_normalize": True,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "image_mean": [0.5, 0.4, 0.3],
    "image_std": [0.2, 0.2, 0.1],
    "size": {"height": 32, "width": 32},
}


def vit(transformers: Any, **changes: Any) -> Any:
    return transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=8,
        num_labels=5, **changes,
    )  # fmt: skip


def saved(model: Any, folder: Path) -> NetworkSettings:
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    return NetworkSettings(f"hf:{folder}")


@pytest.mark.filterwarnings("ignore")
def test_a_vision_transformer_and_a_resnet_give_their_own_outputs(transformers: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    resnet = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=5)
    models = {
        "vit": transformers.ViTForImageClassification(vit(transformers)),
        "resnet": transformers.ResNetForImageClassification(resnet),
    }
    blocks = {
        "vit": ["embeddings", "layers.0", "layers.1", "layernorm"],
        "resnet": ["embedder", "stages.0", "stages.1"],
    }
    inputs = torch.randn(3, 3, 32, 32)
    for name, model in models.items():
        settings = saved(model, tmp_path / name)
        opened = open_pretrained(Pretrained(settings), (3, 32, 32), head="either")
        with torch.no_grad():
            torch.testing.assert_close(opened.network.eval()(inputs), model.eval()(inputs).logits, rtol=0, atol=0)
        assert opened.report.n_outputs == 5
        assert input_of(settings) == NetworkInput(32, (0.5, 0.4, 0.3), (0.2, 0.2, 0.1), 3, resample="bilinear")
        assert [one.removeprefix("module.").partition(".")[2] for one in opened.network.named_blocks()] == [
            one if name == "vit" else f"encoder.{one}" if one != "embedder" else one for one in blocks[name]
        ]
        fresh, drawn = build_network(settings, (3, 32, 32), 5, seed=1), reinitialise(opened.network, seed=1)
        for network in (fresh, drawn):
            assert network.is_random
            assert not torch.equal(network.state_dict()["head.weight"], opened.network.state_dict()["head.weight"])
        assert drawn.state_dict().keys() == fresh.state_dict().keys()


def test_what_an_image_processor_does_is_read_or_refused(tmp_path: Path) -> None:
    def read(**changes: Any) -> NetworkInput | None:
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(PROCESSOR | changes))
        return read_image_processor(tmp_path)

    assert read() == NetworkInput(32, (0.5, 0.4, 0.3), (0.2, 0.2, 0.1), 3, resample="bilinear")
    with pytest.raises(CorruptDataError, match="zero"):
        read(image_processor_type="ConvNextImageProcessor", size={"shortest_edge": 224}, crop_pct=0)
    for changes in (
        {"do_flip_channel_order": True},
        {"size": 32},  # of which class, nobody says: both sides, or the short one?
        {"do_pad": True, "pad_size": 40},
    ):  # further ones in test_fields.py
        with pytest.raises(CorruptDataError, match="image scaling that is not supported"):
            read(**changes)


def test_a_whole_input_in_the_settings_stands_in_for_an_image_processor_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PROCESSOR | {"do_pad": True, "pad_size": 40}))
    whole = NetworkInput(size=32, mean=0.5, std=0.2)
    assert input_of(NetworkSettings(f"hf:{tmp_path}", input=whole)) == whole
    for part in (None, NetworkInput(size=32), NetworkInput(mean=0.5, std=0.2)):
        with pytest.raises(CorruptDataError):
            input_of(NetworkSettings(f"hf:{tmp_path}", input=part))


SIZED: dict[str, dict[str, Any]] = {
    "a short side": {"size": {"shortest_edge": 24}},
    "a square": {"size": {"height": 24, "width": 24}, "do_center_crop": False},
    "a number": {"size": 24, "crop_size": 20},
    "a list": {"size": [24, 24], "crop_size": [19, 19]},
    "the middle of a short side": {"size": {"shortest_edge": 24}, "do_center_crop": True, "crop_size": 21},
    "the middle of a square": {"size": {"height": 24, "width": 24}, "do_center_crop": True, "crop_size": 21},
    "both sides by default": {"size": 24, "default_to_square": True, "do_center_crop": False, "resample": 1},
    "not resized": {"do_resize": False, "do_center_crop": False},
    "not normalised": {"size": 24, "crop_size": 20, "do_normalize": False, "rescale_offset": True},
    "not rescaled": {"size": 24, "crop_size": 20, "do_rescale": False, "resample": 3},
    "rescaled otherwise": {"size": 24, "crop_size": 20, "rescale_factor": 1 / 127.5, "rescale_offset": True},
    "of the usual size": {},
    "large": {"size": {"shortest_edge": 390}, "crop_pct": 0.9, "do_center_crop": False},
    "small": {"size": {"shortest_edge": 24}, "crop_pct": 0.9, "do_center_crop": False, "include_top": False},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", sorted(_PLAIN))
def test_images_come_to_a_network_as_the_processors_of_transformers_bring_them(
    kind: str, transformers: Any, tmp_path: Path
) -> None:
    """Images of one size that are wider than high, higher than wide, and square."""
    rng = np.random.default_rng(0)
    scaling = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.25]}
    n_read = 0
    for name, fields in SIZED.items():
        written = {"image_processor_type": f"{kind}ImageProcessor", **scaling, **fields}
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(written))
        processor = transformers.AutoImageProcessor.from_pretrained(str(tmp_path), backend="pil", local_files_only=True)
        for height, width in ((40, 61), (53, 37), (45, 45)):
            images = rng.integers(0, 256, (2, 3, height, width)).astype(np.uint8)
            try:
                known = read_image_processor(tmp_path)
            except CorruptDataError:
                continue
            assert known is not None
            theirs = np.stack(processor(list(images.transpose(0, 2, 3, 1)))["pixel_values"])
            part = LabelledSet(images, np.zeros(2, dtype=np.int64), ("a",))
            read = apply_transforms(Dataset("images", part, part), known.transforms, seed=0).train
            mean, std = (one[:, None, None] for one in known.per_unit)
            ours = (read.inputs.astype(np.float64) / 255 - mean) / std
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-5 * np.abs(theirs).max(), err_msg=name)
            assert known.reads(*read.input_shape[1:])
            n_read += 1
    assert n_read >= 3 * (len(SIZED) - 5)  # what a class refuses itself, as ConvNext a square, or another middle


@pytest.mark.filterwarnings("ignore")
def test_an_encoder_without_a_head_makes_features(transformers: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = transformers.ViTModel(vit(transformers), add_pooling_layer=False)
    settings = saved(model, tmp_path)
    opened = open_pretrained(Pretrained(settings), (3, 32, 32), head="either")
    inputs = torch.randn(3, 3, 32, 32)
    with torch.no_grad():
        expected = model.eval()(inputs).last_hidden_state[:, 0]
        torch.testing.assert_close(opened.network.eval().features(inputs), expected, rtol=0, atol=0)
    assert (opened.report.n_outputs, opened.report.missing) == (0, ())


@pytest.mark.filterwarnings("ignore")
def test_a_folder_that_cannot_be_opened_is_refused_in_one_sentence(transformers: Any, tmp_path: Path) -> None:
    model = transformers.ViTForImageClassification(vit(transformers))
    model.save_pretrained(tmp_path / "unscaled")
    saved(model, tmp_path / "strange")
    config = json.loads((tmp_path / "strange" / "config.json").read_text())
    (tmp_path / "strange" / "config.json").write_text(json.dumps({**config, "architectures": ["MyNet"]}))
    saved(model, tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").unlink()
    saved(model, tmp_path / "wide")
    (tmp_path / "wide" / "config.json").write_text(json.dumps({**config, "hidden_size": 24, "num_attention_heads": 2}))
    messages = {
        "unscaled": "the input scaling of hf:.*unscaled is unknown",
        "strange": "has the architecture 'MyNet'",
        "bare": "bare cannot be opened: ",
        "wide": "wide (cannot be opened|has another architecture)",
    }
    for name, message in messages.items():
        with pytest.raises(NetworkError, match=message) as caught:
            open_pretrained(Pretrained(NetworkSettings(f"hf:{tmp_path / name}")), (3, 32, 32))
        assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", [torch.bool, torch.int8, torch.uint8, torch.int64, torch.float8_e4m3fn])
@pytest.mark.parametrize("which", ["all", "one"])
def test_weights_that_no_training_left_are_refused(
    form: torch.dtype, which: str, transformers: Any, tmp_path: Path
) -> None:
    settings = saved(transformers.ViTForImageClassification(vit(transformers)), tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    matrices = [name for name, tensor in tensors.items() if tensor.ndim == 2]
    changed = {name: (10 * tensors[name]).to(form) for name in (matrices if which == "all" else matrices[-2:-1])}
    save_file({**tensors, **changed}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises((CorruptDataError, NetworkError), match=r"before quantisation|cannot be opened"):
        open_pretrained(Pretrained(settings), (3, 32, 32))


@pytest.mark.filterwarnings("ignore")
def test_a_network_that_counts_batches_is_opened(transformers: Any, tmp_path: Path) -> None:
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=5)
    settings = saved(transformers.ResNetForImageClassification(config), tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32, torch.int64}
    assert open_pretrained(Pretrained(settings), (3, 32, 32)).report.missing == ()


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "preprocessor_config.json", "1_Pooling/config.json"]
)
def test_a_pipe_in_a_folder_is_refused_and_not_waited_for(name: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(TransferscopeError):
        open_pretrained(Pretrained(NetworkSettings(f"hf:{tmp_path}")), (3, 32, 32))
    with pytest.raises(TransferscopeError):
        load_model(tmp_path)


def test_a_place_without_a_network_is_said(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=r"has no config.json; give a folder written by"):
        input_of(NetworkSettings(f"hf:{tmp_path}"))
    with pytest.raises(MissingDataError, match="there is no folder"):
        input_of(NetworkSettings(f"hf:{tmp_path}/none"))
    with pytest.raises(SettingsError, match="lacks a network"):
        NetworkSettings("timm:")
    with pytest.raises(SettingsError, match="accepts no widths"):
        NetworkSettings("hf:folder", (3, 4))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["test_resnet", "test_vit"])
def test_networks_of_timm_give_their_own_outputs(name: str, tmp_path: Path) -> None:
    """The smallest convolutional network and transformer of timm, with weights in a file as timm has them."""
    if not _imports("timm"):
        pytest.skip("timm does not import here")
    timm = importlib.import_module("timm")
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False).eval()
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    settings = NetworkSettings(f"timm:{name}")
    known = input_of(settings)
    assert known is not None
    assert (known.size, known.mean, known.std) == (160, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    opened = open_pretrained(
        Pretrained(settings, tmp_path / "weights.pt"), (3, 160, 160), head="either", n_outputs=1000
    )
    inputs = torch.randn(2, 3, 160, 160)
    network = opened.network.eval()
    with torch.no_grad():
        assert torch.allclose(network(inputs), model(inputs), atol=1e-5)
        theirs = model.forward_head(model.forward_features(inputs), pre_logits=True)
        assert torch.allclose(network.features(inputs), theirs, atol=1e-5)
    assert opened.report.matched == opened.report.backbone
    assert len(network.blocks()) > 2
    assert {id(p) for block in network.blocks() for p in block.parameters()} == set(
        map(id, network.features.parameters())
    )
    fresh = build_network(settings, (3, 160, 160), 4, seed=1)
    assert fresh(inputs).shape == (2, 4)
    again = build_network(settings, (3, 160, 160), 4, seed=1)
    first = next(iter(fresh.features.parameters()))
    assert torch.equal(first, next(iter(again.features.parameters())))
    assert not torch.equal(first, next(iter(network.features.parameters())))


@pytest.mark.parametrize(("hub", "package"), [("timm:resnet18", "timm"), ("torchvision:resnet18", "torchvision")])
def test_a_library_that_does_not_import_is_one_sentence(hub: str, package: str) -> None:
    if _imports(package):
        pytest.skip(f"{package} imports here")
    with pytest.raises((MissingExtraError, NetworkError), match=package) as caught:  # absent, or made for another torch
        build_network(hub, (3, 32, 32), 4, seed=0)
    assert "\n" not in str(caught.value)


def _imports(package: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(package)
    except Exception:
        return False
    return True


def read_of_timm(**config: Any) -> tuple[str, ...]:
    """What is done to images for a network of timm whose configuration says so."""
    made = Timm("any")
    made.__dict__["_config"] = {"input_size": (3, 224, 224), "mean": (0.5,) * 3, "std": (0.2,) * 3} | config
    assert made.input is not None
    return made.input.transforms


@pytest.mark.parametrize(
    ("config", "transforms"),
    [
        ({"crop_pct": 0.95, "interpolation": "bicubic"}, ("short-side:235:bicubic", "crop:224:even")),  # floor(224/.95)
        ({"crop_pct": 1.0, "interpolation": "bilinear"}, ("short-side:224:bilinear", "crop:224:even")),
        ({"crop_pct": 1.0, "crop_mode": "squash"}, ("resize:224:bilinear",)),
    ],
)
def test_images_are_cut_and_interpolated_as_timm_says(config: dict[str, Any], transforms: tuple[str, ...]) -> None:
    """By settings as timm's resnet50.a1_in1k has them."""
    assert read_of_timm(**config) == ("colour", *transforms)


@pytest.mark.parametrize("config", [{"crop_mode": "border"}, {"input_size": (3, 224, 192)}])
def test_images_that_timm_cuts_otherwise_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(NetworkError, match="timm:any expects 224 x "):
        read_of_timm(crop_pct=0.95, **config)


def test_images_are_cut_and_interpolated_as_torchvision_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """By settings as torchvision's ResNet50_Weights.DEFAULT has them, and what the user says wins over them."""
    bilinear = SimpleNamespace(value="bilinear")
    preset = SimpleNamespace(crop_size=[224], resize_size=[232], mean=[0.5] * 3, std=[0.2] * 3, interpolation=bilinear)
    monkeypatch.setattr(Torchvision, "_weights", SimpleNamespace(transforms=lambda: preset))
    known = Torchvision("any").input
    assert known is not None
    for own, transforms in (
        (NetworkInput(), ("short-side:232:bilinear", "crop:224:even")),
        (NetworkInput(size=224, resize=232, resample="bicubic"), ("resize:232:bicubic", "crop:224")),
        (NetworkInput(size=224, fit="keep"), ("short-side:224:bilinear",)),
        (NetworkInput(size=32), ("resize:32:bilinear",)),  # of another size, all of it
    ):
        assert own.over(known).transforms == ("colour", *transforms)


@pytest.mark.long
def test_a_broken_torchvision_is_hidden_from_a_transformers_that_has_seen_it(transformers: Any, tmp_path: Path) -> None:
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision" / "__init__.py").write_text("raise RuntimeError('operator torchvision::nms')")
    (tmp_path / "torchvision-9.dist-info").mkdir()
    (tmp_path / "torchvision-9.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torchvision\nVersion: 9\n"
    )
    code = (
        "import transformers; assert transformers.utils.is_torchvision_available();"
        "from transferscope.models.hubs.huggingface import transformers_package; transformers_package().BertModel"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, timeout=120, check=True)
