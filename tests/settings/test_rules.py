"""Rules between the settings of one table."""

from typing import Any

import pytest

from transferscope.errors import SettingsError
from transferscope.settings.questions import Columns


def test_a_column_of_a_scaling_table_has_one_role() -> None:
    roles: dict[str, Any] = {"error": "a", "pretrain_size": "b", "finetune_size": "c", "stderr": "d", "budget": "e"}
    assert Columns(**roles).numeric == ("a", "b", "c", "d", "e")
    assert Columns().numeric == ("error", "n")
    for role in roles:
        twice = roles | {role: "b" if role != "pretrain_size" else "c"}
        with pytest.raises(SettingsError, match=rf"^column '{twice[role]}' is given twice"):
            Columns(**twice)
