"""What a placement says, in sentences: of every pair, and of all pairs of a study together."""

import math
from collections.abc import Sequence

from transferscope.wording import counted, listed, method_words
from transferscope_papers.place.placement import Placement, Placements

LIMITS = (
    "The model is linear: squared loss, Gaussian inputs of d directions, features of k directions, a head and a "
    "learner from scratch with the best ridge. No number of equal directions stands for directions of unequal "
    "variance, so d and k are bands, from the participation ratio to the directions that hold 99 % of the variance; "
    "the interval of what the model says holds them and the error of the model on linear problems. What no predictor "
    "that was tried explains counts as noise. On pairs of real images the sign that the model says was not right more "
    "often than the sign that most pairs have, so it is no forecast of a pair's gain."
)
"""Where the model stops holding, for every pair."""

_OF_CLASSES = (
    "Labels are classes: measured is the squared error of the predicted class's code, and networks from scratch were "
    "trained with cross-entropy, so the sign is to be compared rather than the size."
)
_SIGNS = {1: "positive", -1: "negative", 0: "of either sign"}
_ROUND = 99.5


def in_words(placement: Placement) -> str:
    """Whether the model describes the pair, where that lies, what the model says, and how far the measurement is.

    Args:
        placement: The pair at one number of labels.

    Returns:
        Sentences; all transferabilities in units of the variance of the labels.
    """
    sentences = (_description, _where, _model_says, _boundary, _measured)
    return " ".join(sentence(placement) for sentence in sentences)


def limits(points: Sequence[Placement]) -> str:
    """Where the model stops holding for these pairs."""
    of_classes = any(point.kind == "classification" for point in points)
    return f"{LIMITS} {_OF_CLASSES}" if of_classes else LIMITS


def comparison_in_words(placements: Placements) -> str:
    """What is compared in the placements of a study, in which unit, and what it rests on."""
    points, given = placements.points, placements.input_dimension
    methods = [method_words(method) for method in dict.fromkeys(point.method for point in points) if method]
    n = max(point.n_examples for point in points)
    probes = f"; measured is what it did gain ({listed(methods)}, paired by seed)" if methods else ""
    which = " and one of the linear probes" if len(methods) > 1 else ""
    by_hand = f" The number of directions of the inputs, {_number(given)}, was given by hand." if given else ""
    return (
        f"A case is a source with a number of labels{which}. The model is of what a linear head on the pretrained "
        f"features gains over a linear learner from scratch, as estimated from {n:,} labelled target examples{probes}. "
        "Gains are risk from scratch minus risk after transfer, in units of the variance of the labels: positive is "
        f"good.{by_hand}"
    )


def description_in_words(points: Sequence[Placement]) -> str:
    """In how many cases the model gives the measured error of training from scratch, which is what it has to do first.

    Cases of one source and number of labels that differ in their linear probe alone count once.
    """
    cases = {(point.name, point.n_target): point.described for point in points}
    known = [described for described in cases.values() if described is not None]
    if not known:
        return (
            "Whether the linear-transfer model describes these pairs cannot be told: that takes two seeds of training "
            "from scratch to compare with."
        )
    described, n = known.count(True), len(known)
    verdict = (
        "describes these pairs"
        if described == n
        else "does not describe these pairs"
        if not described
        else f"describes {described} of {n} pairs and numbers of labels, and not the others"
    )
    return (
        f"This model {verdict}: held against the error of training from scratch on held-out examples, what it says "
        f"agrees within what is known of both in {described} of {counted(n, 'case')}."
    )


def signs_in_words(points: Sequence[Placement]) -> str:
    """In how many cases the signs are the same, opposite or not known, and why not."""
    if all(math.isnan(point.measured.value) for point in points):
        return (
            "Nothing was measured to hold the linear-transfer model against; that takes a linear probe and training "
            "from scratch on the same seeds."
        )
    found = [point.signs for point in points]
    said = (
        f"The linear-transfer model and the measurement have the same sign in {found.count('same')} of "
        f"{counted(len(found), 'case')} and opposite signs in {found.count('opposite')}"
    )
    unknown = [point for point, signs in zip(points, found, strict=True) if signs == "open"]
    if not unknown:
        return f"{said}."
    reasons = listed(list(dict.fromkeys(map(_why_open, unknown))), last="or")
    return f"{said}; in {len(unknown)} it cannot be told, because {reasons}."


def _why_open(placement: Placement) -> str:
    if math.isnan(placement.measured.value):
        return "nothing was measured"
    if placement.measured.interval is None:
        return "there is one seed"
    return "an interval holds 0"


def _description(placement: Placement) -> str:
    """Whether the model gives the error from scratch that was measured on held-out examples."""
    origin = placement.source
    if placement.n_source is not None:
        origin += f" ({placement.n_source} examples)"
    pair = f"the pair from {origin} with {placement.n_target} labels"
    says = f"a squared error from scratch of {placement.scratch_modelled.shown(_number)}"
    if placement.described is None:
        return (
            f"Whether the linear-transfer model describes {pair} cannot be told: it says {says}, and that takes two "
            "seeds of training from scratch to compare with."
        )
    verb = "describes" if placement.described else "does not describe"
    return (
        f"The linear-transfer model {verb} {pair}: it says {says}, and held-out examples measured "
        f"{placement.scratch_measured.shown(_number)}."
    )


def _where(placement: Placement) -> str:
    share, noise = placement.outside_share, placement.noise_level
    return (
        f"{share.shown(_percent, unit=' %')} of the target function lies outside the pretrained features; the noise is "
        f"{noise.shown(_number)} of its spread; {placement.n_target} labels are "
        f"{placement.examples_per_dimension.shown(_number)} for each of the "
        f"{placement.input_dimension.shown(_number)} directions of the inputs, and the features have "
        f"{placement.feature_dimension.shown(_number)}."
    )


def _model_says(placement: Placement) -> str:
    modelled = placement.modelled
    sign = modelled.sign
    certainty = "" if sign else f" (negative with probability {_chance(placement.chance_negative)})"
    return f"The model says a transferability of {modelled.shown(_signed)}, {_SIGNS[sign]}{certainty}."


def _boundary(placement: Placement) -> str:
    critical, share = placement.critical_share, placement.outside_share
    if math.isnan(critical.value) or math.isnan(share.value):
        return "There is no boundary, because nothing of the labels was explained."
    if placement.feature_dimension.value >= placement.input_dimension.value:
        return (
            "In the model it is negative whatever lies outside, because the features have no fewer directions than "
            "the inputs."
        )
    beyond = "above" if share.value > critical.value else "below"
    return (
        f"In the model it turns negative where more than {critical.shown(_percent, unit=' %')} lies outside: the pair "
        f"is {beyond} the boundary by {_number(100 * abs(share.value - critical.value))} points."
    )


def _measured(placement: Placement) -> str:
    measured, gap = placement.measured, placement.gap
    if not placement.method:
        return "Nothing was measured: the study has no linear probe; add [methods.linear-probe] to its file."
    if math.isnan(measured.value):
        return f"Nothing was measured: no seed has both {placement.method} and training from scratch."
    seeds = f"{measured.n} seed" + ("s" if measured.n > 1 else "")
    found = f"Measured ({placement.method} against scratch, {seeds}): {measured.shown(_signed)}"
    if math.isnan(gap.value):
        return f"{found}."
    distance = f"{_number(abs(gap.value))} {'above' if gap.value >= 0 else 'below'} the model"
    if gap.interval is None:
        return f"{found}, {distance}; one seed does not say whether that is chance."
    return f"{found}, {distance} ({gap.ends(_signed)}): {_agreement(placement)}."


def _agreement(placement: Placement) -> str:
    modelled, measured = placement.modelled.sign, placement.measured.sign
    if placement.gap.sign == 0:
        return "they agree within what is known of both"
    if modelled * measured < 0:
        return "the signs differ"
    if modelled * measured > 0:
        return "the sign is the model's, the size is not"
    return "more than chance explains"


def _percent(share: float) -> str:
    return _number(100 * share)


def _number(value: float) -> str:
    """Two significant digits, and whole numbers from 100 on: never a larger number below a smaller one."""
    shown = f"{value:.2g}" if abs(value) < _ROUND else f"{value:,.0f}"
    return "0" if not float(shown.replace(",", "")) else shown.replace("-", "−")


def _signed(value: float) -> str:
    shown = _number(value)
    return shown if value <= 0 or shown == "0" else f"+{shown}"


def _chance(probability: float) -> str:
    return "under 1 %" if probability < 0.01 else "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"
