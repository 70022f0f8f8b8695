"""Assignment of worker processes to GPUs, by free memory."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from transferscope.errors import SettingsError
from transferscope.wording import counted

WORKERS_PER_GPU = 4
"""Small networks leave a GPU idle most of the time; more processes than this only take its memory."""

_USABLE = 0.9
_BYTES_PER_PROCESS = 800_000_000
"""Memory of CUDA per process before any computation."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A visible GPU.

    Attributes:
        name: Name in torch: "cuda:0".
        memory: Total memory in bytes.
    """

    name: str
    memory: int


def visible_gpus(device: str) -> tuple[Gpu, ...]:
    """Return the GPUs for the workers of a setting; none for a device that is not an NVIDIA GPU.

    Args:
        device: "auto", "cpu", "cuda" (all visible GPUs), "cuda:1" (that one) or "mps".

    Raises:
        SettingsError: The GPU does not exist.
    """
    if not device.startswith("cuda"):
        return ()
    import torch

    if not torch.cuda.is_available():
        return ()
    all_of_them = range(torch.cuda.device_count())
    gpus = tuple(Gpu(f"cuda:{i}", torch.cuda.get_device_properties(i).total_memory) for i in all_of_them)
    chosen = tuple(gpu for gpu in gpus if device in ("cuda", gpu.name))
    if not chosen:
        raise SettingsError(
            f"device = {device!r}, but this machine has {counted(len(gpus), 'GPU')}, counted from cuda:0"
        )
    return chosen


class Spread:
    """Distributes worker processes over GPUs: one on each at first, then as many as memory allows.

    Args:
        gpus: The GPUs, at least one.
        workers: Total number of processes; None to choose it by memory.
        at_most: Maximum number of processes given the other resources of the machine, at least 1.
    """

    def __init__(self, gpus: Iterable[Gpu], *, workers: int | None, at_most: int) -> None:
        self._gpus = tuple(gpus)
        self._given = workers
        self._at_most = at_most
        self._room = dict.fromkeys((gpu.name for gpu in self._gpus), 1)
        self._largest = 0

    @property
    def size(self) -> int:
        """The number of processes allowed now."""
        return self._given or max(1, min(sum(self._room.values()), self._at_most))

    def measured(self, peak: int) -> None:
        """Record the peak GPU memory of a cell, in bytes; the largest so far counts."""
        self._largest = max(self._largest, peak)
        for gpu in self._gpus:
            fitting = int(_USABLE * gpu.memory) // (self._largest + _BYTES_PER_PROCESS)
            self._room[gpu.name] = max(1, min(fitting, WORKERS_PER_GPU))

    def next(self, taken: Iterable[str]) -> str:
        """Return the GPU with the most free capacity, for one more process."""
        busy = Counter(taken)
        return max(self._gpus, key=lambda gpu: (self._room[gpu.name] - busy[gpu.name], -busy[gpu.name])).name
