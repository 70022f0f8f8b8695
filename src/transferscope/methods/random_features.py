"""A probe on the features of an untrained network: a control for the effect of the architecture."""

from dataclasses import dataclass
from typing import ClassVar

from transferscope.methods.linear_probe import LinearProbe
from transferscope.methods.method import Control, Start


@dataclass(frozen=True)
class RandomFeatures(Control, LinearProbe):
    """The linear probe on the same architecture with random weights, those of the run's seed.

    The gain of a probe on pretrained features over it is due to pretraining, not to the architecture (Saxe et al. 2011,
    "On random weights and unsupervised feature learning"; as a control of transfer,
    Wieting and Kiela 2019, arXiv:1901.10444, "No training required").
    """

    name: ClassVar[str] = "random-features"
    called: ClassVar[str] = "probe on random features"
    version: ClassVar[int] = 6
    start: ClassVar[Start] = "random"
