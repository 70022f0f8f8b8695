"""Settings that runs chose by search on training data, and the time of the search."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from transferscope.analyses.compare.words import words_of
from transferscope.report.blocks import Cell, Column, Points, Section, Table
from transferscope.statements import Statement, state
from transferscope.study.frames import StudyFrames
from transferscope.wording import duration

_NAMED = 6  # arms in a sentence

SEARCHED = (0.1, -0.3, 0.5, 11, 4.2)
"""Gain of a hyperparameter search around recipes in points, its 95 % interval, number of tasks, and time relative to a
run; a test holds them to the runs of docs/results/competence.md. Hence the one rule: recipes are not searched."""


@dataclass(frozen=True)
class ArmSettings:
    """The settings chosen by the runs of one method from one source at one number of labels.

    Attributes:
        source: Name of the source; None for a baseline.
        tried: Tried values by setting, numbers in ascending order.
        ends: Settings for which each run chose an end of the tried values, with the value; see `at_edge`.
        seconds: Mean time of the search in a run, in seconds.
        own_seconds: Mean time of a run without the search, in seconds.
    """

    method: str
    source: str | None
    n_target: int
    chosen: tuple[Mapping[str, Any], ...]
    tried: Mapping[str, tuple[Any, ...]]
    ends: tuple[Mapping[str, Any], ...]
    n_trials: int
    seconds: float
    own_seconds: float

    @property
    def at_edge(self) -> Mapping[str, str]:
        """The settings for which most runs chose the same end of the grid, "largest" or "smallest".

        Only numeric settings with at least three tried values have ends.
        """
        edges = {}
        for name, values in self.tried.items():
            for word, end in (("largest", values[-1]), ("smallest", values[0])):
                if sum(name in ends and ends[name] == end for ends in self.ends) > len(self.chosen) / 2:
                    edges[name] = word
        return edges


def _ends(note: Mapping[str, Any], tried: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return the settings for which a run chose an end of the grid; a tie with a value in between is not one."""
    ends = {}
    for name, values in tried.items():
        value = note["chosen"][name]
        if (
            len(values) < 3
            or not all(isinstance(one, int | float) for one in values)
            or value not in values[:: len(values) - 1]
        ):
            continue
        inside = [trial["risk"]["value"] for trial in note["trials"] if trial["settings"][name] in values[1:-1]]
        own = next(trial["risk"]["value"] for trial in note["trials"] if trial["settings"] == note["chosen"])
        if own < min(inside, default=np.inf):
            ends[name] = value
    return ends


def chosen_settings(frames: StudyFrames) -> tuple[ArmSettings, ...]:
    """Return the chosen settings of every arm with a search.

    Returns:
        Sorted by number of labels, then as in the study file.
    """
    cells = _searched(frames)
    chosen = []
    for _, runs in cells.groupby(["n_target", "method", "source"], sort=False):
        first = runs.iloc[0]
        notes = runs["tuning"].tolist()
        every = [trial["settings"] for note in notes for trial in note["trials"]]
        tried = {}
        for name in every[0]:
            values = tuple(dict.fromkeys(settings[name] for settings in every))
            ordered = all(isinstance(value, int | float) for value in values)
            tried[name] = tuple(sorted(values)) if ordered else values
        searching = np.array([note["tuning_cost"]["seconds"] for note in notes])
        chosen.append(
            ArmSettings(
                method=str(first["method"]),
                source=str(first["source"]) or None,
                n_target=int(first["n_target"]),
                chosen=tuple(note["chosen"] for note in notes),
                tried=tried,
                ends=tuple(_ends(note, tried) for note in notes),
                n_trials=max(len(note["trials"]) for note in notes),
                seconds=float(searching.mean()),
                own_seconds=float((runs["seconds"].to_numpy() - searching).mean()),
            )
        )
    return tuple(sorted(chosen, key=lambda arm: arm.n_target))


def _searched(frames: StudyFrames) -> pd.DataFrame:
    cells = frames.method_cells.iloc[: 0 if frames.is_of_others else None]
    return cells[np.array([len(note.get("trials", ())) > 1 for note in cells["tuning"]], dtype=np.bool_)]


def searches(frames: StudyFrames) -> Iterator[Statement]:
    """Yield how settings were chosen, choices at an end of the grid, and missing searches for lack of labels."""
    if frames.is_of_others:
        return
    arms, notes = chosen_settings(frames), frames.method_cells["tuning"]
    if arms:
        yield state(
            "searched",
            n_trials=max(arm.n_trials for arm in arms),
            times=sum(arm.seconds for arm in arms) / sum(arm.own_seconds for arm in arms),
        )
    ends = {"smallest": 0, "largest": -1}
    edges = [
        ((arm.method, arm.source or ""), arm.n_target, word, name, arm.tried[name][ends[word]])
        for arm in arms
        for name, word in arm.at_edge.items()
    ]
    if edges:
        yield state("edge of the search", settings=edges[:_NAMED], others=max(0, len(edges) - _NAMED))
    needed = {
        int(n): int(note["labels_needed"])
        for n, note in zip(frames.method_cells["n_target"], notes, strict=True)
        if note.get("labels_needed")
    }
    if needed or not (any(notes) or frames.is_of_others):
        yield state(
            "not searched",
            sizes=sorted(needed),
            needed=max(needed.values(), default=0),
            search=SEARCHED if frames.study.spec.get("recipe", "field") == "field" and not needed else (),
        )


def settings_section(frames: StudyFrames) -> Section | None:
    """Return a table of the settings of every arm, with all trials as a file; None without a search."""
    arms = chosen_settings(frames)
    if not arms:
        return None
    columns = (
        Column("Method", numeric=False),
        Column("Labels"),
        Column("Setting", numeric=False),
        Column("Tried", numeric=False),
        Column("Chosen", "How many runs chose each value", numeric=False),
        Column("Trials", "Combinations that each run tried"),
        Column("Search", "Mean time of the search in a run, and as a multiple of the run itself"),
    )
    rows = []
    for arm in arms:
        for place, (name, values) in enumerate(arm.tried.items()):
            counts = Counter(settings[name] for settings in arm.chosen)
            edge = arm.at_edge.get(name)
            chosen = ", ".join(f"{_value(value)}: {counts[value]}" for value in values if counts[value])
            times = f"{arm.seconds / arm.own_seconds:.1f} × the run" if arm.own_seconds > 0 else ""
            rows.append(
                (
                    Cell("" if place else frames.at_start(arm.method, arm.source or "")),
                    Cell("" if place else f"{arm.n_target:,}"),
                    Cell(name),
                    Cell(", ".join(map(_value, values))),
                    Cell(chosen, f"the {edge} of those tried" if edge else ""),
                    Cell("" if place else str(arm.n_trials)),
                    Cell("" if place else duration(arm.seconds), "" if place else times),
                )
            )
    sentences = words_of(frames).all_of(searches(frames))
    trials = [
        {
            **run[["source", "method", "n_target", "seed"]].to_dict(),
            "settings": ", ".join(f"{name} = {_value(value)}" for name, value in trial["settings"].items()),
            "risk": trial["risk"]["value"],
            "stderr": trial["risk"]["stderr"],
            "n_folds": trial["risk"]["n"],
            "chosen": trial["settings"] == run["tuning"]["chosen"],
        }
        for _, run in _searched(frames).iterrows()
        for trial in run["tuning"]["trials"]
    ]
    shown = (Points(sentences), Table(columns, tuple(rows)))
    return Section("Settings chosen", "settings", shown, {"settings": pd.DataFrame(trials)})


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
