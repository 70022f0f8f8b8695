from collections.abc import Callable

import numpy as np
import pytest
import torch

from transferscope_papers.problems import QuadraticProblem
from transferscope_papers.simulate.descent import Weights
from transferscope_papers.simulate.quadratic import (
    Halves,
    QuadraticRun,
    QuadraticSettings,
    TargetSamples,
    best_restarts,
    draw_targets,
    joint_training,
    merlin,
    noisy_start,
    population_loss,
    pretrain,
    ridge_head,
    start_at_feature,
    validation_loss,
)
from transferscope_papers.theory.quadratic import OVERFITTING_BELOW, WRONG_FEATURE_LOSS, source_minimum

SETTINGS = QuadraticSettings(steps=500, lr=0.004, n_splits=2)
D = 30


def targets(n_target: int) -> TargetSamples:
    return draw_targets(QuadraticProblem(D, 1), n_target, [0, 1], n_signal=6)


def test_the_gradient_of_the_population_loss_is_that_of_finite_differences() -> None:
    phi, head = (layer.requires_grad_() for layer in noisy_start([0, 1, 2], 5, width=3, noise=1.0))
    telling = (torch.arange(5) < torch.tensor([[2], [4], [5]])).double()
    assert torch.autograd.gradcheck(lambda one, two: population_loss(one, two, telling), (phi, head))


def test_the_validation_loss_and_its_gradient_are_those_of_heads_fitted_one_by_one() -> None:
    data = draw_targets(QuadraticProblem(7, 1), [2, 5, 8], [0, 1, 2], n_signal=4)
    phi = noisy_start(data.seeds, 7, width=4, noise=2.0)[0].requires_grad_()
    halves = Halves.draw([np.random.default_rng(seed) for seed in data.seeds], data.sizes, 3)

    def one_by_one(weights: torch.Tensor) -> torch.Tensor:
        losses = []
        for i, (fit, check) in enumerate(zip(halves.fit.bool(), halves.check.bool(), strict=True)):
            hidden, y = (data.inputs[i] @ weights[i]).square(), data.labels[i]
            pairs = [(hidden[c] @ ridge_head(hidden[f], y[f], 0.3), y[c]) for f, c in zip(fit, check, strict=True)]
            losses.append(torch.stack([(predicted - own).square().mean() for predicted, own in pairs]).mean())
        return torch.stack(losses)

    found, expected = validation_loss(data, phi, halves, 0.3), one_by_one(phi)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    assert halves.fit.sum(2).tolist() == [[1.0] * 3, [2.0] * 3, [4.0] * 3]
    assert (halves.fit + halves.check).sum(2).tolist() == [[2.0] * 3, [5.0] * 3, [8.0] * 3]
    upstream = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    gradient, dense = (torch.autograd.grad(value, phi, upstream)[0] for value in (found, expected))
    np.testing.assert_allclose(gradient.numpy(), dense.numpy(), rtol=1e-10)


def test_the_ridge_head_has_its_golden_values() -> None:
    hidden = torch.tensor([[1.0, 2, 0], [0, 1, -1]], dtype=torch.float64)
    for column, expected in (
        ([0.9, -0.1], [0.2512820513, 0.2615384615, 0.2410256410]),
        ([-0.1, 0.9], [-0.2102564103, 0.1076923077, -0.5282051282]),
    ):
        head = ridge_head(hidden, torch.tensor(column, dtype=torch.float64), 0.5)
        np.testing.assert_allclose(head.numpy(), expected, rtol=1e-9)


@pytest.mark.long
def test_merlin_keeps_the_feature_that_the_target_shares() -> None:
    start = start_at_feature([0, 1], D, feature=0, width=8, penalty=0.01)
    run = merlin(targets(12), start, SETTINGS)
    assert run.status.tolist() == ["converged"] * 2
    assert (run.target_loss < 1e-3).all()
    np.testing.assert_allclose(run.objective, float(source_minimum(0.01).value), rtol=0.02)


@pytest.mark.long
def test_merlin_pays_for_a_wrong_feature() -> None:
    start = start_at_feature([0, 1], D, feature=1, width=8, penalty=0.01)
    run = merlin(targets(12), start, SETTINGS)
    assert (run.target_loss > WRONG_FEATURE_LOSS / 2).all()
    assert (run.objective > 1.05 * float(source_minimum(0.01).value)).all()


@pytest.mark.long
def test_pretraining_keeps_the_feature_it_starts_from_and_reaches_the_source_minimum() -> None:
    start = start_at_feature([0, 1], D, feature=1, width=8, penalty=0.01)
    run = pretrain(targets(12), start, SETTINGS)
    assert run.status.tolist() == ["converged"] * 2
    np.testing.assert_allclose(run.objective, float(source_minimum(0.01).value), rtol=2e-3)
    assert (run.target_loss > 0.9 * WRONG_FEATURE_LOSS).all()


@pytest.mark.long
def test_joint_training_prefers_to_overfit_below_the_threshold() -> None:
    seeds = [0, 1, 0, 1]
    data = draw_targets(QuadraticProblem(60, 1), 5, seeds, n_signal=6)
    visible = [np.linalg.norm(np.linalg.pinv(x) @ x[:, 0]) for x in data.inputs.numpy()]  # ||P_X e_1||
    assert max(visible) < OVERFITTING_BELOW
    starts = [start_at_feature([0, 1], 60, feature=j, width=8, penalty=0.01) for j in (0, 1)]
    start = tuple(torch.cat(layers) for layers in zip(*starts, strict=True))
    run = joint_training(data, start, QuadraticSettings(steps=600, lr=0.02))
    shared, overfit = slice(0, 2), slice(2, 4)
    assert (run.objective[overfit] < run.objective[shared]).all()
    assert (run.target_loss[overfit] > 0.3).all()


def test_the_best_restart_is_chosen_by_the_training_objective() -> None:
    assert best_restarts(np.array([0.3, 0.1, np.nan, 0.2]), 2).tolist() == [1, 3]


@pytest.mark.parametrize("way", [merlin, joint_training])
def test_samples_of_different_sizes_and_sources_are_trained_together_as_if_alone(
    way: Callable[[TargetSamples, Weights, QuadraticSettings], QuadraticRun],
) -> None:
    quick, problem = QuadraticSettings(steps=20), QuadraticProblem(D, 1)
    both = draw_targets(problem, [5, 12], [3, 4], n_signal=[2, 6])
    together = way(both, noisy_start([3, 4], D, width=5, noise=0.1), quick)
    for i, (n, seed, k) in enumerate([(5, 3, 2), (12, 4, 6)]):
        alone = way(draw_targets(problem, n, [seed], n_signal=k), noisy_start([seed], D, width=5, noise=0.1), quick)
        np.testing.assert_allclose(alone.objective[0], together.objective[i], rtol=1e-9)
        np.testing.assert_allclose(alone.target_loss[0], together.target_loss[i], rtol=1e-9)
