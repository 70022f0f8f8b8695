"""What to transfer from: `rank` rates pretrained networks on a few labelled target examples, before any training, and
`audit` holds the scores against what transfer gave over many studies.

Names are loaded when they are first used: `rank` needs torch, and the page of a study that was ranked does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transferscope.analyses.rank.audit_question import audit as audit
    from transferscope.analyses.rank.audit_result import AuditResult as AuditResult
    from transferscope.analyses.rank.question import rank as rank
    from transferscope.analyses.rank.result import RankingResult as RankingResult
    from transferscope.analyses.rank.result import study_part as study_part

_WHERE = {
    "AuditResult": "audit_result",
    "RankingResult": "result",
    "audit": "audit_question",
    "rank": "question",
    "study_part": "result",
}

__all__ = ["AuditResult", "RankingResult", "audit", "rank", "study_part"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
