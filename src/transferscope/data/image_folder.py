"""A user's images: a folder with one sub-folder per class."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int64, UInt8
from PIL import Image

from transferscope.data.arrays import Parts, check_spellings
from transferscope.data.image_files import ImageForm, planned_size, read_images
from transferscope.data.split_names import split_names
from transferscope.data.splits import TEST_SHARE, rows_split_off
from transferscope.data.task import LabelledSet
from transferscope.errors import DataError, missing_file
from transferscope.files import require_regular

_UNREADABLE = (".heic", ".heif", ".avif", ".jxl", ".svg", ".dng", ".cr2", ".cr3", ".nef", ".arw")


def load_image_folder(path: Path, *, form: ImageForm, test_share: float | None, seed: int) -> Parts:
    """Read images whose class is the name of their folder.

    Hidden files, and those whose suffix belongs to no kind of image, are ignored. Images are PNG, JPEG, BMP, GIF,
    TIFF, WEBP, PPM, TGA, PCX or JPEG 2000, whatever their suffix says. They are turned upright by
    their EXIF orientation and read as grey if all of them are grey, as RGB otherwise.

    Args:
        path: Folder with one sub-folder per class, or with such folders in `train` and `test` (or other names of
            `split_names`). A class may have any name.
        test_share: Share of the images for a seeded, stratified test set, between 0 and 1; None for 0.2. Not with
            sub-folders of both parts.

    Returns:
        Both parts: uint8 (N, C, H, W), memory-mapped.

    Raises:
        CorruptDataError: A file with an image suffix cannot be read, or has another format than those above.
        DataError: There are no classes or no images, an image is outside of the class folders, too large, or has
        transparent pixels.
    """
    names = _sub_folders(path)
    split = split_names(names, str(path))
    if split is not None:
        others = [name for name in names if name not in (split.train, split.test, split.left_out)]
        if test_share is not None or others:
            seen = "test_share" if test_share is not None else ", ".join(others)
            raise DataError(
                f"{path} has the sub-folders {split.train} and {split.test}, and also {seen}; keep one split"
            )
        classes = _sub_folders(path / split.train)
        strange = sorted(set(_sub_folders(path / split.test)) - set(classes))
        if strange:
            raise DataError(
                f"{path}: {split.test} has the class {strange[0]!r}, but {split.train} does not; give both the same "
                "classes"
            )
        (own, own_labels), (other, other_labels) = (
            _list_files(path / part, classes) for part in (split.train, split.test)
        )
        paths, labels = own + other, np.concatenate([own_labels, other_labels])
        n_train = len(own)
    else:
        classes = names
        paths, labels = _list_files(path, classes)
        whole = LabelledSet(np.zeros((len(paths), 1)), labels, tuple(classes))
        train, test = rows_split_off(whole, test_share or TEST_SHARE, seed=seed)
        order = np.concatenate([train, test])
        paths, labels = [paths[row] for row in order], labels[order]
        n_train = len(train)
    check_spellings(classes, f"{path}: the folders", "classes")
    images = read_images(paths, path, form)
    labels = labels[images.kept]
    n_train = int(np.searchsorted(images.kept, n_train))  # slices of one array, without a copy
    lost = np.setdiff1d(np.arange(len(classes)), labels[:n_train])
    if len(lost) or n_train == len(labels):
        what = f"training image of the class {classes[lost[0]]!r}" if len(lost) else "test image"
        raise DataError(f"{path} has no {what} that can be decoded ({images.skipped}); fix some or remove the class")
    return Parts(
        LabelledSet(images.pixels[:n_train], labels[:n_train], tuple(classes)),
        LabelledSet(images.pixels[n_train:], labels[n_train:], tuple(classes)),
        about=images.about,
        words="; ".join(filter(None, (split.note if split else "", images.words, images.skipped))),
    )


def read_images_below(path: Path, *, form: ImageForm) -> tuple[UInt8[np.ndarray, "N C H W"], tuple[str, ...]]:
    """Return all images in a folder and its sub-folders, without labels; or one image.

    Args:
        path: The folder, or an image file. Hidden files and folders, and files without an image suffix, are ignored.

    Returns:
        The images, uint8, and the path of each within the folder, in the order of these; or the file's name.

    Raises:
        CorruptDataError: A file with an image suffix cannot be read.
        DataError: The path is not a folder or has no image; sizes are mixed and the form gives none, or an image has
        transparent pixels.
    """
    if path.is_file() and is_image_file(path):
        files, root = [path], path.parent
    elif path.is_dir():
        files, root = image_files_below(path), path
    else:
        raise missing_file("folder of images", path, "give one with images")
    if not files:
        raise DataError(f"{path} has no images; expected some in it or in its sub-folders")
    images = read_images(files, root, form)
    return images.pixels, tuple(str(files[place].relative_to(root)) for place in images.kept)


def image_files_below(path: Path) -> list[Path]:
    """Return the image files in a folder and its sub-folders, sorted, except hidden ones."""
    return sorted(
        file
        for file in path.rglob("*")
        if is_image_file(file) and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )


def size_at_most(path: Path, side: int) -> str:
    """Return the option of a folder's name that resizes larger images to a side, decoded at that size; "" for smaller
    ones.

    Returns:
        "size=SIDE" for images of mixed sizes and for square ones, "resize=SIDE" for others of one size.
    """
    files = image_files_below(path) if path.is_dir() else []
    if not files:
        return ""  # the reader of the folder reports it
    height, width, mixed = planned_size(files, path)
    if max(height, width) <= side:
        return ""
    return f"size={side}" if mixed or height == width else f"resize={side}"


def _sub_folders(path: Path) -> list[str]:
    if not path.is_dir():
        raise missing_file("folder of images", path, "give one with a sub-folder of images per class")
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _list_files(path: Path, classes: Sequence[str]) -> tuple[list[Path], Int64[np.ndarray, " N"]]:
    """Return image files, and the position of each one's class."""
    stray = [file for file in _visible(path) if is_image_file(file)]
    if stray:
        raise DataError(f"{stray[0]} is outside the class folders; move it into one of them, or remove it")
    paths: list[Path] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        entries = _visible(path / name) if (path / name).is_dir() else []
        deeper = [entry for entry in entries if entry.is_dir()]
        if deeper:
            raise DataError(
                f"the class folder {path / name} contains the folder {deeper[0].name!r}; put images directly into "
                "their class folder, or the classes under train and test"
            )
        images = [file for file in entries if is_image_file(file)]
        for file in images:
            require_regular(file, "an image")
        if not images and (path / name).is_dir():
            raise DataError(f"{path / name} has no images; add some or remove the folder")
        paths += images
        labels += [label] * len(images)
    if not paths:
        raise DataError(f"{path} has no sub-folders; expected one of images per class")
    return paths, np.array(labels, dtype=np.int64)


def _visible(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def is_image_file(file: Path) -> bool:
    """Return whether the suffix belongs to images, including unreadable formats, which are refused rather than lost."""
    suffix = file.suffix.lower()
    readable = Image.registered_extensions().get(suffix) in Image.OPEN
    return (readable or suffix in _UNREADABLE) and not file.is_dir()
