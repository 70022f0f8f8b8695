"""A pair of a study on the diagram of linear transfer, as facts: what the model says and what was measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from transferscope.estimate import Estimate


@dataclass(frozen=True)
class Placement:
    """A pair on the diagram at one number of labels. Transferabilities are in units of the variance of the labels.

    Attributes:
        name: The source, with the number of its examples when the study has several.
        n_source: Source examples of the pre-training; None for a network from a file.
        n_target: Target labels.
        method: The linear transfer that was measured; "" when the study has none.
        n_examples: Target examples that shares and dimensions are estimated from.
        kind: "classification" or "regression".
        outside_share: Share of the target function outside the pretrained features, sin^2(theta).
        noise_level: sigma/tau.
        input_dimension: d.
        feature_dimension: k.
        examples_per_dimension: gamma = n/d.
        critical_share: Share outside at which the model's transferability is 0.
        modelled: Transferability by the model, with the error of the model in its interval.
        chance_negative: Probability of negative transfer by the model, its error included.
        scratch_modelled: Squared error from scratch by the model, the noise included.
        scratch_measured: Squared error from scratch that the study measured on held-out examples.
        measured: Transferability that the study measured, paired over seeds.
    """

    name: str
    source: str
    n_source: int | None
    n_target: int
    method: str
    n_examples: int
    kind: str
    outside_share: Estimate
    noise_level: Estimate
    input_dimension: Estimate
    feature_dimension: Estimate
    examples_per_dimension: Estimate
    critical_share: Estimate
    modelled: Estimate
    chance_negative: float
    scratch_modelled: Estimate
    scratch_measured: Estimate
    measured: Estimate

    @property
    def quantities(self) -> dict[str, Estimate]:
        """Everything that has an interval, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Estimate)}


def placement_rows(points: Sequence[Placement]) -> pd.DataFrame:
    """One row for each quantity of each point.

    Returns:
        Columns source, method ("" when nothing was measured), n_target, name (a field of `Placement`), value, low,
        high, stderr (NaN when there is none), n and status.
    """
    return pd.DataFrame(
        [
            {
                "source": point.name,
                "method": point.method,
                "n_target": point.n_target,
                "name": name,
                "value": found.value,
                "low": found.interval.low if found.interval else math.nan,
                "high": found.interval.high if found.interval else math.nan,
                "stderr": math.nan if found.stderr is None else found.stderr,
                "n": found.n,
                "status": found.status,
            }
            for point in points
            for name, found in point.quantities.items()
        ]
    )
