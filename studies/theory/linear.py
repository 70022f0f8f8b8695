"""The diagrams of linear transfer (theory A.1, A.2, A.4, A.5): z-scores of simulated risks against the closed forms."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from studies.theory.profiles import Profile

from transferscope.estimate import Estimate
from transferscope_papers.problems import LinearTransfer, teachers_at_angle
from transferscope_papers.simulate.agreement import Agreement, agreement, z_score
from transferscope_papers.simulate.deep_linear import end_to_end, train
from transferscope_papers.simulate.descent import DescentSettings
from transferscope_papers.simulate.linear_transfer import (
    TransferBatch,
    draw,
    fine_tuning,
    from_scratch,
    perfectly_pretrained,
    ridge_transfer,
    slices,
)
from transferscope_papers.simulate.outcomes import Outcomes
from transferscope_papers.simulate.seeds import generator
from transferscope_papers.theory.fine_tuning import fine_tuned_weights, fine_tuning_average, printed_transferability
from transferscope_papers.theory.linear_scratch import scratch_risk_finite
from transferscope_papers.theory.linear_transfer import linear_transfer_risk
from transferscope_papers.theory.ridge import ridge_risk

SETTINGS = DescentSettings(tolerance=1e-5)
SCRATCH = DescentSettings(tolerance=1e-5, movement=0.05)
"""The limit from a vanishing start does not depend on the path."""

CHEAP_D, CHEAP_SEEDS = 20, 5
RIDGES = (0.01, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Cell:
    """One point of a diagram: a problem, a sample size, and what theory expects of the mean risk."""

    problem: LinearTransfer
    n: int
    expected: float


def scratch(profile: Profile) -> Agreement:
    """A.1: training two layers from scratch, over gamma and sigma."""
    cells = [
        Cell(
            teachers_at_angle(profile.d, theta=0.0, sigma=sigma),
            n,
            float(scratch_risk_finite(n, profile.d, sigma=sigma)),
        )
        for n, sigma in itertools.product(_ratios(profile, both_sides=True), (0.2, 1.0))
    ]
    return _agreement(cells, profile, lambda batch: from_scratch(batch, depth=2, settings=SCRATCH))


def cheap(profile: Profile) -> Profile:
    """Risks over few examples are skewed, so that their means need many seeds; theory holds at every d."""
    return replace(profile, d=min(profile.d, CHEAP_D), n_seeds=CHEAP_SEEDS * profile.n_seeds)


def linear_transfer(profile: Profile) -> Agreement:
    """A.2: two layers with the first one frozen, over n, theta and sigma."""
    cells = [
        Cell(
            teachers_at_angle(profile.d, theta=theta, sigma=sigma),
            n,
            float(linear_transfer_risk(theta, n, sigma=sigma)),
        )
        for n, theta, sigma in itertools.product(_sizes(profile), _angles(profile), (0.2, 1.0))
    ]
    return _agreement(
        cells,
        profile,
        lambda batch: fine_tuning(batch, perfectly_pretrained(batch, depth=2), n_frozen=1, settings=SETTINGS),
    )


def ridge(profile: Profile, strength: float) -> Agreement:
    """A.4: a ridge head on the features of three layers with a source of norm 2, over n and theta."""
    shape = {"source_norm": 2.0, "sigma": 0.5}
    cells = [
        Cell(
            teachers_at_angle(profile.d, theta=theta, **shape),
            n,
            float(ridge_risk(strength, theta, n, depth=3, **shape)),
        )
        for n, theta in itertools.product(_sizes(profile), _angles(profile))
    ]
    return _agreement(
        cells, profile, lambda batch: ridge_transfer(batch, perfectly_pretrained(batch, depth=3), ridge=strength)
    )


def fine_tuned(profile: Profile, depth: int, source_norm: float, sigma: float) -> Agreement:
    """A.5: fine-tuning all layers, over gamma < 1 and theta."""
    shape = {"source_norm": source_norm, "sigma": sigma}
    cells = [
        Cell(
            teachers_at_angle(profile.d, theta=theta, **shape),
            n,
            fine_tuning_average(theta, n, profile.d, depth=depth, **shape).risk.value,
        )
        for n, theta in itertools.product(_ratios(profile, both_sides=False), _angles(profile))
    ]
    return _agreement(
        cells, profile, lambda batch: fine_tuning(batch, perfectly_pretrained(batch, depth=depth), settings=SETTINGS)
    )


def distance_to_fixed_point(profile: Profile, depth: int, movement: float) -> float:
    """A.5 sample by sample: the largest relative distance of trained networks from the theorem's end point."""
    problem = teachers_at_angle(profile.d, theta=math.pi / 4, sigma=0.5, source_norm=2.0)
    n = profile.d // 2
    batch = draw([problem] * profile.n_seeds, [n] * profile.n_seeds, range(profile.n_seeds))
    start = perfectly_pretrained(batch, depth=depth)
    trained = train(batch.loss, start, DescentSettings(movement=movement))
    gaps = []
    for seed, beta in enumerate(end_to_end(trained.weights).numpy()):
        sample = problem.sample(n, generator(seed))
        limit = fine_tuned_weights(sample.inputs, sample.targets, problem.source.weights, depth=depth).weights
        gaps.append(np.linalg.norm(beta - limit) / np.linalg.norm(limit))
    return float(max(gaps))


@dataclass(frozen=True)
class Decision:
    """The simulation that decides between the corrected and the printed theorem.

    Attributes:
        simulated: Risk from scratch minus risk after fine-tuning, L = 3, sigma = 1, 54 degrees, gamma = .5, d = 100.
        corrected: What shachaf2021 Theorem 5.2 with noise expects at this d.
        printed: What tahir2024 Theorem 3.9 prints.
    """

    simulated: Estimate
    corrected: float
    printed: float

    @property
    def z(self) -> tuple[float, float]:
        """Distance of the simulation from the corrected and from the printed value."""
        return z_score(self.simulated, self.corrected), z_score(self.simulated, self.printed)


def decide(n_seeds: int) -> Decision:
    """Fine-tune where the two theorems differ in sign."""
    theta, d, n = math.radians(54), 100, 50
    problem = teachers_at_angle(d, theta=theta, sigma=1.0)
    batch = draw([problem] * n_seeds, [n] * n_seeds, range(n_seeds))
    tuned = fine_tuning(batch, perfectly_pretrained(batch, depth=3), settings=SETTINGS)
    scratch_runs = from_scratch(batch, depth=3, settings=SCRATCH)
    gain = Outcomes(scratch_runs.risk - tuned.risk, tuned.status, tuned.steps).means(n_seeds)[0]
    corrected = fine_tuning_average(theta, n, d, sigma=1.0, depth=3).transferability.value
    return Decision(gain, corrected, float(printed_transferability(theta, n / d)))


def _agreement(cells: Sequence[Cell], profile: Profile, simulate: Callable[[TransferBatch], Outcomes]) -> Agreement:
    return agreement(_estimates(cells, profile, simulate), [cell.expected for cell in cells])


def _estimates(
    cells: Sequence[Cell], profile: Profile, simulate: Callable[[TransferBatch], Outcomes]
) -> Iterable[Estimate]:
    """Every run has its own seed, so that the points of a diagram are independent."""
    runs = [cell for cell in cells for _ in range(profile.n_seeds)]
    outcomes = []
    for piece in slices(len(runs), profile.d):
        part = runs[piece]
        seeds = range(piece.start, piece.start + len(part))
        outcomes.append(simulate(draw([cell.problem for cell in part], [cell.n for cell in part], seeds)))
    joined = Outcomes(
        np.concatenate([o.risk for o in outcomes]),
        np.concatenate([o.status for o in outcomes]),
        np.concatenate([o.steps for o in outcomes]),
    )
    return joined.means(profile.n_seeds)


def _ratios(profile: Profile, *, both_sides: bool) -> list[int]:
    """Sample sizes n with n/d in [.1, .65] and [1.5, 2.2]: near n = d risks have heavy tails and descent is slow."""
    below = np.linspace(0.1, 0.65, profile.n_sizes)
    ratios = np.concatenate([below, np.linspace(1.5, 2.2, profile.n_sizes)]) if both_sides else below
    return [round(ratio * profile.d) for ratio in ratios]


def _sizes(profile: Profile) -> list[int]:
    """Sample sizes from 8 up (the mean over fewer than 6 examples has no variance to speak of) to 2 d."""
    return [round(n) for n in np.geomspace(8, 2 * profile.d, profile.n_sizes)]


def _angles(profile: Profile) -> list[float]:
    return [float(theta) for theta in np.linspace(0.1, math.pi / 2, profile.n_angles)]
