"""Where a pair of tasks lies on the diagram of linear transfer, and what the model expects there.

The model is that of 001, section 3: a target y = f(x) + noise of which a linear head on the frozen features of the
source can express all but a part `outside`. Theorem 3.7 has one feature; here there are k of them, isotropic and
Gaussian, and the part outside acts on their head as noise that is independent of them:

    scratch   R(n, d; sigma^2, tau^2)                                         (001 Theorem 3.6 at finite size)
    transfer  outside + R(n, k; sigma^2 + outside, tau^2 - outside)           (k = 1, n > 2: Theorem 3.7)

All variances are in units of the variance of the labels, tau^2 + sigma^2 = 1.

Where it stops holding: networks are neither linear nor trained to the end without any regularisation, features are
neither Gaussian nor isotropic, and their effective dimension stands in for a number of equal directions.
"""

from dataclasses import dataclass

import numpy as np

from transferscope.numerics.ranged import Ranged
from transferscope.records import Record
from transferscope.theory.linear_scratch import scratch_risk_finite
from transferscope.theory.parameters import Array, Numbers, at_least, between


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
        """Check the ranges."""
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


def linear_head_risk(pair: Pair, n: Numbers) -> Array:
    """Risk of a least-squares head on the pretrained features.

        n > k + 1:  outside + (outside + sigma^2) k / (n - k - 1)
        n < k - 1:  outside + (tau^2 - outside) (1 - n/k) + (outside + sigma^2) n / (k - n - 1)

    Exact for isotropic Gaussian inputs and k orthonormal features that are linear in them: what the features do not
    express is then independent of them. Infinite for k - 1 <= n <= k + 1 unless there is nothing to learn in vain.

    Args:
        pair: The pair; its values may be arrays.
        n: Number of target examples, at least 1.

    Returns:
        The risk in units of the variance of the labels, broadcast.
    """
    inside = np.maximum(pair.signal - pair.outside, 0)
    spread = np.sqrt(np.asarray(pair.noise + pair.outside, dtype=np.float64))
    learnt = scratch_risk_finite(n, pair.feature_dimension, sigma=spread, target_norm=np.sqrt(inside))
    return np.asarray(pair.outside + learnt)


def expected_transferability(pair: Pair, n: Numbers) -> Array:
    """Risk from scratch minus risk of linear transfer at n target examples; positive is good.

    Args:
        pair: The pair; its values may be arrays.
        n: Number of target examples, at least 1.

    Returns:
        In units of the variance of the labels, broadcast; minus infinity where linear transfer fails (n near k), plus
        infinity where only training from scratch does (n near d).
    """
    transfer = linear_head_risk(pair, n)
    scratch = _scratch(pair, n)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(np.isinf(transfer), -np.inf, scratch - transfer))


def critical_share(pair: Pair, n: Numbers) -> Array:
    """The share outside at which the transferability at n examples is 0, all else as in the pair.

    The risk of linear transfer grows linearly with `outside`, so the sign changes once: with R the risk from scratch,

        n > k + 1:  outside* (1 + k/(n - k - 1)) = R - sigma^2 k/(n - k - 1)
        n < k - 1:  outside* (n/k + n/(k - n - 1)) = R - tau^2 (1 - n/k) - sigma^2 n/(k - n - 1)

    Args:
        pair: The pair; its own share does not matter.
        n: Number of target examples, at least 1.

    Returns:
        outside*/tau^2, broadcast. Above 1: transfer helps whatever lies outside; below 0: it never does. Infinite like
        the transferability.
    """
    nothing = Pair(0.0, pair.noise, pair.input_dimension, pair.feature_dimension)
    everything = Pair(pair.signal, pair.noise, pair.input_dimension, pair.feature_dimension)
    gain, lost = expected_transferability(nothing, n), expected_transferability(everything, n)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(np.isfinite(gain), gain / (gain - lost), gain))


def _scratch(pair: Pair, n: Numbers) -> Array:
    sigma, tau = np.sqrt(np.asarray(pair.noise, dtype=np.float64)), np.sqrt(pair.signal)
    return scratch_risk_finite(n, pair.input_dimension, sigma=sigma, target_norm=tau)


@dataclass(frozen=True)
class Placement:
    """A pair on the diagram at one number of labels. Transferabilities are in units of the variance of the labels.

    Attributes:
        source: Name of the source.
        n_source: Source examples of the pre-training; None for a network from a file.
        n_target: Target labels.
        method: The linear transfer that was measured; "" when the study has none.
        n_examples: Target examples that shares and dimensions are estimated from.
        kind: "classification" or "regression".
        outside_share: Share of the target function outside the pretrained features, sin^2(theta).
        noise_level: sigma/tau.
        input_dimension: d.
        feature_dimension: k.
        examples_per_dimension: gamma = n/d.
        critical_share: Share outside at which the model's transferability is 0.
        expected: Transferability by the model.
        chance_negative: Probability of negative transfer by the model, given how well its parameters are known.
        measured: Transferability that the study measured, paired over seeds.
        gap: measured minus expected.
    """

    source: str
    n_source: int | None
    n_target: int
    method: str
    n_examples: int
    kind: str
    outside_share: Ranged
    noise_level: Ranged
    input_dimension: Ranged
    feature_dimension: Ranged
    examples_per_dimension: Ranged
    critical_share: Ranged
    expected: Ranged
    chance_negative: float
    measured: Ranged
    gap: Ranged

    @property
    def quantities(self) -> dict[str, Ranged]:
        """Everything that has an interval, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Ranged)}

    def records(self) -> tuple[Record, ...]:
        """The numbers as records, named "placement/NAME"."""
        return tuple(Record(f"placement/{name}", value.estimate, part="") for name, value in self.quantities.items())
