"""The transfer methods, one file each: every one a frozen dataclass of settings with the verb `fit`.

To add a method: write its file, add it to `_OWN`, add a line to `tests/cases_of_methods.py` and one to
`docs/methods.md`; the contract tests do the rest. A method of another package, or in a file of yours, is named by an
entry point of the group "transferscope.methods" or as "package.module:Class"; see examples/method.py.
"""

from dataclasses import is_dataclass
from typing import Any

from transferscope.methods.all_layers_probe import AllLayersProbe
from transferscope.methods.bit_fit import BitFit
from transferscope.methods.boosting import Boosting, BoostingRidge
from transferscope.methods.bss import Bss
from transferscope.methods.co_tuning import CoTuning
from transferscope.methods.defaults import default_methods
from transferscope.methods.delta import Delta
from transferscope.methods.distill import Distill
from transferscope.methods.do_nothing import DoNothing
from transferscope.methods.fine_tune import FineTune
from transferscope.methods.joint import Joint
from transferscope.methods.knn import Knn
from transferscope.methods.l2_sp import L2Sp
from transferscope.methods.linear_probe import LinearProbe
from transferscope.methods.lora import LoRA
from transferscope.methods.merlin import Merlin
from transferscope.methods.merlin_ft import MerlinFt
from transferscope.methods.merlin_target_only import MerlinTargetOnly
from transferscope.methods.method import Control, FitOptions, Fitted, Method, Snapshots, Start, called_of, check_task
from transferscope.methods.pooled_boosting import PooledBoosting, PooledBoostingRidge, SourceBoosting
from transferscope.methods.pretrain import PRETRAINING_VERSION, pretrain
from transferscope.methods.random_features import RandomFeatures
from transferscope.methods.raw import Raw
from transferscope.methods.scratch import Scratch
from transferscope.methods.small_scratch import SmallScratch
from transferscope.methods.soup import Soup
from transferscope.methods.surgical import Surgical
from transferscope.methods.target_training import FineTuning, Regulariser, TargetTraining
from transferscope.methods.wise_ft import WiseFt
from transferscope.registry import Registry


def _as_method(target: object) -> Any:
    if not isinstance(target, type) or not is_dataclass(target):
        raise TypeError("is not a dataclass")
    if not target.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise TypeError("is a dataclass that is not frozen")
    if not issubclass(target, Method):
        raise TypeError("does not derive from transferscope.methods.Method")
    lacking = [name for name in ("name", "version") if not hasattr(target, name)] + sorted(target.__abstractmethods__)
    if lacking:
        raise TypeError(f"lacks {', '.join(lacking)}")
    if not isinstance(target.name, str) or isinstance(target.version, bool) or not isinstance(target.version, int):
        raise TypeError("has a name that is not text or a version that is not a whole number")
    if not isinstance(target.called, str):
        raise TypeError('has a `called` that is not text, as in called = "fine-tuning"')
    return target


_OWN: tuple[type[Method], ...] = (
    Scratch,
    Raw,
    RandomFeatures,
    Knn,
    DoNothing,
    MerlinTargetOnly,
    LinearProbe,
    FineTune,
    L2Sp,
    Joint,
    Merlin,
    MerlinFt,
    Boosting,
    BoostingRidge,
    SourceBoosting,
    PooledBoosting,
    PooledBoostingRidge,
    SmallScratch,
    AllLayersProbe,
    WiseFt,
    Soup,
    LoRA,
    BitFit,
    Surgical,
    Bss,
    Delta,
    CoTuning,
    Distill,
)

METHODS: Registry[type[Method]] = Registry(
    "method", "transferscope.methods", {method.name: method for method in _OWN}, _as_method
)
"""Every method by the name it has in study files and tables."""

__all__ = [
    "METHODS",
    "PRETRAINING_VERSION",
    "AllLayersProbe",
    "BitFit",
    "Boosting",
    "BoostingRidge",
    "Bss",
    "CoTuning",
    "Control",
    "Delta",
    "Distill",
    "DoNothing",
    "FineTune",
    "FineTuning",
    "FitOptions",
    "Fitted",
    "Joint",
    "Knn",
    "L2Sp",
    "LinearProbe",
    "LoRA",
    "Merlin",
    "MerlinFt",
    "MerlinTargetOnly",
    "Method",
    "PooledBoosting",
    "PooledBoostingRidge",
    "RandomFeatures",
    "Raw",
    "Regulariser",
    "Scratch",
    "SmallScratch",
    "Snapshots",
    "Soup",
    "SourceBoosting",
    "Start",
    "Surgical",
    "TargetTraining",
    "WiseFt",
    "called_of",
    "check_task",
    "default_methods",
    "pretrain",
]
