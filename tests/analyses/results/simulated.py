"""Tables of simulated runs."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from decision.studies import scores as scores_of
from transferscope.decision import Scores

CONTROLS = ("scratch", "ridge")
WAYS = ("bert", "roberta", "gpt")


def drawn(seed: int, *, gain: float = 5.0, n_seeds: int = 5) -> Float[np.ndarray, "arms seeds"]:
    """Accuracies in percent of CONTROLS and WAYS: seeds that all share, noise of one point, the first way above."""
    rng = np.random.default_rng(seed)
    means = np.array([70.0, 74.0, 74.0 + gain, 74.0, 73.0])
    return np.asarray(
        np.round(means[:, None] + 2 * rng.normal(size=n_seeds) + rng.normal(size=(5, n_seeds)), 4), dtype=np.float64
    )


def table(values: Float[np.ndarray, "arms seeds"], *, seconds: float | None = 20.0) -> pd.DataFrame:
    """A row for each run that there is, with the columns arm, seed and accuracy (a share)."""
    rows = [
        {"arm": arm, "seed": seed, "accuracy": value / 100, **({} if seconds is None else {"seconds": seconds})}
        for arm, of_arm in zip((*CONTROLS, *WAYS), values, strict=True)
        for seed, value in enumerate(of_arm)
        if not np.isnan(value)
    ]
    return pd.DataFrame(rows)


def scores(values: Float[np.ndarray, "arms seeds"], **given: Any) -> Scores:
    """The same numbers as `decide` takes them, made by hand."""
    without = np.arange(len(values)) < len(CONTROLS)
    usual = {"arms": (*CONTROLS, *WAYS), "with_source": ~without, "cost": np.full(len(values), 20.0)}
    return scores_of(values, 0, **{**usual, "bounds": (0.0, 100.0), **given})
