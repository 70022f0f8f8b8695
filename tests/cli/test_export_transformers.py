"""Networks of transformers, compared and exported: `from_pretrained` of transformers reads what comes out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from text_encoders import save_tokenizer
from transferscope import compare
from transferscope.cli.main import app
from transferscope.data.unlabelled import read_unlabelled
from transferscope.errors import NetworkError, SettingsError
from transferscope.study.export import Exported, export
from transferscope.trained import load_model

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat"]
PROCESSOR = {
    "do_normalize": True, "do_rescale": True, "rescale_factor": 1 / 255, "do_resize": True,
    "image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.2, 0.1], "size": {"height": 16, "width": 16},
    "image_processor_type": "ViTImageProcessor",
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of three brightnesses and sentences about two animals."""
    made = tmp_path_factory.mktemp("data")
    draw = np.random.default_rng(0)
    y = np.arange(60) % 3
    x = np.clip(60 + 60 * y[:, None, None, None] + 30 * draw.normal(size=(60, 3, 12, 12)), 0, 255).astype(np.uint8)
    names = np.array(["dark", "mid", "light"])[y]
    np.savez(made / "images.npz", x_train=x[:30], y_train=names[:30], x_test=x[30:], y_test=names[30:])
    rows = ["sentence\tother\tanimal"]
    for i in range(60):
        animal = ("cat", "dog")[i % 2]
        rows.append(f"the {animal} {' '.join(draw.choice(WORDS, 3))}\ta {draw.choice(WORDS)}\t{animal}")
    (made / "texts.tsv").write_text("\n".join(rows) + "\n")
    return made


def vit(transformers: Any) -> Any:
    return transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=16, patch_size=8
    )


def bert(transformers: Any) -> Any:
    return transformers.BertConfig(
        vocab_size=5 + len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=16, pad_token_id=0,
    )  # fmt: skip


def save(model: Any, transformers: Any, folder: Path) -> Path:
    """A model of random weights as `save_pretrained` writes it, with its image processor or tokenizer."""
    model.save_pretrained(folder)
    if "vocab_size" not in json.loads((folder / "config.json").read_text()):
        (folder / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
        return folder
    save_tokenizer(transformers, WORDS, folder)
    return folder


@pytest.mark.parametrize("given", ["ViTModel", "ViTForImageClassification"])
def test_neighbours_of_an_encoder_are_a_file_beside_it_and_of_a_model_with_a_head_another_arm_is_taken(
    given: str, transformers: Any, data: Path, tmp_path: Path
) -> None:
    source = save(getattr(transformers, given)(vit(transformers)), transformers, tmp_path / "source")
    result = compare(
        f"npz:{data}/images.npz", f"hf:{source}", methods=["knn", "linear-probe"], seeds=1, tuning=False,
        folder=tmp_path, engine={"workers": 0},
    )  # fmt: skip
    if given != "ViTModel":
        with pytest.raises(SettingsError, match="knn from source is no network of its architecture"):
            export(result.store, tmp_path / "best", method="knn")
        return
    found = export(result.store, tmp_path / "best", method="knn")
    source.rename(source.with_name("gone"))
    assert (found.n_equal, found.n_test) == (30, 30)
    kept = load_file(tmp_path / "best/head.safetensors")
    assert len(kept["directions"]) == len(kept["values"]) == found.model.card.n_labels
    images = np.load(data / "images.npz")["x_test"]
    assert np.mean(load_model(tmp_path / "best").predict(images) == np.load(data / "images.npz")["y_test"]) == (
        pytest.approx(found.model.card.score)
    )
    transformers.AutoModel.from_pretrained(tmp_path / "best")


def compared(source: Path, target: str, folder: Path) -> Exported:
    """A comparison of a few steps with the folder as its source, and the network of its fine-tuning."""
    result = compare(
        target, f"hf:{source}", methods=["fine-tune"], seeds=1, tuning=False, folder=folder,
        training={"steps": 2}, engine={"workers": 0},
    )  # fmt: skip
    found = export(result.store, folder / "best", method="fine-tune")
    source.rename(source.with_name("gone"))  # what is exported needs nothing of it
    return found


IMAGES = {
    "a head": ("ViTForImageClassification", "ViTForImageClassification"),
    "an encoder": ("ViTModel", "ViTForImageClassification"),
    "convolutions": ("ResNetForImageClassification", "ResNetForImageClassification"),
}


@pytest.mark.parametrize("case", IMAGES)
def test_a_network_of_images_is_read_by_from_pretrained(
    case: str, transformers: Any, data: Path, tmp_path: Path
) -> None:
    given, written = IMAGES[case]
    torch.manual_seed(0)
    resnet = transformers.ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1])
    config = resnet if case == "convolutions" else vit(transformers)
    options = {"add_pooling_layer": False} if given == "ViTModel" else {}
    source = save(getattr(transformers, given)(config, **options), transformers, tmp_path / "source")
    found = compared(source, f"npz:{data}/images.npz", tmp_path)
    assert (found.n_equal, found.n_test, found.trained_again) == (30, 30, False)
    assert json.loads((tmp_path / "best/config.json").read_text())["architectures"] == [written]
    again = transformers.AutoModelForImageClassification.from_pretrained(tmp_path / "best").eval()
    assert again.config.id2label == {0: "dark", 1: "light", 2: "mid"}
    processor = json.loads((tmp_path / "best/preprocessor_config.json").read_text())
    images = np.load(data / "images.npz")["x_test"]
    large = torch.nn.functional.interpolate(torch.from_numpy(images).float(), 16, mode="bilinear", antialias=True)
    mean, std = (torch.tensor(processor[name]).reshape(3, 1, 1) for name in ("image_mean", "image_std"))
    inputs = (large.round().clamp(0, 255) / 255 - mean) / std
    with torch.no_grad():
        logits = again(inputs).logits
        torch.testing.assert_close(load_model(tmp_path / "best").network(inputs), logits, rtol=0, atol=0)
    np.testing.assert_allclose(found.model.outputs(images), logits, atol=0.05)  # resized by Pillow, in whole bytes


def of_sentences(folder: Path) -> None:
    """The files of sentence-transformers beside an encoder: its mean, a layer with tanh, and rows of length 1."""
    kinds = ("Transformer", "Pooling", "Dense", "Normalize")
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    dense = {"in_features": 8, "out_features": 5, "bias": False, "activation_function": "torch.nn.Tanh"}
    for name, found in {
        "modules.json": modules,
        "1_Pooling/config.json": {"pooling_mode": "mean"},
        "2_Dense/config.json": dense,
        "sentence_bert_config.json": {"max_seq_length": 10},
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(found))
    save_file({"linear.weight": torch.randn(5, 8)}, folder / "2_Dense/model.safetensors")


TEXTS = {
    "a sentence encoder": ("BertModel", False, "BertModel"),
    "a head": ("BertForSequenceClassification", True, "BertForSequenceClassification"),
    "a pooled encoder": ("BertModel", True, "BertForSequenceClassification"),
    "the mean of the tokens": ("BertModel", False, "BertModel"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_an_encoder_of_texts_is_read_by_from_pretrained(
    case: str, transformers: Any, data: Path, tmp_path: Path
) -> None:
    given, pooled, written = TEXTS[case]
    torch.manual_seed(0)
    options = {} if pooled else {"add_pooling_layer": False}
    source = save(getattr(transformers, given)(bert(transformers), **options), transformers, tmp_path / "source")
    if case == "a sentence encoder":
        of_sentences(source)
    columns, length = "text=sentence&pair=other&label=animal&max_length=12", 10 if case == "a sentence encoder" else 12
    found = compared(source, f"text:{data}/texts.tsv?{columns}", tmp_path)
    assert (found.n_equal, found.trained_again) == (found.n_test, False)
    assert json.loads((tmp_path / "best/config.json").read_text())["architectures"] == [written]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "best")
    table = pd.read_csv(data / "texts.tsv", sep="\t")
    ready = tokenizer(
        table["sentence"].tolist(), table["other"].tolist(), padding=True, truncation=True,
        max_length=length, return_tensors="pt", return_token_type_ids=True,
    )  # fmt: skip
    with torch.no_grad():
        if written == "BertModel":
            encoder = transformers.AutoModel.from_pretrained(tmp_path / "best", add_pooling_layer=False).eval()
            hidden, there = encoder(**ready).last_hidden_state, ready["attention_mask"][..., None].float()
            head, rows = load_file(tmp_path / "best/head.safetensors"), (hidden * there).sum(1) / there.sum(1)
            if case == "a sentence encoder":  # the rows are not brought to length 1, and the folder says so
                weight = load_file(tmp_path / "best/2_Dense/model.safetensors")["linear.weight"]
                rows = torch.tanh(rows @ weight.T)
                modules = json.loads((tmp_path / "best/modules.json").read_text())
                assert [one["path"] for one in modules] == ["", "1_Pooling", "2_Dense"]
            logits = rows @ head["weight"].T + head["bias"]
        else:
            written_model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "best").eval()
            assert written_model.config.id2label == {0: "cat", 1: "dog"}
            logits = written_model(**ready).logits
    model = load_model(tmp_path / "best")
    own = model.outputs_of_read(read_unlabelled(f"text:{data}/texts.tsv", model.card.inputs).inputs)
    np.testing.assert_allclose(own, logits, atol=1e-5)
    likely = (logits / model.card.temperature).softmax(1)
    called = ["predict", str(tmp_path / "best"), f"text:{data}/texts.tsv", "--out", str(tmp_path / "p.csv")]
    assert CliRunner().invoke(app, called, catch_exceptions=False).exit_code == 0
    predicted = pd.read_csv(tmp_path / "p.csv")
    np.testing.assert_allclose(predicted[["p_cat", "p_dog"]], likely, atol=1e-5)


def test_a_folder_that_lacks_a_part_is_refused(transformers: Any, data: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    source = save(transformers.ViTForImageClassification(vit(transformers)), transformers, tmp_path / "source")
    compared(source, f"npz:{data}/images.npz", tmp_path)
    file = tmp_path / "best/model.safetensors"
    with safe_open(file, framework="pt") as opened:
        notes = opened.metadata()
    tensors = load_file(file)
    save_file({name: t for name, t in tensors.items() if "query" not in name}, file, metadata=notes)
    with pytest.raises(NetworkError, match="lacks weights, such as"):
        load_model(tmp_path / "best")
