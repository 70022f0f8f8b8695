"""`transferscope status`: the state of studies."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Any

from transferscope.cli.as_json import print_json
from transferscope.cli.commands.status import Options
from transferscope.cli.terminal import say, wrapped
from transferscope.store import Store, StoredCell, StudyCounts
from transferscope.study.places import find_study, metric_in_words, open_existing
from transferscope.study.race_state import RACE_ENDS, race_state
from transferscope.study.status import StudyStatus, edited_plan, kept_networks, stamp_of, study_status
from transferscope.wording import (
    cell_words,
    counted,
    data_in_words,
    few,
    large_count,
    precision_in_words,
    weights_in_words,
)

_SHOWN = 3
"""Most arms named per reason of failure."""


def status(options: Options, _: object = None) -> None:
    """Print the state of the studies of a store, or of the study of a file."""
    if not options.place.endswith(".toml"):
        with open_existing(options.place) as store:
            if options.as_json:
                print_json("status", {"studies": [_facts(store, row.name) for row in store.studies()], "file": None})
                return
            for row in store.studies():
                _show(store, row.name)
        return
    address = find_study(Path(options.place))
    begun = "://" in address.store or Path(address.store).exists()
    with open_existing(options.place) if begun else nullcontext() as opened:
        facts: list[dict[str, Any]] = []
        planned = None
        if opened is not None and address.name in [row.name for row in opened.studies()]:
            planned = opened.study(address.name)
            if options.as_json:
                facts = [_facts(opened, address.name)]
            else:
                _show(opened, address.name)
        if planned is not None and planned.facts.get("stamp") == stamp_of(Path(options.place)):
            edited, most = None, ""
        else:
            from transferscope.study.planners import read_study_file  # with torch

            spec = read_study_file(Path(options.place))  # last: a mistake hides nothing that is stored
            edited, most = edited_plan(spec, opened), "" if spec.race is None else "up to "
    if options.as_json:
        asked: dict[str, Any] | None = None
        if edited is not None:
            changes = {"added": edited.added, "dropped": edited.dropped, "runs": _counted(edited.counts)}
            asked = {"path": options.place, "was_run": planned is not None, **changes}
        print_json("status", {"studies": facts, "file": asked})
        return
    if edited is None:
        if metric := metric_in_words(Path(options.place), {} if planned is None else planned.spec):
            _say(metric)
        return
    _say(
        f"{options.place} is not what was run last (it, or a file that it names, was edited, or `run` had options such "
        f"as --seeds): it asks for {most}{edited.added} more runs and drops {edited.dropped}"
        if planned is not None
        else f"{options.place} was not run yet"
    )
    now = StudyStatus(address.name, address.store, edited.counts, ())
    _say(f"as it is now: {summary(now)}; run `transferscope run {quote(options.place)}` for the rest")


def _say(text: str) -> None:
    say(wrapped(text))


def _show(store: Store, name: str) -> None:
    standing = study_status(store, name)
    _say(summary(standing))
    facts = store.study(name).facts
    sources = facts.get("sources") or {}
    for source, entry in sources.items():
        if isinstance(entry, dict) and "file" in entry:
            _say(f"  source {source}: {weights_in_words(entry)}")
    if "precision" in facts:
        _say(f"  precision: {precision_in_words(facts['precision'])}")
    race = race_state(store.study_documents(name)) if standing.counts.done else None
    if race is not None and store.study(name).spec.get("race") is not None:
        its = "its" if len(race.not_begun) == 1 else "their"
        left = f", {counted(len(race.not_begun), 'arm')} skipped for {its} expected time" if race.not_begun else ""
        _say(f"  race: {RACE_ENDS[race.end]}{left}")
    if networks := _networks(store, name):
        _say(f"  networks on disk: {networks}")
    for line in failures(standing.failed):
        _say(f"  {line}")


def failures(cells: Iterable[StoredCell]) -> Iterator[str]:
    """Yield one line per reason of failure, with the first failed arms and their seeds."""
    met: dict[str, dict[str, list[str]]] = {}
    for cell in cells:
        assert cell.failure is not None
        labels = dict(cell.cell.labels)
        seed = str(labels.pop("seed", ""))
        met.setdefault(cell.failure.message, {}).setdefault(cell_words(cell.cell.role, labels), []).append(seed)
    for message, arms in met.items():
        words = [f"{arm}, seed{'s' if len(seeds) > 1 else ''} {few(seeds)}" for arm, seeds in arms.items()]
        more = f"; {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
        yield f"{'; '.join(words[:_SHOWN])}{more}: {message}"


def status_facts(standing: StudyStatus) -> dict[str, Any]:
    """Return the state of a study, as JSON values."""
    failed = [
        {
            "role": cell.cell.role,
            "labels": dict(cell.cell.labels),
            "kind": None if cell.failure is None else cell.failure.kind,
            "message": None if cell.failure is None else cell.failure.message,
        }
        for cell in standing.failed
    ]
    return {"study": standing.name, "store": standing.store, "runs": _counted(standing.counts), "failed": failed}


def _counted(counts: StudyCounts) -> dict[str, int]:
    return {"total": counts.total, **asdict(counts)}


def _facts(store: Store, name: str) -> dict[str, Any]:
    facts = store.study(name).facts
    sources = facts.get("sources") or {}
    return {
        **status_facts(study_status(store, name)),
        "weights": {source: entry for source, entry in sources.items() if isinstance(entry, dict) and "file" in entry},
        "networks": asdict(kept_networks(store, name)),
        **({"precision": facts["precision"]} if "precision" in facts else {}),
    }


def _networks(store: Store, study: str) -> str:
    """Describe the trained networks on disk; empty if there are none."""
    kept = kept_networks(store, study)
    if not kept.n_runs + kept.n_pretrained:
        return ""
    words = [f'{kept.n_runs} of {counted(kept.n_done, "run")} ({large_count(kept.run_bytes)}B; keep = "{kept.keep}")']
    if kept.n_pretrained:
        words.append(f"{kept.n_pretrained} of pretraining ({large_count(kept.pretrained_bytes)}B)")
    return ", ".join(words)


def summary(standing: StudyStatus) -> str:
    """Return a study in one line: "usps: 30 of 36 runs done, 2 failed, 4 blocked by those"."""
    counts = standing.counts
    others = {
        "running": counts.running,
        "to do": counts.planned,
        "failed": counts.failed,
        "blocked by failed ones": counts.blocked,
    }
    words = [f"{n} {what}" for what, n in others.items() if n]
    return ", ".join([f"{standing.name}: {counts.done} of {counts.total} runs done", *words])


def understood(facts: Mapping[str, object]) -> Iterator[str]:
    """Yield how user data were read, one line each: "target flowers: classification, 3 classes: ..."."""
    if "precision" in facts:
        yield f"precision: {precision_in_words(facts['precision'])}"
    sources = facts.get("sources")
    named = {f"source {name}": entry for name, entry in sources.items()} if isinstance(sources, Mapping) else {}
    for role, entry in {"target": facts.get("target"), **named}.items():
        provenance = entry.get("provenance") if isinstance(entry, Mapping) else None
        if isinstance(entry, Mapping) and isinstance(provenance, Mapping) and (words := data_in_words(entry)):
            yield f"{role}: {provenance['spec']}: {words}"
        remarks = entry.get("remarks") if isinstance(entry, Mapping) else None
        yield from (f"{role}: {remark}" for remark in (remarks if isinstance(remarks, list) else []))
