import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from transferscope.data.arrays import Parts
from transferscope.data.image_files import ImageForm
from transferscope.data.image_folder import load_image_folder
from transferscope.errors import CorruptDataError, DataError


def picture(path: Path, value: int = 7, size: tuple[int, int] = (6, 4), mode: str = "L") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, value).save(path)
    return path


def fill(path: Path, classes: tuple[str, ...] = ("cat", "dog"), n: int = 4) -> None:
    for label, name in enumerate(classes):
        for i in range(n):
            picture(path / name / f"{i}.png", value=10 * label + i)


def load(path: Path, resize: int | None = None, test_share: float | None = None, size: int | None = None) -> Parts:
    return load_image_folder(path, form=ImageForm(resize, size), test_share=test_share, seed=0)


def test_a_sub_folder_is_a_class(tmp_path: Path) -> None:
    fill(tmp_path, ("dog", "<i>cat & co"))
    parts = load(tmp_path, test_share=0.25)
    assert parts.train.classes == ("<i>cat & co", "dog")
    assert parts.train.inputs.shape == (6, 1, 4, 6)
    assert parts.test.class_counts().tolist() == [1, 1]


def test_pixels_and_labels_belong_together(tmp_path: Path) -> None:
    fill(tmp_path)
    parts = load(tmp_path)
    for examples in (parts.train, parts.test):
        assert np.array_equal(examples.inputs[:, 0, 0, 0] // 10, examples.labels)


def test_train_and_test_sub_folders_are_the_split(tmp_path: Path) -> None:
    fill(tmp_path / "train", ("a", "b", "c"))
    fill(tmp_path / "test", ("b", "c"), n=2)
    parts = load(tmp_path)
    assert (len(parts.train), parts.test.labels.tolist()) == (12, [1, 1, 2, 2])
    assert parts.test.classes == ("a", "b", "c")


def test_other_files_are_passed_over(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "cat" / "notes.txt").write_text("seen")
    (tmp_path / "cat" / "._0.png").write_text("seen")
    (tmp_path / ".git").mkdir()
    assert len(load(tmp_path).train) == 6


def test_one_colour_image_makes_all_of_them_colour(tmp_path: Path) -> None:
    fill(tmp_path)
    Image.new("RGB", (6, 4), (1, 2, 3)).save(tmp_path / "cat" / "red.png")
    Image.new("RGBA", (6, 4), (1, 2, 3, 255)).save(tmp_path / "dog" / "solid.png")
    Image.new("P", (6, 4), 0).save(tmp_path / "dog" / "palette.gif")
    parts = load(tmp_path)
    assert parts.train.input_shape == (3, 4, 6)
    colours = {tuple(image[:, 0, 0]) for image in (*parts.train.inputs, *parts.test.inputs)}
    assert (1, 2, 3) in colours
    assert (10, 10, 10) in colours


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparent_pixels_are_white_and_counted(tmp_path: Path, mode: str) -> None:
    fill(tmp_path)
    image = Image.new(mode, (6, 4), 0)
    if mode == "P":
        image.info["transparency"] = 0
    image.save(tmp_path / "cat" / "icon.png")
    parts = load(tmp_path)
    assert any((image == 255).all() for image in (*parts.train.inputs, *parts.test.inputs))
    assert "1 of 9 files converted" in parts.words


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 6 4\n%%EndComments\n(seen) print showpage\n%%EOF\n"


@pytest.mark.parametrize("name", ["0.eps", "0.ps", "0.png", "0.jpg"])
def test_postscript_is_never_run_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def start(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", start)
    fill(tmp_path)
    file = tmp_path / "cat" / name
    file.write_bytes(POSTSCRIPT)
    with pytest.raises(CorruptDataError, match=rf"{name} is not an image; expected PNG, JPEG, "):
        load(tmp_path)


FORMATS = ["png", "jpg", "bmp", "dib", "gif", "tiff", "webp", "ppm", "tga", "pcx", "jp2"]


@pytest.mark.parametrize(("mode", "suffix"), [*product(["L", "RGB"], FORMATS), *product(["P", "1"], ["png", "tiff"])])
def test_every_format_that_is_named_is_read(tmp_path: Path, suffix: str, mode: str) -> None:
    for i in range(6):
        path = tmp_path / "ab"[i % 2] / f"{i}.{suffix}"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (16, 16), (30 * i, 10, 200)).convert(mode).save(path)
    assert len(load(tmp_path).train) == 4


def test_images_that_do_not_fit_together_are_refused_before_the_last_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    monkeypatch.setenv("TRANSFERSCOPE_MOST_GB", "0.00000008")
    with pytest.raises(DataError, match=r"decompresses to 0\.0 GB, but the limit is 8e-08 GB"):
        load(tmp_path)


@pytest.mark.parametrize("limit", [10, 20])
def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    fill(tmp_path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with pytest.raises(DataError, match=r"0\.png decompresses to too many pixels \(.+\); remove it"):
        load(tmp_path)


SPLIT = "train/cat/0.png train/dog/0.png test/cat/0.png"


@pytest.mark.parametrize(
    ("files", "test_share", "said"),
    [
        ("", None, "has no sub-folders"),
        ("cat/0.png dog/", None, "dog has no images"),
        ("file", None, "there is no folder of images"),
        ("cat/0.png dog/0.png stray.png", None, "stray.png is outside the class folders"),
        ("cat/0.png cat/black/0.png dog/0.png", None, "cat contains the folder 'black'"),
        ("cat/0.png cat/1.png dog/0.png dog/1.png dog/IMG_1.HEIC", None, "IMG_1.HEIC is not an image"),
        (f"{SPLIT} test/Dog/0.png", None, "test has the class 'Dog', but train does not"),
        (f"{SPLIT} test/dog/0.png", 0.1, "train and test, and also test_share"),
        (f"{SPLIT} test/dog/0.png more/dog/0.png", None, "train and test, and also more"),
    ],
)
def test_folders_that_fit_nothing_are_refused(tmp_path: Path, files: str, test_share: float | None, said: str) -> None:
    for name in files.split():
        if name.endswith("/"):
            (tmp_path / name).mkdir()
        elif name.endswith(".png"):
            picture(tmp_path / name)
        else:
            (tmp_path / name).write_bytes(b"a photograph")
    with pytest.raises(DataError) as refused:
        load(tmp_path / "file" if files == "file" else tmp_path, test_share=test_share)
    assert said in str(refused.value)
