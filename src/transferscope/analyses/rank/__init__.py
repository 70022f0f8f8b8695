"""Which source: `rank` scores pretrained networks on a few labelled target examples, without training.

Names are loaded on first use: `rank` needs torch, the report of a ranked study does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transferscope.analyses.rank.question import rank as rank
    from transferscope.analyses.rank.result import RankingResult as RankingResult
    from transferscope.analyses.rank.result import study_part as study_part

_WHERE = {
    "RankingResult": "result",
    "rank": "question",
    "study_part": "result",
}

__all__ = ["RankingResult", "rank", "study_part"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
