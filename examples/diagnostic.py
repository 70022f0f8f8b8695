"""A diagnostic of your own, on one page: the stable rank of the weights as a template to copy.

    transferscope diagnose net.safetensors --data usps --diagnostics examples/diagnostic.py:StableRank

or in a study file

    [diagnostics.stable-rank]
    diagnostic = "examples/diagnostic.py:StableRank"
    at = ["start", "end"]
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch

from transferscope.diagnostics import Diagnostic, Findings, Meaning, Subject
from transferscope.estimate import Estimate
from transferscope.records import Says


@dataclass(frozen=True)
class StableRank(Diagnostic):
    """How many directions the weights of a layer use: ||W||_F^2 / ||W||_2^2, as a mean over layers.

    Rudelson and Vershynin, "Sampling from large matrices" (2007). Between 1 and the smaller side of W.
    """

    skip: Annotated[tuple[str, ...], Says("Names of weights that are left out")] = ()

    name: ClassVar[str] = "stable-rank"
    headline: ClassVar[str] = "stable_rank"  # the record that is shown
    meaning: ClassVar[Meaning] = Meaning(
        "stable rank of the weights",
        lower="weights of fewer directions",
        higher="weights of more directions",
        limits="It sees each layer alone, and not what the layers compute together.",
    )

    def measure(self, subject: Subject) -> Findings:
        """Records "stable_rank" and, for each layer, "stable_rank/LAYER"; exact, so without standard errors."""
        weights = [(name, weight.detach()) for name, weight in subject.network.named_parameters() if weight.dim() > 1]
        ranks = {f"stable_rank/{name}": _rank(weight) for name, weight in weights if name not in self.skip}
        named = {"stable_rank": sum(ranks.values()) / len(ranks) if ranks else float("nan")} | ranks
        n = len(subject.examples)
        return Findings.of(subject, {name: _estimate(value, n) for name, value in named.items()})


def _rank(weight: torch.Tensor) -> float:
    if not weight.isfinite().all():
        return float("nan")
    singular = torch.linalg.svdvals(weight.flatten(1).double())
    return float(singular.square().sum() / singular[0].square())


def _estimate(value: float, n: int) -> Estimate:
    return Estimate(value, None, n, "ok" if value == value else "undefined")
