"""`compare`: write the study file of a comparison and run it, cheapest runs first."""

from __future__ import annotations  # so that help shows types by the names that they have here

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeGuard

import pandas as pd

from transferscope.analyses.compare.calls import compare_calls
from transferscope.analyses.compare.result import ComparisonResult
from transferscope.analyses.compare.results import compare_results
from transferscope.analyses.compare.sources import Source
from transferscope.analyses.compare.study_file import Question, ask
from transferscope.analyses.compare.summary import summarise
from transferscope.analyses.notebook import shown_in_notebook
from transferscope.arguments import checks_arguments, under_headings
from transferscope.data.memory import Data, InMemory, Task
from transferscope.errors import SettingsError, refuse_unused
from transferscope.methods.recipes import Protocol
from transferscope.once import once
from transferscope.settings.questions import RunColumns
from transferscope.store import Store
from transferscope.study.run import Event, ignore, run_study
from transferscope.study.spec import NOTHING
from transferscope.study.status import StudyStatus
from transferscope.wording import cell_words


@under_headings(
    {
        "labels": "what is compared, and how long",
        "margin": "what counts as better",
        "network": "how it is trained",
        "folder": "where it is kept, and what is shown",
        "label": "data in memory",
        "run": "runs that a function of yours makes",
        "without": "results that are there",
    }
)
@checks_arguments
def compare(
    target: Data | None = None,
    sources: Source | Sequence[Source] | None = None,
    *,
    labels: Sequence[int] = (),
    methods: Sequence[str] | None = None,
    seeds: int | None = None,
    runs: int | None = None,
    minutes: float | None = None,
    diagnostics: Sequence[str] = (),
    margin: float | None = None,
    worth: float | None = None,
    metric: str | None = None,
    network: str | None = None,
    training: Mapping[str, Any] = NOTHING,
    pretraining: Mapping[str, Any] = NOTHING,
    engine: Mapping[str, Any] = NOTHING,
    tuning: bool | None = None,
    recipe: Protocol = "field",
    folder: str | Path = "runs",
    on_event: Callable[[Event], None] = ignore,
    label: str | None = None,
    task: Task | None = None,
    test_share: float | None = None,
    group: Data = None,
    time: Data = None,
    run: Callable[..., Any] | None = None,
    arms: Mapping[str, Mapping[str, Any]] = NOTHING,
    score: Mapping[str, str] = NOTHING,
    without: Collection[str] | None = None,
    columns: RunColumns | None = None,
    predictions: str | Path | None = None,
    planned: int | None = None,
) -> ComparisonResult:
    """Compare transfer methods and baselines on a target, or compare finished runs, or your own runs.

    Finished runs are given alone, as a data frame or the path of an existing file or folder, with `without`, `columns`,
    `predictions` and `margin` (`compare.results.compare_results`). Nothing is run, and `next` of the result returns the
    runs to make.

    Your own training function is given alone with `arms`: `run(**arms[NAME], seed=...)`, with `labels=...` if `labels`
    are given, trains and returns its score, or an array with the score of each test example. It is called in worker
    processes if they can import it, else in this one. After a change of its code, or of what it imports, its runs are
    repeated.

    Without `seeds`, every arm is run once, cheapest first. Then follow the runs that are most informative per second on
    whether transfer helps and which arm to use, until both are decided or no run is worth its time
    (`decision.next_runs`), with at most MOST_SEEDS seeds per arm. A run expected to take more than LONGEST_RUN is
    skipped unless methods are named or there is a time limit; the answer gives its expected time.

    Every method trains with its usual recipe (`methods.recipes`: optimiser, learning rates, steps by the number of
    labels, augmentation), except for settings in `training`. With `recipe = "equal"` all take the same number of steps,
    and the learning rate and one further setting of each method are chosen by cross-validation on target labels, with
    equal search budgets.

    Finished runs in the same folder are reused: an interrupted call resumes, and a call with more seeds, labels or
    methods runs only what is missing.

    Args:
        target: The data of interest: a name as in `transferscope.data.load.load` ("mnist", "npz:PATH", ...), or data in
            memory: `(X, y)` or `(X, y, X_test, y_test)` of arrays, data frames or texts; a data frame with `label`; a
            bunch of scikit-learn, a map-style data set of torch, one of the package datasets; or a `Dataset`. Methods
            are compared on its test part. Or finished runs, without sources.
        sources: The sources: data as for `target`; a pretrained network by name ("hf:FOLDER", "timm:NAME",
            "torchvision:NAME", "package.module:factory", "file.py:factory"), as a `Pretrained`, or as a
            `torch.nn.Module` that can be made again in another process (see `pretrained_module`); or a list of them.
        labels: Numbers of labelled target examples, each at least 1; empty for all available labels.
        methods: Names of methods, or references to others, as in "package.module:Class" and "path/to/file.py:Class".
            None for those of `default_methods` that can learn the target from the sources; a network of another package
            is not trained from scratch.
        seeds: Number of seeds per arm, each with its own few-shot subset and initialisation, at least 1; with `runs` or
            `minutes`, the maximum. None to run until both questions are decided.
        runs: Maximum number of runs, at least 2; None for no limit.
        minutes: Time limit of this call, above 0: a run that would not fit is not started, and a run at the limit is
            stopped. None for no limit.
        diagnostics: Names of diagnostics of the trained networks ("weights", "class-separation", ...), with their
            default settings, for the report's section "Why".
        margin: Differences up to this do not matter, above 0: points of accuracy, of average precision for several
            labels of each input, or of R² for numbers. None for 1.
        worth: Seconds of a run that one point is worth, above 0: the arm with the smallest expected loss, time
            included, is recommended. None for the cheapest arm within the margin. Not with `seeds` alone.
        metric: "balanced-accuracy", "macro-f1" or "matthews", for rare classes; None for accuracy, or the default
            metric of other labels. Changing it repeats no training.
        network: Name of the network, as in `NetworkSettings`; None for that of the first source that names one, else a
            multi-layer perceptron on vectors, LeNet on images of up to 40 pixels on a side, and conv4 on larger ones,
            which are resized to at most 64 pixels; ResNet-20 for labels on a grid over each image.
        training: Settings of [training] in the study file, as in {"steps": 500}: fields of `TrainingSettings`. They
            override the recipe. A given learning rate is not searched; methods that start from a pretrained network use
            a fraction of it.
        pretraining: Settings of [pretraining], in the same form.
        engine: Settings of [engine], as in {"workers": 4, "keep": "all"}: fields of `EngineSettings`.
        tuning: Whether to search settings by cross-validation on target labels; None for a search with `recipe =
            "equal"` only.
        recipe: "field" for the usual recipe of each method, "equal" for equal budgets as in papers.
        folder: Folder of the study file, the store and data given in memory.
        on_event: Called with progress; None shows a progress bar in notebooks.
        label: The label column of data frames and of data sets of the package datasets; None for "label".
        task: Task of data in memory: "classification", "regression" or "multi-label". None to infer it from the type of
            the labels: integers, text and booleans are classes, floating-point numbers a regression.
        test_share: Share of data in memory that becomes the test part if there is none, drawn by seed with all classes
            in both parts, between 0 and 1; None for .2, or up to .5 of what few `labels` leave.
        group: Group of each example of a target in memory, such as a patient: the name of a column, or a value per
            example, as `groups` in scikit-learn. No group is in both training and test, or in two folds.
        time: Time of each example, as numbers or dates, in the same form: the test part is later than the training
            part.
        run: A function that trains; see above.
        arms: For `run`: its arguments by the name of the arm, numbers and text. The argument "source" names the source,
            None for a baseline.
        score: For `run`: the returned score, as in {"name": "accuracy", "unit": "share", "better": "higher"}; see [run]
            in
            a study file.
        without: For finished runs: names of the baselines.
        columns: For finished runs: column by role.
        predictions: For finished runs: a folder of predictions for the test examples.
        planned: For finished runs: number of seeds per arm fixed before the first run.

    Raises:
        TransferscopeError: Data, names or settings are invalid; no run was started.

    Example:
        >>> result = compare("digits", "glyphs", labels=[50, 200])  # doctest: +SKIP
        >>> print(result.verdict)  # doctest: +SKIP
        >>> result.report("digits.html")  # doctest: +SKIP
    """
    began, show = monotonic(), shown_in_notebook(on_event)
    race = {name: value for name, value in (("runs", runs), ("minutes", minutes)) if value is not None}
    question = Question(
        target,
        sources,
        Path(folder),
        labels=labels,
        methods=methods,
        diagnostics=diagnostics,
        seeds=seeds,
        decision={name: value for name, value in (("margin", margin), ("worth", worth)) if value is not None},
        race=race if race or seeds is None else None,
        network=network,
        training=training,
        pretraining=pretraining,
        engine=engine,
        tuning=tuning,
        recipe=recipe,
        metric=metric,
        reading=InMemory(label, task, test_share, group, time),
    )
    of_results: dict[str, Any] = {
        "without": without,
        "columns": columns,
        "predictions": predictions,
        "planned": planned,
    }
    given_of_results = {name: value is not None for name, value in of_results.items()}
    if run is not None:
        unused = _given(question, but={"labels", "seeds", "runs", "minutes", "decision", "engine"}) | given_of_results
        refuse_unused(unused, "a function is given that makes the runs")
        return compare_calls(
            question, run, arms, score=score, on_event=show, since=began, on_end=partial(warn_of_failures, calls=5)
        )
    refuse_unused({"arms": bool(arms), "score": bool(score)}, "no function makes the runs")
    if sources is None and (isinstance(target, pd.DataFrame) or _is_place(target)):
        refuse_unused(_given(question, but={"target", "decision"}), "results are given, for which nothing is run")
        return compare_results(target, margin=margin, worth=worth, **of_results)
    if sources is None:
        raise SettingsError(
            "compare was given no source; give sources, as in compare(target, sources), or only results: a data "
            "frame, or the path of an existing file or folder"
        )
    refuse_unused(given_of_results, "sources are given, which are trained on")
    with once():
        asked = ask(question)
        with Store.open(asked.spec.store) as store:
            warn_of_failures(run_study(asked.spec, store, on_event=show, since=began))
            return ComparisonResult(summarise(store, asked.spec.name), Path(asked.spec.store), asked.path)


def _given(question: Question, *, but: Collection[str]) -> dict[str, bool]:
    """Return whether arguments were given, by name, but for some and the folder."""
    every = {one.name: getattr(part, one.name) for part in (question, question.reading) for one in fields(part)}
    usual = {one.name: one.default for one in fields(Question)}

    def is_given(name: str, value: object) -> bool:
        empty = isinstance(value, list | tuple | Mapping) and not value
        return not (value is None or value is usual.get(name) or empty)

    every |= question.race or {}
    return {
        name: is_given(name, value) for name, value in every.items() if name not in {*but, "folder", "reading", "race"}
    }


def warn_of_failures(status: StudyStatus, *, calls: int = 4) -> None:
    """Warn about failed runs, with the first reason.

    Args:
        calls: Number of stack frames up to the caller of `compare`, for the warning.
    """
    if status.failed:
        first = status.failed[0]
        assert first.failure is not None
        words = cell_words(first.cell.role, first.cell.labels)
        warnings.warn(
            f"{status.counts.failed} of the {status.counts.total} runs of {status.name} failed; the first, {words}, "
            f"said: {first.failure.message}",
            stacklevel=calls,
        )


def _is_place(target: object) -> TypeGuard[str | Path]:
    """Return whether a target is the path of an existing file or folder; names of data start with their kind."""
    return isinstance(target, str | Path) and Path(target).exists()
