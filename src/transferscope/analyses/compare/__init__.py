"""Whether transfer helps, and which method: compare transfer methods with baselines on a target.

Names are loaded on first use: `compare` needs torch, the report of a finished study does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transferscope.analyses.compare.question import compare as compare
    from transferscope.analyses.compare.result import ComparisonResult as ComparisonResult
    from transferscope.analyses.compare.results import ResultsComparison as ResultsComparison
    from transferscope.analyses.compare.results import compare_results as compare_results
    from transferscope.analyses.compare.summary import Summary as Summary
    from transferscope.analyses.compare.summary import summarise as summarise

_WHERE = {
    "compare": "question",
    "compare_results": "results",
    "ComparisonResult": "result",
    "ResultsComparison": "results",
    "Summary": "summary",
    "summarise": "summary",
}

__all__ = ["ComparisonResult", "ResultsComparison", "Summary", "compare", "compare_results", "summarise"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
