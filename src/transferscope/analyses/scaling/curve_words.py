"""The advice on one curve in words, and the next run over (n, s)."""

import numpy as np
from jaxtyping import Float

from transferscope.estimate import Estimate
from transferscope.scaling.advice import Advice, Decision, NextRun, SurfaceRun
from transferscope.scaling.extrapolation import Extrapolation
from transferscope.scaling.observations import Observations

ENOUGH = 5
"""With fewer sizes a paragraph warns: the posterior is then mostly prior."""

RISE = 1.1
"""The last error over the least one, from which on a curve counts as rising when two sizes lie after the least one."""

APART = 0.5
"""Two probabilities of the same event this far apart are pointed out."""

LITTLE = 0.02
"""Below this share of the variance, a run tells next to nothing."""


def paragraph(advice: Advice, data: Observations) -> str:
    """The advice on one curve in words.

    Args:
        advice: Forecast, decision and next run.
        data: What was measured, at n = 0 as well.

    Returns:
        A few sentences.
    """
    pretrained = data.sizes[:, 0] > 0
    without, data = data.take(~pretrained), data.take(pretrained)
    forecast, decision = advice.forecast, advice.decision
    sentences = [_measured(data), *_without(without, data), *_rising(data), _ahead(forecast), *_tested(forecast, data)]
    if decision is not None:
        sentences += _decided(decision, data)
    if advice.next_run is not None and decision is not None and decision.scenario != "reached" and decision.falls:
        sentences.append(_measure(advice.next_run))
    return " ".join(sentences)


def disagreement(decision: Decision, found: SurfaceRun, *, largest_s: float) -> str:
    """A sentence where the curve at the largest s and the surface contradict each other; empty otherwise."""
    if found.reached is None or found.pretrain_size > decision.largest_size or found.finetune_size > largest_s:
        return ""
    same = found.pretrain_size == decision.largest_size and found.finetune_size == largest_s
    apart = found.reached - decision.feasible  # the plan is no larger, so that more is a contradiction
    if apart < APART and not (same and -apart >= APART):
        return ""
    return (
        f"The curve at s = {number(largest_s)} alone gives {percent(decision.feasible)} up to n = "
        f"{number(decision.largest_size)}: the two rest on different laws, so make the next run before you choose."
    )


def surface_run_in_words(found: SurfaceRun) -> tuple[str, ...]:
    """The decision over (n, s), and the next run to make for it, in sentences."""
    plan = f"n = {number(found.pretrain_size)} with s = {number(found.finetune_size)}"
    if found.target_error is None or found.reached is None:
        brings = f"give the split {percent(found.run.information)} of the gain of knowing the error surface exactly"
        return (_measure_both(found, brings, "the split of the budget"),)
    reached = (
        f"From all fine-tuning sizes together, over several laws: {plan} reaches the target error "
        f"{number(found.target_error)} with probability {percent(found.reached)}."
    )
    about = "that decision" if found.uncertain else "the error there"
    return (
        reached,
        _measure_both(found, f"remove {percent(found.run.information)} of the variance of {about}", about),
    )


def headline(advice: Advice, data: Observations) -> str:
    """The sentence to read first: that nothing is gained, the answer on the target, or the forecast."""
    pretrained = data.sizes[:, 0] > 0
    without, data = data.take(~pretrained), data.take(pretrained)
    if len(without) and without.errors.mean() <= data.errors.min():
        return _without(without, data)[0]
    return _ahead(advice.forecast) if advice.decision is None else _verdict(advice.decision)


def _decided(decision: Decision, data: Observations) -> list[str]:
    sentences = [_verdict(decision)]
    if not decision.falls:
        return sentences
    if decision.scenario not in ("reached", "c"):
        sentences.append(_needed(decision.size_needed))
    sentences.append(
        f"Over several laws, the transfer gap C is {in_words(decision.gap)}; the rate alpha of D n^-alpha + C is "
        f"{in_words(decision.rate)}."
    )
    if data.n_distinct < ENOUGH:
        sentences.append(
            f"With {data.n_distinct} sizes these numbers are rough: measure at least {ENOUGH} sizes before you decide."
        )
    return sentences


def _without(without: Observations, data: Observations) -> list[str]:
    """The error without pre-training, and what it means where pre-training is no better."""
    if len(without) == 0:
        return []
    error = float(without.errors.mean())
    sentence = f"Without pre-training (n = 0) the error is {number(error)}"
    if error > data.errors.min():
        return [f"{sentence}."]
    return [f"{sentence}, no higher than with it at any size: so far this pre-training does not help."]


def _rising(data: Observations) -> list[str]:
    """A warning when the error rises again, or from the start."""
    sizes, errors = _means(data)
    least = int(errors.argmin())
    if len(sizes) - least < 3 or errors[-1] < RISE * errors[least]:
        return []
    if data.stderr is not None:
        worst = float(data.stderr[np.isin(data.sizes[:, 0], sizes[[least, -1]])].max())
        if errors[-1] - errors[least] < 2 * np.sqrt(2) * worst:
            return []
    after = "from the start" if least == 0 else f"again after n = {number(float(sizes[least]))}"
    ends = f"from {number(float(errors[least]))} to {number(float(errors[-1]))}"
    return [
        f"The error rises {after} ({ends}), which the law behind the probabilities cannot do: look at those runs first."
    ]


def in_words(estimate: Estimate) -> str:
    """ "0.93 (0.91 to 0.94)", with 90 % intervals."""
    return f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)})"


def number(value: float) -> str:
    """Three digits; thousands with commas; "beyond any size" for infinity."""
    if not np.isfinite(value):
        return "beyond any size"
    if abs(value) < 1000:
        said = f"{value:.3g}"
    else:
        said = f"{float(f'{value:.3g}'):,.0f}" if value < 1e15 else f"{value:.1e}"
    return said.replace("-", "−")


def _measured(data: Observations) -> str:
    sizes, errors = _means(data)
    repeated = "" if len(data) == len(sizes) else f", means of {len(data)} rows"
    return (
        f"Measured: error {number(float(errors[0]))} at n = {number(float(sizes[0]))}, "
        f"{number(float(errors[-1]))} at n = {number(float(sizes[-1]))} ({len(sizes)} sizes{repeated})."
    )


def _means(data: Observations) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The different sizes and the mean error at each."""
    sizes = np.unique(data.sizes[:, 0])
    return sizes, np.array([data.errors[data.sizes[:, 0] == size].mean() for size in sizes])


def _ahead(forecast: Extrapolation) -> str:
    size, predicted = number(float(forecast.sizes[1])), number(float(forecast.predicted[1]))
    if forecast.status == "too_few":
        return f"Too few sizes for a forecast: the last value, {predicted}, is all there is to go by."
    low, high = number(float(forecast.low[1])), number(float(forecast.high[1]))
    return f"At n = {size}, four times the largest size, expect an error of {predicted} ({low} to {high}, 90 %)."


def _tested(forecast: Extrapolation, data: Observations) -> list[str]:
    """The back-test that looked furthest ahead."""
    if not forecast.backtests:
        return []
    test = max(forecast.backtests, key=lambda one: (one.size / one.origin, one.size))
    sizes = f"from the sizes up to n = {number(test.origin)} the same forecast for n = {number(test.size)}"
    none = (data.errors[data.sizes[:, 0] == test.size] == 0).all()
    measured = f"0, read as {number(test.observed)}" if none else number(test.observed)
    return [f"Back-test: {sizes} would have been {number(test.predicted)}; measured: {measured}."]


def _verdict(decision: Decision) -> str:
    target, limit = number(decision.target_error), number(decision.largest_size)
    if not decision.falls and decision.scenario != "reached":
        return f"Nothing measured suggests that more of this data reaches the target error {target}."
    feasible, gap_above = percent(decision.feasible), percent(1 - decision.reachable)
    match decision.scenario:
        case "reached":
            return f"The target error {target} is reached already."
        case "b":
            return (
                f"More pre-training alone {_likely(decision.feasible)}reaches the target error {target}: within n = "
                f"{limit} with probability {feasible} (scenario b: make more of this data)."
            )
        case "c":
            return (
                f"The target error {target} is {_likely(1 - decision.reachable)}not reachable with this data: the "
                f"transfer gap is above it with probability {gap_above} (scenario c: change how the data is made, or "
                "label more target examples)."
            )
        case "d":
            return (
                f"The target error {target} may be reachable in the limit, but not within n = {limit} (probability "
                f"{feasible}; scenario d: the rate is too slow, so change how the data is made)."
            )
        case "a":
            return (
                f"The measurements do not decide whether more pre-training alone reaches the target error {target}: "
                f"within n = {limit} with probability {feasible}; the transfer gap is above it with probability "
                f"{gap_above} (scenario a: measure once more before you choose)."
            )


def _needed(size: Estimate) -> str:
    if not np.isfinite(size.value):
        return f"The size it takes is unbounded (at least n = {number(size.low)}, 95 %)."
    return f"It takes about n = {in_words(size)}."


def _measure(run: NextRun) -> str:
    if run.information < LITTLE:
        return "No single further run up to 16 times the largest size would tell much more."
    cost = "" if run.cost is None else f", at a cost of {number(run.cost)}"
    return (
        f"The next run to make: n = {number(run.pretrain_size)}, which is expected to remove "
        f"{percent(run.information)} of the variance of this decision{cost}.{_by_time(run, 'n')}"
    )


def _by_time(run: NextRun, of: str) -> str:
    """How a run was chosen that has no cost."""
    if run.cost is not None:
        return ""
    return f" It was chosen by time, taken as proportional to {of}; give --cost-pretrain and --cost-run for your costs."


def _measure_both(found: SurfaceRun, brings: str, about: str) -> str:
    run = found.run
    if run.information < LITTLE or run.finetune_size is None:
        return f"No single further run that was looked at would tell much more about {about}."
    cost = "" if run.cost is None else f", at a cost of {number(run.cost)}"
    sizes = f"n = {number(run.pretrain_size)} with s = {number(run.finetune_size)}"
    return f"The next run to make: {sizes}, which is expected to {brings}{cost}.{_by_time(run, 'n + s')}"


def _likely(probability: float) -> str:
    return "" if probability >= 0.9 else "probably "


def percent(share: float) -> str:
    """ "42 %", and no certainty that was not computed."""
    if share > 0.995:
        return "over 99 %"
    return "under 1 %" if share < 0.005 else f"{100 * share:.0f} %"
