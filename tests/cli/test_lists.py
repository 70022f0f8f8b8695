import pytest

from transferscope.cli.lists import one_option_per_value


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("compare a b --labels 100 600 --seeds 5", "compare a b --labels 100 --labels 600 --seeds 5"),
        ("compare a b --methods x y", "compare a b --methods x --methods y"),
        ("compare a b --seeds 5 --labels 100", "compare a b --seeds 5 --labels 100"),
        ("run study.toml -q", "run study.toml -q"),
        ("", ""),
    ],
)
def test_every_value_gets_its_option(typed: str, read: str) -> None:
    assert one_option_per_value(typed.split(), ("--labels", "--methods")) == read.split()
