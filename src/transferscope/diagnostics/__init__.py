"""Why transfer helps: diagnostics of a trained network, its initial weights and data.

    subject = Subject(network, Examples(inputs, labels))
    Curvature(k=5).measure(subject)["hessian_eigenvalue/1"]

Every diagnostic is a frozen dataclass whose fields are its settings; it works on any `nn.Module`, and leaves weights,
gradients, modes and the global random state as they were. `DIAGNOSTICS` lists them by name.
"""

from dataclasses import is_dataclass
from typing import Any

from transferscope.diagnostics.class_separation import ClassSeparation
from transferscope.diagnostics.curvature import Curvature
from transferscope.diagnostics.diagnostic import Diagnostic, Findings, Spread, check_labels_suit, spread_of
from transferscope.diagnostics.feature_alignment import FeatureAlignment
from transferscope.diagnostics.features import features_of
from transferscope.diagnostics.gradient_scaling import GradientScaling
from transferscope.diagnostics.gradient_stability import GradientStability
from transferscope.diagnostics.kernel_distance import KernelDistance
from transferscope.diagnostics.landscape import Landscape
from transferscope.diagnostics.subject import Examples, Loss, Subject, mean_loss
from transferscope.diagnostics.weights import Weights
from transferscope.records import Meaning
from transferscope.registry import Registry


def _as_diagnostic(named: object) -> Any:
    if not isinstance(named, type) or not is_dataclass(named):
        raise TypeError("is not a dataclass")
    if not issubclass(named, Diagnostic):
        raise TypeError("does not derive from transferscope.diagnostics.Diagnostic")
    lacking = [name for name in ("name", "headline", "meaning") if not hasattr(named, name)]
    if lacking := lacking + sorted(named.__abstractmethods__):
        raise TypeError(f"lacks {', '.join(lacking)}")
    return named


_OWN: tuple[type[Diagnostic], ...] = (
    Weights,
    Curvature,
    Landscape,
    GradientStability,
    GradientScaling,
    ClassSeparation,
    FeatureAlignment,
    KernelDistance,
)

DIAGNOSTICS: Registry[type[Diagnostic]] = Registry(
    "diagnostic", "transferscope.diagnostics", {diagnostic.name: diagnostic for diagnostic in _OWN}, _as_diagnostic
)
"""Every diagnostic by its name."""

__all__ = [
    "DIAGNOSTICS",
    "ClassSeparation",
    "Curvature",
    "Diagnostic",
    "Examples",
    "FeatureAlignment",
    "Findings",
    "GradientScaling",
    "GradientStability",
    "KernelDistance",
    "Landscape",
    "Loss",
    "Meaning",
    "Spread",
    "Subject",
    "Weights",
    "check_labels_suit",
    "features_of",
    "mean_loss",
    "spread_of",
]
