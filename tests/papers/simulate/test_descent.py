from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from transferscope_papers.simulate.descent import DescentSettings, Slope, Weights, descend

PLAIN = DescentSettings(movement=float("inf"), check_every=1, tolerance=1e-6)


@dataclass(frozen=True)
class Parabolas:
    """(1/2) w'diag(scale) w for each element, scale (B, k)."""

    scale: Tensor

    def slope(self, weights: Weights) -> Slope:
        return Slope((self.scale * weights[0],), self.scale.amax(1))

    def residual(self, weights: Weights) -> Tensor:
        return weights[0].abs().amax(1)

    def take(self, index: Tensor) -> "Parabolas":
        return Parabolas(self.scale[index])


def parabolas(*scales: list[float]) -> Parabolas:
    return Parabolas(torch.tensor(scales, dtype=torch.float64))


def test_each_element_ends_at_its_own_step() -> None:
    start = (torch.ones(3, 2, dtype=torch.float64),)
    result = descend(parabolas([1, 1], [1, 0.5], [1, 0.1]), start, PLAIN)
    assert result.status.tolist() == ["converged"] * 3
    # (1 - 1)^1 = 0;  .5^t <= 1e-6 at t = 20;  .9^t <= 1e-6 at t = 132.
    assert result.steps.tolist() == [1, 20, 132]
    torch.testing.assert_close(start[0], torch.ones(3, 2, dtype=torch.float64))


def test_some_diverge_while_others_converge() -> None:
    settings = DescentSettings(movement=float("inf"), stability=2.1, tolerance=1e-6, check_every=10)
    objective = Parabolas(torch.tensor([[1.0, 1.0], [1.0, 1.0]], dtype=torch.float64))
    start = (torch.tensor([[1.0, 1.0], [0.0, 0.0]], dtype=torch.float64),)
    result = descend(objective, start, settings)
    assert result.status.tolist() == ["non_finite", "converged"]
    assert result.steps[1] == 0


def test_weights_that_are_no_numbers_end_at_once() -> None:
    result = descend(parabolas([1, 1]), (torch.full((1, 2), float("nan")).double(),), PLAIN)
    assert (result.status.tolist(), result.steps.tolist()) == (["non_finite"], [0])


def test_the_budget_is_a_status() -> None:
    settings = DescentSettings(movement=float("inf"), max_steps=5, check_every=3)
    result = descend(parabolas([1, 0.5]), (torch.ones(1, 2, dtype=torch.float64),), settings)
    assert (result.status.tolist(), result.steps.tolist()) == (["max_steps"], [5])
    np.testing.assert_allclose(result.weights[0].numpy(), [[0, 0.5**5]])


def test_no_step_moves_further_than_allowed() -> None:
    settings = DescentSettings(movement=0.01, max_steps=1)
    result = descend(parabolas([1, 0.3]), (torch.ones(1, 2, dtype=torch.float64),), settings)
    moved = float((result.weights[0] - 1).norm())
    assert moved == pytest.approx(0.01 * 2**0.5)


def test_acceleration_follows_nesterov_with_restarts_element_by_element() -> None:
    settings = DescentSettings(movement=float("inf"), accelerated=True, tolerance=1e-300, max_steps=60)
    scales = ([1.0, 0.01], [1.0, 0.5])
    result = descend(parabolas(*scales), (torch.ones(2, 2, dtype=torch.float64),), settings)
    n_restarts = []
    for element, scale in enumerate(scales):
        now = before = np.ones(2)
        age, restarts = 0, 0
        for _ in range(60):
            ahead = now + age / (age + 3) * (now - before)
            gradient = scale * ahead
            now, before = ahead - gradient, now
            uphill = gradient @ (now - before) > 0
            age, restarts = (0, restarts + 1) if uphill else (age + 1, restarts)
        np.testing.assert_allclose(result.weights[0][element].numpy(), now, rtol=1e-12, atol=1e-300)
        n_restarts.append(restarts)
    assert n_restarts[0] != n_restarts[1] > 0


def test_acceleration_takes_the_square_root_of_the_steps() -> None:
    objective, start = parabolas([1, 1e-2]), (torch.ones(1, 2, dtype=torch.float64),)
    plain, fast = (
        descend(objective, start, DescentSettings(movement=float("inf"), tolerance=1e-6, check_every=1, accelerated=a))
        for a in (False, True)
    )
    assert plain.steps[0] == 1375  # .99^t <= 1e-6
    assert fast.steps[0] < 4 * 1375**0.5
    assert fast.status.tolist() == ["converged"]


def test_every_step_is_brought_back_to_the_constraint() -> None:
    settings = DescentSettings(movement=float("inf"), stability=0.5, max_steps=40, tolerance=1e-300)
    start = (torch.tensor([[0.6, 0.8]], dtype=torch.float64),)
    on_circle = descend(
        parabolas([1, 0.2]), start, settings, retract=lambda w: (w[0] / w[0].norm(dim=1, keepdim=True),)
    )
    torch.testing.assert_close(on_circle.weights[0].abs(), torch.tensor([[0.0, 1.0]]).double(), atol=1e-6, rtol=0)
