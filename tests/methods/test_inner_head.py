import numpy as np
import pytest
import torch

from transferscope.methods.inner_head import ridge_head, unrolled_head


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
def test_its_gradient_is_that_of_finite_differences(n: int, m: int) -> None:
    features, targets = features_and_targets(n, m)
    features.requires_grad_()
    targets.requires_grad_()
    assert torch.autograd.gradcheck(lambda h, y: ridge_head(h, y, 0.7), (features, targets))


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
        head = unrolled_head(features, targets, targets, ridge=0.5, steps=steps, lr=None)
        errors.append(float((gradient(head) - exact).norm() / exact.norm()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-6


def test_one_inner_step_on_classes_is_one_step_of_logistic_regression() -> None:
    features, _ = features_and_targets(6, 4)
    labels = torch.tensor([0, 1, 2, 0, 1, 1])
    head = torch.zeros(4, 3, dtype=torch.float64, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(features @ head, labels)
    by_hand = -0.2 * torch.autograd.grad(loss, head)[0]
    targets = torch.zeros(6, 3, dtype=torch.float64)
    assert unrolled_head(features, labels, targets, ridge=0.5, steps=1, lr=0.2).numpy() == pytest.approx(
        by_hand.numpy()
    )


def test_features_that_are_not_finite_give_nan_and_no_exception() -> None:
    features, targets = features_and_targets(4, 6)
    features[0, 0] = torch.inf
    assert torch.isnan(ridge_head(features, targets, 0.5)).any()
    assert torch.isnan(unrolled_head(features, targets, targets, ridge=0.5, steps=2, lr=None)).any()
