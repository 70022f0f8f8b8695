"""Characters as distance fields: rendered once in every font that has them, sampled at any size and stroke width."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from PIL import Image, ImageDraw, ImageFont

from transferscope.errors import DataError, MissingDataError, missing_file
from transferscope.files import require_regular

_SUFFIXES = (".ttf", ".otf")
_BUNDLED = ("DejaVuSans", "DejaVuSerif", "STIXGeneral", "cmb10", "cmr10", "cmss10", "cmti10", "cmtt10")
_PROBE_SIZE = 32  # pixels; large enough that two glyphs differ
_NO_CHARACTER = "\U0010ffff"  # never assigned, so that every font shows its "missing" sign


def find_fonts(folder: str | None, characters: str) -> tuple[Path, ...]:
    """Return the fonts that contain all `characters`, ordered by file name.

    Args:
        folder: None for the text fonts that come with matplotlib (its fonts of mathematical symbols lack plain
            characters).

    Raises:
        MissingDataError: The folder does not exist or holds no font.
        DataError: No font has all the characters.
    """
    if folder is None:
        import matplotlib  # imported here: slow, and only glyphs need it

        bundled = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
        files = [file for file in _in_folder(bundled) if file.stem.startswith(_BUNDLED)]
    else:
        files = _in_folder(Path(folder))
    able = tuple(file for file in files if all(_shows(load_font(file, _PROBE_SIZE), each) for each in characters))
    if not able:
        where = "that come with matplotlib" if folder is None else f"in {folder}"
        raise DataError(
            f"none of the {len(files)} fonts {where} has all characters of {characters!r}; leave some out, or give "
            "another folder of fonts"
        )
    return able


def load_font(file: Path, size: int) -> ImageFont.FreeTypeFont:
    """Return a font at `size` pixels per em, with basic layout so that machines agree; raises DataError."""
    require_regular(file, "a .ttf or .otf file")
    try:
        return ImageFont.truetype(str(file), size, layout_engine=ImageFont.Layout.BASIC)
    except OSError as error:
        raise DataError(f"{file} cannot be read as a font ({error}); remove it from the folder") from error


def _in_folder(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise missing_file("folder of fonts", folder, "give one with .ttf or .otf files")
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in _SUFFIXES)
    if not files:
        raise MissingDataError(f"the folder {folder} has no .ttf or .otf files; give one with fonts")
    return files


def _shows(font: ImageFont.FreeTypeFont, character: str) -> bool:
    picture = bytes(font.getmask(character))
    return any(picture) and picture != bytes(font.getmask(_NO_CHARACTER))


_CELL = 64  # pixels of the atlas per character
_FINE = 2  # pixels of the first rendering per pixel of the atlas, along each axis
_EXTENT = 0.72  # share of a cell that the largest character of a font takes, in height or width


@dataclass(frozen=True)
class Atlas:
    """Signed distances to the outlines of characters (Green 2007, "Improved Alpha-Tested Magnification").

    Attributes:
        distances: Positive inside a character and negative outside, in units of half a cell, of 64 x 64 pixels;
            float32. Characters are centred in their cells.
        fonts: The font files, in the order of `distances`.
    """

    distances: Float[np.ndarray, "F K cell cell"]
    fonts: tuple[Path, ...]

    def sample(
        self,
        font: Int[np.ndarray, " n"],
        character: Int[np.ndarray, " n"],
        x: Float[np.ndarray, "n P"],
        y: Float[np.ndarray, "n P"],
    ) -> Float[np.ndarray, "n P"]:
        """Return distances at any points, by bilinear interpolation.

        Args:
            x: Abscissae in the character's cell, -1 (left) to 1 (right); nothing is drawn outside.
            y: Ordinates, -1 (top) to 1 (bottom).

        Returns:
            Signed distances in units of half a cell, float32; -1 outside the cell.
        """
        within = np.flatnonzero((np.abs(x) < 1) & (np.abs(y) < 1))
        cells = (font * self.distances.shape[1] + character) * _CELL**2
        first = cells[within // x.shape[1]]
        result = np.full(x.shape, -1, np.float32)
        result.reshape(-1)[within] = self._interpolate(first, x.reshape(-1)[within], y.reshape(-1)[within])
        return result

    def _interpolate(self, first: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return distances at points inside cells whose first pixels are at the flat indices `first`, shape (m,)."""
        flat = self.distances.reshape(-1)
        column = np.clip((x + 1) * (_CELL / 2) - 0.5, 0, _CELL - 1.001, dtype=np.float32)
        row = np.clip((y + 1) * (_CELL / 2) - 0.5, 0, _CELL - 1.001, dtype=np.float32)
        left, top = column.astype(np.intp), row.astype(np.intp)
        across, down = column - left.astype(np.float32), row - top.astype(np.float32)
        corner = first + top * _CELL + left
        upper, lower = flat[corner], flat[corner + _CELL]
        upper += across * (flat[corner + 1] - upper)
        lower += across * (flat[corner + _CELL + 1] - lower)
        return np.asarray(upper + down * (lower - upper))


@lru_cache(maxsize=8)
def make_atlas(folder: str | None, characters: str) -> Atlas:
    """Return the distance fields of `characters` in every font of `find_fonts`; cached for the next call."""
    fonts = find_fonts(folder, characters)
    distances = np.stack([_font_distances(file, characters) for file in fonts])
    distances.setflags(write=False)
    return Atlas(distances, fonts)


def _font_distances(file: Path, characters: str) -> np.ndarray:
    """Return characters of a font at the size where the largest takes `_EXTENT` of a cell."""
    trial = 100
    font = load_font(file, trial)
    largest = max(max(_ink(font, character).size) for character in characters)
    fitted = load_font(file, max(1, round(trial * _EXTENT * _CELL * _FINE / largest)))
    return np.stack([_distances(_ink(fitted, character)) for character in characters])


def _ink(font: ImageFont.FreeTypeFont, character: str) -> Image.Image:
    """Return a character, white on black, without any border (its advance and side bearings left out)."""
    room = round(3 * font.size)
    image = Image.new("L", (room, room))
    ImageDraw.Draw(image).text((font.size, font.size), character, fill=255, font=font)
    return image.crop(image.getbbox())


def _distances(ink: Image.Image) -> np.ndarray:
    """Return the signed distance to the outline of a centred character, in units of half a cell."""
    from scipy.ndimage import distance_transform_edt  # imported here: slow, and only glyphs need it

    side = _CELL * _FINE
    picture = Image.new("L", (side, side))
    picture.paste(ink, ((side - ink.width) // 2, (side - ink.height) // 2))
    covered = np.asarray(picture) >= 128
    inside = distance_transform_edt(covered) - distance_transform_edt(~covered)
    signed = np.sign(inside) * (np.abs(inside) - 0.5)
    coarse = signed.reshape(_CELL, _FINE, _CELL, _FINE).mean(axis=(1, 3))
    return np.asarray(coarse * 2 / side, np.float32)
