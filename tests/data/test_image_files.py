"""Images of a folder: brought to one size, decoded once, read in the same way without labels."""

import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from transferscope.data import image_files
from transferscope.data.image_files import ImageForm, read_images
from transferscope.data.image_folder import read_images_below
from transferscope.data.input_form import InputForm
from transferscope.data.load import load, parse_name, seen_from
from transferscope.data.transforms.pixels import resized
from transferscope.data.unlabelled import input_form, read_unlabelled
from transferscope.errors import CorruptDataError, DataError, SettingsError, UnknownNameError
from transferscope.training import pixel_scale, to_tensors


def photograph(path: Path, width: int, height: int, seed: int = 0) -> Path:
    """Smooth noise, so that two ways of shrinking it hardly differ."""
    path.parent.mkdir(parents=True, exist_ok=True)
    coarse = np.random.default_rng(seed).integers(0, 256, (5, 6, 3)).astype(np.uint8)
    Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC).save(path, quality=95)
    return path


def mixed(folder: Path, suffix: str = "png") -> list[tuple[Path, tuple[int, int]]]:
    sizes = [(90, 70), (70, 100), (66, 66), (120, 64), (72, 80), (68, 75)]
    return [(photograph(folder / "ab"[i % 2] / f"{i}.{suffix}", *size, seed=i), size) for i, size in enumerate(sizes)]


def middle_square(path: Path, side: int) -> np.ndarray:
    """The square in the middle of an image, resampled by Pillow alone, (3, side, side)."""
    with Image.open(path) as image:
        (width, height), short = image.size, min(image.size)
        left, top = (width - short) / 2, (height - short) / 2
        box = (left, top, left + short, top + short)
        small = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR, box=box)
    return np.asarray(small).transpose(2, 0, 1)


def test_mixed_sizes_are_brought_to_one_by_short_side_and_middle(tmp_path: Path) -> None:
    files = mixed(tmp_path / "photos")
    data = load(f"folder:{tmp_path / 'photos'}?test_share=0.34")
    assert data.train.input_shape == (3, 64, 64)
    found = {image.tobytes() for image in (*data.train.inputs, *data.test.inputs)}
    assert found == {middle_square(path, 64).tobytes() for path, _ in files}
    assert data.provenance["size"] == "64"
    said = data.provenance["understood"]
    assert "images of 6 sizes, with short sides of 64 to 72 pixels (median 69), are resized to 64 x 64" in said
    assert "short side to 64, then centre crop (?size= sets another size)" in said


def test_the_middle_square_is_short_side_then_centre_crop(tmp_path: Path) -> None:
    path = photograph(tmp_path / "a" / "0.png", 160, 100)
    (pixels,) = read_images([path], tmp_path, ImageForm(size=50)).pixels
    with Image.open(path) as image:
        cropped = np.asarray(image.resize((80, 50), Image.Resampling.BILINEAR))[:, 15:65].transpose(2, 0, 1)
    assert np.abs(pixels.astype(int) - cropped).max() <= 2


@pytest.mark.parametrize(
    ("median", "side"), [(20, 20), (32, 32), (63, 32), (64, 64), (100, 96), (223, 128), (224, 224), (900, 224)]
)
def test_the_size_is_the_largest_usual_one_that_the_median_has(tmp_path: Path, median: int, side: int) -> None:
    sizes = [(median + 30, median), (median, median + 7), (max(8, median - 40), median + 50)]
    files = [photograph(tmp_path / f"{i}.png", *size) for i, size in enumerate(sizes)]
    images = read_images(files, tmp_path, ImageForm())
    assert (images.chosen, images.pixels.shape) == (side, (3, 3, side, side))
    assert ("1 of 3 are enlarged" in images.words) == (max(8, median - 40) < side)


def test_images_of_one_size_are_taken_as_they_are(tmp_path: Path) -> None:
    files = [photograph(tmp_path / f"{i}.png", 300, 20, seed=i) for i in range(3)]
    images = read_images(files, tmp_path, ImageForm())
    assert (images.pixels.shape, images.chosen, images.words) == ((3, 3, 20, 300), None, "")


def test_resize_stretches(tmp_path: Path) -> None:
    files = mixed(tmp_path / "photos")
    data = load(f"folder:{tmp_path / 'photos'}?resize=8&test_share=0.34")
    stretched = set()
    for path, _ in files:
        with Image.open(path) as image:
            small = image.convert("RGB").resize((8, 8), Image.Resampling.BILINEAR)
        stretched.add(np.asarray(small).transpose(2, 0, 1).tobytes())
    assert {image.tobytes() for image in (*data.train.inputs, *data.test.inputs)} == stretched


def test_size_and_resize_exclude_each_other(tmp_path: Path) -> None:
    mixed(tmp_path)
    with pytest.raises(SettingsError, match="gives resize and size; keep size to crop images"):
        load(f"folder:{tmp_path}?size=8&resize=8")
    with pytest.raises(SettingsError, match=r"\?size=99999 has images of 99999 pixels a side"):
        load(f"folder:{tmp_path}?size=99999")


def test_large_jpegs_are_decoded_small_and_look_the_same(tmp_path: Path) -> None:
    path = photograph(tmp_path / "a" / "0.jpg", 1000, 800)
    (pixels,) = read_images([path], tmp_path, ImageForm(size=64)).pixels
    assert np.abs(pixels.astype(int) - middle_square(path, 64)).max() <= 6


def test_photographs_on_their_side_count_by_their_upright_size(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("L", (40, 60)).save(tmp_path / "turned.jpg", exif=exif)
    Image.new("L", (60, 40)).save(tmp_path / "upright.jpg")
    images = read_images(sorted(tmp_path.glob("*.jpg")), tmp_path, ImageForm())
    assert (images.pixels.shape, images.chosen) == ((2, 1, 40, 60), None)


@pytest.fixture
def bitmaps(tmp_path: Path) -> list[Path]:
    for i in range(4):
        Image.new("L", (6, 4), 10 * i).save(tmp_path / f"{i}.bmp")
    return sorted(tmp_path.glob("*.bmp"))


def test_files_are_decoded_once(bitmaps: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_images(bitmaps, tmp_path, ImageForm())
    monkeypatch.setattr(image_files, "_opened", lambda path: pytest.fail(f"{path} was opened again"))
    again = read_images(bitmaps, tmp_path, ImageForm())
    np.testing.assert_array_equal(again.pixels, first.pixels)
    assert isinstance(again.pixels, np.memmap)
    assert (again.chosen, again.words) == (first.chosen, first.words)


def test_a_changed_file_is_read_again_whatever_its_time_says(bitmaps: list[Path], tmp_path: Path) -> None:
    read_images(bitmaps, tmp_path, ImageForm())
    before = bitmaps[2].stat()
    Image.new("L", (6, 4), 99).save(bitmaps[2])
    os.utime(bitmaps[2], ns=(before.st_atime_ns, before.st_mtime_ns))
    assert bitmaps[2].stat().st_size == before.st_size
    assert read_images(bitmaps, tmp_path, ImageForm()).pixels[:, 0, 0, 0].tolist() == [0, 10, 99, 30]


def _kept_turned_round(kept: Path) -> None:
    """Which images were kept, of which an index of labels is made, in another order."""
    facts = json.loads(kept.with_suffix(".json").read_text())
    kept.with_suffix(".json").write_text(json.dumps({**facts, "kept": facts["kept"][::-1]}))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda kept: os.truncate(kept, kept.stat().st_size - 1),
    "emptied": lambda kept: kept.write_bytes(b""),
    "a bit": lambda kept: kept.write_bytes(bytes([*kept.read_bytes()[:-1], kept.read_bytes()[-1] ^ 1])),
    "another fact": _kept_turned_round,
    "a list": lambda kept: kept.with_suffix(".json").write_text("[]"),
    "facts": lambda kept: kept.with_suffix(".json").write_text('{"words": ""}'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_was_kept_and_is_damaged_is_ignored(bitmaps: list[Path], tmp_path: Path, damage: str) -> None:
    read_images(bitmaps, tmp_path, ImageForm())
    (kept,) = (tmp_path / "cache" / "images").glob("*.npy")
    DAMAGES[damage](kept)
    images = read_images(bitmaps, tmp_path, ImageForm())
    assert (images.pixels[:, -1, -1, -1].tolist(), images.kept.tolist()) == ([0, 10, 20, 30], [0, 1, 2, 3])


def test_without_a_place_for_it_images_stay_in_memory(
    bitmaps: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRANSFERSCOPE_CACHE", str(tmp_path / "file"))
    images = read_images(bitmaps, tmp_path, ImageForm())
    assert not isinstance(images.pixels, np.memmap)
    assert images.pixels[:, 0, 0, 0].tolist() == [0, 10, 20, 30]


def test_what_was_not_used_for_a_month_is_removed(bitmaps: list[Path], tmp_path: Path) -> None:
    read_images(bitmaps, tmp_path, ImageForm())
    (kept,) = (tmp_path / "cache" / "images").glob("*.npy")
    os.utime(kept, (0, 0))
    read_images(bitmaps, tmp_path, ImageForm(size=3))
    assert not kept.exists()
    assert not kept.with_suffix(".json").exists()


def test_a_broken_image_leaves_nothing_behind_and_is_named(bitmaps: list[Path], tmp_path: Path) -> None:
    broken = photograph(tmp_path / "5.jpg", 6, 4)
    broken.write_bytes(broken.read_bytes()[:-100])
    with pytest.raises(CorruptDataError, match=r"5\.jpg cannot be read as an image \(.+\); fix or remove it, or l"):
        read_images([*bitmaps, broken], tmp_path, ImageForm())
    assert not list((tmp_path / "cache").rglob("*.*"))
    (tmp_path / "6.png").symlink_to(tmp_path / "nowhere.png")
    with pytest.raises(CorruptDataError, match=r"6\.png cannot be read as an image"):
        read_images([tmp_path / "6.png"], tmp_path, ImageForm())


@pytest.mark.parametrize("in_memory", [False, True])
def test_broken_images_are_counted_and_named_and_left_out_when_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: bool
) -> None:
    files = mixed(tmp_path / "photos")
    whole = {middle_square(path, 64).tobytes() for path, _ in files}
    (tmp_path / "photos" / "a" / "torn.jpg").write_bytes(photograph(tmp_path / "x.jpg", 80, 80).read_bytes()[:-200])
    (tmp_path / "photos" / "b" / "empty.png").write_bytes(b"")
    if in_memory:
        monkeypatch.setattr(image_files, "written_whole", _no_room)
    with pytest.raises(CorruptDataError, match=r"\?broken=skip$"):
        load(f"folder:{tmp_path / 'photos'}")
    data = load(f"folder:{tmp_path / 'photos'}?broken=skip&test_share=0.4")
    assert {image.tobytes() for image in (*data.train.inputs, *data.test.inputs)} == whole
    understood = data.provenance["understood"]
    assert "2 of 8 files left out because they cannot be read: " in understood
    assert {"a/torn.jpg", "b/empty.png"} <= set(understood.replace(",", "").split())
    again = load(f"folder:{tmp_path / 'photos'}?broken=skip&test_share=0.4")
    assert (again.fingerprint, again.provenance["understood"]) == (data.fingerprint, understood)
    for image, label in zip(data.train.inputs, data.train.labels, strict=True):
        own = [path for path, _ in files if middle_square(path, 64).tobytes() == image.tobytes()]
        assert [path.parent.name for path in own] == ["ab"[label]]


def _no_room(*_: object) -> None:
    raise OSError("no room")


def test_a_class_whose_images_are_all_broken_is_refused(tmp_path: Path) -> None:
    mixed(tmp_path / "photos")
    for path in (tmp_path / "photos" / "b").iterdir():
        path.write_bytes(b"")
    with pytest.raises(DataError, match=r"has no training image of the class 'b' that can be decoded \(3 of 6 "):
        load(f"folder:{tmp_path / 'photos'}?broken=skip")
    for path in (tmp_path / "photos" / "a").iterdir():
        path.write_bytes(b"")
    with pytest.raises(CorruptDataError, match=r"6 of 6 images in .+ cannot be read: a/0\.png, a/2\.png, "):
        load(f"folder:{tmp_path / 'photos'}?broken=skip")


def test_broken_images_are_left_out_of_predictions_too(tmp_path: Path) -> None:
    files = mixed(tmp_path / "photos")
    form = InputForm("folder:photos?size=64", (), (3, 64, 64), (3, 64, 64))
    files[2][0].write_bytes(b"")
    with pytest.raises(CorruptDataError, match="leave it out with"):
        read_unlabelled(str(tmp_path / "photos"), form)
    found = read_unlabelled(f"folder:{tmp_path / 'photos'}?broken=skip", form)
    assert found.names == ("a/0.png", "a/4.png", "b/1.png", "b/3.png", "b/5.png")


def test_a_folder_needs_no_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed(tmp_path / "photos")
    mixed(tmp_path / "digits")
    monkeypatch.chdir(tmp_path)
    assert load("photos?size=16").fingerprint == load("folder:photos?size=16").fingerprint
    assert load(str(tmp_path / "photos")).train.input_shape == (3, 64, 64)
    assert parse_name("digits").kind == "digits"  # a data set by this name is never a folder
    assert seen_from("photos?size=16", tmp_path) == f"folder:{tmp_path / 'photos'}?size=16"
    file = tmp_path / "photos" / "a" / "0.png"
    with pytest.raises(UnknownNameError):
        load(str(file))


def test_the_folder_of_a_model_is_not_taken_for_images(transformers: Any, tmp_path: Path) -> None:
    config = transformers.BertConfig(hidden_size=4, num_attention_heads=1, num_hidden_layers=1, vocab_size=9)
    config.save_pretrained(tmp_path / "photos")  # of images alone, or beside ones
    assert parse_name(str(tmp_path / "photos")).kind == "folder"
    transformers.BertModel(config).save_pretrained(tmp_path / "encoder")
    (tmp_path / "encoder" / "1_Pooling").mkdir()
    for name in (str(tmp_path / "encoder"), f"{tmp_path / 'encoder'}?size=8"):
        with pytest.raises(SettingsError, match=r"is the folder of a pretrained model; give it as hf:.*encoder,"):
            parse_name(name)
    assert parse_name(f"folder:{tmp_path / 'encoder'}").kind == "folder"


def test_new_images_are_read_as_those_of_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = mixed(tmp_path / "photos")
    name = f"folder:{tmp_path / 'photos'}"
    form = input_form(name, (), load(name))
    assert form.data == f"{name}?size=64"
    for i, size in enumerate([(300, 200), (500, 250)]):  # of their own they would be brought to 224 x 224
        photograph(tmp_path / "new" / f"{i}.png", *size, seed=9 + i)
    found = read_unlabelled(str(tmp_path / "new"), form)
    expected = [middle_square(tmp_path / "new" / f"{i}.png", 64) for i in range(2)]
    np.testing.assert_array_equal(found.inputs, np.stack(expected))
    grey = tmp_path / "digits"  # a name of the catalogue, which here means the folder as it always did
    grey.mkdir()
    monkeypatch.chdir(tmp_path)
    Image.new("L", (70, 80), 9).save(grey / "0.png")
    assert read_unlabelled("digits", form).inputs.shape == (1, 3, 64, 64)
    assert len(read_images_below(tmp_path / "photos", form=ImageForm(size=64))[1]) == len(files)


def test_new_images_of_mixed_sizes_are_refused_where_the_study_had_one_size(tmp_path: Path) -> None:
    for i in range(6):
        photograph(tmp_path / "photos" / "ab"[i % 2] / f"{i}.png", 30, 20, seed=i)
    name = f"folder:{tmp_path / 'photos'}?test_share=0.34"
    form = input_form(name, (), load(name))
    assert form == InputForm(name, (), (3, 20, 30), (3, 20, 30))
    photograph(tmp_path / "new" / "0.png", 30, 20)
    photograph(tmp_path / "new" / "1.png", 31, 20)
    with pytest.raises(DataError, match="images differ in size:"):
        read_unlabelled(str(tmp_path / "new"), form)


def test_a_large_part_of_mapped_images_is_mapped_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed(tmp_path / "photos")
    train = load(f"folder:{tmp_path / 'photos'}?test_share=0.34").train
    index = np.array([3, 0, 2])
    small = train.take(index)
    monkeypatch.setattr("transferscope.data.task._LARGE", small.inputs.nbytes)
    large = train.take(index)
    assert (type(train.inputs), type(small.inputs), type(large.inputs)) == (np.memmap, np.ndarray, np.memmap)
    np.testing.assert_array_equal(large.inputs, np.stack([train.inputs[i] for i in (3, 0, 2)]))
    assert large.fingerprint == small.fingerprint
    assert not [file for file in (tmp_path / "cache").iterdir() if file.is_file()]
    monkeypatch.setenv("TRANSFERSCOPE_CACHE", str(tmp_path / "nowhere"))
    assert type(train.take(index).inputs) is np.ndarray


def test_what_is_made_of_images_is_mapped_if_these_are_and_it_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed(tmp_path / "photos")
    mapped = load(f"folder:{tmp_path / 'photos'}?test_share=0.34").train.inputs
    for large, expected in ((False, np.ndarray), (True, np.memmap)):
        if large:
            monkeypatch.setattr("transferscope.data.task._LARGE", 1)
        assert type(resized(mapped, (16, 16))) is expected
        assert type(resized(np.array(mapped), (16, 16))) is np.ndarray


def test_training_reads_the_mapped_array_without_a_copy(tmp_path: Path) -> None:
    mixed(tmp_path / "photos")
    train = load(f"folder:{tmp_path / 'photos'}?test_share=0.34").train
    tensors = to_tensors(train, pixel_scale(train))
    assert tensors.inputs.data_ptr() == train.inputs.ctypes.data


def test_a_tiff_file_of_several_pages_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for i in range(2):
            page = Image.new("L", (5, 5), i)
            page.save(tmp_path / name / f"{i}.tif", save_all=True, append_images=[page])
    with pytest.raises(DataError, match=r"4 of 4 images .+ has several pages; save channels as an \.npz file"):
        load(str(tmp_path))


def png_of_16_bits(path: Path, samples: np.ndarray) -> None:
    """A PNG file by hand (H, W, C): Pillow writes no colour of 16 bits."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width, channels = samples.shape
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in samples)
    header = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    whole = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + whole)


def tiff_of_16_bits(path: Path, samples: np.ndarray) -> None:
    """An uncompressed TIFF file in RGB by hand."""
    height, width, _ = samples.shape
    content = samples.astype("<u2").tobytes()
    after = 8 + len(content)
    size = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, 3, after)]  # and 16 bits for each of three colours
    form = [(259, 3, 1, 1), (262, 3, 1, 2)]  # uncompressed, RGB
    strip = [(273, 4, 1, 8), (277, 3, 1, 3), (278, 3, 1, height), (279, 4, 1, len(content))]  # all rows from byte 8 on
    tags = [*size, *form, *strip]
    entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    directory = struct.pack("<H", len(tags)) + entries + struct.pack("<I", 0)
    path.write_bytes(b"II*\0" + struct.pack("<I", after + 6) + content + struct.pack("<HHH", 16, 16, 16) + directory)


def ppm_of_12_bits(path: Path, samples: np.ndarray) -> None:
    height, width, _ = samples.shape
    path.write_bytes(b"P6 %d %d 4095\n" % (width, height) + samples.astype(">u2").tobytes())


@pytest.mark.parametrize(
    ("write", "channels", "suffix"), [*((png_of_16_bits, n, "png") for n in (1, 2, 3, 4)), (tiff_of_16_bits, 3, "tif")]
)
def test_16_bits_of_which_the_lower_half_is_used_are_refused(
    tmp_path: Path, write: Callable[[Path, np.ndarray], None], channels: int, suffix: str
) -> None:
    for i in range(8):
        path = tmp_path / "ab"[i % 2] / f"{i}.{suffix}"
        path.parent.mkdir(exist_ok=True)
        write(path, np.random.default_rng(i).integers(0, 3500, (6, 6, channels)))
    with pytest.raises(DataError, match=rf"8 of 8 images .*/0\.{suffix} has more than 8 bits per channel, but"):
        load(str(tmp_path))
    form = InputForm("folder:photos", (), (3, 6, 6), (3, 6, 6))
    with pytest.raises(DataError, match="more than 8 bits"):
        read_unlabelled(str(tmp_path / "a" / f"0.{suffix}"), form)


def test_12_bits_of_which_the_file_says_the_largest_value_become_8(tmp_path: Path) -> None:
    written = {}
    for i in range(8):
        path = tmp_path / "ab"[i % 2] / f"{i}.ppm"
        path.parent.mkdir(exist_ok=True)
        samples = np.random.default_rng(i).integers(0, 3500, (6, 6, 3))
        ppm_of_12_bits(path, samples)
        written[i] = np.round(samples.transpose(2, 0, 1) / 4095 * 255).astype(np.uint8)
    data = load(str(tmp_path))
    read = {image.tobytes() for part in (data.train, data.test) for image in np.asarray(part.inputs)}
    assert read == {image.tobytes() for image in written.values()}


def _float_tiff(path: Path, samples: np.ndarray) -> None:
    Image.fromarray(samples[..., 0].astype(np.float32)).save(path)


def _icon(path: Path, samples: np.ndarray) -> None:
    """A palette image of the upper bits, the left half of which is transparent."""
    alpha = np.where(np.arange(samples.shape[1]) * 2 < samples.shape[1], 0, 255) * np.ones_like(samples[..., 0])
    rgba = np.dstack([(samples >> 8)[..., :3], alpha]).astype(np.uint8)
    Image.fromarray(rgba).quantize(256, dither=Image.Dither.NONE).save(path)


def _of_12_bits(file: Path, wide: np.ndarray) -> None:
    png_of_16_bits(file, wide >> 4)


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize(
    ("write", "channels", "suffix", "shown"),
    [
        (png_of_16_bits, 1, "png", lambda wide: wide >> 8),
        (_of_12_bits, 1, "png", lambda wide: wide >> 12),
        (png_of_16_bits, 3, "png", lambda wide: wide >> 8),
        (tiff_of_16_bits, 3, "tif", lambda wide: wide >> 8),
        (_icon, 3, "png", lambda wide: np.where(np.arange(6)[:, None] < 3, 255, wide >> 8)),
        (_float_tiff, 1, "tif", None),
    ],
)
def test_one_file_of_another_kind_stops_nothing_where_it_may_be_left_out_or_converted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Path, np.ndarray], None],
    channels: int,
    suffix: str,
    shown: Callable[[np.ndarray], np.ndarray] | None,
    in_memory: bool,
) -> None:
    if in_memory:
        monkeypatch.setattr(image_files, "written_whole", _no_room)
    for i in range(8):
        photograph(tmp_path / "photos" / "ab"[i % 2] / f"{i}.png", 6, 6, seed=i)
    wide = np.random.default_rng(0).integers(0, 2**16, (6, 6, channels))
    wide = (wide // 2**14) * 2**14 if write is _icon else wide  # few colours, which a palette keeps
    write(tmp_path / "photos" / "a" / f"odd.{suffix}", wide)
    name = f"folder:{tmp_path / 'photos'}?test_share=0.4"
    if write in (_of_12_bits, _float_tiff):
        with pytest.raises(DataError, match=rf"odd\.{suffix} has (more than 8|32) bits per channel"):
            load(name)
        skipped = load(f"{name}&broken=skip")
        assert len(skipped.train) + len(skipped.test) == 8
        assert f"1 of 9 files left out because they cannot be read: a/odd.{suffix}" in skipped.provenance["understood"]
    converted = load(f"{name}&broken=convert")
    if shown is None:
        assert converted.fingerprint == skipped.fingerprint
        return
    if write is not _of_12_bits:
        assert load(name).fingerprint == converted.fingerprint
    images = [image.transpose(1, 2, 0) for part in (converted.train, converted.test) for image in part.inputs]
    expected = np.broadcast_to(shown(wide), (6, 6, 3))
    assert sum(np.array_equal(image, expected) for image in images) == 1
    assert len(images) == 9
    assert "1 of 9 files converted to 8 bits" in converted.provenance["understood"]
