"""Why a race ended, the arms it skipped, and their recorded gains elsewhere."""

from collections.abc import Iterator
from pathlib import Path

from transferscope.analyses.history.question import gains_over
from transferscope.store import Store
from transferscope.study.decisions import decisions
from transferscope.study.frames import read_study
from transferscope.study.places import find_study
from transferscope.study.race_state import RACE_ENDS, NotBegun, race_state
from transferscope.wording import counted, listed, method_words, rough_duration, signed


def race_in_words(study: Path) -> Iterator[str]:
    """Yield why a race ended, and its skipped arms, the most expensive last, with expected time and recorded gains.

    Arms without both are only counted; empty for a study that is not a race.
    """
    address = find_study(study)
    with Store.open(address.store, create=False) as store:
        row = store.study(str(address.name))
        state = race_state(store.study_documents(row.name))
        if state is None or row.spec.get("race") is None:
            return
        more = ""
        if state.minute is not None:
            more = f"; one more minute is expected to gain {state.minute:.2g} points"
        frames = read_study(store, row.name)
        if (following := state.next_run) is not None:
            takes = "" if following.seconds is None else f" (about {rough_duration(following.seconds)})"
            more += f"; the next run would be {frames.in_prose(following.method, following.source)}{takes}"
        yield f"race: {RACE_ENDS[state.end]}{more}"
        if not state.not_begun:
            return
    decided, sources = decisions(frames), row.spec.get("sources", {})
    arms: dict[tuple[str, str], list[NotBegun]] = {}
    for arm in state.not_begun:
        arms.setdefault((arm.method, arm.source), []).append(arm)
    n_silent = 0
    for (method, source), own in sorted(arms.items(), key=lambda entry: max(one.seconds or 0.0 for one in entry[1])):
        seconds = [one.seconds for one in own if one.seconds is not None]
        takes = f" (about {rough_duration(max(seconds))} per run)" if seconds else ""
        line = f"skipped: {frames.in_prose(method, source)}{takes}"
        is_small = ":" not in str(sources.get(source, {}).get("network"))  # as those that come with the package are
        best = {decided[one.n_target].best_transfer_arm for one in own if one.n_target in decided}
        others = {name.partition(" from ")[0] for name in best if name is not None}
        gains = None
        if is_small and len(others) == 1:
            (other,) = others
            words = method_words(other, frames.called)
            gains = gains_over(method_words(method, frames.called), words)
            if gains is not None:
                n, least, most = gains
                between = f"{signed(least, 1)} to {signed(most, 1)}"
                line += f"; in {n} recorded comparisons its difference from {words} was {between} points"
        if seconds or gains is not None:
            yield line
        else:
            n_silent += 1
    if n_silent:
        yield f"skipped: {counted(n_silent, 'arm')} of unknown time; the report lists them"
    names = listed(list(dict.fromkeys(method for method, _ in arms)))
    by_name = "" if state.end == "time" else f" or give --methods {names}"
    yield f"To make these runs, increase --minutes{by_name}; finished runs are kept."
