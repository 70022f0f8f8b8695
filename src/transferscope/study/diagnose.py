"""Doing a cell of role "diagnose": one diagnostic of the networks that one method cell trained."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from transferscope.data.task import Dataset, LabelledSet
from transferscope.diagnostics import Examples, Findings, Subject
from transferscope.diagnostics.diagnostic import Diagnostic
from transferscope.models import Network
from transferscope.models.build import frame_network
from transferscope.models.weights import is_whole, open_network
from transferscope.records import Cost
from transferscope.store import Outcome, PlannedCell
from transferscope.study.cell import DiagnoseRecipe
from transferscope.study.context import WorkContext
from transferscope.study.fitting import (
    fit_method,
    number,
    spread_examples,
    task_of,
)
from transferscope.training import choose_device, scale_of


def diagnose(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Measure a diagnostic at the steps that its settings ask for; the end has step None, as final values have.

    The networks come from the files of the method cell; if they are gone (or were never kept, because the diagnostic
    was asked for later), the method is fitted again, which gives the same networks.
    """
    recipe = DiagnoseRecipe.from_payload(cell.payload)
    started = time.perf_counter()
    scene = _Scene(cell, recipe, context)
    findings: dict[int | None, Findings] = {}
    for step in scene.steps:
        findings[step] = recipe.diagnostic.diagnostic.measure(scene.subject(step))
        context.progress(len(findings), len(scene.steps))
    outcome = _outcome(recipe.diagnostic.diagnostic, findings, time.perf_counter() - started)
    return replace(outcome, notes={**outcome.notes, "last_step": scene.last_step})


def _outcome(diagnostic: Diagnostic, findings: Mapping[int | None, Findings], seconds: float) -> Outcome:
    arrays = {
        name if step is None else f"{name}@{step}": array
        for step, found in findings.items()
        for name, array in found.arrays.items()
    }
    last = list(findings.values())[-1]
    notes = {
        "status": "ok",
        "diagnostic": diagnostic.name,
        "headline": diagnostic.headline,
        "left_out": list(last.left_out),
        # the words of a diagnostic from outside go with its numbers: a page is built where it need not be installed
        **{name: str(getattr(diagnostic, name)) for name in ("title", "limits") if hasattr(diagnostic, name)},
    }
    records = tuple(record for found in findings.values() for record in found.records)
    return Outcome(records, Cost(seconds=seconds), arrays, notes)


class _Scene:
    """What the diagnostics of one cell look at."""

    def __init__(self, cell: PlannedCell, recipe: DiagnoseRecipe, context: WorkContext) -> None:
        self.recipe, self.scope = recipe.fit, recipe.diagnostic.scope
        self.device = choose_device(context.device)
        self.files = _networks(cell, recipe, context)
        self.task = task_of(cell, recipe.fit)
        train = self.task.target.train
        self.frame = frame_network(self.recipe.network, train.input_shape, train.n_outputs).to(self.device)
        self.start = self._network(0)
        self.examples = self._examples(self.task.target)
        self.source = None if self.task.source is None else self._source(self.task.source)

    @property
    def steps(self) -> list[int | None]:
        """The steps to look at, the end last."""
        return [step for step in self.files if self.scope.wants(step)]

    @property
    def last_step(self) -> int:
        """The training step that the end belongs to."""
        return self.recipe.training.n_steps(len(self.task.target.train))

    def subject(self, step: int | None) -> Subject:
        """The network of a step, beside where it started."""
        return Subject(
            self._network(step),
            self.examples,
            start=self.start,
            source=self.source,
            n_train=len(self.task.target.train),
            part=self.scope.part,
            step=step,
        )

    def _network(self, step: int | None) -> Network:
        return open_network(self.frame, self.files[step]).network

    def _examples(self, target: Dataset) -> Examples:
        chosen = target.train if self.scope.part == "target_train" else target.test
        return self._shown(chosen, target)

    def _source(self, source: Dataset) -> Examples:
        return self._shown(source.train, source)

    def _shown(self, chosen: LabelledSet, data: Dataset) -> Examples:
        return spread_examples(
            chosen, scale=scale_of(self.frame, data.train), at_most=self.scope.examples, device=self.device
        )


def _networks(cell: PlannedCell, recipe: DiagnoseRecipe, context: WorkContext) -> dict[int | None, Path]:
    """Files of the method cell's networks by step, in order; the end is None."""
    key, every = cell.needs[-1], recipe.diagnostic.scope.every
    n_steps = recipe.fit.training.n_steps(number(cell, "n_target"))
    needed = {0} if every is None or every >= n_steps else {0, every}
    kept = context.snapshots(key)
    if not needed <= kept.keys() or not all(is_whole(path) for path in (context.network(key), *kept.values())):
        fit_method(cell, recipe.fit, context, key=key)
    files: dict[int | None, Path] = {step: path for step, path in context.snapshots(key).items()}  # noqa: C416
    return files | {None: context.network(key)}
