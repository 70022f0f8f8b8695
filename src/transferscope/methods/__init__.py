"""The transfer methods, one file each: every one a frozen dataclass of settings with the verb `fit`.

To add a method: write its file, add it to `METHODS`, add a line to `tests/cases_of_methods.py` and one to
`docs/methods.md`; the contract tests do the rest.
"""

from transferscope.methods.fine_tune import FineTune
from transferscope.methods.joint import Joint
from transferscope.methods.l2_sp import L2Sp
from transferscope.methods.linear_probe import LinearProbe
from transferscope.methods.merlin import Merlin, MerlinFt
from transferscope.methods.method import FitOptions, Fitted, Method, Snapshots, Start
from transferscope.methods.pretrain import PRETRAINING_VERSION, pretrain
from transferscope.methods.scratch import Scratch

METHODS: dict[str, type[Method]] = {
    method.name: method for method in (Scratch, LinearProbe, FineTune, L2Sp, Joint, Merlin, MerlinFt)
}
"""Every method by the name it has in study files and tables."""

__all__ = [
    "METHODS",
    "PRETRAINING_VERSION",
    "FineTune",
    "FitOptions",
    "Fitted",
    "Joint",
    "L2Sp",
    "LinearProbe",
    "Merlin",
    "MerlinFt",
    "Method",
    "Scratch",
    "Snapshots",
    "Start",
    "pretrain",
]
