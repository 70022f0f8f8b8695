import numpy as np
import pytest

from transferscope.errors import (
    DataError,
    MissingDataError,
    SettingsError,
    TransferscopeError,
    missing_file,
    out_of_range,
    unknown_name,
    unsupported,
    wrong_shape,
)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    error = unknown_name("method", "finetune", ["fine-tune", "scratch"])
    assert str(error) == "unknown method 'finetune': did you mean 'fine-tune'? known are fine-tune, scratch"


def test_a_name_like_no_other_gets_no_guess() -> None:
    assert str(unknown_name("method", "zzz", ["b", "a"])) == "unknown method 'zzz': known are a, b"


@pytest.mark.parametrize("builtin", [ValueError, FileNotFoundError, DataError, TransferscopeError])
def test_a_missing_file_can_be_caught_as_what_a_caller_expects(builtin: type[Exception]) -> None:
    with pytest.raises(builtin):
        raise MissingDataError("no such file")


@pytest.mark.parametrize(
    ("error", "kind", "facts"),
    [
        (
            missing_file("study file", "a.toml", "give its path"),
            MissingDataError,
            ("study file a.toml", "give its path"),
        ),
        (out_of_range("margin", -1.0, "a number above 0"), SettingsError, ("margin = -1.0", "a number above 0")),
        (out_of_range("labels", 0, "1 to 9", DataError), DataError, ("labels = 0", "1 to 9")),
        (unsupported("lora", "classes", "labels are numbers"), DataError, ("lora needs classes", "labels are numbers")),
        (wrong_shape("labels", np.zeros((2, 3)), "integers (N,)"), DataError, ("(2, 3)", "float64", "integers (N,)")),
    ],
)
def test_common_errors_say_what_is_wrong_and_what_was_expected(
    error: Exception, kind: type[Exception], facts: tuple[str, ...]
) -> None:
    assert isinstance(error, kind)
    assert [fact for fact in facts if fact not in str(error)] == []
