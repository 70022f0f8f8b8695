"""What only large runs show: very deep networks, and MeRLin from many random starts.

python -m studies.theory.limits --profile quick
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from transferscope_papers.problems import QuadraticProblem, teachers_at_angle
from transferscope_papers.simulate.deep_linear import end_to_end, train
from transferscope_papers.simulate.descent import DescentSettings
from transferscope_papers.simulate.linear_transfer import draw, perfectly_pretrained
from transferscope_papers.simulate.quadratic import QuadraticSettings, best_restarts, draw_targets, merlin, noisy_start
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.theory.fine_tuning import fine_tuned_weights
from transferscope_papers.theory.quadratic import source_minimum

PENALTY = 0.03
"""At .01 random starts seldom become sparse."""


@dataclass(frozen=True)
class Profile:
    """Depths, seeds of each, data sets, restarts and Adam steps of MeRLin."""

    depths: tuple[int, ...]
    n_seeds: int
    n_data_sets: int
    n_restarts: int
    steps: int


PROFILES = {
    "toy": Profile((5,), 1, 1, 2, 30),
    "quick": Profile((5, 8, 16), 4, 2, 10, 6000),
    "full": Profile((5, 8, 16, 32), 10, 20, 10, 6000),
}


def depth_rows(profile: Profile) -> Iterator[str]:
    """shachaf2021 Thm. 5.2 in very deep networks: s = tau = sigma = 1, d = 40, n = 20, 45 degrees, sample by sample."""
    yield "| L | kappa trained | kappa of the theorem | largest relative distance | status |"
    yield "|---|---|---|---|---|"
    d, n = 40, 20
    problem = teachers_at_angle(d, theta=np.pi / 4, sigma=1.0)
    for depth in profile.depths:
        batch = draw([problem] * profile.n_seeds, [n] * profile.n_seeds, range(profile.n_seeds))
        trained = train(batch.loss, perfectly_pretrained(batch, depth=depth), DescentSettings(movement=0.005))
        kappas, expected, gaps = [], [], []
        for seed, beta in enumerate(end_to_end(trained.weights).numpy()):
            sample = problem.sample(n, generator(seed))
            theory = fine_tuned_weights(sample.inputs, sample.targets, problem.source.weights, depth=depth)
            inside = np.linalg.lstsq(sample.inputs, sample.inputs @ problem.source.weights, rcond=None)[0]
            outside = problem.source.weights - inside
            kappas.append(float(beta @ outside / (outside @ outside)))
            expected.append(theory.kappa)
            gaps.append(float(np.linalg.norm(beta - theory.weights) / np.linalg.norm(theory.weights)))
        shown = (", ".join(f"{value:.5f}" for value in values) for values in (kappas, expected))
        yield f"| {depth} | {' | '.join(shown)} | {max(gaps):.1e} | {', '.join(sorted(set(trained.status.tolist())))} |"


def restart_rows(profile: Profile) -> Iterator[str]:
    """merlin2020 Thm. 2 by the best of several random starts by training objective (d = 50, 20 target examples)."""
    bound = float(source_minimum(PENALTY).value)
    yield f"lambda = {PENALTY:g}, source minimum {bound:.5f}, {profile.steps} steps:\n"
    yield "| data set | best objective | its target loss | restarts with target loss below .01 | median target loss |"
    yield "|---|---|---|---|---|"
    elements = [data for data in range(profile.n_data_sets) for _ in range(profile.n_restarts)]
    data = draw_targets(QuadraticProblem(50, 1), 20, elements, n_signal=6)
    start = noisy_start(range(len(elements)), 50, width=12, noise=0.1)
    settings = QuadraticSettings(
        penalty=PENALTY, inner_ridge=0.01, n_splits=4, steps=profile.steps, lr=0.01, source_only=300
    )
    run = merlin(data, start, settings)
    for number, best in enumerate(best_restarts(run.objective, profile.n_restarts)):
        own = run.target_loss[number * profile.n_restarts : (number + 1) * profile.n_restarts]
        yield (
            f"| {number} | {run.objective[best]:.5f} | {run.target_loss[best]:.5f} "
            f"| {int((own < 0.01).sum())} of {profile.n_restarts} | {np.median(own):.3f} |"
        )
    counts = {str(status): int((run.status == status).sum()) for status in np.unique(run.status)}
    yield f"\nstatuses: {counts}"


PARTS = {"depth": depth_rows, "restarts": restart_rows}


def main() -> None:
    """Print the page of one profile, or one part of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="toy")
    parser.add_argument("--part", choices=PARTS, nargs="*", default=list(PARTS))
    chosen = parser.parse_args()
    for part in chosen.part:
        started = time.perf_counter()
        print(f"\n## {part}\n", flush=True)
        for line in PARTS[part](PROFILES[chosen.profile]):
            print(line, flush=True)
        print(f"\n{time.perf_counter() - started:.0f} s.", flush=True)


if __name__ == "__main__":
    main()
