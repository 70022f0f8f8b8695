"""MeRLin's objective on target data alone: a control that says what of MeRLin's gain needs no source."""

from dataclasses import dataclass
from typing import ClassVar

from transferscope.errors import SettingsError
from transferscope.methods.merlin import Merlin, SourceTerm
from transferscope.methods.method import Control


@dataclass(frozen=True)
class MerlinTargetOnly(Control, Merlin):
    """Minimise rho L_val(theta_t(phi), phi) from random weights: "MeRLin-target-only" (arXiv:2011.01418, section A.5).

    The settings are those of `Merlin`, whose leave-one-out head can gain over training from scratch without any source.
    What `merlin` gains over this control is owed to the source.
    """

    source_term: SourceTerm = False

    name: ClassVar[str] = "merlin-target-only"
    called: ClassVar[tuple[str, ...]] = ("MeRLin's objective without a source", "MeRLin, no source")
    version: ClassVar[int] = 2
    recipe: ClassVar[str] = "scratch"
    takes_steps: ClassVar[bool] = True
    keeps_network: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the ranges, and that nothing is transferred."""
        super().__post_init__()
        if self.source_term or self.initial != "random":
            raise SettingsError(
                f"merlin-target-only with source_term = {str(self.source_term).lower()} and initial = "
                f'"{self.initial}" would be a transfer; use method = "merlin"'
            )
