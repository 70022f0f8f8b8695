"""Two-layer ReLU teachers over Gaussian inputs, and their ablation (tahir2024, section 4)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int

from transferscope_papers.problems.sample import Sample


def cosines(left: Float64[np.ndarray, "m d"], right: Float64[np.ndarray, "k d"]) -> Float64[np.ndarray, "m k"]:
    """Return the cosine between every row of `left` and every row of `right`, within [-1, 1]; 0 for a zero row."""
    sizes = np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1))
    inner = left @ right.T
    u = np.divide(inner, sizes, out=np.zeros_like(inner), where=sizes > 0)
    return np.asarray(np.clip(u, -1.0, 1.0))


def relu_overlap(left: Float64[np.ndarray, "m d"], right: Float64[np.ndarray, "k d"]) -> Float64[np.ndarray, "m k"]:
    """Return E relu(w'x) relu(v'x) for x ~ N(0, I): the arc-cosine kernel of degree 1 (Cho and Saul 2009).

    ||w|| ||v|| / (2 pi) [ sqrt(1 - u^2) + u (pi - arccos u) ] with u the cosine between w and v.

    Returns:
        The overlaps, shape (m, k); symmetric and positive semi-definite when both are the same.
    """
    u = cosines(left, right)
    sizes = np.outer(np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1))
    return np.asarray(sizes / (2 * np.pi) * (np.sqrt(1 - u**2) + u * (np.pi - np.arccos(u))))


@dataclass(frozen=True)
class ReluNetwork:
    """f(x) = (1/m) sum_i c_i relu(w_i'x) for x ~ N(0, I_d): a teacher, or a trained student.

    Attributes:
        neurons: w, shape (m, d); unit rows in tahir2024, any rows here.
        heads: c, shape (m,).
        sigma: Standard deviation of the label noise, at least 0.
    """

    neurons: Float64[np.ndarray, "m d"]
    heads: Float64[np.ndarray, " m"]
    sigma: float = 0.0

    @property
    def d(self) -> int:
        """Number of inputs."""
        return int(self.neurons.shape[1])

    def features(self, inputs: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "n m"]:
        """Return relu(w_i'x), shape (n, m)."""
        return np.asarray(np.maximum(inputs @ self.neurons.T, 0.0))

    def predict(self, inputs: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, " n"]:
        """Return f(x) without noise, shape (n,)."""
        return np.asarray(self.features(inputs) @ self.heads / len(self.heads))

    def sample(self, n: int, generator: np.random.Generator) -> Sample:
        """Draw n >= 1 inputs from N(0, I) with noisy targets."""
        inputs = generator.standard_normal((n, self.d))
        return Sample(inputs, self.predict(inputs) + self.sigma * generator.standard_normal(n))

    def squared_norm(self) -> float:
        """Return E f(x)^2 in closed form (tahir2024, Appendix C)."""
        gram = relu_overlap(self.neurons, self.neurons)
        return float(self.heads @ gram @ self.heads) / len(self.heads) ** 2

    def risk(self, student: "ReluNetwork") -> float:
        """Return the population risk E (f_student(x) - f(x))^2 without noise in closed form, clipped at 0."""
        cross = relu_overlap(student.neurons, self.neurons)
        inner = float(student.heads @ cross @ self.heads) / (len(student.heads) * len(self.heads))
        return max(student.squared_norm() - 2 * inner + self.squared_norm(), 0.0)

    def keep(self, index: Int[np.ndarray, " k"]) -> "ReluNetwork":
        """Return the network of only the neurons at `index`: f = (1/k) sum over those kept (tahir2024, eq. 20)."""
        return ReluNetwork(self.neurons[index], self.heads[index], self.sigma)


@dataclass(frozen=True)
class AblatedTeachers:
    """A target teacher, and a source without a share of its neurons.

    Attributes:
        source: The teacher of pretraining, learnt on the population: the remaining neurons.
    """

    source: ReluNetwork
    target: ReluNetwork

    def sample(self, n: int, generator: np.random.Generator) -> Sample:
        """Draw n examples of the target."""
        return self.target.sample(n, generator)


def relu_teacher(
    d: int,
    n_neurons: int,
    generator: np.random.Generator,
    *,
    head_mean: float = 0.0,
    head_std: float = 1.0,
    sigma: float = 0.0,
) -> ReluNetwork:
    """Return a random teacher: neurons uniform on the unit sphere, heads N(head_mean, head_std^2) (tahir2024, section
    4).

    The paper does not state the distribution of heads. Its Figure 4 (risks from scratch of 1e-2 to 1e-3 that fall as
    n^-1.18, shares outside the features up to 0.04) is reproduced with heads of 1, and not with heads of mean 0.

    Args:
        d: Number of inputs, at least 1.
        n_neurons: Number of neurons m*, at least 1.
        head_std: Their standard deviation, at least 0.
        sigma: Label noise, at least 0.
    """
    directions = generator.standard_normal((n_neurons, d))
    neurons = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return ReluNetwork(neurons, head_mean + head_std * generator.standard_normal(n_neurons), sigma)


def ablate(target: ReluNetwork, mu: float, generator: np.random.Generator) -> AblatedTeachers:
    """Remove a random share of the target's neurons to make the source.

    Args:
        mu: Share to remove, in [0, 1); round(mu m*) neurons are removed, and at least one is kept.
    """
    m = len(target.heads)
    n_gone = min(round(mu * m), m - 1)
    left = np.sort(generator.permutation(m)[n_gone:])
    return AblatedTeachers(target.keep(left), target)
