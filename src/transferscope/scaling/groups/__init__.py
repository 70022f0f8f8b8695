"""Several curves of one study (tasks, models, renderings) fitted together."""

from transferscope.scaling.groups.common_d import CommonD, common_d, power_floor_within
from transferscope.scaling.groups.hierarchical import HierarchicalFit, fit_hierarchical
from transferscope.scaling.groups.together import GroupSolution, fit_together

__all__ = [
    "CommonD",
    "GroupSolution",
    "HierarchicalFit",
    "common_d",
    "fit_hierarchical",
    "fit_together",
    "power_floor_within",
]
