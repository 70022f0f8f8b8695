"""Averaged SGD with regularisation towards the start, on functions with a power-law spectrum (mikami2021 Appendix E).

The theorem is about the kernel of wide networks, so the simulator runs the recursion in the eigenfunctions of the
kernel (mikami2021 E.6.1, the reference ASGD on the RKHS): one fresh example z_t with y_t = phi(z_t) per step,

    w_(t+1) = w_t - eta [ (z_t'w_t - y_t) z_t + lambda (w_t - w_0) ],      result: the mean of w_0 .. w_T.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

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
    """Settings of B runs.

    Attributes:
        n_examples: T, examples and steps, at least 1.
        ridge: lambda, strength of the regularisation towards the start, at least 0.
        rate: eta, step size, above 0; at most 1/(4 (6 + lambda)) in mikami2021's Theorem 2.
        seeds: One per run.
        stream: Random stream of the examples; it must differ between pretraining and fine-tuning.
    """

    n_examples: int
    ridge: float
    rate: float
    seeds: Sequence[int]
    stream: int = SAMPLE


def averaged_sgd(target: PowerLawTarget, start: Float[np.ndarray, "B d"], settings: OnlineSettings) -> OnlineRun:
    """Learn the target online, starting from and regularised towards `start`.

    Args:
        start: w_0 of each run: zero for pretraining, the pretrained weights for fine-tuning.
    """
    streams = [generator(seed, settings.stream) for seed in settings.seeds]
    w_0 = torch.from_numpy(start)
    w, total, n = w_0, w_0, settings.n_examples
    for first in range(0, n, BLOCK):
        samples = [target.sample(BLOCK, stream) for stream in streams]
        inputs = torch.from_numpy(np.stack([sample.inputs for sample in samples]))
        labels = torch.from_numpy(np.stack([sample.targets for sample in samples]))
        for t in range(min(BLOCK, n - first)):
            z = inputs[:, t]
            error = (z * w).sum(1, keepdim=True) - labels[:, t : t + 1]
            w = w - settings.rate * (error * z + settings.ridge * (w - w_0))
            total = total + w
    averaged = (total / (n + 1)).numpy()
    risk = target.risk(averaged)
    status = np.where(np.isfinite(risk), "converged", "non_finite")
    return OnlineRun(averaged, Outcomes(risk, status))
