"""How many processes this machine has room for."""

import os

import psutil

BYTES_PER_WORKER = 1_500_000_000
"""Memory that a worker is given: torch, a data set and its network."""

WORKERS_PER_GPU = 4
"""Small networks leave a GPU idle most of the time; more processes than this only take its memory."""


def default_workers(device: str) -> int:
    """As many processes as there are physical cores and room in memory, at least 1; on a GPU a few at most.

    Args:
        device: "auto", "cpu", "cuda" or "mps".
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = min(psutil.cpu_count(logical=False) or usable, usable)
    room = psutil.virtual_memory().available // BYTES_PER_WORKER
    limit = WORKERS_PER_GPU if device != "cpu" and _has_accelerator() else cores
    return max(1, min(cores, room, limit))


def _has_accelerator() -> bool:
    import torch

    return torch.cuda.is_available() or torch.backends.mps.is_available()
