"""Do bounds rank real transfer tasks? Table 1 of shachaf2021: pairs of digits, linear regression to -1 and +1.

Each task is "digit a (+1) against digit b (-1)". A linear model learns the source task by gradient descent on all its
training images, then fits a few target images exactly with the smallest change (Theorem 4.1). For K pairs of tasks
the mean test error is correlated with each of three bounds: Theorem 4.2 at m, the one adapted from Bartlett et al.
(2020), and the squared distance between the teachers.

The paper does not state the length of pretraining, the target teacher of real data, the scaling of pixels and the
constant of Theorem 4.2. Here both teachers are gradient descent after `pretraining_steps` steps of one over the largest
eigenvalue (computed exactly by the spectral filter), the target teacher from zero, the source from a random start, and
Theorem 4.2 is evaluated for several constants. The theorem is about centred inputs; without centring, the mean image is
the leading eigenvector and the bound ranks tasks worse than its rivals, so images are standardised as is usual. Tasks
are two independent draws of two digits, so that a target may share digits with its source, or be its mirror image.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from transferscope_papers.problems import Covariance
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.theory.fine_tuning_bounds import (
    benign_overfitting_bound,
    deviation_bound,
    fine_tuning_bound,
)

PAIRS, SAMPLES, START = 500, 501, 502
"""Random streams of the tasks, of target samples and of initial weights."""

_START_NORM = 0.1


@dataclass(frozen=True)
class Digits:
    """Labelled images."""

    images: Float[np.ndarray, "N d"]
    labels: Int[np.ndarray, " N"]

    def standardised(self, pixels: "Digits") -> "Digits":
        """Standardise images by mean and standard deviation of all `pixels`, two numbers, as usual for MNIST."""
        return Digits((self.images - pixels.images.mean()) / pixels.images.std(), self.labels)

    def task(self, positive: int, negative: int) -> "Task":
        """Return the images of two classes, labelled +1 and -1."""
        rows = np.flatnonzero(np.isin(self.labels, (positive, negative)))
        return Task(self.images[rows], np.where(self.labels[rows] == positive, 1.0, -1.0))


@dataclass(frozen=True)
class Task:
    """A binary task as regression to -1 and +1."""

    images: Float[np.ndarray, "N d"]
    signs: Float[np.ndarray, " N"]

    @cached_property
    def covariance(self) -> Covariance:
        """Second moments X'X/N of the images, not centred, as for a linear model without intercept."""
        eigenvalues, vectors = np.linalg.eigh(self.images.T @ self.images / len(self.images))
        return Covariance(np.maximum(eigenvalues[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1]))

    def mirrored(self) -> "Task":
        """Return the same images with the labels exchanged."""
        other = Task(self.images, -self.signs)
        other.__dict__["covariance"] = self.covariance
        return other

    def descend(self, start: Float[np.ndarray, " d"], steps: int) -> Float[np.ndarray, " d"]:
        """Return weights after `steps` steps of size 1/lambda_1 of gradient descent on the mean squared error,
        exactly."""
        sigma = self.covariance
        lam = sigma.eigenvalues
        cross = sigma.to_eigenbasis(self.signs @ self.images / len(self.signs))
        left = (1 - lam / lam[0]) ** steps
        learnt = np.divide(1 - left, lam, out=np.full_like(lam, steps / lam[0]), where=lam > 1e-12 * lam[0])
        return sigma.from_eigenbasis(learnt * cross + left * sigma.to_eigenbasis(start))

    def error(self, weights: Float[np.ndarray, "k d"]) -> Float[np.ndarray, " k"]:
        """Return the share of misclassified images of each model."""
        return np.asarray(((self.images @ weights.T) * self.signs[:, None] <= 0).mean(axis=0))


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The experiment of shachaf2021 Table 1.

    Attributes:
        n_pairs: Source-target pairs K.
        n_samples: Target samples per pair.
        n_repeats: Repeats with new initial weights and new target samples.
        sizes: Target sizes n.
        m: Leading eigenvectors in Theorem 4.2.
        pretraining_steps: Gradient steps of both teachers.
        constants: Values of c in Theorem 4.2; the ranking depends on c (g enters as g^3 and as g).
        seed: Draws pairs, starts and samples.
    """

    n_pairs: int = 20
    n_samples: int = 25
    n_repeats: int = 10
    sizes: tuple[int, ...] = (10, 15, 20, 25, 30)
    m: int = 2
    pretraining_steps: int = 1000
    constants: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0)
    seed: int = 0


def draw_pairs(classes: Sequence[int], n_pairs: int, seed: int) -> Int[np.ndarray, "K 4"]:
    """Return distinct rows (source +, source -, target +, target -), sorted: two independent draws of two classes
    each."""
    stream, rows = generator(seed, PAIRS), set[tuple[int, ...]]()
    while len(rows) < n_pairs:
        draws = [stream.permutation(np.array(classes))[:2] for _ in range(2)]
        rows.add(tuple(int(label) for draw in draws for label in draw))
    return np.array(sorted(rows))


@dataclass(frozen=True)
class TaskPair:
    """A source task, a target task and the target's test images; `index` is part of the seeds."""

    source: Task
    target: Task
    held_out: Task
    index: int


class Tasks:
    """Every task on standardised images; a task and its mirror image share the covariance, which is slow to compute."""

    def __init__(self, train: Digits, test: Digits) -> None:
        """Take images for pretraining and target samples, and test images."""
        self._train, self._test = train.standardised(train), test.standardised(train)
        self._made: dict[tuple[int, int], tuple[Task, Task]] = {}

    def pairs(self, n_pairs: int, seed: int) -> tuple[TaskPair, ...]:
        """Return a draw of pairs."""
        rows = draw_pairs(sorted({int(c) for c in self._train.labels}), n_pairs, seed).tolist()
        return tuple(TaskPair(self._of(a, b)[0], *self._of(c, d), i) for i, (a, b, c, d) in enumerate(rows))

    def _of(self, positive: int, negative: int) -> tuple[Task, Task]:
        if (positive, negative) not in self._made:
            first, second = sorted((positive, negative))
            own = self._train.task(first, second), self._test.task(first, second)
            self._made[first, second], self._made[second, first] = own, (own[0].mirrored(), own[1].mirrored())
        return self._made[positive, negative]


def bound_table(tasks: Tasks, settings: TableSettings) -> dict[str, Float[np.ndarray, " sizes"]]:
    """Return the squared correlation of each bound with the test error over pairs of tasks, at every size.

    The correlation is over the pairs, and the mean of its square over repeats. The bounds are "theorem 4.2, c = 0.1"
    and so on, "bartlett" and "distance".
    """
    errors, bounds = zip(
        *(_measure(pair, settings) for pair in tasks.pairs(settings.n_pairs, settings.seed)), strict=True
    )
    error = np.stack(errors)
    return {name: _mean_r_squared(np.stack([own[name] for own in bounds]), error) for name in bounds[0]}


def _measure(pair: TaskPair, settings: TableSettings) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
    """Test errors and bounds of one pair, each of shape (repeats, sizes)."""
    d = pair.target.images.shape[1]
    teacher = pair.target.descend(np.zeros(d), settings.pretraining_steps)
    errors = np.empty((settings.n_repeats, len(settings.sizes)))
    bounds: dict[str, np.ndarray] = {}
    for repeat in range(settings.n_repeats):
        seed = settings.seed * 10**6 + pair.index * 10**3 + repeat
        direction = generator(seed, START).standard_normal((1, d))[0]
        start = direction * (_START_NORM / np.linalg.norm(direction))
        learnt = pair.source.descend(start, settings.pretraining_steps)
        stream = generator(seed, SAMPLES)
        for column, n in enumerate(settings.sizes):
            models = _fine_tuned(pair.target, learnt, (settings.n_samples, n), stream)
            errors[repeat, column] = pair.held_out.error(models).mean()
            for name, value in _bounds(teacher - learnt, pair.target.covariance, n, settings).items():
                bounds.setdefault(name, np.empty_like(errors))[repeat, column] = value
    return errors, bounds


def _fine_tuned(
    target: Task, start: Float[np.ndarray, " d"], shape: tuple[int, int], stream: np.random.Generator
) -> Float[np.ndarray, "k d"]:
    """Return theta_S + X^+ (y - X theta_S) on each of k samples of n random images, `shape` = (k, n) (shachaf2021, eq.
    1)."""
    n_samples, n = shape
    rows = np.stack([stream.choice(len(target.signs), size=n, replace=False) for _ in range(n_samples)])
    x, y = target.images[rows], target.signs[rows]
    gram = x @ x.swapaxes(1, 2)  # (k, n, n)
    coefficients = np.linalg.pinv(gram, hermitian=True) @ (y - x @ start)[:, :, None]
    return np.asarray(start + (x.swapaxes(1, 2) @ coefficients)[:, :, 0])


def _bounds(
    difference: Float[np.ndarray, " d"], covariance: Covariance, n: int, settings: TableSettings
) -> Mapping[str, float]:
    lam = covariance.eigenvalues
    values = {
        "bartlett": benign_overfitting_bound(difference, lam, n),
        "distance": float(difference @ difference),
    }
    for constant in settings.constants:
        g = deviation_bound(lam, n, constant=constant)
        bound = fine_tuning_bound(difference, covariance, deviation=g).values[settings.m - 1]
        values[f"theorem 4.2, c = {constant:g}"] = float(bound)
    return values


def _mean_r_squared(
    bounds: Float[np.ndarray, "K repeats sizes"], errors: Float[np.ndarray, "K repeats sizes"]
) -> Float[np.ndarray, " sizes"]:
    columns = zip(*(values.reshape(len(values), -1).T for values in (bounds, errors)), strict=True)
    r = np.array([np.corrcoef(bound, error)[0, 1] for bound, error in columns])
    return np.asarray((r.reshape(bounds.shape[1:]) ** 2).mean(axis=0))
