"""Why a race ended, and the arms it skipped."""

from collections.abc import Iterator
from pathlib import Path

from transferscope.store import Store
from transferscope.study.frames import read_study
from transferscope.study.places import find_study
from transferscope.study.race_state import RACE_ENDS, NotBegun, race_state
from transferscope.wording import counted, listed, rough_duration


def race_in_words(study: Path) -> Iterator[str]:
    """Yield why a race ended, and its skipped arms, the most expensive last, with their expected time.

    Arms of unknown time are only counted; empty for a study that is not a race.
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
    arms: dict[tuple[str, str], list[NotBegun]] = {}
    for arm in state.not_begun:
        arms.setdefault((arm.method, arm.source), []).append(arm)
    n_silent = 0
    for (method, source), own in sorted(arms.items(), key=lambda entry: max(one.seconds or 0.0 for one in entry[1])):
        seconds = [one.seconds for one in own if one.seconds is not None]
        if seconds:
            yield f"skipped: {frames.in_prose(method, source)} (about {rough_duration(max(seconds))} per run)"
        else:
            n_silent += 1
    if n_silent:
        yield f"skipped: {counted(n_silent, 'arm')} of unknown time; the report lists them"
    names = listed(list(dict.fromkeys(method for method, _ in arms)))
    by_name = "" if state.end == "time" else f" or give --methods {names}"
    yield f"To make these runs, increase --minutes{by_name}; finished runs are kept."
