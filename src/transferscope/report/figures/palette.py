"""One colour and one mark for each method, the same in every figure."""

from collections.abc import Sequence
from dataclasses import dataclass

BASELINE_COLOUR = "#7a7a7a"

# Okabe and Ito's colours, told apart with every common kind of colour blindness; without black and yellow, which vanish
# on a dark or a light page.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_MARKS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True, slots=True)
class MarkStyle:
    """How a method is drawn.

    Attributes:
        colour: Hexadecimal colour.
        mark: Marker of matplotlib.
    """

    colour: str
    mark: str


def mark_styles(methods: Sequence[str], baseline: str | None) -> dict[str, MarkStyle]:
    """The style of every method of a study.

    Args:
        methods: Methods in the order of the study file.
        baseline: The one that trains from scratch, drawn in grey; None when there is none.

    Returns:
        By method. Colours repeat after six methods, with another mark.
    """
    others = [method for method in methods if method != baseline]
    n = len(_COLOURS)
    found = {method: MarkStyle(_COLOURS[i % n], _MARKS[(i + i // n) % n]) for i, method in enumerate(others)}
    if baseline is not None:
        found[baseline] = MarkStyle(BASELINE_COLOUR, "o")
    return found
