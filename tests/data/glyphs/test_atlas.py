import shutil
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from transferscope.data.glyphs.atlas import find_fonts, make_atlas

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


def test_a_zero_is_hollow_and_a_one_is_not() -> None:
    atlas = make_atlas(None, "01")
    for font in range(len(atlas.fonts)):
        zero = atlas.distances[font, 0]
        assert zero[0, 0] < 0
        assert zero[32, :].max() > 0
        assert zero[31:33, 31:33].max() < 0 or "Mono" in atlas.fonts[font].stem  # slashed or dotted there


def test_characters_are_centred_and_fill_their_cell_alike() -> None:
    atlas = make_atlas(None, "08")
    inside = atlas.distances > 0
    for cell in inside.reshape(-1, 64, 64):
        rows, columns = np.flatnonzero(cell.any(1)), np.flatnonzero(cell.any(0))
        assert abs(rows[0] + rows[-1] - 63) <= 2
        assert abs(columns[0] + columns[-1] - 63) <= 2
        assert 40 <= rows[-1] - rows[0] + 1 <= 48  # 0.72 * 64 = 46


def test_distances_change_by_one_per_unit() -> None:
    distances = make_atlas(None, "1").distances
    assert np.abs(np.diff(distances, axis=-1)).max() <= 1.5 * 2 / 64
    assert np.median(np.hypot(*np.gradient(distances[0, 0]))) == pytest.approx(2 / 64, rel=0.05)


def test_sampling_is_scipys_bilinear_interpolation() -> None:
    atlas = make_atlas(None, "347")
    random = np.random.default_rng(0)
    x, y = random.uniform(-1.1, 1.1, (2, 5, 40)).astype(np.float32)
    font, character = random.integers(0, len(atlas.fonts), 5), random.integers(0, 3, 5)
    seen = atlas.sample(font, character, x, y)
    for i in range(5):
        places = np.stack([(y[i] + 1) * 32 - 0.5, (x[i] + 1) * 32 - 0.5])
        cell = atlas.distances[font[i], character[i]]
        within = (np.abs(x[i]) < 1) & (np.abs(y[i]) < 1)
        expected = np.where(within, map_coordinates(cell, places, order=1, mode="nearest"), -1)
        np.testing.assert_allclose(seen[i], expected, atol=1e-4)


def test_an_atlas_is_kept() -> None:
    assert make_atlas(None, "12") is make_atlas(None, "12")
    assert len(make_atlas(None, "12").fonts) >= 20
    assert matplotlib.get_data_path() in str(make_atlas(None, "12").fonts[0])
