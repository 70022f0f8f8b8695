"""Image files as one array of fixed size, decoded once, cached on disk and memory-mapped."""

import hashlib
import io
import json
import math
import os
import struct
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import PIL
from jaxtyping import Int64, UInt8
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.TiffImagePlugin import TiffImageFile

from transferscope.data.places import cache_folder, check_bytes
from transferscope.errors import CorruptDataError, DataError
from transferscope.files import content_digest, require_regular, stamp_of, written_whole
from transferscope.wording import few, listed

SIDES = (32, 64, 96, 128, 224)
"""Sizes, in pixels, to which images of mixed sizes are resized."""

_VERSION = 5
"""Version of the cache; raise it when the same files give other pixels, or are refused."""

_DAYS_KEPT = 30
_COLOURS = 3
_MOST_GB = "32"  # on disk, so more than for arrays in memory
_FORMATS = ("PNG", "JPEG", "BMP", "DIB", "GIF", "TIFF", "WEBP", "PPM", "TGA", "PCX", "JPEG2000")
"""Formats that Pillow may open. Not PostScript (EPS): it is a program, which Pillow runs in Ghostscript."""

_GREY_MODES = ("1", "L", "LA", "La")
_DEEP_GREY = ("I;16", "I;16B", "I;16L", "I;16N")
_WIDE_MODES = ("I", "F")  # 32 bits, without a defined range
_BITS_PER_SAMPLE = 258  # tag of TIFF files
_SIDEWAYS = (5, 6, 7, 8)  # EXIF orientations that exchange width and height
_ORIENTATION = 0x0112

_HALF = 128  # of 255, after conversion of 16 bits to 8: photographs reach it


@dataclass(frozen=True, slots=True, eq=False)
class PackedImage:
    """An image stored in another file.

    Attributes:
        stamp: Changes with that file.
        reader: Returns the bytes of the image at a row.
    """

    name: str
    stamp: object
    reader: Callable[[int], bytes]
    row: int

    def __str__(self) -> str:
        return self.name


ImageFile = Path | PackedImage


@dataclass(frozen=True, slots=True)
class ImageForm:
    """Conversion of images to one size.

    Attributes:
        resize: Height and width in pixels to which every image is stretched; None for none.
        size: Height and width in pixels of the square in the middle of every image, whose side is the image's short
            side (short side to `size`, then centre crop). None, without `resize`, keeps images of one size.
        channels: 1 or 3 to read all images as grey or as RGB; None for grey if all of them are grey, RGB otherwise.
        automatic: Whether a `size` is chosen for images of mixed sizes; otherwise they are refused.
        skip_broken: Whether unreadable files are left out; otherwise they are refused. With it, images of 16 bits per
            channel keep the upper 8, and transparent pixels become white.
        convert: Whether 16-bit images that use only the lower bits, such as 12-bit images, are converted, too.
    """

    resize: int | None = None
    size: int | None = None
    channels: int | None = None
    automatic: bool = True
    skip_broken: bool = False
    convert: bool = False


@dataclass(frozen=True)
class Images:
    """Images of one size.

    Attributes:
        pixels: Shape (N, C, H, W), in the order of the kept files; memory-mapped if cached on disk.
        kept: Positions of these files among those requested.
        broken: Path within the folder and error of each file left out.
        chosen: The `size` chosen for images of mixed sizes; None if not needed.
        words: Note on that choice; empty if not needed.
        n_converted: Number of converted files, with more than 8 bits or transparent pixels.
    """

    pixels: UInt8[np.ndarray, "N C H W"]
    kept: Int64[np.ndarray, " N"]
    broken: tuple[tuple[str, str], ...]
    chosen: int | None
    words: str
    n_converted: int = 0

    @property
    def about(self) -> dict[str, str]:
        """The chosen size, as provenance: further images are read at it."""
        return {} if self.chosen is None else {"size": str(self.chosen)}

    @property
    def skipped(self) -> str:
        """Note on the files that were left out or converted; empty if none."""
        n, said = len(self.kept) + len(self.broken), []
        if self.broken:
            left = few(dict(self.broken))
            said.append(f"{len(self.broken)} of {n:,} files left out because they cannot be read: {left}")
        if self.n_converted:
            said.append(
                f"{self.n_converted} of {n:,} files converted to 8 bits per channel, transparent pixels to white"
            )
        return "; ".join(said)


def read_images(paths: Sequence[ImageFile], root: Path, form: ImageForm) -> Images:
    """Read image files, at least one, from the cache of an earlier call if they are unchanged.

    The cache is in its folder `images`, as uint8 at the final size, for 30 days after its last use. Files are read
    again if their place, names, sizes or times, or the form, change.

    Raises:
        CorruptDataError: Files cannot be decoded, and `form` does not skip them, or none is left.
        DataError: Sizes are mixed and `form` gives none, an image has 32 bits per channel, or uses only part of 16, or
        the images are too large.
    """
    files: list[object] = []
    for path in paths:
        if isinstance(path, PackedImage):
            files.append((path.name, path.stamp))
            continue
        try:
            files.append((str(path.relative_to(root)), *stamp_of(path)))
        except OSError as error:
            raise CorruptDataError(f"{path} cannot be read as an image ({error}); fix or remove it") from error
    about = repr((_VERSION, PIL.__version__, astuple(form), str(root.resolve()), files))
    kept = cache_folder() / "images" / f"{hashlib.sha256(os.fsencode(about)).hexdigest()[:32]}.npy"
    images = _kept(kept)
    if images is not None:
        return images
    broken = _Broken(root, form.skip_broken, len(paths))
    shape, chosen, words = _plan(paths, form, broken)
    decode = partial(_decode, paths, form, chosen or form.size, shape, broken)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        _remove_unused(kept.parent)
        with written_whole(kept) as unfinished, unfinished.open("wb") as stream:

            def write(shape: tuple[int, ...]) -> Callable[[int, np.ndarray], object]:
                stream.seek(0)
                stream.truncate()
                np.lib.format.write_array_header_1_0(stream, {"descr": "|u1", "fortran_order": False, "shape": shape})
                return lambda i, pixels: stream.write(pixels.tobytes())

            decode(write)
        facts = {
            "chosen": chosen,
            "words": words,
            "kept": broken.kept(paths),
            "broken": broken.named(),
            "converted": len(broken.converted),
        }
        with written_whole(kept.with_suffix(".json")) as unfinished:
            unfinished.write_text(json.dumps({**facts, "checksum": _checksum(kept, facts)}), encoding="utf-8")
        if (images := _kept(kept)) is not None:
            return images
    except OSError:  # disk full, or folder not writable
        pass
    arrays: list[np.ndarray] = []

    def fill(shape: tuple[int, ...]) -> Callable[[int, np.ndarray], object]:
        check_bytes(root, math.prod(shape))
        arrays[:] = [np.empty(shape, dtype=np.uint8)]
        return arrays[0].__setitem__

    decode(fill)
    return Images(arrays[0], np.array(broken.kept(paths)), tuple(broken.named()), chosen, words, len(broken.converted))


class _Broken:
    """Record of unreadable and converted files."""

    def __init__(self, root: Path, skip: bool, n: int) -> None:
        self.refused: dict[ImageFile, DataError] = {}
        self.converted: set[ImageFile] = set()
        self.root, self._skip, self._n = root, skip, n

    @contextmanager
    def noted(self, path: ImageFile) -> Iterator[None]:
        """Record a file that cannot be read, and continue."""
        try:
            yield
        except DataError as error:
            self.refused[path] = error

    def checked(self, paths: Sequence[ImageFile]) -> list[ImageFile]:
        """Return the readable files; raises DataError if others may not be left out, or there are none."""
        if self.refused and (not self._skip or len(self.refused) == self._n):
            first = next(iter(self.refused.values()))
            if len(self.refused) == 1:
                raise type(first)(f"{first}{'' if self._skip else ', or leave it out with ?broken=skip'}") from first
            raise type(first)(
                f"{len(self.refused)} of {self._n} images in {self.root} cannot be read: {few(dict(self.named()))}; of "
                f"the first, {first}{'' if self._skip else ', or leave all of them out with ?broken=skip'}"
            ) from first
        return [path for path in paths if path not in self.refused]

    def kept(self, paths: Sequence[ImageFile]) -> list[int]:
        return [place for place, path in enumerate(paths) if path not in self.refused]

    def named(self) -> list[tuple[str, str]]:
        """Return the path within the folder, and the error, of each file."""
        return [
            (str(path.relative_to(self.root)) if isinstance(path, Path) else path.name, str(error))
            for path, error in self.refused.items()
        ]


def _kept(file: Path) -> Images | None:
    """Return the images that an earlier call cached; None if there are none, or the cache is damaged."""
    try:
        facts = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        if facts.pop("checksum") != _checksum(file, facts):
            return None
        pixels = np.load(file, mmap_mode="c")  # copy on write: processes share the pages
        with suppress(OSError):
            os.utime(file)
        broken = tuple((str(name), str(why)) for name, why in facts["broken"])
        whole = np.array(facts["kept"], dtype=np.int64)
        return Images(pixels, whole, broken, facts["chosen"], facts["words"], facts["converted"])
    except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _checksum(pixels: Path, facts: Mapping[str, object]) -> str:
    return hashlib.sha256(f"{content_digest(pixels)} {json.dumps(facts, sort_keys=True)}".encode()).hexdigest()


def _remove_unused(folder: Path) -> None:
    oldest = time.time() - _DAYS_KEPT * 86_400
    for file in folder.glob("*.npy"):
        with suppress(OSError):
            if file.stat().st_mtime < oldest:
                file.with_suffix(".json").unlink(missing_ok=True)
                file.unlink()


def _plan(paths: Sequence[ImageFile], form: ImageForm, broken: _Broken) -> tuple[tuple[int, int, int], int | None, str]:
    """Return the shape of each image, the chosen size and the reason, from the headers of the files."""
    sizes: Int64[np.ndarray, "N 2"] = np.empty((len(paths), 2), dtype=np.int64)  # width, height
    grey = True
    for i, path in enumerate(paths):
        with broken.noted(path), _opened(path) as image:
            has_exif = image.format != "PNG" or "exif" in image.info  # else Pillow decodes the whole PNG to find EXIF
            sideways = has_exif and image.getexif().get(_ORIENTATION) in _SIDEWAYS
            sizes[i] = image.size[::-1] if sideways else image.size
            grey = grey and image.mode in (*_GREY_MODES, *_DEEP_GREY)
    paths, sizes = broken.checked(paths), sizes[broken.kept(paths)]
    channels = form.channels or (1 if grey else _COLOURS)
    side, chosen, words = form.resize or form.size, None, ""
    others = np.flatnonzero((sizes != sizes[0]).any(axis=1))
    if side is None and len(others) == 0:
        return (channels, int(sizes[0, 1]), int(sizes[0, 0])), None, ""
    if side is None and not form.automatic:
        (width, height), (w, h) = sizes[0].tolist(), sizes[others[0]].tolist()
        raise DataError(
            f"images differ in size: {paths[0]} has {width} x {height} pixels and {paths[others[0]]} {w} x {h}; give "
            "images of one size, or add ?size=N to scale all to N x N pixels"
        )
    if side is None:
        short = sizes.min(axis=1)
        median = int(np.median(short))
        side = chosen = max((one for one in SIDES if one <= median), default=median)
        enlarged = int((short < side).sum())
        n_sizes = len(np.unique(sizes, axis=0))
        words = (
            f"images of {n_sizes} sizes, with short sides of {short.min()} to {short.max()} pixels (median {median}), "
            f"are resized to {side} x {side}: short side to {side}, then centre "
            f"crop{f'; {enlarged} of {len(paths)} are enlarged' if enlarged else ''} (?size= sets another size)"
        )
    return (channels, side, side), chosen, words


def planned_size(paths: Sequence[ImageFile], root: Path) -> tuple[int, int, bool]:
    """Return the default height and width of images, and whether their sizes are mixed.

    Only the beginning of each file is read; unreadable files are ignored.
    """
    (_, height, width), chosen, _ = _plan(paths, ImageForm(), _Broken(root, skip=True, n=len(paths)))
    return height, width, chosen is not None


def _decode(
    paths: Sequence[ImageFile],
    form: ImageForm,
    side: int | None,
    shape: tuple[int, int, int],
    broken: _Broken,
    begin: Callable[[tuple[int, ...]], Callable[[int, np.ndarray], object]],
) -> None:
    """Pass every image (C, H, W), in order, to the function that `begin` returns.

    It starts again if a file is broken, or if decoded images are grey or coloured contrary to their headers.
    """
    channels, height, width = shape
    while True:
        whole, known, grey = broken.checked(paths), len(broken.refused), True
        check_bytes(broken.root, len(whole) * channels * height * width, most_gb=_MOST_GB)
        keep = begin((len(whole), channels, height, width))
        for i, path in enumerate(whole):
            with broken.noted(path):
                image, is_converted = _read_image(path, form, side)
                if is_converted:
                    broken.converted.add(path)
                grey = grey and image.mode == "L"
                pixels = np.atleast_3d(np.asarray(image.convert("RGB" if channels == _COLOURS else "L")))
                if pixels.shape != (height, width, channels):  # the header declares another size
                    raise CorruptDataError(
                        f"{path} cannot be read as an image (its size is not the declared one); fix or remove it"
                    )
                keep(i, pixels.transpose(2, 0, 1))
        if len(broken.refused) == known:
            if form.channels is not None or grey == (channels == 1):
                return
            channels = 1 if grey else _COLOURS


def _read_image(path: ImageFile, form: ImageForm, side: int | None) -> tuple[Image.Image, bool]:
    """Return an upright image, at the form's size or cropped to `side`; whether bits or transparency were lost."""
    with _opened(path) as opened:
        if side is not None:  # decode a JPEG at 1/2, 1/4 or 1/8 if that is at least twice the size
            opened.draft(None, (2 * side, 2 * side))
        is_converted = opened.mode in _DEEP_GREY or _bits(opened) > 8
        upright = ImageOps.exif_transpose(opened)
        if upright.mode in _DEEP_GREY:
            upright = Image.fromarray((np.asarray(upright) >> 8).astype(np.uint8))
        grey = upright.mode in _GREY_MODES
        if is_converted and not form.convert and (brightest := np.asarray(upright).max()) < _HALF:
            raise DataError(
                f"{path} has more than 8 bits per channel, but its brightest pixel is {brightest} of 255, as in "
                "images of fewer bits; scale it to 8 bits, or read it unchanged with ?broken=convert"
            )
        if upright.has_transparency_data and np.asarray(upright.convert("RGBA"))[..., 3].min() < 255:
            white = Image.new("RGBA", upright.size, "white")
            upright, is_converted = Image.alpha_composite(white, upright.convert("RGBA")), True
        plain = grey or upright.mode == "RGB"  # palettes convert to RGBA without loss
        image = (upright if plain else upright.convert("RGBA")).convert("L" if grey else "RGB")
    if form.resize is not None:
        return image.resize((form.resize, form.resize), Image.Resampling.BILINEAR), is_converted
    if side is not None:
        image = ImageOps.fit(image, (side, side), method=Image.Resampling.BILINEAR)
    return image, is_converted


@contextmanager
def _opened(path: ImageFile) -> Iterator[Image.Image]:
    """Open an image with Pillow, its pixels not yet decoded; errors name the file."""
    if isinstance(path, Path):
        require_regular(path, "an image")
    try:
        file = path if isinstance(path, Path) else io.BytesIO(path.reader(path.row))
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file, formats=_FORMATS) as opened:
                if opened.format == "TIFF" and getattr(opened, "n_frames", 1) > 1:
                    raise DataError(f"{path} has several pages; save channels as an .npz file, or one page per file")
                if opened.mode in _WIDE_MODES:
                    raise DataError(f"{path} has 32 bits per channel ({opened.mode}); save it with 8 bits")
                yield opened
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DataError(f"{path} decompresses to too many pixels ({error}); remove it") from error
    except (DataError, CorruptDataError):
        raise
    except UnidentifiedImageError as error:
        raise CorruptDataError(
            f"{path} is not an image; expected {listed(_FORMATS, last='or')}: fix, convert or remove it"
        ) from error
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as error:
        raise CorruptDataError(f"{path} cannot be read as an image ({error}); fix or remove it") from error


def _bits(opened: Image.Image) -> int:
    """Return the bits per channel of a PNG, TIFF or PPM file, of which Pillow keeps 8 in colour; 8 for others."""
    if isinstance(opened, TiffImageFile):
        given = opened.tag_v2.get(_BITS_PER_SAMPLE, ())
        return max((bits for bits in given if isinstance(bits, int)), default=8)
    for tile in getattr(opened, "tile", ()):
        stored, *more = tile[3] if isinstance(tile[3], tuple) else (tile[3],)
        if opened.format == "PNG" and str(stored).endswith(";16B"):
            return 16
        if opened.format == "PPM" and more and isinstance(more[0], int):
            return more[0].bit_length()
    return 8
