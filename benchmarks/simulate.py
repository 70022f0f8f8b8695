"""How much faster many small networks train together than one at a time.

Two-layer linear networks (d = 200) are fine-tuned on 20 sizes x 9 angles x 20 seeds as one sweep, and one network
of every size is trained again one at a time: by the same code on batches of one, and by a plain loop over full
d x d matrices with the same step sizes and the same stopping rule. Times per network are compared. Sizes leave out
n/d from .75 to 1.3, where a few ill-conditioned networks would take most of the time of every way.

    python -m benchmarks.simulate [--quick]
"""

import argparse
import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from transferscope_papers.problems import LinearTransfer, teachers_at_angle
from transferscope_papers.simulate.descent import DescentSettings
from transferscope_papers.simulate.linear_transfer import draw, fine_tuning, perfectly_pretrained, slices
from transferscope_papers.simulate.seeds import generator

SETTINGS = DescentSettings(tolerance=1e-5, movement=0.02)


@dataclass(frozen=True)
class Network:
    problem: LinearTransfer
    n: int
    seed: int


def sweep(d: int, *, n_sizes: int, n_angles: int, n_seeds: int) -> list[Network]:
    """The networks, sorted by sample size so that those of one batch end together."""
    problems = [teachers_at_angle(d, theta=theta, sigma=0.2) for theta in np.linspace(0, math.pi / 2, n_angles)]
    ratios = np.concatenate([np.linspace(0.05, 0.75, n_sizes // 2), np.linspace(1.3, 2.0, n_sizes - n_sizes // 2)])
    sizes = np.rint(ratios * d).astype(int)
    return [
        Network(problem, int(n), seed)
        for seed, (n, problem) in enumerate(
            (n, problem) for n in sizes for problem, _ in itertools.product(problems, range(n_seeds))
        )
    ]


def together(networks: Sequence[Network]) -> np.ndarray:
    """Risks of all networks, trained in batches."""
    risks = []
    for piece in slices(len(networks), networks[0].problem.target.d):
        part = networks[piece]
        batch = draw([net.problem for net in part], [net.n for net in part], [net.seed for net in part])
        outcome = fine_tuning(batch, perfectly_pretrained(batch, depth=2), settings=SETTINGS)
        risks.append(outcome.risk)
    return np.concatenate(risks)


def batches_of_one(networks: Sequence[Network]) -> np.ndarray:
    """Risks of the networks, by the same code one at a time."""
    return np.concatenate([together([network]) for network in networks])


def plain_loop(networks: Sequence[Network]) -> np.ndarray:
    """Risks of the networks, by gradient descent on full matrices straight from X'X/n."""
    return np.array([one_network(network) for network in networks])


def one_network(network: Network) -> float:
    """Fine-tune W (d, d) and v (d,) from the balanced rank-one start."""
    sample = network.problem.sample(network.n, generator(network.seed))
    gram, cross = sample.inputs.T @ sample.inputs / network.n, sample.inputs.T @ sample.targets / network.n
    source, fitted = network.problem.source.weights, np.linalg.lstsq(gram, cross, rcond=None)[0]
    top, energy = np.linalg.eigvalsh(gram)[-1], cross @ fitted
    size = math.sqrt(np.linalg.norm(source))
    v = size * np.eye(len(source))[0]
    w = np.outer(source / size**2, v)
    for step in itertools.count():
        error = gram @ (w @ v) - cross
        if step % SETTINGS.check_every == 0:
            gap = w @ v - fitted
            if gap @ gram @ gap <= SETTINGS.tolerance**2 * energy:
                return float(network.problem.target.risk(w @ v))
        slope_w, slope_v = np.outer(error, v), w.T @ error
        norm_w, norm_v = np.linalg.norm(w), np.linalg.norm(v)
        curvature = top * (norm_w**2 + norm_v**2) + 2 * np.linalg.norm(error)
        steepness = math.hypot(np.linalg.norm(slope_w), np.linalg.norm(slope_v))
        rate = min(SETTINGS.stability / curvature, SETTINGS.movement * math.hypot(norm_w, norm_v) / steepness)
        w, v = w - rate * slope_w, v - rate * slope_v
    raise AssertionError


def timed(train: Callable[[Sequence[Network]], np.ndarray], networks: Sequence[Network]) -> tuple[np.ndarray, float]:
    start = time.perf_counter()
    risks = train(networks)
    return risks, (time.perf_counter() - start) / len(networks)


def main() -> None:
    """Run the comparison and print one line for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4 sizes x 3 angles x 8 seeds, d = 100")
    quick = parser.parse_args().quick
    shape = {"n_sizes": 4, "n_angles": 3, "n_seeds": 8} if quick else {"n_sizes": 20, "n_angles": 9, "n_seeds": 20}
    networks = sweep(100 if quick else 200, **shape)
    per_size = shape["n_angles"] * shape["n_seeds"]
    share = np.arange(0, len(networks), per_size)  # one network of every size
    risks, each = timed(together, networks)
    print(f"{len(networks)} networks together: {1e3 * each:.2f} ms each, {each * len(networks):.0f} s in all")
    for name, train in {"batches of one": batches_of_one, "plain loop over matrices": plain_loop}.items():
        alone, slow = timed(train, [networks[i] for i in share])
        gap = np.abs(alone - risks[share]).max() / risks[share].max()
        print(f"{name}, {len(share)} of them: {1e3 * slow:.0f} ms each, {slow / each:.1f} x; risks differ by {gap:.1e}")


if __name__ == "__main__":
    main()
