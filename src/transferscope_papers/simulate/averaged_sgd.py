"""Averaged SGD with regularisation towards the start, on functions with a power-law spectrum (mikami2021 Appendix E).

The theorem follows wide networks through their kernel, so the simulator runs the recursion in the kernel's own
eigenfunctions (mikami2021 E.6.1, the reference ASGD on the RKHS): one fresh example z_t with y_t = phi(z_t) per step,

    w_(t+1) = w_t - eta [ (z_t'w_t - y_t) z_t + lambda (w_t - w_0) ],      result: the mean of w_0 .. w_T.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from transferscope_papers.problems import PowerLawTarget
from transferscope_papers.simulate.outcomes import Outcomes
from transferscope_papers.simulate.seeds import SAMPLE, generator

BLOCK = 64
"""Examples drawn at once for each element."""


@dataclass(frozen=True)
class OnlineRun:
    """B averaged solutions.

    Attributes:
        outcomes: Population risks; status "converged" (an online run always uses all its examples) or "non_finite".
    """

    weights: Float[np.ndarray, "B d"]
    outcomes: Outcomes


@dataclass(frozen=True)
class OnlineSettings:
    """How each of B runs learns.

    Attributes:
        n_examples: T, examples and steps of each run, at least 1, shape (B,).
        ridge: lambda, pull towards the start, at least 0, shape (B,).
        rate: eta, step size, above 0, shape (B,); at most 1/(4 (6 + lambda)) in mikami2021's Theorem 2.
        seeds: One per run.
        stream: Random stream of the examples: give pretraining and fine-tuning different ones.
    """

    n_examples: Int[np.ndarray, " B"]
    ridge: Float[np.ndarray, " B"]
    rate: Float[np.ndarray, " B"]
    seeds: Sequence[int]
    stream: int = SAMPLE


def averaged_sgd(
    targets: Sequence[PowerLawTarget], start: Float[np.ndarray, "B d"], settings: OnlineSettings
) -> OnlineRun:
    """Learn each target online, starting from and regularised towards `start`.

    Args:
        targets: What is learnt, one per run, all with the same number of eigenfunctions.
        start: w_0: zero for pretraining, the pretrained weights for fine-tuning.
    """
    streams = [generator(seed, settings.stream) for seed in settings.seeds]
    origin, weights, total = (torch.from_numpy(start.copy()) for _ in range(3))
    rate, ridge = torch.from_numpy(settings.rate)[:, None], torch.from_numpy(settings.ridge)[:, None]
    lengths = torch.from_numpy(settings.n_examples)
    for first in range(0, int(settings.n_examples.max()), BLOCK):
        active = torch.nonzero(lengths > first).flatten()
        samples = [targets[b].sample(BLOCK, streams[b]) for b in active.tolist()]
        inputs = torch.from_numpy(np.stack([sample.inputs for sample in samples]))
        labels = torch.from_numpy(np.stack([sample.targets for sample in samples]))
        w, w_0, mean = weights[active], origin[active], total[active]
        eta, lam = rate[active], ridge[active]
        for t in range(BLOCK):
            z = inputs[:, t]
            error = (z * w).sum(1, keepdim=True) - labels[:, t : t + 1]
            running = (lengths[active] > first + t)[:, None]
            w = torch.where(running, w - eta * (error * z + lam * (w - w_0)), w)
            mean = torch.where(running, mean + w, mean)
        weights[active], total[active] = w, mean
    averaged = (total / (lengths + 1)[:, None]).numpy()
    risk = np.array([float(target.risk(row)) for target, row in zip(targets, averaged, strict=True)])
    status = np.where(np.isfinite(risk), "converged", "non_finite")
    return OnlineRun(averaged, Outcomes(risk, status))
