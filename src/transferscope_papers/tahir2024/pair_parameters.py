"""The parameters of the linear-transfer model estimated from target examples, each with what is not known of it.

Every parameter is kept as draws from what the examples leave open, so that whatever is computed from several of them
has an interval too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64

from transferscope.data.task import Dataset, LabelledSet
from transferscope.diagnostics.feature_gap import unexplained_share
from transferscope.diagnostics.features import label_codes
from transferscope.diagnostics.subject import Examples
from transferscope.errors import DataError
from transferscope.estimate import Estimate, Interval
from transferscope.models import Network
from transferscope.training import pixel_scale, scale_of, to_tensors
from transferscope_papers.theory.effective_dimension import DimensionBand
from transferscope_papers.theory.placement import Pair

LEAST_EXAMPLES = 40
"""Fewer target examples than these say next to nothing about a pair."""

N_DRAWS = 4000
"""Draws of every parameter."""

_RANDOM_FEATURES = 500
_SLOWEST = 1 + math.sqrt(2)
_MOST_NOISE = 0.999


@dataclass(frozen=True)
class TargetExamples:
    """Labelled target examples.

    Attributes:
        examples: Inputs scaled by the training part or as a network reads them, and labels.
        codes: Labels as numbers to regress on, shape (N, C); see `diagnostics.features.label_codes`.
    """

    examples: Examples
    codes: Float64[np.ndarray, "N C"]

    @property
    def flat_inputs(self) -> Float64[np.ndarray, "N D"]:
        """Inputs as vectors."""
        flat: np.ndarray = self.examples.inputs.flatten(1).double().numpy()
        return flat


def target_examples(target: Dataset, *, at_most: int, network: Network | None = None) -> TargetExamples:
    """Examples of both parts of a target, drawn at random with a fixed seed, as networks read them.

    Args:
        target: The whole target, not a few-shot subset.
        at_most: How many to take; all if there are fewer.
        network: The network that is to read them; None for one that reads standardised inputs.

    Returns:
        The examples, on the CPU; the same ones for every network.

    Raises:
        DataError: There are fewer than `LEAST_EXAMPLES`.
    """
    n_train, n_test = len(target.train), len(target.test)
    if n_train + n_test < LEAST_EXAMPLES:
        raise DataError(
            f"{target.name} has {n_train + n_test} labelled examples; expected at least {LEAST_EXAMPLES} to place a "
            "pair"
        )
    chosen = np.sort(np.random.default_rng(0).permutation(n_train + n_test)[:at_most])
    scale = pixel_scale(target.train) if network is None else scale_of(network, target.train)

    def read(part: LabelledSet, index: np.ndarray) -> Examples:
        batch = to_tensors(part.take(index), scale).batch(torch.arange(len(index)))
        return Examples(batch.inputs, batch.labels)

    parts = [(target.train, chosen[chosen < n_train]), (target.test, chosen[chosen >= n_train] - n_train)]
    read_parts = [read(part, index) for part, index in parts if len(index)]
    examples = Examples(torch.cat([one.inputs for one in read_parts]), torch.cat([one.labels for one in read_parts]))
    return TargetExamples(examples, label_codes(examples))


@dataclass(frozen=True)
class Unexplained:
    """How much of the labels' variance a linear head leaves unexplained on held-out examples.

    Attributes:
        share: With all examples; see `diagnostics.feature_gap.unexplained_share`.
        still_falling: How much lower it is than with half of them, at least 0: what more examples would go on to teach.
    """

    share: Estimate
    still_falling: float

    @property
    def limit(self) -> float:
        """The share with endlessly many examples, when it falls as 1/N: at least 0, at most 1."""
        return min(max(self.share.value - self.still_falling, 0.0), 1.0)

    def draws(self, generator: np.random.Generator) -> Float64[np.ndarray, "draws"]:
        """Possible values of the limit: the error over examples, and a curve that has stopped, or falls as N^(-1/2).

        With share(N) = a + b N^-r the rest to fall is still_falling/(2^r - 1), from 0 for a curve that has stopped over
        1 for r = 1 to 1 + sqrt(2) for r = 1/2, in units of `still_falling`.
        """
        error = (self.share.stderr or 0.0) * generator.standard_normal(N_DRAWS)
        rest = self.still_falling * generator.uniform(0, _SLOWEST, N_DRAWS)
        return np.clip(self.share.value + error - rest, 0, 1)


def unexplained(
    features: Float64[np.ndarray, "N D"], codes: Float64[np.ndarray, "N C"], *, what: str = "the features"
) -> Unexplained:
    """Cross-fitted share that features leave unexplained, with all examples and with halves.

    Args:
        what: What the features are, for messages.

    Raises:
        DataError: There are fewer than 8 examples, labels do not vary, or features are not finite.
    """
    n = len(features)
    order = np.random.default_rng(0).permutation(n)
    whole = unexplained_share(features, codes)
    halves = [unexplained_share(features[part], codes[part]) for part in np.array_split(order, 2)]
    if any(estimate.status != "ok" for estimate in (whole, *halves)):
        raise DataError(
            f"how much {what} explain cannot be said from {n} target examples; expected at least 8 with labels that "
            "vary and features that are finite"
        )
    return Unexplained(whole, max(float(np.mean([half.value for half in halves])) - whole.value, 0.0))


def unexplainable(inputs: Float64[np.ndarray, "N D"], codes: Float64[np.ndarray, "N C"]) -> Unexplained:
    """What the better of standardised inputs and random ReLU features of them leaves: an upper bound of the noise."""
    generator = np.random.default_rng(0)
    weights = generator.standard_normal((inputs.shape[1], _RANDOM_FEATURES)) / math.sqrt(inputs.shape[1])
    hidden = np.maximum(inputs @ weights + generator.standard_normal(_RANDOM_FEATURES), 0)
    candidates = (unexplained(inputs, codes, what="the inputs"), unexplained(hidden, codes, what="random features"))
    return min(candidates, key=lambda one: one.share.value)


@dataclass(frozen=True)
class PairEstimate:
    """The parameters of a pair from `n_examples` of the target: the best, and draws of shape (N_DRAWS,) each."""

    best: Pair
    draws: Pair
    n_examples: int


def estimate_pair(
    missed_by_features: Sequence[Unexplained],
    noise: Unexplained,
    feature_dimensions: Sequence[DimensionBand],
    input_dimension: DimensionBand,
    *,
    n_examples: int,
) -> PairEstimate:
    """Put the parameters of a pair together.

    What the features miss is the part outside and the noise; noise is what nothing misses less of, the features of
    this source included. The networks of different seeds count as samples of one kind of network.

    Args:
        missed_by_features: What the pretrained features miss, one entry per network.
        noise: What everything else that was tried misses.
        feature_dimensions: Effective dimensions of the features, one band per network.
    """
    generator = np.random.default_rng(0)
    shares = [one.share for one in missed_by_features]
    # measured on the same examples, so that the errors of the networks do not average out
    error = float(np.mean([share.stderr or 0.0 for share in shares]))
    of_features = Unexplained(
        Estimate(float(np.mean([share.value for share in shares])), error, shares[0].n),
        float(np.mean([one.still_falling for one in missed_by_features])),
    )
    least = min((noise, of_features), key=lambda one: one.limit)
    k = float(np.mean([one.middle for one in feature_dimensions]))
    floor = min(least.limit, _MOST_NOISE)
    best = Pair(min(of_features.limit - floor, 1 - floor), floor, input_dimension.middle, k)

    missed = of_features.draws(generator) + _between([one.limit for one in missed_by_features], generator)
    floors = np.minimum(least.draws(generator), _MOST_NOISE)
    networks = generator.integers(len(feature_dimensions), size=N_DRAWS)
    of_networks = np.array([_within(band, generator) for band in feature_dimensions])  # (networks, draws)
    draws = Pair(
        np.clip(missed - floors, 0, 1 - floors),
        floors,
        _within(input_dimension, generator),
        of_networks[networks, np.arange(N_DRAWS)],
    )
    return PairEstimate(best, draws, n_examples)


def ranged(value: float, draws: Float64[np.ndarray, " draws"], *, n: int, level: float = 0.95) -> Estimate:
    """A number with the middle part of its draws.

    Args:
        value: The number; infinite where the model has no finite value.
        draws: Possible values, shape (draws,); infinities are allowed.
        n: Samples it rests on.
        level: Share of the draws in the interval.

    Returns:
        The number with its interval, stretched to hold the number; "unbounded" and without standard error where it is
        infinite, "undefined" where it is NaN.
    """
    if math.isnan(value) or np.isnan(draws).any():
        return Estimate.missing("undefined", n)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    interval = Interval(min(float(low), value), max(float(high), value), level)
    if math.isinf(value):
        return Estimate(value, None, n, "unbounded", interval)
    stderr = float(draws.std()) if np.isfinite(draws).all() else None
    return Estimate(value, stderr, n, "ok", interval)


def _within(band: DimensionBand, generator: np.random.Generator) -> Float64[np.ndarray, " draws"]:
    """Dimensions in a band, uniform in their logarithm, a twelfth of them at either end (that of equal directions)."""
    low = np.maximum(band.low.value + (band.low.stderr or 0.0) * generator.standard_normal(N_DRAWS), 1)
    place = np.clip(generator.uniform(-0.1, 1.1, N_DRAWS), 0, 1)
    return np.asarray(low * np.maximum(band.high / low, 1) ** place)


def _between(values: Sequence[float], generator: np.random.Generator) -> Float64[np.ndarray, " draws"]:
    """The error of a mean over networks, 0 for one of them."""
    if len(values) < 2:
        return np.zeros(N_DRAWS)
    stderr = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return stderr * generator.standard_normal(N_DRAWS)
