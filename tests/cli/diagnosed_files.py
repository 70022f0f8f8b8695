"""Small networks in files, to diagnose."""

from pathlib import Path

import torch
from safetensors.torch import save_file

from transferscope.models import NetworkSettings, build_network

MLP = NetworkSettings("mlp", (5,))
ARCHITECTURE = ("--network", "mlp", "--set", "network.widths=5")


def write_network(path: Path, *, outputs: int = 2, width: int = 4, seed: int = 0, spoil: float = 1.0) -> Path:
    """An initialised network; `spoil` multiplies all of its weights."""
    state = build_network(MLP, (width,), outputs, seed=seed).state_dict()
    state = {name: tensor * spoil for name, tensor in state.items()}
    save_file(state, path) if path.suffix == ".safetensors" else torch.save(state, path)
    return path
