"""The loss on many points of a line or plane through the weights."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.func import functional_call, vmap

from transferscope.diagnostics.loss_surface import LossSurface
from transferscope.diagnostics.subject import Examples
from transferscope.models.network import computing, is_recurrent

_LINEAR = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


@dataclass(frozen=True)
class FirstLayer:
    """A module that reads the inputs of the network, once in a forward pass, and is linear in its parameters."""

    name: str
    module: nn.Module

    def responses(self, surface: LossSurface, directions: Float[Tensor, "K P"], batch: Examples) -> tuple[Tensor, ...]:
        """Return the outputs for a batch with the weights of the surface, then with each direction in their place.

        Args:
            surface: The point w, and the parameters that do not move.
            directions: d, shape (K, P).

        Returns:
            1 + K tensors (N, ...): `combine` of them with coordinates c is the answer at w + sum_k c_k d_k. Images have
            their channels last in memory, which later convolutions are faster on.
        """
        parameters = {**surface.fixed, **surface.moved}
        here = {own: parameters[f"{self.name}.{own}"] for own, _ in self.module.named_parameters()}
        stacked = surface.layout.unflatten(directions)
        answers: list[Tensor] = [functional_call(self.module, here, (batch.inputs,))]
        for k in range(len(directions)):
            along = {own: torch.zeros_like(tensor) for own, tensor in here.items()}
            along |= {own: stacked[f"{self.name}.{own}"][k] for own in here if f"{self.name}.{own}" in stacked}
            answers.append(functional_call(self.module, along, (batch.inputs,)))
        images = answers[0].dim() == 4
        memory_format = torch.channels_last if images else torch.contiguous_format
        return tuple(answer.contiguous(memory_format=memory_format) for answer in answers)


def combine(terms: tuple[Tensor, ...], coordinates: Sequence[float]) -> Tensor:
    """Return terms_0 + sum_k coordinates_k terms_k."""
    total = terms[0]
    for coordinate, term in zip(coordinates, terms[1:], strict=True):
        total = torch.add(total, term, alpha=coordinate)
    return total


def find_linear_first_layer(surface: LossSurface) -> FirstLayer | None:
    """Return the module that reads the inputs first, if its output is linear in its parameters.

    Returns:
        The layer; None when another kind of module reads the inputs, or more than one does.
    """
    example = surface.examples.first(2)  # one has no statistics for batch normalisation
    calls: list[tuple[str, nn.Module, bool]] = []
    handles = [
        module.register_forward_pre_hook(
            lambda module, inputs, name=name: calls.append((name, module, inputs[0] is example.inputs))
        )
        for name, module in surface.network.named_modules()
        if type(module) in _LINEAR
    ]
    try:
        with torch.no_grad():
            surface.value(surface.moved, example)
    finally:
        for handle in handles:
            handle.remove()
    if not calls:
        return None
    name, module, reads_inputs = calls[0]
    called_once = sum(other is module for _, other, _ in calls) == 1
    known = {**surface.fixed, **surface.moved}
    complete = all(f"{name}.{own}" in known for own, _ in module.named_parameters())
    hooked = module._forward_hooks or module._forward_pre_hooks or "forward" in module.__dict__
    return FirstLayer(name, module) if reads_inputs and called_once and complete and not hooked else None


Progress = Callable[[int, int], None]
"""Called with the numbers of computed and of all loss values."""

SAVE_EVERY = 10.0
"""Seconds between saves of an unfinished grid."""


@dataclass(frozen=True)
class Grid:
    """Points w + sum_k c_k d_k at which the loss is evaluated.

    Attributes:
        directions: d, shape (K, P), in the layout of the surface.
        coordinates: c, shape (G, K).
    """

    surface: LossSurface
    directions: Float[Tensor, "K P"]
    coordinates: Float[Tensor, "G K"]

    @property
    def fingerprint(self) -> str:
        """Checksum of everything that the values depend on."""
        digest = hashlib.sha256()
        examples = self.surface.examples
        tensors = (self.surface.point, self.directions, self.coordinates, examples.inputs, examples.labels)
        if any(module.training for module in self.surface.network.modules()):
            digest.update(b"statistics of batches")
        for tensor in (*tensors, *self.surface.fixed.values()):
            digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()


def grid_losses(
    grid: Grid,
    *,
    batch_size: int = 100,
    points_per_call: int | None = None,
    file: Path | None = None,
    progress: Progress | None = None,
) -> Float[np.ndarray, "B G"]:
    """Return the mean loss of every batch at every point of a grid, without gradients.

    Values are the same up to rounding as without the shortcut for a first layer that is linear in its weights. Use it
    inside `evaluation_mode(network)`.

    Args:
        points_per_call: Points evaluated in one vectorised call; None for 16, or 1 on a CPU and for recurrent networks,
            which cannot be vectorised. Memory grows with it.
        file: File (.npz) from which an interrupted grid is resumed; None for none.

    Returns:
        Losses, shape (B, G) for B batches, float64; infinite or NaN where the network overflows.
    """
    one = grid.directions.device.type == "cpu" or is_recurrent(grid.surface.network)
    at_once = points_per_call or (1 if one else 16)
    batches = list(grid.surface.examples.batches(batch_size))
    store = _GridFile(file, f"{grid.fingerprint}/{batch_size}")
    losses, done = store.read((len(batches), len(grid.coordinates)))
    first = find_linear_first_layer(grid.surface)
    for i, batch in enumerate(batches):
        with torch.no_grad():
            responses = first.responses(grid.surface, grid.directions, batch) if first else ()
            for start in range(0, len(grid.coordinates), at_once):
                chunk = slice(start, start + at_once)
                if not done[i, chunk].all():
                    values = _losses(grid, batch, grid.coordinates[chunk], first, responses)
                    losses[i, chunk], done[i, chunk] = values.cpu().double().numpy(), True
                    store.write(losses, done, at_least_every=SAVE_EVERY)
                if progress is not None:
                    progress(int(done.sum()), done.size)
    store.write(losses, done, at_least_every=0.0)
    return losses


def _losses(
    grid: Grid,
    batch: Examples,
    coordinates: Float[Tensor, "c K"],
    first: FirstLayer | None,
    responses: tuple[Tensor, ...],
) -> Float[Tensor, " c"]:
    surface = grid.surface
    points = [combine((surface.point, *grid.directions), c) for c in coordinates.tolist()]
    answers = [combine(responses, c) for c in coordinates.tolist()] if first else points  # points: any tensors will do

    def loss(point: Tensor, answer: Tensor) -> Tensor:
        with computing(first.module, lambda _: answer) if first else nullcontext():
            return surface.value(surface.layout.unflatten(point), batch)

    if len(points) == 1:
        return loss(points[0], answers[0]).reshape(1)
    return vmap(loss)(torch.stack(points), torch.stack(answers))


@dataclass
class _GridFile:
    """An unfinished grid on disk; None keeps nothing."""

    path: Path | None
    fingerprint: str
    written: float = field(default_factory=monotonic)

    def read(self, shape: tuple[int, int]) -> tuple[Float[np.ndarray, "B G"], Bool[np.ndarray, "B G"]]:
        """Return the values and which of them exist, from the file if it belongs to this grid."""
        if self.path is not None and self.path.exists():
            with np.load(self.path) as kept:
                if str(kept["fingerprint"]) == self.fingerprint:
                    return kept["losses"], kept["done"]
        return np.full(shape, np.nan), np.zeros(shape, dtype=bool)

    def write(self, losses: np.ndarray, done: np.ndarray, *, at_least_every: float) -> None:
        """Write atomically, unless the last write was less than `at_least_every` seconds ago."""
        if self.path is None or monotonic() - self.written < at_least_every:
            return
        part = self.path.with_name(f"{self.path.name}.part.npz")
        np.savez(part, fingerprint=np.array(self.fingerprint), losses=losses, done=done)
        part.replace(self.path)
        self.written = monotonic()
