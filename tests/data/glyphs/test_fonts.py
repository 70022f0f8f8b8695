import shutil
from pathlib import Path

import matplotlib
import pytest

from transferscope.data.glyphs.fonts import find_fonts
from transferscope.errors import DataError, MissingDataError

BUNDLED = Path(matplotlib.get_data_path()) / "fonts" / "ttf"


def test_bundled_fonts_show_letters_and_digits_and_are_no_symbols() -> None:
    names = [file.stem for file in find_fonts(None, "0123456789abcXYZ")]
    assert {"DejaVuSans", "DejaVuSerif-Bold", "STIXGeneralItalic", "cmr10"} <= set(names)
    assert not {"cmex10", "cmsy10", "cmmi10", "STIXSizOneSymReg", "STIXNonUni", "LastResortHE-Regular"} & set(names)
    assert [f"{name}.ttf" for name in names] == sorted(f"{name}.ttf" for name in names)


def test_a_font_without_a_character_is_left_out() -> None:
    names = {file.stem for file in find_fonts(None, "ж")}
    assert "DejaVuSans" in names
    assert "cmr10" not in names


def test_a_folder_of_fonts_is_used_instead(tmp_path: Path) -> None:
    shutil.copy(BUNDLED / "cmr10.ttf", tmp_path)
    assert find_fonts(str(tmp_path), "09") == (tmp_path / "cmr10.ttf",)


def test_characters_that_no_font_has_are_refused() -> None:
    with pytest.raises(DataError, match="none of the") as caught:
        find_fonts(None, "0\U0010fffe")
    assert str(caught.value).endswith(
        "fonts that come with matplotlib has all the characters '0\\U0010fffe'; "
        "leave some out, or name a folder of fonts that have them"
    )


def test_an_absent_folder_is_named(tmp_path: Path) -> None:
    folder = str(tmp_path / "none")
    with pytest.raises(MissingDataError) as caught:
        find_fonts(folder, "0")
    assert str(caught.value) == f"the folder of fonts {folder} does not exist; name one with .ttf or .otf files"


def test_a_folder_without_fonts_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError) as caught:
        find_fonts(str(tmp_path), "0")
    assert str(caught.value) == f"the folder {tmp_path} holds no .ttf or .otf files; name one with fonts"


def test_a_file_that_is_no_font_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.ttf").write_text("no font")
    with pytest.raises(DataError) as caught:
        find_fonts(str(tmp_path), "0")
    assert str(caught.value) == (
        f"{tmp_path / 'bad.ttf'} cannot be read as a font (unknown file format); remove it from the folder"
    )
