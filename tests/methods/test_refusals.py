"""Settings that contradict one another; those outside their ranges are in `test_records.py`."""

from typing import Any

import pytest

from transferscope.errors import SettingsError
from transferscope.methods import FineTune, Merlin, Method
from transferscope.training import TrainingSettings


@pytest.mark.parametrize(
    ("kind", "settings", "named"),
    [
        (FineTune, {"hidden_units": 8, "head": "probe"}, "hidden_units = 8 "),
        (Merlin, {"frozen_blocks": 1}, "frozen_blocks = 1 "),
        (TrainingSettings, {"steps": 3, "early_stopping": 0}, "early_stopping = 0 "),
    ],
)
def test_they_are_refused_by_name(kind: type[Method], settings: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingsError) as refused:
        kind(**settings)
    assert named in str(refused.value)
