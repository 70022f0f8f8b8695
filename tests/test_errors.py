import pytest

from transferscope.errors import DataError, MissingDataError, TransferscopeError, unknown_name


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    error = unknown_name("method", "finetune", ["fine-tune", "scratch"])
    assert str(error) == "unknown method 'finetune': did you mean 'fine-tune'? known are fine-tune, scratch"


def test_a_name_like_no_other_gets_no_guess() -> None:
    assert str(unknown_name("method", "zzz", ["b", "a"])) == "unknown method 'zzz': known are a, b"


@pytest.mark.parametrize("builtin", [ValueError, FileNotFoundError, DataError, TransferscopeError])
def test_a_missing_file_can_be_caught_as_what_a_caller_expects(builtin: type[Exception]) -> None:
    with pytest.raises(builtin):
        raise MissingDataError("no such file")
