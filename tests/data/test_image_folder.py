import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from transferscope.data.image_files import ImageForm
from transferscope.data.image_folder import FolderParts, load_image_folder
from transferscope.errors import CorruptDataError, DataError, SettingsError


def picture(path: Path, value: int = 7, size: tuple[int, int] = (6, 4), mode: str = "L") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, value).save(path)
    return path


def fill(path: Path, classes: tuple[str, ...] = ("cat", "dog"), n: int = 4) -> None:
    for label, name in enumerate(classes):
        for i in range(n):
            picture(path / name / f"{i}.png", value=10 * label + i)


def load(
    path: Path, resize: int | None = None, test_share: float | None = None, size: int | None = None
) -> FolderParts:
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
    assert "1 of 9 files were converted" in parts.words


def test_photographs_are_turned_upright(tmp_path: Path) -> None:
    fill(tmp_path)
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation: turn by 90 degrees
    Image.new("L", (4, 6)).save(tmp_path / "cat" / "turned.jpg", exif=exif)
    assert load(tmp_path).train.input_shape == (1, 4, 6)


def test_images_that_would_be_passed_over_are_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    stray = picture(tmp_path / "stray.png")
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert str(caught.value) == (
        f"{stray} lies beside the folders of the classes; move it into one of them or remove it"
    )
    stray.unlink()
    picture(tmp_path / "cat" / "black" / "0.png")
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/cat is the folder of a class and holds the folder 'black'; put the images of a class into its "
        "folder itself, or the classes under train and test"
    )


def test_an_image_of_a_kind_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    fill(tmp_path)
    photo = tmp_path / "cat" / "IMG_1.HEIC"
    photo.write_bytes(b"a photograph")
    with pytest.raises(CorruptDataError) as caught:
        load(tmp_path)
    assert str(caught.value) == (
        f"{photo} cannot be read as an image; expected PNG, JPEG, BMP, DIB, GIF, TIFF, WEBP, PPM, TGA, PCX or "
        "JPEG2000: mend, convert or remove it, or leave it out with ?broken=skip"
    )


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 6 4\n%%EndComments\n(seen) print showpage\n%%EOF\n"


@pytest.mark.parametrize("name", ["0.eps", "0.ps", "0.png", "0.jpg"])
def test_postscript_is_never_run_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def start(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", start)
    fill(tmp_path)
    file = tmp_path / "cat" / name
    file.write_bytes(POSTSCRIPT)
    with pytest.raises(CorruptDataError, match=rf"{name} cannot be read as an image; expected PNG, JPEG, "):
        load(tmp_path)


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "dib", "gif", "tiff", "webp", "ppm", "tga", "pcx", "jp2"])
def test_every_format_that_is_named_is_read(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        for i in range(3):
            picture(tmp_path / name / f"{i}.{suffix}", value=50 * i, size=(16, 16))
    assert len(load(tmp_path).train) == 4


def test_images_that_do_not_fit_together_are_refused_before_the_last_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    monkeypatch.setenv("TRANSFERSCOPE_MOST_GB", "0.00000008")
    with pytest.raises(DataError, match=r"unpacks to 0\.0 GB and the limit is 8e-08 GB; save less of it, or set TRANS"):
        load(tmp_path)


def test_a_folder_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    try:
        picture(tmp_path / os.fsdecode(b"caf\xe9") / "0.png")
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    picture(tmp_path / os.fsdecode(b"caf\xe9") / "1.png")
    with pytest.raises(
        DataError, match=r"^the class 'caf\\udce9' has a name that is no text in UTF-8; give it another$"
    ):
        load(tmp_path)


def test_a_mistyped_size_does_not_take_all_memory(tmp_path: Path) -> None:
    fill(tmp_path)
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, resize=224224)
    assert str(caught.value) == (
        f"{tmp_path}?resize=224224 asks for images of 224224 pixels on a side; expected 1 to 4096"
    )


def test_a_broken_image_is_named(tmp_path: Path) -> None:
    fill(tmp_path)
    whole = (tmp_path / "cat" / "1.png").read_bytes()
    broken = tmp_path / "cat" / "2.png"
    for content in (b"no image", b"", whole[:40]):
        broken.write_bytes(content)
        with pytest.raises(CorruptDataError) as caught:
            load(tmp_path)
        assert str(caught.value).startswith(f"{broken} cannot be read as an image")
        assert str(caught.value).endswith(" or remove it, or leave it out with ?broken=skip")


@pytest.mark.parametrize("limit", [10, 20])
def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    fill(tmp_path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with pytest.raises(DataError, match=r"0\.png unpacks to more pixels than any picture has \(.+\); remove it"):
        load(tmp_path)


def test_deep_pixels_are_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    deep = tmp_path / "cat" / "deep.png"
    Image.fromarray(np.full((4, 6), 1000, np.uint16)).save(deep)
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(f"{deep} has more than 8 bits a channel and uses the lower half of them alone")


def test_folders_that_hold_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert str(caught.value) == f"{tmp_path} has no sub-folders; expected one of images per class"
    fill(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert str(caught.value) == f"{tmp_path}/empty holds no images; add some or remove the folder"
    with pytest.raises(DataError) as caught:
        load(tmp_path / "cat" / "0.png")
    assert str(caught.value) == (
        f"{tmp_path}/cat/0.png is no folder; expected one with a sub-folder of images per class"
    )


def test_splits_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    fill(tmp_path / "train")
    fill(tmp_path / "test", ("cat", "Dog"))
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: test has the class 'Dog', which train has not; give both the same classes"
    )
    with pytest.raises(DataError) as caught:
        load(tmp_path, test_share=0.1)
    assert str(caught.value) == (
        f"{tmp_path} has the sub-folders train and test, and test_share was given; keep one way to split it"
    )
    fill(tmp_path / "more")
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} has the sub-folders train and test, and it also has more; keep one way to split it"
    )


def test_a_class_with_one_image_cannot_be_split(tmp_path: Path) -> None:
    fill(tmp_path)
    picture(tmp_path / "lone" / "0.png")
    with pytest.raises(DataError, match=r"^class 'lone' has one example; a split into training and test needs two"):
        load(tmp_path)
