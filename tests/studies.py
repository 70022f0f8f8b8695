"""Small studies of data in files, which train in a second or two."""

from pathlib import Path
from typing import Any

import numpy as np


def write_npz(
    path: Path | str,
    *,
    rows: tuple[int, int] = (40, 20),
    features: int = 4,
    classes: int = 3,
    apart: float = 3.0,
    seed: int = 0,
) -> str:
    """Training and test examples of classes that lie apart in the first feature; the name of the data."""
    n = rows[0]
    x, y = np.random.default_rng(seed).normal(size=(sum(rows), features)), np.arange(sum(rows)) % classes
    x[:, 0] += apart * y
    np.savez(path, x_train=x[:n], y_train=y[:n], x_test=x[n:], y_test=y[n:])
    return f"npz:{path}"


def tables(folder: Path, *, rows: Any = (40, 20), **changes: Any) -> dict[str, Any]:
    """One source, which is held out as well, three methods and a seed; `changes` replace its tables."""
    target, source = (
        write_npz(folder / f"{name}.npz", rows=rows, seed=i) for i, name in enumerate(("target", "source"))
    )
    study = {
        "name": "small",
        "recipe": "equal",
        "seeds": 1,
        "target": {"data": target, "labels": [12]},
        "sources": {"source": {"data": source, "held_out": {"same": source}}},
        "network": {"name": "mlp", "widths": [8]},
        "pretraining": {"steps": 60, "lr": 0.1},
        "training": {"steps": 10},
        "methods": {"scratch": {}, "linear-probe": {}, "joint": {}},
    }
    return {**study, **changes}


def classification(folder: Path, **changes: Any) -> dict[str, Any]:
    """A source with two sizes, three methods and two seeds, done in this process."""
    study = tables(
        folder,
        rows=(100, 60),
        seeds=2,
        pretraining={"steps": 60, "lr": 0.1, "sizes": [50, 100]},
        methods={"scratch": {}, "linear-probe": {}, "fine-tune": {}},
        engine={"workers": 0, "device": "cpu"},
    )
    del study["sources"]["source"]["held_out"]
    return {**study, **changes}
