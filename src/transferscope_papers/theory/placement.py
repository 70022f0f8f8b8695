"""Where a pair of tasks lies on the diagram of linear transfer, and what the model says there.

The model is that of tahir2024, section 3, with learners that are ridged as well as can be: a target y = f(x) + noise of
which a linear head on the frozen features of the source can express all but a part `outside`. Theorem 3.7 has one
feature; here there are k of them, isotropic and Gaussian, and the part outside acts on their head as noise independent
of them:

    scratch   R(n, d; sigma^2, tau^2)                                       (`linear_scratch.scratch_risk_ridged`)
    transfer  outside + R(n, k; sigma^2 + outside, tau^2 - outside)

All variances are in units of the variance of the labels, tau^2 + sigma^2 = 1. Least squares without a ridge (tahir2024
Theorem 3.6) has an infinite risk at n = d and n = k, which no learner in use has: a pair near these would be judged by
the peak alone.

Where it stops holding: networks are not linear, features are neither Gaussian nor isotropic, and no number of equal
directions stands for directions of unequal variance. `MODEL_ERROR` is how far the risks of ridged learners lie from the
model on problems whose risks are known.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from transferscope_papers.parameters import Array, Numbers, at_least, between
from transferscope_papers.theory.linear_scratch import scratch_risk_ridged

MODEL_ERROR = 0.4
"""Standard deviation of the logarithm of a risk about the model's, given the pair; see `risk_draws`."""


@dataclass(frozen=True)
class Pair:
    """A source and a target, as the model sees them.

    Attributes:
        outside: Variance of the target function that no linear head on the pretrained features expresses, in [0, 1].
        noise: sigma^2, variance of the labels that nothing explains, in [0, 1); outside + noise is at most 1.
        input_dimension: d, directions that training from scratch has to choose among, at least 1.
        feature_dimension: k, directions of the pretrained features, at least 1.

    Raises:
        SettingsError: A value is out of range.
    """

    outside: Numbers
    noise: Numbers
    input_dimension: Numbers
    feature_dimension: Numbers

    def __post_init__(self) -> None:
        between("noise", self.noise, 0, 1)
        between("outside", self.outside, 0, 1)
        at_least("input_dimension", self.input_dimension, 1)
        at_least("feature_dimension", self.feature_dimension, 1)

    @property
    def signal(self) -> Array:
        """tau^2, variance of the target function."""
        return np.asarray(1 - np.asarray(self.noise, dtype=np.float64))

    @property
    def outside_share(self) -> Array:
        """sin^2(theta): `outside` as a share of the target function; NaN where there is none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.minimum(self.outside / self.signal, 1.0))

    @property
    def noise_level(self) -> Array:
        """sigma/tau; infinite where there is nothing but noise."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.sqrt(np.asarray(self.noise, dtype=np.float64) / self.signal))


def scratch_risk(pair: Pair, n: Numbers) -> Array:
    """Excess risk of the best ridged learner on the inputs at n > 0 examples, in units of the labels' variance."""
    sigma, tau = np.sqrt(np.asarray(pair.noise, dtype=np.float64)), np.sqrt(pair.signal)
    return scratch_risk_ridged(n, pair.input_dimension, sigma=sigma, target_norm=tau)


def linear_head_risk(pair: Pair, n: Numbers) -> Array:
    """Excess risk of the best ridged head on the pretrained features, outside + R(n, k; sigma^2 + outside, ...).

    In units as `scratch_risk`, for n > 0; it rises with `outside` and falls with n.
    """
    inside = np.sqrt(np.maximum(pair.signal - pair.outside, 0))
    spread = np.sqrt(np.asarray(pair.noise + pair.outside, dtype=np.float64))
    learnt = scratch_risk_ridged(n, pair.feature_dimension, sigma=spread, target_norm=inside)
    return np.asarray(pair.outside + learnt)


def modelled_transferability(pair: Pair, n: Numbers) -> Array:
    """Risk from scratch minus that of linear transfer at n > 0 examples, in the units of both; positive is good."""
    return np.asarray(scratch_risk(pair, n) - linear_head_risk(pair, n))


@dataclass(frozen=True)
class RiskDraws:
    """Possible risks of both learners, the error of the model included, shape (draws,) each."""

    scratch: Float64[np.ndarray, " draws"]
    transfer: Float64[np.ndarray, " draws"]

    @property
    def transferability(self) -> Float64[np.ndarray, " draws"]:
        """Their difference; positive is good."""
        return np.asarray(self.scratch - self.transfer)


def risk_draws(pair: Pair, n: int, *, seed: int = 0) -> RiskDraws:
    """Risks for draws of a pair's parameters, each off by the error of the model.

    The logarithm of each risk is off by an independent N(0, MODEL_ERROR^2): the model's numbers of equal directions,
    Gaussian features and best ridge stand for something else. Calibrated on problems with known gains
    (docs/results/theory-agreement.md).

    Args:
        pair: Draws of the parameters, shape (draws,) each.
        n: Number of target examples, at least 1.
    """
    generator = np.random.default_rng([seed, n])
    scratch, transfer = scratch_risk(pair, n), linear_head_risk(pair, n)
    off = np.exp(MODEL_ERROR * generator.standard_normal((2, *scratch.shape)))
    return RiskDraws(np.asarray(scratch * off[0]), np.asarray(transfer * off[1]))
