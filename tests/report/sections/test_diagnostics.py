import pytest

from transferscope.wording import number_words as number


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.047, "1.05"),
        (2358.05, "2,358"),
        (805.9, "806"),
        (-0.0547, "−0.0547"),
        (-1234.5, "−1,234"),
        (3.22e-6, "3.22e−06"),
    ],
)
def test_numbers_are_written_without_powers_of_ten_where_they_can(value: float, words: str) -> None:
    assert number(value) == words
