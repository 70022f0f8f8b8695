"""What an exactly solvable model of linear transfer says of a finished study: `place` puts its pairs on the diagram.

Names are loaded when they are first used: `place` needs torch, and the page of a study that was placed does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transferscope_papers.place.question import place as place
    from transferscope_papers.place.result import PlacementResult as PlacementResult
    from transferscope_papers.place.result import study_part as study_part

_WHERE = {"PlacementResult": "result", "place": "question", "study_part": "result"}

__all__ = ["PlacementResult", "place", "study_part"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
