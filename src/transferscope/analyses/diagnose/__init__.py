"""Why transfer helps: diagnostics of a trained network from a file, of a whole study, and maps of its networks.

Names are loaded on first use: the report of a study does not need torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transferscope.analyses.diagnose.question import diagnose as diagnose
    from transferscope.analyses.diagnose.result import DiagnosisResult as DiagnosisResult
    from transferscope.analyses.diagnose.study_section import study_part as study_part
    from transferscope.analyses.diagnose.weight_map import WeightMap as WeightMap
    from transferscope.analyses.diagnose.weight_map import map_weights as map_weights

_PUBLIC = {
    "DiagnosisResult": "result",
    "WeightMap": "weight_map",
    "diagnose": "question",
    "map_weights": "weight_map",
    "study_part": "study_section",
}

__all__ = ["DiagnosisResult", "WeightMap", "diagnose", "map_weights", "study_part"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
