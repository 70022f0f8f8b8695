import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from torch.nn import functional as F

from cases_of_methods import BUDGET, classification_task, network_for
from transferscope.methods import Merlin
from transferscope.methods.inner_head import (
    RIDGE_GRID,
    InnerHead,
    choose_ridge,
    finished_head,
    leave_one_out_head,
    ridge_head,
    unrolled_head,
)
from transferscope.training import outputs_of, pixel_scale, to_tensors


def features_and_targets(n: int, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(n + 100 * m)
    features = torch.randn(n, m, generator=generator, dtype=torch.float64)
    return features, torch.randn(n, 3, generator=generator, dtype=torch.float64)


def test_the_published_example() -> None:
    features = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]], dtype=torch.float64)
    targets = torch.tensor([[0.9, -0.1], [-0.1, 0.9]], dtype=torch.float64)
    golden = [[0.2512820513, -0.2102564103], [0.2615384615, 0.1076923077], [0.2410256410, -0.5282051282]]
    assert ridge_head(features, targets, 0.5).numpy() == pytest.approx(np.array(golden), abs=1e-10)


@pytest.mark.parametrize(("n", "m"), [(4, 9), (9, 4), (5, 5), (1, 3), (3, 1)])
def test_it_minimises_the_ridge_loss(n: int, m: int) -> None:
    features, targets = features_and_targets(n, m)
    stacked = torch.cat([features, 0.3**0.5 * torch.eye(m, dtype=torch.float64)])
    padded = torch.cat([targets, torch.zeros(m, 3, dtype=torch.float64)])
    dense = np.linalg.lstsq(stacked.numpy(), padded.numpy(), rcond=None)[0]
    assert ridge_head(features, targets, 0.3).numpy() == pytest.approx(dense, abs=1e-10)


@pytest.mark.parametrize(("n", "m"), [(4, 6), (6, 4)])
def test_more_inner_steps_approach_the_closed_form_and_its_gradient(n: int, m: int) -> None:
    features, targets = features_and_targets(n, m)
    features.requires_grad_()
    weights = torch.linspace(-1, 1, 3 * m, dtype=torch.float64).reshape(m, 3)

    def gradient(head: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad((weights * head).sum(), features)[0]

    exact = gradient(ridge_head(features, targets, 0.5))
    errors = []
    for steps in (10, 100, 1000):
        head = unrolled_head(features, targets, targets, ridge=0.5, steps=steps)
        errors.append(float((gradient(head) - exact).norm() / exact.norm()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-6


def test_one_inner_step_on_classes_is_one_step_of_logistic_regression() -> None:
    """By the inverse of the largest curvature, at most half of that of the squares and the penalty's."""
    features, _ = features_and_targets(6, 4)
    labels = torch.tensor([0, 1, 2, 0, 1, 1])
    head = torch.zeros(4, 3, dtype=torch.float64, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(features @ head, labels)
    rate = 6 / (0.5 * float(np.linalg.norm(features.numpy(), 2)) ** 2 + 0.5)
    by_hand = -rate * torch.autograd.grad(loss, head)[0]
    targets = torch.zeros(6, 3, dtype=torch.float64)
    assert unrolled_head(features, labels, targets, ridge=0.5, steps=1).numpy() == pytest.approx(by_hand.numpy())


@pytest.mark.parametrize("kind", ["classes", "several labels", "numbers"])
def test_the_head_that_predicts_is_the_minimiser_whatever_the_inner_steps(kind: str) -> None:
    features, targets = features_and_targets(30, 4)
    labels = {"classes": torch.arange(30) % 3, "several labels": targets > 0, "numbers": targets}[kind]
    found = finished_head(features, labels, targets, ridge=0.5)
    x = features.numpy()
    if kind == "numbers":
        expected = Ridge(alpha=0.5, fit_intercept=False, tol=1e-10).fit(x, targets.numpy()).coef_
    else:
        model = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
        columns = [labels] if kind == "classes" else list(labels.T)
        expected = np.concatenate([model.fit(x, column.numpy()).coef_ for column in columns])
    assert found.T.numpy() == pytest.approx(expected, abs=1e-5)


def test_algorithm_1_predicts_with_a_finished_head() -> None:
    task = classification_task(n_target=30)
    network = network_for(task, Merlin())
    train = to_tensors(task.target.train, pixel_scale(task.target.train))
    one, many = (
        Merlin(inner="unrolled", inner_steps=steps)
        .predictor(network, train, BUDGET)
        .head.state_dict()["weight"]
        .numpy()
        for steps in (1, 50)
    )
    assert (one == many).all()
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    model.fit(outputs_of(network.features, train).numpy(), train.labels.numpy())
    assert one == pytest.approx(model.coef_, abs=1e-4)


def test_features_that_are_not_finite_give_nan_and_no_exception() -> None:
    features, targets = features_and_targets(4, 6)
    features[0, 0] = torch.inf
    assert torch.isnan(ridge_head(features, targets, 0.5)).any()
    assert torch.isnan(unrolled_head(features, targets, targets, ridge=0.5, steps=2)).any()


def ridge_with_mean(x: np.ndarray, y: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Ridge regression with an unpenalised intercept, by least squares on stacked rows."""
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    stacked = np.vstack([x - mean_x, ridge**0.5 * np.eye(x.shape[1])])
    theta = np.linalg.lstsq(stacked, np.vstack([y - mean_y, np.zeros((x.shape[1], y.shape[1]))]), rcond=None)[0]
    return theta, mean_y - mean_x @ theta


def risk_left_out(x: np.ndarray, y: np.ndarray, ridge: float) -> float:
    """Mean squared error of each example under the head that was fitted without it."""
    errors = []
    for i in range(len(x)):
        keep = np.arange(len(x)) != i
        theta, bias = ridge_with_mean(x[keep], y[keep], ridge)
        errors.append(np.square(x[i] @ theta + bias - y[i]).sum())
    return float(np.mean(errors))


def shifted(n: int, m: int, *, noise: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Features away from zero with a decaying spectrum, and targets that are linear in them up to noise."""
    features, targets = features_and_targets(n, m)
    features = 3.0 + features * torch.arange(1, m + 1, dtype=torch.float64).rsqrt()
    weights = torch.linspace(-1, 1, 3 * m, dtype=torch.float64).reshape(m, 3)
    return features, 5.0 + features @ weights + noise * targets


SHAPES = [(2, 3), (3, 2), (8, 20), (20, 8), (12, 12)]


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("noise", [0.01, 1.0, 30.0])
def test_the_ridge_is_that_of_least_brute_force_leave_one_out_error(n: int, m: int, noise: float) -> None:
    features, targets = shifted(n, m, noise=noise)
    x, y = features.numpy(), targets.numpy()
    grid = np.array(RIDGE_GRID) * np.square(x - x.mean(axis=0)).sum() / n
    risks = np.array([risk_left_out(x, y, ridge) for ridge in grid])
    mean = np.square(y - [np.delete(y, i, axis=0).mean(axis=0) for i in range(n)]).sum(axis=1).mean()
    chosen, risk = choose_ridge(features - features.mean(dim=0), targets - targets.mean(dim=0))
    assert float(risk) == pytest.approx(risks.min() / mean, rel=1e-10)
    # Two values of lambda may be equally good (two examples: every one is).
    assert risks[np.argmin(np.abs(grid - float(chosen)))] == pytest.approx(risks.min(), rel=1e-10)
    head = leave_one_out_head(features, targets)
    theta, bias = ridge_with_mean(x, y, float(chosen))
    assert head.theta.numpy() == pytest.approx(theta, abs=1e-9)
    assert head.bias is not None
    assert head.bias.numpy() == pytest.approx(bias, abs=1e-9)


@pytest.mark.parametrize(("n", "m"), [(4, 6), (6, 4)])
def test_its_gradient_is_that_of_finite_differences_with_the_ridge_held(n: int, m: int) -> None:
    features, targets = shifted(n, m)
    ridge = float(choose_ridge(features - features.mean(dim=0), targets - targets.mean(dim=0))[0])
    features.requires_grad_()
    targets.requires_grad_()

    def held(h: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        theta = ridge_head(h - h.mean(dim=0), y - y.mean(dim=0), ridge)
        return (h @ theta + y.mean(dim=0) - h.mean(dim=0) @ theta).square().sum()

    assert torch.autograd.gradcheck(held, (features, targets))
    expected = torch.autograd.grad(held(features, targets), (features, targets))
    found = torch.autograd.grad(leave_one_out_head(features, targets)(features).square().sum(), (features, targets))
    for one, other in zip(found, expected, strict=True):
        assert one.numpy() == pytest.approx(other.numpy(), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_examples_to_leave_one_out_are_met_with_their_mean(n: int) -> None:
    features, targets = shifted(3, 4)
    head = leave_one_out_head(features[:n], targets[:n])
    expected = targets[:n].sum(dim=0).expand(3, 3)
    assert head(features).numpy() == pytest.approx(expected.numpy())
    assert torch.isnan(head.risk)


@pytest.mark.parametrize("what", ["features", "targets"])
def test_examples_that_are_all_the_same_give_their_mean(what: str) -> None:
    features, targets = shifted(6, 4)
    features = features[:1].expand(6, 4) if what == "features" else features
    targets = targets[:1].expand(6, 3) if what == "targets" else targets
    head = leave_one_out_head(features, targets)
    assert head(features).numpy() == pytest.approx(targets.mean(dim=0).expand(6, 3).numpy())


@pytest.mark.parametrize(("n", "m"), [(32, 128), (32, 500), (250, 128)])
@pytest.mark.parametrize("inner", ["ridge", "auto", "unrolled"])
def test_mixed_precision_does_not_reach_the_head(n: int, m: int, inner: str) -> None:
    generator = torch.Generator().manual_seed(m + n)
    features, labels = torch.randn(n, m, generator=generator).relu(), torch.arange(n) % 10
    targets = F.one_hot(labels, 10) - 0.1

    def fitted(h: torch.Tensor, y: torch.Tensor) -> InnerHead:
        if inner == "auto":
            return leave_one_out_head(h, y)
        theta = ridge_head(h, y, 1.0) if inner == "ridge" else unrolled_head(h, labels, y, ridge=1.0, steps=20)
        return InnerHead(theta, None, torch.tensor(torch.nan))

    def with_gradient(h: torch.Tensor, y: torch.Tensor, *, mixed: bool) -> list[torch.Tensor]:
        h = h.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            head = fitted(h, y)
            outputs = head(h)
        return [head.theta.detach(), outputs.detach(), torch.autograd.grad(outputs.square().sum(), h)[0]]

    truth = with_gradient(features.double(), targets.double(), mixed=False)
    found = with_gradient(features, targets, mixed=True)
    for one, other in zip(found, truth, strict=True):
        assert float((one.double() - other).norm() / other.norm()) < 1e-4
