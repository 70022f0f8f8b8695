"""Small studies for the tests of decisions."""

from typing import Any

import numpy as np

from transferscope.decision import Scores


def scores(values: Any, n_ways: int, **given: Any) -> Scores:
    """The first arms have a source, each its own; cost 1, nothing failed, nothing unfinished."""
    table = np.asarray(values, dtype=np.float64)
    k = len(table)
    usual = {
        "arms": tuple(f"arm {i}" for i in range(k)),
        "values": table,
        "with_source": np.arange(k) < n_ways,
        "clusters": np.arange(k),
        "cost": np.ones(k),
        "example_variance": None,
        "unfinished": np.zeros(k, dtype=bool),
        "failed": np.zeros(table.shape, dtype=bool),
    }
    return Scores(**{**usual, **given})
