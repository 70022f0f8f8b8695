"""A small study of classes that trains in a second or two."""

from pathlib import Path
from typing import Any

import numpy as np


def classification(folder: Path, **changes: Any) -> dict[str, Any]:
    """A source with two sizes, three methods and two seeds, its data in files; `changes` replace its tables."""
    generator = np.random.default_rng(0)
    for name in ("source", "target"):
        x, y = generator.normal(size=(160, 4)), np.arange(160) % 3
        x[:, 0] += 3 * y
        np.savez(folder / f"{name}.npz", x_train=x[:100], y_train=y[:100], x_test=x[100:], y_test=y[100:])
    study = {
        "name": "small",
        "seeds": 2,
        "target": {"data": f"npz:{folder}/target.npz", "labels": [12]},
        "sources": {"source": {"data": f"npz:{folder}/source.npz"}},
        "network": {"name": "mlp", "widths": [8]},
        "pretraining": {"steps": 60, "lr": 0.1, "sizes": [50, 100]},
        "training": {"steps": 10},
        "methods": {"scratch": {}, "linear-probe": {}, "fine-tune": {}},
        "engine": {"workers": 0, "device": "cpu"},
    }
    return {**study, **changes}
