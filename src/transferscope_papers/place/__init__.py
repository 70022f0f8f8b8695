"""What an exactly solvable model of linear transfer says of a finished study: `place` puts its pairs on the diagram."""

from transferscope_papers.place.question import place
from transferscope_papers.place.result import PlacementResult

__all__ = ["PlacementResult", "place"]
