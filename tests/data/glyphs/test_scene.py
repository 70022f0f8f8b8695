from typing import Any

import pytest

from transferscope.data.glyphs import GlyphSettings
from transferscope.errors import SettingsError


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"characters": ""}, "characters = '' must name at least one, and each only once"),
        ({"characters": "aba"}, "characters = 'aba' must name at least one, and each only once"),
        ({"characters": "a b"}, "characters = 'a b' holds a space, which cannot be seen; leave it out"),
        ({"size": 7}, "size = 7 is too small to show a character; expected at least 8 pixels"),
        ({"pose": 2.5}, "pose = 2.5 is out of range; expected 0 (upright) to 2"),
        ({"pose": float("nan")}, "pose = nan is out of range; expected 0 (upright) to 2"),
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        GlyphSettings(**setting)
    assert str(caught.value) == message
