"""MeRLin-ft: MeRLin on target data alone, from a pretrained network."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from transferscope.methods.merlin import MerlinWithoutSource
from transferscope.methods.target_training import BackboneRate


@dataclass(frozen=True)
class MerlinFt(MerlinWithoutSource):
    """MeRLin-ft: start from the pretrained network and meta-learn on target data only (section 6.1.3)."""

    rho: float = field(default=1.0, init=False)  # of the only term
    inner_steps: int = field(default=20, init=False)
    initial: Literal["random", "pretrained"] = field(default="pretrained", init=False)
    lr_scale: BackboneRate = 0.1

    name: ClassVar[str] = "merlin-ft"
    called: ClassVar[str] = "MeRLin-ft"
    version: ClassVar[int] = 3
    recipe: ClassVar[str] = "merlin-ft"
