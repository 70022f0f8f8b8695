from pathlib import Path

import pytest

from e2e.kill_study import kill_study


@pytest.mark.long
def test_a_study_that_was_killed_ends_with_the_tables_of_one_that_was_not(tmp_path: Path) -> None:
    _, equal = kill_study(tmp_path, times=2, seed=1)
    assert equal
