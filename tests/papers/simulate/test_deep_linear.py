import numpy as np
import pytest
import torch
from jaxtyping import Float

from transferscope_papers.simulate.deep_linear import balanced_start, end_to_end, random_start, train
from transferscope_papers.simulate.descent import DescentSettings, Weights
from transferscope_papers.simulate.least_squares import LeastSquares, from_moments, isotropic_population
from transferscope_papers.theory.fine_tuning import fine_tuned_weights

FIXED_LENGTH = DescentSettings(tolerance=1e-300, max_steps=300, movement=0.05, stability=0.5)


GOLDEN_X = torch.tensor([[[1.0, 0, 0, 0], [0, 1, 1, 0]]], dtype=torch.float64)
GOLDEN_Y = torch.tensor([[2.0, 1.0]], dtype=torch.float64)


def of_samples(x: torch.Tensor, y: torch.Tensor) -> LeastSquares:
    """The losses |X beta - y|^2 / 2n of the samples of each element."""
    n = x.shape[1]
    return from_moments(x.mT @ x / n, (x.mT @ y[..., None])[..., 0] / n, torch.full((len(x),), n))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_what_rounding_leaves_outside_the_row_space_is_zero_at_any_scale(scale: float) -> None:
    x = torch.from_numpy(np.tile(np.random.default_rng(0).standard_normal((3, 2, 6)), (1, 3, 1)))  # of rank 2
    loss = from_moments(scale * x.mT @ x, torch.zeros(3, 6, dtype=torch.float64), torch.full((3,), 6))
    assert (loss.spectrum > 0).sum(1).tolist() == [2, 2, 2]
    np.testing.assert_allclose(loss.spectrum.sum(1), scale * x.square().sum((1, 2)))


def golden_loss() -> LeastSquares:
    return of_samples(GOLDEN_X, GOLDEN_Y)


def golden_source() -> Float[torch.Tensor, "1 4"]:
    return torch.tensor([[1.0, 2, 0, 2]], dtype=torch.float64)


def one_at_a_time(
    x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], layers: list[np.ndarray], settings: DescentSettings
) -> Float[np.ndarray, " d"]:
    """Plain gradient descent on the full matrices of one network, straight from the data."""
    for _ in range(settings.max_steps):
        error = x.T @ (product([x, *layers])[:, 0] - y) / len(y)
        gradients = [
            product([np.eye(len(x.T)), *layers[:j]]).T @ error[:, None] @ product([*layers[j + 1 :], np.eye(1)]).T
            for j in range(len(layers))
        ]
        size = np.array([np.linalg.norm(layer) for layer in layers])
        others = [np.prod(np.delete(size, j)) for j in range(len(size))]
        pairs = [np.prod(np.delete(size, [i, j])) for i in range(len(size)) for j in range(len(size)) if i != j]
        top = np.linalg.eigvalsh(x.T @ x / len(y))[-1]
        curvature = top * np.sum(np.square(others)) + np.linalg.norm(error) * np.sum(pairs)
        steepness = np.sqrt(sum(np.sum(gradient**2) for gradient in gradients))
        rate = min(settings.stability / curvature, settings.movement * np.linalg.norm(size) / steepness)
        layers = [layer - rate * gradient for layer, gradient in zip(layers, gradients, strict=True)]
    return product(layers)[:, 0]


def product(matrices: list[np.ndarray]) -> np.ndarray:
    result = matrices[0]
    for matrix in matrices[1:]:
        result = result @ matrix
    return result


def as_matrices(weights: Weights, element: int) -> list[np.ndarray]:
    layers = [layer[element].numpy() for layer in weights]
    return [*layers[:-1], layers[-1][:, None]]


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_limit_of_fine_tuning_is_the_corrected_theorem(depth: int) -> None:
    settings = DescentSettings(movement=5e-4, tolerance=1e-8)
    result = train(golden_loss(), balanced_start(golden_source(), depth=depth), settings)
    expected = fine_tuned_weights(GOLDEN_X[0].numpy(), GOLDEN_Y[0].numpy(), golden_source()[0].numpy(), depth=depth)
    assert result.status.tolist() == ["converged"]
    np.testing.assert_allclose(end_to_end(result.weights)[0].numpy(), expected.weights, rtol=5e-4)


def test_the_distance_to_the_limit_of_gradient_flow_is_linear_in_the_step() -> None:
    start = balanced_start(golden_source(), depth=3)
    runs = [train(golden_loss(), start, DescentSettings(movement=movement)) for movement in (8e-3, 4e-3, 2e-3)]
    errors = np.abs([float(end_to_end(run.weights)[0, 3]) - 2.1771885155 for run in runs])
    np.testing.assert_allclose(errors[:-1] / errors[1:], 2, rtol=0.15)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("start", ["random", "balanced"])
def test_the_batch_takes_the_path_of_a_plain_loop_over_full_matrices(depth: int, start: str) -> None:
    rng = np.random.default_rng(0)
    x, y, theta = (torch.from_numpy(rng.standard_normal(shape)) for shape in ((3, 4, 6), (3, 4), (3, 6)))
    wide = (
        balanced_start(theta, depth=depth, width=5)
        if start == "balanced"
        else random_start([1, 2, 3], 6, depth=depth, width=5, scale=0.5)
    )
    trained = wide if start == "random" else balanced_start(theta, depth=depth, width=1)
    beta = end_to_end(train(of_samples(x, y), trained, FIXED_LENGTH).weights)
    for b in range(3):
        slow = one_at_a_time(x[b].numpy(), y[b].numpy(), as_matrices(wide, b), FIXED_LENGTH)
        np.testing.assert_allclose(beta[b].numpy(), slow, rtol=1e-9, atol=1e-12)


def test_a_random_small_start_learns_the_source_and_is_nearly_balanced() -> None:
    teacher = torch.from_numpy(np.random.default_rng(4).standard_normal((2, 12)))
    start = random_start([5, 6], 12, depth=2, width=12, scale=1e-4)
    result = train(isotropic_population(teacher), start, DescentSettings(tolerance=1e-9, movement=0.01))
    assert result.status.tolist() == ["converged"] * 2
    torch.testing.assert_close(end_to_end(result.weights), teacher, rtol=1e-7, atol=1e-8)
    first, last = result.weights
    imbalance = first.mT @ first - last.unsqueeze(2) * last.unsqueeze(1)
    assert float(imbalance.flatten(1).norm(dim=1).max()) < 0.03
    singular = torch.linalg.svdvals(first)
    assert float((singular[:, 1] / singular[:, 0]).max()) < 1e-3


def test_frozen_layers_keep_their_weights_and_the_direction_of_the_source() -> None:
    start = balanced_start(golden_source(), depth=3)
    result = train(golden_loss(), start, DescentSettings(tolerance=1e-10), n_frozen=1)
    assert result.status.tolist() == ["converged"]
    torch.testing.assert_close(result.weights[0], start[0])
    beta, source = end_to_end(result.weights)[0], golden_source()[0]
    # X theta_S = (1, 2), y = (2, 1): the least-squares coefficient is 4/5.
    torch.testing.assert_close(beta, 0.8 * source, rtol=1e-8, atol=1e-10)
