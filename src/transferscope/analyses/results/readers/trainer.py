"""Runs of a Hugging Face Trainer: a folder each, with all_results.json, trainer_state.json, or checkpoints alone.

Metrics after training (all_results.json) are final. Otherwise the evaluations come from the state at the largest step,
in the last checkpoint. With `load_best_model_at_end` or `metric_for_best_model`, the state names the best step. If the
path names no seed, that in the model card is used.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

from transferscope.analyses.results.readers.run import Found, Run, arm_and_seed, several, text_of
from transferscope.files import json_object

_RESULTS, _STATE = "all_results.json", "trainer_state.json"
_SCORE = re.compile(r"(eval|test|predict)_(?!runtime$|samples|steps_per|jit_|model_prep|num_input)\w+")
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
_IN_CARD = re.compile(r"^- seed: (\d+)$", re.MULTILINE)


def holds(place: Path) -> bool:
    """See `readers.RunsReader`."""
    return place.is_dir() and next(_files(place), None) is not None


def read(place: Path) -> Found:
    """See `readers.RunsReader`."""
    by_run: dict[Path, list[Path]] = {}
    for run, path in _files(place):
        by_run.setdefault(run, []).append(path)
    runs = tuple(_run(run, place, by_run[run]) for run in sorted(by_run))
    stopped = [run.name for run in runs if run.state]
    denied = [run.name for run in runs if run.best is not None and math.isnan(run.best)]
    return Found(
        runs,
        (
            *several(stopped, "stopped before the last step, and counted as not finished"),
            *several(denied, "best step contradicted by the evaluations, of which the last counts"),
        ),
    )


def _files(place: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the folder of a run and a file in it, or in one of its checkpoints."""
    for name in (_RESULTS, _STATE):
        for path in place.rglob(name):
            in_checkpoint = _CHECKPOINT.fullmatch(path.parent.name) and path.parent != place
            if not (in_checkpoint and name == _RESULTS):
                yield (path.parent.parent if in_checkpoint else path.parent), path


def _run(run: Path, place: Path, paths: list[Path]) -> Run:
    settings = arm_and_seed(run, place)
    name = "/".join(run.relative_to(place).parts) or run.resolve().name
    card = run / "README.md"
    if "seed" not in settings and card.is_file() and (told := _IN_CARD.search(text_of(card, "a model card"))):
        settings["seed"] = told[1]
    results = _json(run / _RESULTS) if run / _RESULTS in paths else {}
    own = [path for path in paths if path.name == _STATE and path.parent == run]
    saved = [path for path in paths if path.name == _STATE and path.parent != run]
    last = sorted(saved, key=lambda path: int(path.parent.name.rpartition("-")[2]))[-1:]
    state = max(map(_json, [*own, *last]), key=lambda one: _step(one.get("global_step")), default={})
    series, seconds, step = [], results.get("train_runtime"), 0.0
    history = state.get("log_history")
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, dict):
            step = _step(entry.get("step", step))
            series += [(step, key, value) for key, value in _scores(entry).items()]
            seconds = entry.get("train_runtime", seconds)
    stopped = bool(last) and not own and not results and _is_under_way(state)
    labels, tried = results.get("train_samples"), state.get("trial_params")
    return Run(
        name,
        (tried if isinstance(tried, dict) else {}) | settings | ({"labels": labels} if _is_number(labels) else {}),
        (*series, *((None, key, value) for key, value in _scores(results).items())),
        "running" if stopped else "",
        float(seconds) if _is_number(seconds) else None,
        _best(state, series),
    )


def _scores(entry: dict[str, Any]) -> dict[str, float]:
    return {key: float(value) for key, value in entry.items() if _SCORE.fullmatch(key) and _is_number(value)}


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1e300)


def _step(value: object) -> float:
    return float(value) if _is_number(value) and value == value else 0.0


def _is_under_way(state: dict[str, Any]) -> bool:
    """Return whether training continued after the last checkpoint, according to its control."""
    control: Any = state
    for key in ("stateful_callbacks", "TrainerControl", "args"):
        control = control.get(key) if isinstance(control, dict) else None
    going = isinstance(control, dict) and control.get("should_training_stop") is False
    return going and 0 < _step(state.get("global_step")) < _step(state.get("max_steps"))


def _best(state: dict[str, Any], series: list[tuple[float, str, float]]) -> float | None:
    """Return the best step of the state; NaN if its own evaluations contradict it: no metric there is `best_metric`,
    and the largest or the smallest of what was saved.
    """
    named = _CHECKPOINT.search(str(state.get("best_model_checkpoint") or "").replace("\\", "/").rpartition("/")[2])
    told = state.get("best_global_step")
    step = told or (int(named[1]) if named else None)
    every = 0.0 if told else _step(state.get("save_steps"))  # versions without that judged what they saved
    value, last = state.get("best_metric"), _step(state.get("global_step"))
    if step is None or not _is_number(value) or not _is_number(step):
        return None
    saved = [one for one in series if one[0] in (step, last) or (one[0] and (not every or one[0] % every == 0))]
    for metric in {name for at, name, one in saved if at == step and math.isclose(one, value, rel_tol=1e-6)}:
        values = [one for _, name, one in saved if name == metric and not math.isnan(one)]
        if math.isclose(value, max(values), rel_tol=1e-6) or math.isclose(value, min(values), rel_tol=1e-6):
            return float(step)
    return math.nan


def _json(path: Path) -> dict[str, Any]:
    return json_object(path, "what a Trainer writes", "write it again, or leave it out")
