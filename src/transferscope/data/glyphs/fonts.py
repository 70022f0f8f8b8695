"""Which fonts can show a set of characters."""

from pathlib import Path

import matplotlib
from PIL import ImageFont

from transferscope.errors import DataError, MissingDataError
from transferscope.files import require_regular

_SUFFIXES = (".ttf", ".otf")
_BUNDLED = ("DejaVuSans", "DejaVuSerif", "STIXGeneral", "cmb10", "cmr10", "cmss10", "cmti10", "cmtt10")
_PROBE_SIZE = 32  # pixels: large enough for two glyphs to differ
_NO_CHARACTER = "\U0010ffff"  # never assigned, so that every font shows its "missing" sign


def find_fonts(folder: str | None, characters: str) -> tuple[Path, ...]:
    """The fonts that have all `characters`, ordered by file name.

    Args:
        folder: Where to look for .ttf and .otf files; None for the text fonts that come with matplotlib (its fonts of
            mathematical symbols have no plain characters at their places).
        characters: What a font must be able to show.

    Returns:
        At least one font file.

    Raises:
        MissingDataError: The folder does not exist or holds no font.
        DataError: No font has all the characters.
    """
    files = _bundled() if folder is None else _in_folder(Path(folder))
    able = tuple(file for file in files if all(_shows(load_font(file, _PROBE_SIZE), each) for each in characters))
    if not able:
        where = "that come with matplotlib" if folder is None else f"in {folder}"
        raise DataError(
            f"none of the {len(files)} fonts {where} has all the characters {characters!r}; leave some out, or name a "
            "folder of fonts that have them"
        )
    return able


def load_font(file: Path, size: int) -> ImageFont.FreeTypeFont:
    """A font at `size` pixels per em; characters are placed by the basic rules, so that every machine agrees.

    Raises:
        DataError: The file is no font.
    """
    require_regular(file, "a .ttf or .otf file")
    try:
        return ImageFont.truetype(str(file), size, layout_engine=ImageFont.Layout.BASIC)
    except OSError as error:
        raise DataError(f"{file} cannot be read as a font ({error}); remove it from the folder") from error


def _bundled() -> list[Path]:
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return [file for file in _in_folder(folder) if file.stem.startswith(_BUNDLED)]


def _in_folder(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise MissingDataError(f"the folder of fonts {folder} does not exist; name one with .ttf or .otf files")
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in _SUFFIXES)
    if not files:
        raise MissingDataError(f"the folder {folder} holds no .ttf or .otf files; name one with fonts")
    return files


def _shows(font: ImageFont.FreeTypeFont, character: str) -> bool:
    picture = bytes(font.getmask(character))
    return any(picture) and picture != bytes(font.getmask(_NO_CHARACTER))
