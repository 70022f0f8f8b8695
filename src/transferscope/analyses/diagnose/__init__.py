"""Why transfer helps: diagnostics of a trained network from a file, and of a whole study.

Names are loaded on first use: the report of a study does not need torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transferscope.analyses.diagnose.question import diagnose as diagnose
    from transferscope.analyses.diagnose.result import DiagnosisResult as DiagnosisResult
    from transferscope.analyses.diagnose.study_section import study_part as study_part

_PUBLIC = {
    "DiagnosisResult": "result",
    "diagnose": "question",
    "study_part": "study_section",
}

__all__ = ["DiagnosisResult", "diagnose", "study_part"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
