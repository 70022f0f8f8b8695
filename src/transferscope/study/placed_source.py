"""A source of a study on the linear-transfer diagram."""

from dataclasses import dataclass

from transferscope.study.pair_estimates import PairEstimate
from transferscope.theory.placement import Placement


@dataclass(frozen=True)
class PlacedSource:
    """A source with the parameters of its pair and its points on the diagram.

    Attributes:
        name: Its name, with the number of source examples when the study has several.
        pair: The parameters.
        placements: One for each number of target labels and linear transfer.
    """

    name: str
    pair: PairEstimate
    placements: tuple[Placement, ...]
