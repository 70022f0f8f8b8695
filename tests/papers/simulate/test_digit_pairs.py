import numpy as np
import pytest

from transferscope_papers.simulate.digit_pairs import (
    SAMPLES,
    START,
    Digits,
    TableSettings,
    Task,
    Tasks,
    bound_table,
    draw_pairs,
)
from transferscope_papers.simulate.seeds import generator

QUICK = TableSettings(n_pairs=4, n_samples=3, n_repeats=2, sizes=(5, 8), pretraining_steps=50)


def blobs(n: int, seed: int) -> Digits:
    """Five classes around five centres in 12 dimensions."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((5, 12))
    labels = rng.integers(0, 5, n)
    return Digits(centres[labels] + rng.standard_normal((n, 12)), labels)


def test_the_spectral_filter_is_gradient_descent() -> None:
    task = blobs(40, 1).task(0, 1)
    start = np.random.default_rng(2).standard_normal(12)
    gram = task.images.T @ task.images / len(task.signs)
    cross = task.images.T @ task.signs / len(task.signs)
    weights, rate = start, 1 / np.linalg.eigvalsh(gram)[-1]
    for _ in range(50):
        weights = weights - rate * (gram @ weights - cross)
    np.testing.assert_allclose(task.descend(start, 50), weights, rtol=1e-9, atol=1e-12)


def test_the_error_is_the_share_on_the_wrong_side() -> None:
    task = Task(np.array([[1.0, 0], [2, 0], [0, 1], [-1, 0]]), np.array([1.0, -1, 1, -1]))
    assert task.error(np.array([[1.0, 0], [0, 1]])).tolist() == [0.5, 0.75]


def test_pairs_of_tasks_are_distinct() -> None:
    pairs = draw_pairs(range(5), 30, seed=0)
    assert len({tuple(row) for row in pairs.tolist()}) == 30
    assert all(a != b and c != d for a, b, c, d in pairs.tolist())
    np.testing.assert_array_equal(pairs, draw_pairs(range(5), 30, seed=0))


def test_the_table_has_every_bound_and_size() -> None:
    table = bound_table(Tasks(blobs(200, 1), blobs(100, 2)), QUICK)
    bounds = {*(f"theorem 4.2, c = {c}" for c in ("0.1", "0.5", "1", "2")), "bartlett", "distance"}
    assert set(table) == bounds
    assert all(row.shape == (2,) and (row >= 0).all() and (row <= 1).all() for row in table.values())
    again = bound_table(Tasks(blobs(200, 1), blobs(100, 2)), QUICK)
    assert {name: row.tolist() for name, row in again.items()} == {name: row.tolist() for name, row in table.items()}


def test_the_table_is_that_of_one_regression_after_another() -> None:
    tasks, settings = Tasks(blobs(200, 1), blobs(100, 2)), TableSettings(4, 3, 2, (6,), pretraining_steps=20)
    errors, distances = np.empty((2, 4)), np.empty((2, 4))
    for i, pair in enumerate(tasks.pairs(4, 0)):
        for repeat in range(2):
            direction, stream = (generator(1000 * i + repeat, purpose) for purpose in (START, SAMPLES))
            start = direction.standard_normal(12)
            learnt = pair.source.descend(0.1 * start / np.linalg.norm(start), 20)
            distances[repeat, i] = np.sum((pair.target.descend(np.zeros(12), 20) - learnt) ** 2)
            wrong = []
            for _ in range(3):
                rows = stream.choice(len(pair.target.signs), size=6, replace=False)
                x, y = pair.target.images[rows], pair.target.signs[rows]
                tuned = learnt + np.linalg.pinv(x) @ (y - x @ learnt)
                wrong.append(np.mean((pair.held_out.images @ tuned) * pair.held_out.signs <= 0))
            errors[repeat, i] = np.mean(wrong)
    expected = np.mean([np.corrcoef(*one)[0, 1] ** 2 for one in zip(distances, errors, strict=True)])
    assert bound_table(tasks, settings)["distance"] == pytest.approx([expected])


def test_images_are_standardised_with_two_numbers() -> None:
    data, scaled = blobs(50, 3), blobs(50, 3).standardised(blobs(50, 3))
    assert scaled.images.mean() == pytest.approx(0, abs=1e-12)
    assert scaled.images.std() == pytest.approx(1)
    np.testing.assert_allclose(scaled.images, (data.images - data.images.mean()) / np.std(data.images))
    moved = Digits(3 * data.images + 7, data.labels)
    settings = TableSettings(n_pairs=3, n_samples=2, n_repeats=2, sizes=(6,), pretraining_steps=20)
    first, second = (bound_table(Tasks(images, images), settings) for images in (data, moved))
    for name, values in first.items():
        assert values == pytest.approx(second[name], rel=1e-6)


def test_a_mirrored_task_has_the_covariance_of_its_own_images() -> None:
    pairs = Tasks(blobs(200, 1), blobs(100, 2)).pairs(30, seed=0)
    assert any(pair.source.signs[0] < 0 for pair in pairs)
    for pair in pairs:
        images, own = pair.source.images, pair.source.covariance
        np.testing.assert_allclose(
            own.from_eigenbasis(own.eigenvalues * own.to_eigenbasis(np.eye(12)[0])),
            images.T @ images[:, 0] / len(images),
        )
