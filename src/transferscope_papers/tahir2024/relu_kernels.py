"""The kernels of pretrained ReLU students and of their source as Gram matrices: tahir2024 Figure 4 (a, b)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from transferscope.estimate import Estimate
from transferscope_papers import figure as fig
from transferscope_papers.problems import AblatedTeachers, ablate, relu_teacher
from transferscope_papers.simulate.outcomes import mean_of_all
from transferscope_papers.simulate.relu_student import pretrain, random_students
from transferscope_papers.simulate.seeds import generator

_TEACHER, _INPUTS = 600, 920
"""Random streams of the teachers, which are those of Figure 4, and of the inputs."""
_BEFORE, _AFTER = "before pretraining", "after pretraining"
_KERNEL = "kernel k(x, x′)"


@dataclass(frozen=True)
class KernelFigure(fig.TheoryFigure):
    """tahir2024 Figure 4 (a, b): k(x, x') = (1/m) sum_i relu(w_i'x) relu(w_i'x') on pairs of drawn inputs.

    Students start from random neurons and learn one source, that of the first teachers of Figure 4, on the population.
    The figure shows means over students.

    Attributes:
        n_teacher: Neurons of the target teacher m*, at least 2.
        width: Neurons of a student m.
        n: Inputs on which the kernels are compared.
        seeds: Students of the source.
        mu: Share of the teacher's neurons that the source lacks.
    """

    d: int = fig.setting(100, fig.Range(2, 1000), quick=20)
    n_teacher: int = fig.setting(100, fig.Range(2, 1000), quick=20)
    width: int = fig.setting(1000, fig.Range(1, 10_000), quick=200)
    n: int = fig.setting(20, fig.Range(3, 60), quick=12)
    seeds: int = fig.setting(5, fig.Range(2, 100), quick=5)
    mu: float = fig.setting(0.5, fig.Range(0, 0.95))

    name: ClassVar[str] = "tahir2024-fig4-kernels"

    def theory(self) -> fig.Theory:
        """Return the matrix of the source, and the diagonal of equal kernels."""
        order, matrix = np.arange(self.n, dtype=np.float64), self._source
        ends = np.array([0.0, float(matrix.max())])
        panels = (
            fig.Panel("pretrained", "Pretrained students (4a)", "input", "input"),
            fig.Panel("source", f"Source, μ = {self.mu:g} (4b)", "input", "input"),
            fig.Panel("start", "Students before pretraining", "input", "input"),
            fig.Panel("pairs", "Every pair of inputs", f"{_KERNEL} of the source", f"{_KERNEL} of students"),
        )
        source = fig.Diagram("source", order, order, matrix, limit=float(matrix.max()), shows=_KERNEL)
        return fig.Theory(panels, (fig.Curve("pairs", "equal kernels", ends, ends, dashed=True),), (source,))

    def points(self) -> tuple[fig.Point, ...]:
        """Return the kernel of every pair of inputs, before and after pretraining, all from the same students."""
        pairs = itertools.combinations_with_replacement(range(self.n), 2)
        places = [({"i": i, "j": j}, float(self._source[i, j])) for i, j in pairs]
        return tuple(
            fig.Point("pairs", series, value, parameters=own, group="students")
            for series in (_BEFORE, _AFTER)
            for own, value in places
        )

    def simulate(self, points: Sequence[fig.Point]) -> tuple[Estimate, ...]:
        """Pretrain the students once, and evaluate their kernels on the inputs."""
        start = random_students(range(self.seeds), self.d, width=self.width)
        students = pretrain([self._pair.source] * self.seeds, start)
        neurons = {_BEFORE: list(start[0].numpy()), _AFTER: [student.neurons for student in students.networks]}
        kernels = {series: np.stack([self._kernel(own) for own in sets]) for series, sets in neurons.items()}
        return tuple(
            mean_of_all(
                kernels[point.series][:, int(point.parameters["i"]), int(point.parameters["j"])], students.status
            )
            for point in points
        )

    def conclude(self, simulated: Sequence[fig.Simulated]) -> fig.Conclusion:
        """Return the matrices of the students, and their distance from that of the source."""
        matrices = {"start": np.zeros((self.n, self.n)), "pretrained": np.zeros((self.n, self.n))}
        for item in simulated:
            i, j = (int(item.point.parameters[name]) for name in ("i", "j"))
            matrix = matrices["pretrained" if item.point.series == _AFTER else "start"]
            matrix[i, j] = matrix[j, i] = item.estimate.value
        order, limit = np.arange(self.n, dtype=np.float64), float(self._source.max())
        off = {
            name: np.linalg.norm(one - self._source) / np.linalg.norm(self._source) for name, one in matrices.items()
        }
        sentence = (
            f"relative distance of the students' matrix from the source's: {off['start']:.3f} before pretraining, "
            f"{off['pretrained']:.3f} after"
        )
        diagrams = (fig.Diagram(name, order, order, one, limit=limit, shows=_KERNEL) for name, one in matrices.items())
        return fig.Conclusion(sentence, diagrams=tuple(diagrams))

    def claims(self) -> tuple[fig.Claim, ...]:
        """Return the claim that the two matrices are similar."""
        return (
            fig.Claim(
                "the Gram matrices of the pretrained students and of the source are nearly indistinguishable "
                "(relative distance of 0.15 or less)",
                "tahir2024, Figure 4a and b",
                lambda drawn: _distance(drawn, _AFTER) <= _NEARLY,
                ""
                if self.width >= _NEURONS_EACH * self.n_teacher
                else f"Students of fewer than {_NEURONS_EACH} neurons for each of the teacher's stay farther away.",
            ),
            fig.Claim(
                "pretraining made them so: before it the distance is twice as large or more",
                "tahir2024, Figure 4a and b, which shows the end alone",
                lambda drawn: _distance(drawn, _BEFORE) >= 2 * _distance(drawn, _AFTER),
            ),
        )

    @cached_property
    def _pair(self) -> AblatedTeachers:
        numbers = generator(0, _TEACHER)
        return ablate(relu_teacher(self.d, self.n_teacher, numbers, head_mean=1.0, head_std=0.0), self.mu, numbers)

    @cached_property
    def _source(self) -> np.ndarray:
        return self._kernel(self._pair.source.neurons)

    def _kernel(self, neurons: np.ndarray) -> np.ndarray:
        """Return the Gram matrix of these features on the inputs, shape (n, n)."""
        inputs = generator(0, _INPUTS).standard_normal((self.n, self.d))
        features = np.maximum(inputs @ neurons.T, 0.0)
        return np.asarray(features @ features.T / len(neurons))


_NEARLY = 0.15
_NEURONS_EACH = 10
"""Neurons of a student per neuron of the teacher from which the claim is expected to hold."""


def _distance(drawn: fig.Drawn, series: str) -> float:
    """Return the distance of the two matrices in the Frobenius norm, relative to the source's; off-diagonal pairs count
    twice."""
    pairs = [item for item in drawn.simulated if item.point.series == series]
    if len(pairs) < sum(point.series == series for point in drawn.planned) or not pairs:
        raise LookupError(f"pairs {series} are missing")
    twice = np.array([1.0 + (item.point.parameters["i"] != item.point.parameters["j"]) for item in pairs])
    source, students = (
        np.array(values) for values in zip(*((i.point.x, i.estimate.value) for i in pairs), strict=True)
    )
    return float(np.sqrt(np.sum(twice * (students - source) ** 2) / np.sum(twice * source**2)))
