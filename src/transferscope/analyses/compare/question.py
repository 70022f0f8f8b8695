"""How a comparison is asked: its study file is written and run, with as many steps as training from scratch takes."""

import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from transferscope.analyses.compare.frames import read_study
from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.sources import Source, named_sources
from transferscope.analyses.compare.study_file import (
    Budget,
    first_steps,
    most_steps,
    network_in_words,
    study_tables,
    with_steps,
    write_study,
)
from transferscope.analyses.compare.summary import summarise
from transferscope.analyses.compare.training import baseline_unfinished
from transferscope.analyses.notebook import shown_in_notebook
from transferscope.data.task import Dataset
from transferscope.errors import SettingsError
from transferscope.models import Pretrained
from transferscope.store import Store
from transferscope.study.run import Event, ignore, run_study
from transferscope.study.spec import StudySpec, parse_spec, read_spec
from transferscope.study.status import StudyStatus
from transferscope.wording import cell_words, counted


def compare(
    source: Source | Sequence[Source],
    target: str | Dataset,
    *,
    labels: Sequence[int] = (),
    methods: Sequence[str] | None = None,
    diagnostics: Sequence[str] = (),
    seeds: int = 5,
    budget: Budget | None = None,
    tuning: bool = True,
    lr: float | None = None,
    metric: str | None = None,
    folder: str | Path = "runs",
    on_event: Callable[[Event], None] = ignore,
) -> ComparisonResult:
    """Compare transfer methods with training from scratch.

    Every run first chooses the rate and one further setting of its method by cross-validation on its own target labels;
    the search is equally long for all methods, training from scratch included, and test data take no part in it.

    Unless the budget says how many steps to take, the first seed of training from scratch is run first, with more
    steps until its training is finished, and every method then takes as many.

    What was done before in the same folder is not done again, so that an interrupted call goes on where it was, and a
    call with more seeds, labels or methods only does the rest.

    Args:
        source: What to transfer from: a name as in `transferscope.data.load.load` ("mnist", "npz:PATH", ...), a data
            set in memory; a pretrained network by name ("hf:FOLDER", "timm:NAME", "torchvision:NAME",
            "package.module:factory", "file.py:factory"), as a `Pretrained`, or as a `torch.nn.Module` that can be made
            again in another process (see `pretrained_module`); or several of them.
        target: The target, likewise. Its test part is what methods are compared on.
        labels: Numbers of labelled target examples, each at least 1; none for all that there are.
        methods: Names of methods, or references to others, as in "package.module:Class" and "path/to/file.py:Class";
            "scratch" is always added, as the baseline. None for those of `default_methods` that can learn the
            target from the sources.
        diagnostics: Names of diagnostics of the trained networks ("weights", "class-separation", ...), with their
            default settings, for the report's section "Why".
        seeds: Number of repetitions, each with its own few-shot subset and initialisation, at least 1.
        budget: Length of training and network.
        tuning: False takes every method's settings as they are.
        lr: A learning rate for all methods, above 0, which is then not searched; None to search around that of the
            budget. Methods that start from a pretrained network take their share of it.
        metric: "balanced-accuracy", "macro-f1" or "matthews", for rare classes; None for accuracy, or what suits
            other labels. Changing it trains nothing again.
        folder: Where the study file, the store and data given in memory are kept.
        on_event: Called with progress; without it, a notebook shows a bar.

    Returns:
        The comparison.

    Raises:
        TransferscopeError: Data, names or settings that cannot be used; nothing was begun.

    Example:
        >>> result = compare("glyphs", "digits", labels=[50, 200], seeds=3)  # doctest: +SKIP
        >>> print(result.verdict)  # doctest: +SKIP
        >>> result.report("digits.html")  # doctest: +SKIP
    """
    if isinstance(source, str | Dataset | Pretrained | nn.Module):
        source = [source]
    sources = named_sources(_listed("source", source), Path(folder))
    _check_data(*(one for one in sources if not isinstance(one, Pretrained)), target)
    tables = study_tables(
        sources,
        target,
        labels=[_whole("labels", label) for label in _listed("labels", labels)],
        methods=None if methods is None else _listed("methods", methods),
        diagnostics=_listed("diagnostics", diagnostics),
        seeds=_whole("seeds", seeds),
        budget=budget or Budget(),
        tuning=tuning,
        lr=lr,
        metric=metric,
        folder=Path(folder),
    )
    parse_spec(tables, place="the comparison")  # what cannot be done leaves an earlier study file as it is
    note = network_in_words(tables, budget or Budget())
    path = write_study(tables, Path(folder), note=note).path
    spec = read_spec(path)
    show = shown_in_notebook(on_event)
    with Store.open(spec.store) as store:
        if budget is None or budget.steps is None:
            found = enough_steps(spec, store, lambda trial: run_study(trial, store, on_event=show))
            spec = replace(spec, training=replace(spec.training, steps=found.steps))
            write_study(with_steps(tables, found.steps), Path(folder), note=note)
        warn_of_failures(run_study(spec, store, on_event=show))
        return ComparisonResult(summarise(store, spec.name), Path(spec.store), path)


def warn_of_failures(status: StudyStatus) -> None:
    """Say in a warning that runs have failed, and why the first has: an answer without them may look complete."""
    if status.failed:
        first = status.failed[0]
        assert first.failure is not None
        words = cell_words(first.cell.role, first.cell.labels)
        warnings.warn(
            f"{status.counts.failed} of the {status.counts.total} runs of {status.name} failed; the first, {words}, "
            f"said: {first.failure.message}",
            stacklevel=3,
        )


@dataclass(frozen=True)
class EnoughSteps:
    """How many steps training from scratch takes.

    Attributes:
        steps: Optimiser steps.
        finished: Whether its training is finished after them; otherwise the most that are tried were not enough.
    """

    steps: int
    finished: bool

    def __str__(self) -> str:
        return (
            f"{counted(self.steps, 'step')}: training from scratch is {'' if self.finished else 'still not '}finished"
        )


def enough_steps(spec: StudySpec, store: Store, run: Callable[[StudySpec], object]) -> EnoughSteps:
    """How many steps it takes to finish training from scratch, by its runs of the first seed.

    The steps of the study are doubled, up to eight times the first, until training from scratch is finished at every
    number of labels; see `training.arm_trainings`. The runs are cells of the study, so that they are not done again.

    Args:
        spec: The study, with the steps to begin with.
        store: Its store.
        run: Does what is missing of a study, into that store.

    Returns:
        The steps. A run that failed, or diverged, is taken as finished: the study itself says what happened.
    """
    engine = replace(spec.engine, keep="all")  # the study itself deletes what it does not keep, once it is finished
    scratch = {"scratch": spec.methods["scratch"]}
    trial = replace(spec, seeds=spec.seeds[:1], methods=scratch, engine=engine, race=None)
    steps, most = spec.training.steps or first_steps(spec.network.name), most_steps(spec.network.name)
    while True:
        run(replace(trial, training=replace(spec.training, steps=steps)))
        finished = not baseline_unfinished(read_study(store, spec.name))
        if finished or steps >= most:
            return EnoughSteps(steps, finished)
        steps = min(2 * steps, most)


def _listed(name: str, values: object) -> list[Any]:
    """The values as a list; one alone, also a text, is refused."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SettingsError(f"{name} = {values!r} is no list; write [{values!r}]")
    return list(values)


def _whole(name: str, value: Any) -> int:
    """A whole number as Python's own, from NumPy's too."""
    try:
        return operator.index(value)
    except TypeError as error:
        raise SettingsError(f"{name} holds {value!r}; expected a whole number") from error


def _check_data(*given: object) -> None:
    for data in given:
        if not isinstance(data, str | Dataset):
            raise SettingsError(
                f"data are given as {type(data).__name__}; expected a name, such as 'npz:PATH', or a "
                "transferscope.data.Dataset"
            )
