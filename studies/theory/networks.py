"""Networks beyond linear ones: the kernel regime, quadratic networks, and online learning on power-law spectra."""

from dataclasses import dataclass

import numpy as np
import torch
from studies.theory.profiles import Profile

from transferscope.estimate import Estimate
from transferscope.numerics.ntk import kernel_examples, kernel_transfer
from transferscope_papers.problems import QuadraticProblem, power_law_transfer
from transferscope_papers.simulate.averaged_sgd import OnlineSettings, averaged_sgd
from transferscope_papers.simulate.outcomes import mean_estimate
from transferscope_papers.simulate.quadratic import (
    QuadraticRun,
    QuadraticSettings,
    draw_targets,
    joint_training,
    merlin,
    start_at_feature,
)
from transferscope_papers.simulate.wide_relu import Labelled, wide_transfer
from transferscope_papers.theory.quadratic import source_minimum
from transferscope_papers.theory.rates import fine_tuning_rates

N_TASKS = 3
RATE_CASES = ((1.0, 0.5, 2.0, 0.0), (0.75, 0.75, 3.0, 0.0), (1.0, 0.5, 2.0, 0.5), (0.75, 0.75, 3.0, 0.45))


@dataclass(frozen=True)
class KernelGap:
    """Relative distance of networks of one width from the infinite-width theorems of liu2019, mean over tasks.

    Attributes:
        width: Neurons m.
        activation_gradient: Theorem 1.
        travel: Theorem 2, from pretrained weights.
        scratch_travel: Theorem 2, from the initial weights.
        converged: Whether every run did.
    """

    width: int
    activation_gradient: float
    travel: float
    scratch_travel: float
    converged: bool


def kernel_gap(width: int) -> KernelGap:
    """Train on 12 source and 8 target examples in 10 dimensions, three tasks."""
    rng = np.random.default_rng(0)
    x_source, x_target = (_unit_rows(rng, n) for n in (12, 8))
    y_source, y_target = rng.uniform(-1, 1, (N_TASKS, 12)), rng.uniform(-1, 1, (N_TASKS, 8))
    run = wide_transfer(
        Labelled(torch.from_numpy(x_source), torch.from_numpy(y_source)),
        Labelled(torch.from_numpy(x_target), torch.from_numpy(y_target)),
        width=width,
        seeds=range(N_TASKS),
    )
    expected = [
        kernel_transfer(
            kernel_examples(x_source[b], y_source[b][:, None]), kernel_examples(x_target[b], y_target[b][:, None])
        )
        for b in range(N_TASKS)
    ]
    return KernelGap(
        width,
        _gap(run.activation_gradient, np.array([e.task_distance.value**2 for e in expected])),
        _gap(run.travel, np.array([e.deviation_transfer.value for e in expected])),
        _gap(run.scratch_travel, np.array([e.deviation_scratch.value for e in expected])),
        bool((run.status == "converged").all()),
    )


@dataclass(frozen=True)
class QuadraticOutcome:
    """A method of merlin2020 from one kind of start.

    Attributes:
        method: "MeRLin" or "joint training".
        start: "shared feature" (e_1) or "wrong feature" (e_2).
        shape: d and n_t.
        run: Objectives and losses of the data sets.
        bound: The source minimum, which no objective can undercut.
    """

    method: str
    start: str
    shape: str
    run: QuadraticRun
    bound: float


def quadratic_outcomes(profile: Profile) -> list[QuadraticOutcome]:
    """MeRLin at (d, n_t) = (50, 20) and joint training at (60, 5), from e_1 and from e_2, two data sets each."""
    penalty, seeds = 0.01, (0, 1)
    bound, outcomes = float(source_minimum(penalty).value), []
    for method, train, d, n, lr in (("MeRLin", merlin, 50, 20, 0.003), ("joint training", joint_training, 60, 5, 0.01)):
        data = draw_targets(QuadraticProblem(d, 1), n, seeds, n_signal=6)
        settings = QuadraticSettings(penalty=penalty, steps=profile.quadratic_steps, lr=lr)
        for feature, name in ((0, "shared feature"), (1, "wrong feature")):
            start = start_at_feature(seeds, d, feature=feature, width=12, penalty=penalty)
            outcomes.append(QuadraticOutcome(method, name, f"d={d}, n_t={n}", train(data, start, settings), bound))
    return outcomes


@dataclass(frozen=True)
class RateCheck:
    """The exponent of the number of target examples in one case of mikami2021 Table 1.

    Attributes:
        case: r0, r1, xi, zeta.
        measured: Slope of log risk over the last octaves, mean over seeds.
        rule: beta of the two-case rule.
    """

    case: tuple[float, float, float, float]
    measured: Estimate
    rule: float


def rate_check(case: tuple[float, float, float, float], profile: Profile, *, n_seeds: int = 6) -> RateCheck:
    """Fine-tune a perfectly pretrained online learner with lambda = 3 T^-ridge and eta = T^-zeta/4."""
    r0, r1, xi, zeta = case
    rates = fine_tuning_rates(r0, r1, xi, zeta=zeta)
    sizes = 128 * 2 ** np.arange(profile.n_octaves)
    n_examples = np.tile(sizes, n_seeds)
    pair = power_law_transfer(128, r0=r0, r1=r1, xi=xi)
    settings = OnlineSettings(
        n_examples,
        3.0 * n_examples ** -float(rates.ridge),
        0.25 * n_examples**-zeta,
        range(len(n_examples)),
    )
    start = np.tile(pair.source.weights, (len(n_examples), 1))
    run = averaged_sgd([pair.target] * len(n_examples), start, settings).outcomes
    risk = run.risk.reshape(n_seeds, -1)
    slopes = -np.polyfit(np.log(sizes), np.log(risk).T, 1)[0]
    return RateCheck(case, mean_estimate(slopes, np.full(n_seeds, "converged")), float(rates.beta))


def _unit_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    rows = rng.standard_normal((N_TASKS, n, 10))
    return np.asarray(rows / np.linalg.norm(rows, axis=2, keepdims=True))


def _gap(measured: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(measured / expected - 1).mean())
