"""What a race has settled, in sentences."""

import math
from dataclasses import replace

from transferscope.analyses.decide.result import ArmResult, Decision
from transferscope.study.race_looks import Look
from transferscope.wording import candidate_words, capitalised, counted, duration, listed, signed

LIMITS = (
    "A race reads its results after every run. In simulated races with a risk of 5 % and no effect, under ten kinds "
    "of noise, it called a way of transfer better than training from scratch by mistake in 1 % on average, and in 5 % "
    "of races on the recorded noise of 24 small studies. Intervals hold at every stage of the race. Where a call is "
    "marked as on this test set, other test examples could turn it around."
)


def arm_words(arm: ArmResult) -> str:
    """Method and source as prose names them."""
    return candidate_words(arm.arm.method, arm.arm.source)


def gain_words(arm: ArmResult) -> str:
    """The gain over training from scratch with its interval, as in "+12.4 points (7.0 to 17.8)"."""
    if not math.isfinite(arm.gain.value):
        return "not run"
    ends = arm.gain.ends(lambda value: f"{value:.1f}".replace("-", "−"))
    return f"{signed(arm.gain.value, 1)} points" + (f" ({ends})" if ends else "")


def headline(decision: Decision) -> str:
    """The recommendation in one sentence, which says so where it rests on settings that were changed after looking."""
    said = _answer(decision)
    if len(decision.looks) < 2 or decision.whether == "open" or decision.at_first == (decision.whether, decision.which):
        return said
    return f"{said.removesuffix('.')}. This rests on settings that were changed with results in sight."


def _answer(decision: Decision) -> str:
    leader, control, labels = decision.leader, decision.control, _with_labels(decision)
    transfer, margin = decision.transfer, _margin(decision)
    if decision.whether == "no":
        if control is None or not control.gain.value > 0:
            return f"Train from scratch{labels}: no way of transfer that was tried gains more than {margin} over it."
        return (
            f"Use {arm_words(control)}{labels}, without transfer: {gain_words(control)} over training from scratch, "
            f"and no way of transfer that was tried gains more than {margin} over it."
        )
    if decision.whether == "open":
        if control is not None and transfer is not None and transfer.call == "better":
            return (
                f"Better than training from scratch{labels}: {arm_words(transfer)}, by {gain_words(transfer)}; whether "
                f"it beats {arm_words(control)}, a control, is open."
            )
        return (
            f"Undecided{labels} after {counted(decision.n_runs, 'run')}: whether transfer helps is open"
            f"{_first_sight(decision)}."
        )
    best = f"{gain_words(leader)} over training from scratch, {duration(leader.seconds)} a run"
    if decision.which:
        return f"Use {arm_words(leader)}{labels}: {best}."
    if leader.call == "better" and leader.beats_controls:
        return f"Transfer helps{labels}: {arm_words(leader)} gives {best}; which way is best is not settled."
    better = next(arm for arm in decision.arms if arm.call == "better" and arm.beats_controls)
    return (
        f"Transfer helps{labels}: {arm_words(better)} gives {gain_words(better)} over training from scratch; which way "
        "is best is not settled."
    )


def sentences(decision: Decision) -> tuple[str, ...]:
    """What to know next: what is as good, what is worse, what is open and what would settle it, what was saved."""
    said = [
        _looks(decision),
        _control(decision),
        _as_good(decision),
        _harmful(decision),
        _open(decision),
        _test_set(decision),
        _cost(decision),
    ]
    if decision.n_failed:
        said.append(
            f"{counted(decision.n_failed, 'run')} failed and {'is' if decision.n_failed == 1 else 'are'} left out."
        )
    return tuple(sentence for sentence in said if sentence)


def held_back(decision: Decision) -> tuple[str, ...]:
    """What may be said where training from scratch was cut off: what is ahead so far, and what it took."""
    leader = decision.leader
    ahead = "training from scratch" if leader is decision.baseline else f"{arm_words(leader)}, by {gain_words(leader)}"
    said = (f"Ahead so far is {ahead}, which more steps can change.", _looks(decision), _cost(decision))
    return tuple(sentence for sentence in said if sentence)


def which_words(decision: Decision) -> str:
    """Which way is best, as far as it is settled, in one sentence."""
    leader = arm_words(decision.leader)
    if decision.which:
        return f"{capitalised(leader)} is best: no other way is better by more than {_margin(decision)}."
    rivals = [
        arm_words(arm) for arm in decision.arms if arm.state in ("open", "as good") and arm is not decision.leader
    ]
    may = f", and {listed(rivals[:6], last='or')} may be as good or better" if rivals else ""
    return f"Not settled: {leader} is ahead{may}."


def _margin(decision: Decision) -> str:
    return _points(decision.settings.margin)


def _points(margin: float) -> str:
    return f"{margin:g} {'point' if margin == 1 else 'points'}"


def _with_labels(decision: Decision) -> str:
    return "" if decision.n_labels is None else f" with {counted(decision.n_labels, 'label')}"


def _first_sight(decision: Decision) -> str:
    leader = decision.leader
    if leader is decision.baseline:
        return "; training from scratch is ahead so far"
    return f"; {arm_words(leader)} is ahead so far, by {gain_words(leader)}"


def _looks(decision: Decision) -> str:
    """Which settings were changed after runs had been made, and what the first ones say."""
    first, *later = decision.looks or (None,)
    if first is None or not later:
        return ""
    parts, before = [f"{_settings(first)} at first"], first
    for look in later:
        left, new = (set(one.ways) - set(other.ways) for one, other in ((before, look), (look, before)))
        ways = [f"without {listed(sorted(left))}"] if left else []
        ways += [f"with {listed(sorted(new))}"] if new else []
        parts.append(f"{listed([_settings(look), *ways])} after {counted(look.runs, 'run')}")
        before = look
    whether, which = decision.at_first
    answers = {
        "helps": "transfer helps",
        "no": f"no way of transfer is better by more than {_points(first.margin)} than what needs none",
        "open": "whether transfer helps is open",
    }
    best = "which way is best is settled" if which else "which way is best is not settled"
    return (
        f"The settings of this race were changed with results in sight: {'; '.join(parts)}. What is chosen after "
        f"looking does not hold its risk. By the first settings {answers[whether]}, and {best}."
    )


def _settings(look: Look) -> str:
    return f"risk {100 * look.risk:g} % and margin {_points(look.margin)}"


def _control(decision: Decision) -> str:
    """How the best way of transfer stands beside the best control."""
    control, transfer = decision.control, decision.transfer
    if control is None or transfer is None or transfer.over_control is None:
        return ""
    name = arm_words(control)
    if not math.isfinite(transfer.over_control.value):
        return ""
    beside = replace(transfer, gain=transfer.over_control)
    if decision.whether == "helps":
        winner = transfer if transfer.beats_controls else next(arm for arm in decision.arms if arm.beats_controls)
        by = gain_words(replace(winner, gain=winner.over_control or winner.gain))
        return f"{capitalised(arm_words(winner))} beats the best control, {name}, by {by}."
    if decision.whether == "no" and transfer.call == "better":
        return (
            f"{capitalised(arm_words(transfer))} is better than training from scratch, by {gain_words(transfer)}, but "
            f"not than {name} by more than {_margin(decision)}: {gain_words(beside)} beside it."
        )
    if decision.whether == "no" and control.gain.value > 0:
        return f"The best way of transfer, {arm_words(transfer)}, gives {gain_words(beside)} beside it."
    return f"Beside the best control, {name}, {arm_words(transfer)} gives {gain_words(beside)}."


def _as_good(decision: Decision) -> str:
    """Which arms may be used instead, the cheapest by how much."""
    if decision.whether == "open":
        return ""
    good = [arm for arm in decision.arms if arm.state == "as good"]
    if not good:
        return ""
    words = listed([arm_words(arm) for arm in good])
    sentence = f"{capitalised(words)} {'is' if len(good) == 1 else 'are'} as good within {_margin(decision)}"
    cheapest = min(good, key=lambda arm: arm.seconds)
    share = cheapest.seconds / decision.leader.seconds
    if share < 0.5:
        name = "" if len(good) == 1 else f"{arm_words(cheapest)} "
        sentence += f"; {name or 'it '}takes {100 * share:.2g} % of the time"
    return f"{sentence}."


def _harmful(decision: Decision) -> str:
    worse = [arm for arm in decision.arms if arm.call == "worse"]
    if not worse:
        return ""
    words = listed([f"{arm_words(arm)}, {gain_words(arm)}" for arm in worse[:6]])
    more = f" and {len(worse) - 6} more" if len(worse) > 6 else ""
    return f"Worse than training from scratch: {words}{more}."


def _open(decision: Decision) -> str:
    """What is not settled, and what would settle it."""
    if decision.settled:
        return ""
    left = [arm for arm in decision.arms if arm.state == "open" and arm is not decision.leader]
    rivals = [arm for arm in left if decision.leader.call == "better" or arm is not decision.baseline]
    words = listed([arm_words(arm) for arm in rivals[:6]]) + (f" and {len(rivals) - 6} more" if len(rivals) > 6 else "")
    still = f"Still able to be best beside {arm_words(decision.leader)}: {words}. " if rivals else ""
    if decision.budget_spent:
        return f"{still}The budget is spent; the same command with a larger one goes on."
    return f"{still}All seeds that could decide are used; give more seeds, more test examples or a larger margin."


def _test_set(decision: Decision) -> str:
    """Calls that other test examples could turn around, and differences that could exceed the margin there."""
    shaky = [arm for arm in decision.arms if arm.call in ("better", "worse") and not arm.lasting]
    said = []
    if shaky:
        words = listed([arm_words(arm) for arm in shaky])
        said.append(f"On this test set only, and not surely on other test examples: what is said of {words}.")
    says_near = decision.whether == "no" or decision.which or any(arm.state == "as good" for arm in decision.arms)
    if says_near and decision.near_here:
        said.append(
            f"“Within {_margin(decision)}” is said of this test set: on others of its size such differences can come "
            f"out {decision.near_here:.1f} points apart from these."
        )
    return " ".join(said)


def _cost(decision: Decision) -> str:
    """What was run, beside the full comparison."""
    share = decision.n_runs / decision.n_grid
    saved = (
        f", {100 * share:.0f} % of the {counted(decision.n_grid, 'run')} of the full comparison" if share < 1 else ""
    )
    return f"It took {counted(decision.n_runs, 'run')}{saved} and {duration(decision.seconds)} of computing."
