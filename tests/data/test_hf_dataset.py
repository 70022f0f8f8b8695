"""Folders as `save_to_disk` of datasets writes them, written here by pyarrow in the same layout."""

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from transferscope.data.load import load
from transferscope.data.unlabelled import input_form, read_unlabelled
from transferscope.errors import CorruptDataError, DataError, SettingsError, UnknownNameError

pa = pytest.importorskip("pyarrow")

LABEL = {"names": ["cat", "dog"], "_type": "ClassLabel"}
IMAGES = {"image": {"_type": "Image"}, "label": LABEL}
STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def png(seed: int, side: int = 6) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def save(folder: Path, features: dict[str, Any], table: Any, *, n_files: int = 2) -> Path:
    """One split: state.json, dataset_info.json and Arrow files in the stream format."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"data-{i:05d}-of-{n_files:05d}.arrow" for i in range(n_files)]
    size = -(-len(table) // n_files)
    for i, name in enumerate(names):
        with pa.OSFile(str(folder / name), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(i * size, size))
    state: dict[str, Any] = {
        "_data_files": [{"filename": name} for name in names],
        "_fingerprint": "0123456789abcdef",
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(
        json.dumps({"citation": "", "description": "", "features": features, "homepage": "", "license": ""})
    )
    return folder


def images(n: int, labels: Any, *, seed: int = 0, kind: Any = None) -> Any:
    rows = [{"bytes": png(seed + i), "path": f"{i}.png"} for i in range(n)]
    return pa.table({"image": pa.array(rows, STRUCT), "label": pa.array(labels, kind or pa.int64())})


def split_images(folder: Path, *, held_out: str = "validation", test_labels: Any = (0, 1, 1, 0)) -> Path:
    save(folder / "train", IMAGES, images(10, [0, 1] * 5))
    save(folder / held_out, IMAGES, images(4, list(test_labels), seed=50), n_files=1)
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": ["train", held_out]}))
    return folder


def test_the_splits_of_images_with_class_labels_are_read_in_order(tmp_path: Path) -> None:
    data = load(f"hf-dataset:{split_images(tmp_path / 'pets')}")
    assert (data.name, data.train.classes) == ("pets", ("cat", "dog"))
    assert data.train.labels.tolist() == [0, 1] * 5
    assert data.test.labels.tolist() == [0, 1, 1, 0]
    assert "validation is the test set" in data.provenance["understood"]
    for part, seed in ((data.train, 0), (data.test, 50)):
        for i, pixels in enumerate(part.inputs):
            own = np.random.default_rng(seed + i).integers(0, 256, (6, 6, 3)).astype(np.uint8)
            assert np.array_equal(pixels, own.transpose(2, 0, 1))


def test_images_written_again_in_another_order_are_read_again_whatever_size_and_time_say(tmp_path: Path) -> None:
    folder = split_images(tmp_path / "pets")
    kept = load(f"hf-dataset:{folder}").train
    files = sorted((folder / "train").glob("*.arrow"))
    before = [file.stat() for file in files]
    table = images(10, [0, 1] * 5).take(list(range(9, -1, -1)))
    save(folder / "train", IMAGES, table)
    for file, stat in zip(files, before, strict=True):
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    read = load(f"hf-dataset:{folder}").train
    assert read.labels.tolist() == [1, 0] * 5
    assert np.array_equal(read.inputs, kept.inputs[::-1])


def test_a_single_data_set_is_split_by_seed_and_mixed_sizes_are_brought_to_one(tmp_path: Path) -> None:
    rows = [{"bytes": png(i, 40 + i), "path": None} for i in range(20)]
    table = pa.table({"image": pa.array(rows, STRUCT), "label": pa.array([0, 1] * 10, pa.int64())})
    name = f"hf-dataset:{save(tmp_path / 'pets', IMAGES, table)}"
    data = load(name)
    assert (len(data.train), len(data.test), data.train.input_shape) == (16, 4, (3, 32, 32))
    assert data.test.class_counts().tolist() == [2, 2]
    assert data.provenance["size"] == "32"
    form = input_form(name, (), data)
    assert form.data == f"{name}?size=32"
    photos = tmp_path / "new"
    photos.mkdir()
    Image.new("RGB", (90, 70)).save(photos / "0.png")
    assert read_unlabelled(str(photos), form).inputs.shape == (1, 3, 32, 32)


def test_lists_of_class_labels_are_several_labels(tmp_path: Path) -> None:
    features = {**IMAGES, "label": {"feature": LABEL, "_type": "List"}}
    table = images(20, [[0], [1], [0, 1], []] * 5, kind=pa.list_(pa.int64()))
    data = load(f"hf-dataset:{save(tmp_path / 'pets', features, table)}")
    assert (data.train.kind, data.train.classes) == ("multi-label", ("cat", "dog"))
    assert (data.train.class_counts() + data.test.class_counts()).tolist() == [10, 10]


def test_texts_are_read_by_the_tokenizer_of_the_model(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = {word: i for i, word in enumerate(["[UNK]", "good", "bad", "film"])}
    own = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    own.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    (tmp_path / "model").mkdir()
    own.save(str(tmp_path / "model" / "tokenizer.json"))
    features = {"text": {"dtype": "string", "_type": "Value"}, "label": LABEL}
    table = pa.table({"text": ["good film", "bad film"] * 5, "label": [1, 0] * 5})
    folder = tmp_path / "films"
    for split in ("train", "test"):
        save(folder / split, features, table)
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    name = f"hf-dataset:{folder}?text=text&label=label&max_length=4&tokenizer={tmp_path / 'model'}"
    data = load(name)
    assert data.train.classes == ("cat", "dog")
    assert data.train.inputs[:2, 0].tolist() == [[1, 3, -1, -1], [2, 3, -1, -1]]
    assert data.train.labels[:2].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("?test=dev", UnknownNameError, "unknown split of pets 'dev'"),
        ("?label=colour", UnknownNameError, "unknown column of train 'colour'"),
        ("?test_share=0.3", SettingsError, "has a test split, and test_share is given; leave one out"),
        ("?kind=multi-label", DataError, "expected lists of labels for kind=multi-label"),
        ("?image=label", DataError, "expected images as bytes"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, name: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        load(f"hf-dataset:{split_images(tmp_path / 'pets')}{name}")


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (IMAGES, ["a", "b"] * 5, "has the class 'a'; expected 0 to 1"),
        (IMAGES, [0.0, 1.0] * 5, "has the class 0.0; expected 0 to 1"),
        (IMAGES, [0, 2] * 5, "has the class 2; expected 0 to 1"),
        ({"image": IMAGES["image"]}, [{"a": 1}, {"a": 2}] * 5, "holds \"{'a': 1}\"; expected classes, numbers or text"),
    ],
)
def test_labels_that_are_no_classes_are_refused(
    tmp_path: Path, features: dict[str, Any], labels: list[Any], message: str
) -> None:
    folder = save(tmp_path / "pets", features, images(10, labels, kind=pa.array(labels).type))
    with pytest.raises(DataError) as caught:
        load(f"hf-dataset:{folder}")
    assert message in str(caught.value)


def test_damaged_and_other_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = split_images(tmp_path / "hidden", held_out="test", test_labels=[-1] * 4)
    with pytest.raises(DataError, match=r"test has no labels .* and there is no validation part"):
        load(f"hf-dataset:{hidden}")
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(DataError, match="expected a folder written by save_to_disk of datasets"):
        load(f"hf-dataset:{other}")
    pets = split_images(tmp_path / "pets")
    rows = [{"bytes": None, "path": "/photos/1.png"}] * 10
    save(pets / "train", IMAGES, pa.table({"image": pa.array(rows, STRUCT), "label": pa.array([0, 1] * 5)}))
    with pytest.raises(CorruptDataError, match=r"10 of 14 images in .+ cannot be read: train/0, train/1"):
        load(f"hf-dataset:{pets}")
    (pets / "train" / "data-00000-of-00002.arrow").write_bytes(b"ARROW")
    with pytest.raises(CorruptDataError, match="cannot be read as an Arrow file; save the data set again"):
        load(f"hf-dataset:{pets}")
    (pets / "train" / "state.json").write_text('{"_data_files": [{"filename": "../../secret.arrow"}]}')
    with pytest.raises(CorruptDataError, match="lists no data files"):
        load(f"hf-dataset:{pets}")
