"""Small networks and data in files, to diagnose."""

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from transferscope.models import NetworkSettings, build_network

MLP = NetworkSettings("mlp", (5,))
ARCHITECTURE = ("--network", "mlp", "--widths", "5")


def write_data(path: Path, *, classes: int = 2, width: int = 4, seed: int = 0) -> str:
    """60 training and 20 test examples; the specification of the file."""
    generator = np.random.default_rng(seed)
    x, y = generator.normal(size=(80, width)), np.arange(80) % classes
    x[:, 0] += 2 * y
    np.savez(path, x_train=x[:60], y_train=y[:60], x_test=x[60:], y_test=y[60:])
    return f"npz:{path}"


def write_network(path: Path, *, outputs: int = 2, width: int = 4, seed: int = 0, spoil: float = 1.0) -> Path:
    """An initialised network; `spoil` multiplies all of its weights."""
    state = build_network(MLP, (width,), outputs, seed=seed).state_dict()
    state = {name: tensor * spoil for name, tensor in state.items()}
    save_file(state, path) if path.suffix == ".safetensors" else torch.save(state, path)
    return path
