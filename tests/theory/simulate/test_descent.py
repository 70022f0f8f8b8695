from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from transferscope.errors import SettingsError
from transferscope.theory.simulate.descent import DescentSettings, Slope, Weights, descend

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


@pytest.mark.parametrize("name", ["tolerance", "max_steps", "stability", "movement", "check_every"])
def test_settings_say_what_is_wrong(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{name} = 0 is out of range; see DescentSettings for its range$"):
        DescentSettings(**{name: 0})
