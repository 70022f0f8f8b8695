from collections import OrderedDict
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from transferscope.diagnostics.grid import Grid, find_linear_first_layer, grid_losses
from transferscope.diagnostics.landscape import random_directions
from transferscope.diagnostics.loss_surface import loss_surface
from transferscope.diagnostics.network_state import evaluation_mode
from transferscope.diagnostics.subject import Subject
from transferscope.testing.diagnostics import cnn_subject, mlp_subject, vectors


def _grid(subject: Subject, blocks: tuple[str, ...] = ()) -> Grid:
    surface = loss_surface(subject, blocks)
    directions = random_directions(surface, 2, generator=torch.Generator().manual_seed(0))
    return Grid(surface, directions, torch.cartesian_prod(*[torch.linspace(-1, 1, 3).double()] * 2))


def _by_hand(grid: Grid, network: nn.Module, batch_size: int) -> np.ndarray:
    """Load the weights of every point into the network and call it."""
    original = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    origin = grid.surface.point
    network.eval()
    rows = []
    for batch in grid.surface.examples.batches(batch_size):
        row = []
        for coordinate in grid.coordinates:
            point = origin + coordinate @ grid.directions
            network.load_state_dict(original | grid.surface.layout.unflatten(point))
            row.append(float(grid.surface.loss(network(batch.inputs), batch.labels).detach()))
        rows.append(row)
    network.load_state_dict(original)
    return np.array(rows)


class _Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 5)
        self.head = nn.Linear(5, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.head(self.layer(torch.tanh(self.layer(inputs))))
        return outputs


SUBJECTS = {"mlp": mlp_subject(), "cnn": cnn_subject(), "layer used twice": Subject(_Twice().double(), vectors())}


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
@pytest.mark.parametrize("blocks", [(), ("head",)], ids=["whole", "head"])
@pytest.mark.parametrize("points_per_call", [1, 4], ids=["one by one", "vectorised"])
def test_losses_are_those_of_the_network_with_other_weights(
    subject: Subject, blocks: tuple[str, ...], points_per_call: int
) -> None:
    grid = _grid(subject, blocks)
    with evaluation_mode(subject.network):
        found = grid_losses(grid, batch_size=10, points_per_call=points_per_call)
        expected = _by_hand(grid, subject.network, 10)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_first_layer_is_linear_only_if_it_is_used_once_and_first() -> None:
    examples = vectors()
    once = nn.Sequential(OrderedDict(first=nn.Linear(5, 4), head=nn.Linear(4, 3))).double()
    layer = find_linear_first_layer(loss_surface(Subject(once, examples)))
    assert layer.name == "first"
    images = loss_surface(cnn_subject())
    (answer,) = find_linear_first_layer(images).responses(images, images.point[None, :][:0], images.examples)
    assert answer.is_contiguous(memory_format=torch.channels_last)  # which later convolutions are faster on
    later = nn.Sequential(OrderedDict(act=nn.Tanh(), head=nn.Linear(5, 3))).double()
    assert find_linear_first_layer(loss_surface(Subject(later, examples))) is None
    assert find_linear_first_layer(loss_surface(Subject(_Twice().double(), examples))) is None


def test_an_interrupted_grid_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transferscope.diagnostics.grid.SAVE_EVERY", 0.0)
    grid, file = _grid(mlp_subject()), tmp_path / "grid.npz"
    calls: list[tuple[int, int]] = []

    def interrupt(done: int, total: int) -> None:
        calls.append((done, total))
        if done == 5 and len(calls) == 5:
            raise KeyboardInterrupt

    with evaluation_mode(grid.surface.network):
        with pytest.raises(KeyboardInterrupt):
            grid_losses(grid, batch_size=20, file=file, progress=interrupt)
        with np.load(file) as kept:
            fingerprint, losses, done = (kept[name] for name in ("fingerprint", "losses", "done"))
        assert done.sum() == 5
        np.savez(file, fingerprint=fingerprint, losses=losses + 1, done=done)
        resumed = grid_losses(grid, batch_size=20, file=file)
        fresh = grid_losses(grid, batch_size=20)
    assert calls[-1] == (5, 18)
    np.testing.assert_allclose(resumed[0, :5], fresh[0, :5] + 1)  # taken from the file
    np.testing.assert_allclose(resumed[1], fresh[1])


def test_an_unfinished_grid_is_saved_every_ten_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that goes on by 4 s whenever it is read, which is once for each value and once for each save."""
    clock, saved, save = count(monotonic(), 4.0), list[int](), np.savez

    def seen(file: Path, **arrays: Any) -> None:
        saved.append(int(arrays["done"].sum()))
        save(file, **arrays)

    monkeypatch.setattr("transferscope.diagnostics.grid.monotonic", lambda: next(clock))
    monkeypatch.setattr("transferscope.diagnostics.grid.np.savez", seen)
    grid = _grid(mlp_subject())
    with evaluation_mode(grid.surface.network):
        grid_losses(grid, file=tmp_path / "grid.npz")
    assert saved == [4, 7, 9]  # after 12 s and 12 s, and at the end


def test_a_file_of_another_grid_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "grid.npz"
    first, second = _grid(mlp_subject()), _grid(mlp_subject(20))
    with evaluation_mode(first.surface.network, second.surface.network):
        grid_losses(first, file=file)
        np.testing.assert_array_equal(grid_losses(second, file=file), grid_losses(second))
