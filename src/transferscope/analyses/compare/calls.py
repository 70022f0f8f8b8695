"""A user's training function: its calls are the runs of a study."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transferscope import consent
from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.study_file import Question
from transferscope.analyses.compare.summary import summarise
from transferscope.errors import SettingsError
from transferscope.settings.engine import DecisionSettings, EngineSettings, RaceSettings
from transferscope.store import Store
from transferscope.study.commands import call as calls
from transferscope.study.commands.call import Call, Function
from transferscope.study.commands.settings import CommandArm, CommandSpec, RunSettings
from transferscope.study.decisions import MOST_SEEDS
from transferscope.study.places import open_new
from transferscope.study.run import Event, run_study
from transferscope.study.spec import Header
from transferscope.study.status import StudyStatus
from transferscope.study.tables import Mistakes, read_table


def compare_calls(
    question: Question,
    run: Function,
    arms: Mapping[str, Mapping[str, Any]],
    *,
    score: Mapping[str, str],
    since: float,
    on_event: Callable[[Event], None],
    on_end: Callable[[StudyStatus], object],
) -> ComparisonResult:
    """Compare arms by the scores that a function returns; arguments as in `compare`, some of them in its question.

    Raises:
        SettingsError: Settings are invalid; the message names every mistake, and no run was started.
    """
    mistakes, engine = Mistakes("compare(run=...)"), question.engine
    name = str(score.get("name", "score"))
    asked = {"name": name, **score, "labels": list(question.labels), "score": f"returned:{name}"}
    settings = read_table(RunSettings, asked, "score", mistakes)
    here = not calls.is_importable(run)
    if here and engine.get("workers"):
        mistakes.add(f"workers = {engine['workers']}, and {calls.name_of(run)} is in no module that they could import")
    made = read_table(EngineSettings, {**engine, "workers": 0} if here else engine, "engine", mistakes)
    called = re.split(r"[.:]", calls.name_of(run))[-1].strip("<>")  # a lambda is called <lambda>
    seeds = MOST_SEEDS if question.seeds is None else question.seeds
    head = read_table(Header, {"name": called, "seeds": seeds}, "", mistakes)
    changed = []
    for arm, values in arms.items():
        if "source" not in values:
            mistakes.add(
                f'arm {arm!r} says no source; give what it transfers from, as in source="bert", or source=None'
            )
        elif reserved := {"seed", "labels"} & set(values):
            mistakes.add(f"arm {arm!r} gives {min(reserved)}, which every run gets; use another name")
        else:
            whole = Call(
                calls.name_of(run), {}, calls.digest_of(run), name, score.get("unit") == "share", bool(question.labels)
            )
            try:
                job = calls.with_values(whole, values)
            except SettingsError as error:
                mistakes.add(f"arm {arm!r}: {error}")
                continue
            changed.append(CommandArm(arm, arm, None if values["source"] is None else str(values["source"]), job))
    if not arms:
        mistakes.add('there are no arms; give the arguments of each, as in arms={"tuned": {"source": "bert"}}')
    rule = read_table(DecisionSettings, question.decision, "", mistakes)
    limits = None if question.race is None else read_table(RaceSettings, question.race, "", mistakes)
    mistakes.raise_any()
    assert settings is not None
    assert made is not None
    assert rule is not None
    assert head is not None
    for one in changed:
        consent.allow(one.job.reference)
        if here and isinstance(one.job, Call):
            calls.keep(one.job, run)
    store = str(question.folder / f"{head.name}.sqlite")
    spec = CommandSpec(head.name, head.all_seeds, settings, tuple(changed), made, rule, limits, store)
    with open_new(store) as opened:
        on_end(run_study(spec, opened, on_event=on_event, since=since))
    with Store.open(store) as opened:
        return ComparisonResult(summarise(opened, spec.name), Path(store), Path(store))
