"""MeRLin's objective on target data alone: a control for the part of MeRLin's gain without a source."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from transferscope.methods.merlin import MerlinWithoutSource
from transferscope.methods.method import Control


@dataclass(frozen=True)
class MerlinTargetOnly(Control, MerlinWithoutSource):
    """Minimise rho L_val(theta_t(phi), phi) from random weights: "MeRLin-target-only" (arXiv:2011.01418, section A.5).

    The settings are those of `Merlin`, whose leave-one-out head can gain over training from scratch without any source.
    The gain of `merlin` over this control is due to the source.
    """

    initial: Literal["random", "pretrained"] = field(default="random", init=False)
    frozen_blocks: int = field(default=0, init=False)  # a random block is no use

    name: ClassVar[str] = "merlin-target-only"
    called: ClassVar[str] = "MeRLin without pretraining"
    version: ClassVar[int] = 2
    recipe: ClassVar[str] = "scratch"
    takes_steps: ClassVar[bool] = True
    keeps_network: ClassVar[bool] = True
