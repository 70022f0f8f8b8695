"""A pair on the diagram of linear transfer, in words."""

import math

from transferscope.numerics.ranged import Ranged
from transferscope.theory.placement import Placement

LIMITS = (
    "The model is linear: squared loss, Gaussian inputs of equal variance in d directions, features of equal "
    "variance in k directions, a head and a scratch network that are trained to the end without any regularisation. "
    "Here d and k are participation ratios, which count small directions as none; a network from scratch has more "
    "to find out than d says, and near n = d or n = k a real one has no peak of its risk. What no predictor that "
    "was tried explains counts as noise."
)
"""Where the model stops holding, for every pair."""

_OF_CLASSES = (
    "Labels are classes: measured is the squared error of the predicted class's code, and networks from scratch were "
    "trained with cross-entropy, so the sign is to be compared rather than the size."
)
_SIGNS = {1: "positive", -1: "negative", 0: "of either sign"}


def in_words(placement: Placement) -> str:
    """Where the pair lies, what the model expects, and how far what was measured is from it, in a few sentences.

    Args:
        placement: The pair at one number of labels.

    Returns:
        Sentences; all transferabilities in units of the variance of the labels.
    """
    return " ".join((_where(placement), _expectation(placement), _boundary(placement), _measured(placement)))


def limits(kinds: set[str]) -> str:
    """What to keep in mind, for pairs of these kinds ("classification", "regression")."""
    return f"{LIMITS} {_OF_CLASSES}" if "classification" in kinds else LIMITS


def _where(placement: Placement) -> str:
    origin = placement.source
    if placement.n_source is not None:
        origin += f" ({placement.n_source} examples)"
    share, noise = placement.outside_share, placement.noise_level
    return (
        f"From {origin} with {placement.n_target} labels: {_percent(share)} of the target function lies outside the "
        f"pretrained features; the noise is {_number(noise)} of its spread; {placement.n_target} labels are "
        f"{_number(placement.examples_per_dimension)} for each of the {_number(placement.input_dimension)} directions "
        f"of the inputs, and the features have {_number(placement.feature_dimension)}."
    )


def _expectation(placement: Placement) -> str:
    expected = placement.expected
    if math.isinf(expected.value):
        near = "k" if expected.value < 0 else "d"
        return (
            f"The linear-transfer model has no finite expectation here, because the number of labels is near {near} "
            f"(negative with probability {_chance(placement.chance_negative)})."
        )
    sign = expected.sign
    certainty = "" if sign else f" (negative with probability {_chance(placement.chance_negative)})"
    return f"The linear-transfer model expects a transferability of {_signed(expected)}, {_SIGNS[sign]}{certainty}."


def _boundary(placement: Placement) -> str:
    critical, share = placement.critical_share, placement.outside_share
    if math.isinf(critical.value) or critical.value < 0:
        side = "negative" if critical.value < 0 else "positive"
        return f"With so much noise and so many labels it is {side} whatever lies outside."
    if critical.value >= 1:
        return "With so much noise and so few labels it is positive whatever lies outside."
    beyond = "above" if share.value > critical.value else "below"
    return (
        f"It turns negative where more than {_percent(critical)} lies outside: the pair is {beyond} the boundary by "
        f"{100 * abs(share.value - critical.value):.2g} points."
    )


def _measured(placement: Placement) -> str:
    measured, gap = placement.measured, placement.gap
    if not placement.method:
        return "Nothing was measured: the study has no linear probe; add [methods.linear-probe] to its file."
    if math.isnan(measured.value):
        return f"Nothing was measured: no seed has both {placement.method} and training from scratch."
    seeds = f"{measured.estimate.n} seed" + ("s" if measured.estimate.n > 1 else "")
    found = f"Measured ({placement.method} against scratch, {seeds}): {_signed(measured)}"
    if math.isnan(gap.value):
        return f"{found}."
    if gap.interval is None:
        return f"{found}, {_distance(gap.value)} the model; one seed does not say whether that is chance."
    verdict = _agreement(placement)
    return f"{found}, {_distance(gap.value)} the model ({_span(gap)}): {verdict}."


def _agreement(placement: Placement) -> str:
    expected, measured = placement.expected.sign, placement.measured.sign
    if placement.gap.sign == 0:
        return "they agree within what is known of both"
    if expected * measured < 0:
        return "the signs differ, so this pair is not what the model describes"
    if expected * measured > 0:
        return "the sign is the model's, the size is not"
    return "more than chance explains"


def _distance(gap: float) -> str:
    return f"{abs(gap):.2g} {'above' if gap >= 0 else 'below'}"


def _percent(value: Ranged) -> str:
    shown = f"{100 * value.value:.3g} %"
    if value.interval is None:
        return shown
    return f"{shown} ({100 * max(value.interval.low, 0):.2g} to {100 * value.interval.high:.2g})"


def _number(value: Ranged) -> str:
    return f"{value.value:.3g} ({_span(value)})" if value.interval is not None else f"{value.value:.3g}"


def _signed(value: Ranged) -> str:
    shown = _minus(f"{value.value:+.2g}")
    if value.interval is None:
        return shown
    return f"{shown} ({_minus(f'{value.interval.low:+.2g}')} to {_minus(f'{value.interval.high:+.2g}')})"


def _span(value: Ranged) -> str:
    assert value.interval is not None
    return _minus(f"{value.interval.low:.2g} to {value.interval.high:.2g}")


def _chance(probability: float) -> str:
    return "under 1 %" if probability < 0.01 else "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def _minus(text: str) -> str:
    return text.replace("-", "−")
