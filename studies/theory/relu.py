"""The diagram of two-layer ReLU networks (tahir2024 section 4): linear transfer by ablated share and sample size.

    python -m studies.theory.relu --profile quick

The closed form is the risk with endless target data, ||P_perp f*||^2. A least-squares head on n examples is worse by a
term of order 1/n, which is taken out with a second, disjoint sample of twice the size: 2 R(2n) - R(n) differs from the
limit by O(1/n^2), so its mean over samples is held against the closed form in standard errors. The features are the
source's own neurons (the limit of pre-training), and for a few points those of students that were trained.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from transferscope.estimate import Estimate
from transferscope_papers.problems import AblatedTeachers, ReluNetwork, ablate, relu_teacher
from transferscope_papers.simulate.agreement import agreement, z_score
from transferscope_papers.simulate.outcomes import mean_estimate
from transferscope_papers.simulate.relu_student import Students, pretrain, random_students, refit_heads, risks
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.theory.relu import feature_split, kernel_alignment

HEADS = {"N(0, 1)": (0.0, 1.0), "1": (1.0, 0.0)}
"""Mean and standard deviation of the teachers' heads."""


@dataclass(frozen=True)
class Profile:
    """Size of the sweep: inputs, target neurons, shares, sample sizes, teachers for each, samples for each teacher."""

    d: int
    n_teacher: int
    shares: tuple[float, ...]
    sizes: tuple[int, ...]
    n_teachers: int
    n_samples: int


PROFILES = {
    "toy": Profile(4, 6, (0.3, 0.7), (200,), 1, 5),
    "quick": Profile(10, 20, (0.1, 0.3, 0.5, 0.7, 0.9), (400, 800, 1600), 2, 60),
    "full": Profile(30, 60, tuple(np.linspace(0.1, 0.9, 9).tolist()), (1000, 2000, 4000), 4, 100),
}


@dataclass(frozen=True)
class Cell:
    """One point: a pair of teachers and a sample size, with the risk in units of ||f*||^2."""

    share: float
    n: int
    limit: float
    plain: Estimate
    extrapolated: Estimate


def cells(profile: Profile) -> Iterator[Cell]:
    """The diagram, one point after the other."""
    for i, share in enumerate(profile.shares):
        for j in range(profile.n_teachers):
            pair = _pair(profile, share, 1000 * i + j)
            for k, n in enumerate(profile.sizes):
                yield _cell(pair, share, n, profile.n_samples, seed=100_000 * (1 + i) + 10_000 * j + 1000 * k)


def _cell(pair: AblatedTeachers, share: float, n: int, n_samples: int, *, seed: int) -> Cell:
    total = pair.target.squared_norm()
    limit = feature_split(pair.source.neurons, pair.target).outside.value / total
    small = _risks(pair, [pair.source] * n_samples, n, seed) / total
    large = _risks(pair, [pair.source] * n_samples, 2 * n, seed + n_samples) / total
    ok = np.full(n_samples, "ok")
    return Cell(share, n, limit, mean_estimate(small, ok), mean_estimate(2 * large - small, ok))


def _risks(
    pair: AblatedTeachers, networks: Sequence[ReluNetwork], n: int, seed: int, *, rcond: float = 1e-8
) -> np.ndarray:
    students = Students(tuple(networks), np.full(len(networks), "ok"), np.zeros(len(networks), dtype=np.int64))
    samples = [pair.sample(n, generator(seed + i)) for i in range(len(networks))]
    return risks(refit_heads(students, samples, rcond=rcond), [pair.target] * len(networks)).risk


def _pair(profile: Profile, share: float, seed: int, heads: str = "N(0, 1)") -> AblatedTeachers:
    numbers, (mean, std) = generator(seed), HEADS[heads]
    return ablate(relu_teacher(profile.d, profile.n_teacher, numbers, head_mean=mean, head_std=std), share, numbers)


def trained_rows(profile: Profile) -> Iterator[str]:
    """Students trained on the population of the source instead of its own neurons; cut-offs leave near-copies out."""
    cases = [(heads, share) for heads in HEADS for share in profile.shares[:: max(1, len(profile.shares) // 3)]]
    for heads, share in cases:
        pair = _pair(profile, share, 7, heads)
        students = pretrain([pair.source] * 3, random_students(range(3), profile.d, width=4 * profile.n_teacher))
        networks, total = students.networks, pair.target.squared_norm()
        own = feature_split(pair.source.neurons, pair.target).outside.value / total
        spans = [feature_split(one.neurons, pair.target, rtol=1e-6).outside.value / total for one in networks]
        aligned = [kernel_alignment(one.neurons, pair.source.neurons) for one in networks]
        risk = _risks(pair, networks, profile.sizes[-1], 90_000, rcond=1e-3) / total
        columns = (", ".join(f"{value:.3f}" for value in values) for values in (aligned, spans, risk))
        status = ", ".join(sorted(set(students.status.tolist())))
        yield f"| {heads} | {share:g} | {own:.3f} | {' | '.join(columns)} | {status} |"


def page(profile: Profile) -> Iterator[str]:
    """The lines of the page."""
    found = []
    yield "| share | n | closed form | risk at n | extrapolated | z |"
    yield "|---|---|---|---|---|---|"
    for cell in cells(profile):
        found.append(cell)
        z = z_score(cell.extrapolated, cell.limit)
        yield (
            f"| {cell.share:g} | {cell.n} | {cell.limit:.4f} | {cell.plain.value:.4f} "
            f"| {cell.extrapolated.value:.4f} ({cell.extrapolated.stderr or 0:.4f}) | {z:.2f} |"
        )
    yield ""
    yield agreement([cell.extrapolated for cell in found], [cell.limit for cell in found]).sentence
    yield "\nTrained students, three for each share, features of width 4 m*:\n"
    yield "| heads | share | source's neurons | kernels' alignment | students' span | risk at the largest n | status |"
    yield "|---|---|---|---|---|---|---|"
    yield from trained_rows(profile)


def main() -> None:
    """Print the page of one profile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="toy")
    started = time.perf_counter()
    for line in page(PROFILES[parser.parse_args().profile]):
        print(line, flush=True)
    print(f"\n{time.perf_counter() - started:.0f} s.")


if __name__ == "__main__":
    main()
