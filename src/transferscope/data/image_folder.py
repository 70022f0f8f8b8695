"""A user's images: a folder with one sub-folder per class."""

import struct
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int64, UInt8
from PIL import Image, ImageOps, UnidentifiedImageError

from transferscope.data.arrays import Parts, check_side
from transferscope.data.places import check_bytes
from transferscope.data.splits import split_off_test
from transferscope.data.task import LabelledSet
from transferscope.errors import CorruptDataError, DataError
from transferscope.files import require_regular

_TEST_SHARE = 0.2
_FORMATS = ("PNG", "JPEG", "BMP", "DIB", "GIF", "TIFF", "WEBP", "PPM", "TGA", "PCX", "JPEG2000")
"""What Pillow may take a file for. Never PostScript (EPS): it is a program, and Pillow starts Ghostscript to run it."""

_UNREADABLE = (".heic", ".heif", ".avif", ".jxl", ".svg", ".dng", ".cr2", ".cr3", ".nef", ".arw")
_GREY_MODES = ("1", "L", "LA", "La")
_WIDE_MODES = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")


def load_image_folder(path: Path, *, resize: int | None, test_share: float | None, seed: int) -> Parts:
    """Read images whose class is the name of their folder.

    Hidden files, and those whose suffix belongs to no kind of image, are passed over. Images are PNG, JPEG, BMP, GIF,
    TIFF, WEBP, PPM, TGA, PCX or JPEG 2000, whatever their suffix says. They are turned upright by
    their EXIF orientation and read as grey if all of them are grey, as RGB otherwise.

    Args:
        path: Holds one sub-folder per class, or the sub-folders `train` and `test` that do. A class may have any name.
        resize: Height and width in pixels to bring every image to (bilinear, without regard to its proportions); None
            to take images as they are, all of one size.
        test_share: Share of the images for a seeded, stratified test set, between 0 and 1; None for 0.2. Not with
            `train` and `test` sub-folders.
        seed: Seed of that split.

    Returns:
        Both parts: uint8 (N, C, H, W).

    Raises:
        CorruptDataError: A file is named like an image and cannot be read, or is of another format than those above.
        SettingsError: `resize` is larger than any image that one would train on.
        DataError: There are no classes or no images, images lie elsewhere than in a class folder, sizes are mixed, or
            an image is too large to be one or has transparent pixels.
    """
    if resize is not None:
        check_side(resize, f"{path}?resize={resize}")
    names = _sub_folders(path)
    if {"train", "test"} <= set(names):
        if test_share is not None or len(names) > 2:
            seen = (
                "test_share was given"
                if test_share is not None
                else f"it also has {', '.join(set(names) - {'train', 'test'})}"
            )
            raise DataError(f"{path} has the sub-folders train and test, and {seen}; keep one way to split it")
        return _read_split(path, resize)
    files = _list_files(path, names)
    whole = LabelledSet(_read_images(files.paths, resize), files.labels, tuple(names))
    return split_off_test(whole, test_share or _TEST_SHARE, seed=seed)


def read_images_below(
    path: Path, *, resize: int | None, channels: int | None
) -> tuple[UInt8[np.ndarray, "N C H W"], tuple[str, ...]]:
    """Every image in a folder and its sub-folders, whatever these mean.

    Args:
        path: The folder. Hidden files and folders, and files that are named like no image, are passed over.
        resize: As in `load_image_folder`.
        channels: 1 or 3 to read all images as grey or as RGB; None for grey if all of them are grey.

    Returns:
        The images, uint8, and the path of each within the folder, in the order of these.

    Raises:
        CorruptDataError: A file is named like an image and cannot be read.
        DataError: It is no folder, or holds no image; sizes are mixed, or an image has transparent pixels.
    """
    if not path.is_dir():
        raise DataError(f"{path} is no folder; expected one with images")
    found = sorted(
        file
        for file in path.rglob("*")
        if _is_image(file) and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not found:
        raise DataError(f"{path} holds no images; expected some in it or in its sub-folders")
    if resize is not None:
        check_side(resize, f"{path}?resize={resize}")
    return _read_images(found, resize, channels), tuple(str(file.relative_to(path)) for file in found)


@dataclass(frozen=True)
class _Files:
    """Image files, and the position of each one's class."""

    paths: tuple[Path, ...]
    labels: Int64[np.ndarray, " N"]


def _read_split(path: Path, resize: int | None) -> Parts:
    classes = _sub_folders(path / "train")
    strange = sorted(set(_sub_folders(path / "test")) - set(classes))
    if strange:
        raise DataError(f"{path}: test has the class {strange[0]!r}, which train has not; give both the same classes")
    train, test = _list_files(path / "train", classes), _list_files(path / "test", classes)
    images = _read_images(train.paths + test.paths, resize)
    n_train = len(train.paths)
    return Parts(
        LabelledSet(images[:n_train], train.labels, tuple(classes)),
        LabelledSet(images[n_train:], test.labels, tuple(classes)),
    )


def _sub_folders(path: Path) -> list[str]:
    if not path.is_dir():
        raise DataError(f"{path} is no folder; expected one with a sub-folder of images per class")
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _list_files(path: Path, classes: Sequence[str]) -> _Files:
    stray = [file for file in _visible(path) if _is_image(file)]
    if stray:
        raise DataError(f"{stray[0]} lies beside the folders of the classes; move it into one of them or remove it")
    paths: list[Path] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        entries = _visible(path / name) if (path / name).is_dir() else []
        deeper = [entry for entry in entries if entry.is_dir()]
        if deeper:
            raise DataError(
                f"{path / name} is the folder of a class and holds the folder {deeper[0].name!r}; put the images of a "
                "class into its folder itself, or the classes under train and test"
            )
        images = [file for file in entries if _is_image(file)]
        if not images and (path / name).is_dir():
            raise DataError(f"{path / name} holds no images; add some or remove the folder")
        paths += images
        labels += [label] * len(images)
    if not paths:
        raise DataError(f"{path} has no sub-folders; expected one of images per class")
    return _Files(tuple(paths), np.array(labels, dtype=np.int64))


def _visible(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def _is_image(file: Path) -> bool:
    """Whether the suffix belongs to images, those that Pillow cannot read included: these are refused, not lost."""
    suffix = file.suffix.lower()
    readable = Image.registered_extensions().get(suffix) in Image.OPEN
    return (readable or suffix in _UNREADABLE) and not file.is_dir()


def _read_images(
    paths: Sequence[Path], resize: int | None, channels: int | None = None
) -> UInt8[np.ndarray, "N C H W"]:
    images: list[Image.Image] = []
    n_bytes = 0
    for path in paths:
        images.append(_read_image(path, resize))
        n_bytes += images[-1].width * images[-1].height * len(images[-1].getbands())
        check_bytes(path.parent.parent, n_bytes)
    first = images[0]
    for path, image in zip(paths, images, strict=True):
        if image.size != first.size:
            raise DataError(
                f"images differ in size: {paths[0]} has {first.width} x {first.height} pixels and {path} "
                f"{image.width} x {image.height}; write ?resize=32 after the folder to bring all to 32 x 32"
            )
    grey = all(image.mode == "L" for image in images) if channels is None else channels == 1
    mode = "L" if grey else "RGB"
    pixels = np.stack([np.asarray(image.convert(mode)) for image in images])
    return pixels[:, None] if mode == "L" else np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))


def _read_image(path: Path, resize: int | None) -> Image.Image:
    require_regular(path, "an image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=_FORMATS) as opened:
                if opened.mode in _WIDE_MODES:
                    raise DataError(f"{path} has pixels of more than 8 bits ({opened.mode}); save it with 8 bits")
                upright = ImageOps.exif_transpose(opened)
                grey = upright.mode in _GREY_MODES
                if upright.has_transparency_data and np.asarray(upright.convert("RGBA"))[..., 3].min() < 255:
                    raise DataError(f"{path} has transparent pixels, which have no colour; save it on a background")
                image = (upright if grey else upright.convert("RGBA")).convert("L" if grey else "RGB")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DataError(f"{path} unpacks to more pixels than any picture has ({error}); remove it") from error
    except DataError:
        raise
    except UnidentifiedImageError as error:
        raise CorruptDataError(
            f"{path} cannot be read as an image; expected {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}: mend, convert "
            "or remove it"
        ) from error
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as error:
        raise CorruptDataError(f"{path} cannot be read as an image ({error}); mend or remove it") from error
    return image if resize is None else image.resize((resize, resize), Image.Resampling.BILINEAR)
