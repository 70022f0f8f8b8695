"""Whether and what to transfer, decided at the least cost: `question.decide`.

Names are loaded when they are first used: `decide` needs torch, and the page of a finished race does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transferscope.analyses.decide.question import DecisionResult as DecisionResult
    from transferscope.analyses.decide.question import decide as decide

__all__ = ["DecisionResult", "decide"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.question"), name)
