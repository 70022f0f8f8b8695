"""Execution of a cell: pretraining, methods measured on target and source, and diagnostics of trained networks."""

import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.diagnostics import Diagnostic, Examples, Findings, Subject
from transferscope.errors import SettingsError, TransferscopeError
from transferscope.methods import Fitted, pretrain
from transferscope.methods.pretrain import to_pretrain
from transferscope.methods.tuning import Tuned, with_settings
from transferscope.models import Network
from transferscope.models.build import frame_network
from transferscope.models.pretrained import notes_of
from transferscope.models.weights import is_whole, open_network, read_notes, save_weights
from transferscope.records import HEADLINES, Cost, Record
from transferscope.store import Outcome, PlannedCell
from transferscope.study.cell import DiagnoseRecipe, MethodRecipe, PretrainRecipe, code_as_planned, code_of
from transferscope.study.context import CHOSEN, KEEP, STEP_NOTE, WorkContext
from transferscope.study.facts import as_read, read_data
from transferscope.study.fitting import (
    CellFit,
    fit_method,
    fit_options,
    fresh_network,
    network_notes,
    number,
    snapshots,
    source_data,
    spread_examples,
    task_of,
)
from transferscope.study.kept import card_of
from transferscope.trained import card_notes
from transferscope.training import exact_device, measure, outputs_of, scale_of, to_tensors
from transferscope.training.evaluate import Measures, mean_over_examples


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Execute a cell of role "pretrain", "method" or "diagnose"; see `study.context.Work`."""
    doers = {"pretrain": _pretrain, "method": _method, "diagnose": diagnose}
    if cell.role not in doers:
        raise SettingsError(f"a cell has the role {cell.role!r}; expected one of {', '.join(doers)}")
    with code_as_planned(code_of([cell])):
        outcome = doers[cell.role](cell, context)
    context.checkpoint(cell.key).unlink(missing_ok=True)
    return outcome


def _pretrain(cell: PlannedCell, context: WorkContext) -> Outcome:
    recipe = PretrainRecipe.from_payload(cell.payload)
    seed = number(cell, "seed")
    source = as_read(
        source_data(recipe.source, number(cell, "n_source"), seed, content=recipe.contents.get("source")),
        recipe.source,
        recipe.network,
    )
    network = to_pretrain(fresh_network(recipe, source, seed), source)
    options = fit_options(cell, context, recipe.pretraining)
    notes = {**scale_of(network, source.train).as_notes, **notes_of(recipe.network)}
    if recipe.checkpoints:
        options = replace(options, snapshots=snapshots(context, cell.key, notes, steps=recipe.checkpoints))
    fitted = pretrain(source, network, options)
    save_weights(fitted.network, context.network(cell.key), notes=notes)
    final = measure_on(fitted.network, source, part="source_test")
    return Outcome((*fitted.history, *final.records), fitted.cost, notes={"status": fitted.status, **fitted.notes})


def _method(cell: PlannedCell, context: WorkContext) -> Outcome:
    recipe = MethodRecipe.from_payload(cell.payload)
    fit = fit_method(cell, recipe, context, key=cell.key)
    fitted, task = fit.fitted, fit.task
    test = measure_on(fitted.network, task.target, part="target_test")
    if KEEP in cell.payload and recipe.method.keeps_network:
        _keep(cell, recipe, fit, test, context)
    further = {} if recipe.source is None else recipe.source.held_out_data
    held_out = {name: as_read(read_data(data), data, recipe.network) for name, data in further.items()}
    kept = _kept_after_transfer(fitted, task, held_out)
    trained_on = replace(task.target, test=task.target.train)
    seen = measure_on(fitted.network, trained_on, part="target_train")
    records = (*fitted.history, *test.records, *seen.records, *kept)
    is_finite = all(record.estimate.status != "non_finite" for record in test.records)
    status = fitted.status if is_finite else "non_finite"
    tuning_seconds = 0.0 if fit.tuned is None else fit.tuned.cost.seconds
    training = fit.options.training
    budget = {"steps": training.n_steps(len(task.target.train)), "batch_size": training.batch_size}
    return Outcome(
        records,
        replace(fitted.cost, seconds=fitted.cost.seconds + tuning_seconds),
        {"predictions": test.predictions.numpy()},
        {"status": status, "budget": budget, **fitted.notes, **_tuning_notes(fit.tuned)},
    )


def _keep(cell: PlannedCell, recipe: MethodRecipe, fit: CellFit, test: Measures, context: WorkContext) -> None:
    final = next(record for record in test.records if record.name in HEADLINES)
    notes = network_notes(fit.fitted, recipe, cell.key)
    with suppress(TransferscopeError):  # data that cannot be read any more take the file's card alone
        study = str(cell.payload[KEEP])
        card = card_of(cell, recipe, fit.task.target, study=study, metric=final.name, score=final.estimate)
        notes |= card_notes(card, fit.fitted.scale)
    save_weights(fit.fitted.network, context.network(cell.key), notes=notes)


def measure_on(network: Network, data: Dataset, *, part: str) -> Measures:
    """Measure a network on the test examples of a data set, scaled as it reads them, on the grid of their labels.

    For a single output, "mae" is the mean absolute error in the original units of the labels.
    """
    network, device = network.on_grid(data.train.grid), next(network.parameters()).device
    test = to_tensors(data.test, scale_of(network, data.train), device)
    measured = measure(outputs_of(network, test, again=True), test.labels, part=part)
    if not test.labels.is_floating_point() or test.labels.ndim != 2 or test.labels.shape[1] != 1:
        return measured
    ((_, unit),) = json.loads(data.provenance.get("label_units", "[[0, 1]]"))
    errors = unit * (measured.predictions - test.labels.cpu()).abs().flatten().to(torch.float64)
    return replace(measured, records=(*measured.records, Record("mae", mean_over_examples(errors), part)))


def _kept_after_transfer(fitted: Fitted, task: TransferTask, held_out: Mapping[str, Dataset]) -> tuple[Record, ...]:
    """Measure the source head on the transferred backbone: the remaining source accuracy, on each test set."""
    if fitted.source_head is None or task.source is None:
        return ()
    reader = fitted.network.under(fitted.source_head)
    parts = {"source_test": task.source}
    parts |= {f"source_test/{name}": replace(task.source, test=data.test) for name, data in held_out.items()}
    return tuple(record for part, data in parts.items() for record in measure_on(reader, data, part=part).records)


def _tuning_notes(tuned: Tuned | None) -> dict[str, Any]:
    if tuned is None:
        return {}
    trials = [{"settings": dict(trial.settings), "risk": asdict(trial.risk)} for trial in tuned.trials]
    notes = {"chosen": dict(tuned.chosen), "trials": trials, "tuning_cost": asdict(tuned.cost)}
    if tuned.diverged:
        notes["diverged"] = [dict(settings) for settings in tuned.diverged]
    return notes | ({"labels_needed": tuned.labels_needed} if tuned.labels_needed else {})


def diagnose(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Measure a diagnostic at the steps of its settings; the end has step None, like final values.

    Missing networks are recreated by fitting the method again, which gives the same weights.
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
        for step, one in findings.items()
        for name, array in one.arrays.items()
    }
    last = list(findings.values())[-1]
    notes = {
        "status": "ok",
        "diagnostic": diagnostic.name,
        "headline": diagnostic.headline,
        "left_out": list(last.left_out),
        "meaning": asdict(diagnostic.meaning),
    }
    records = tuple(record for one in findings.values() for record in one.records)
    return Outcome(records, Cost(seconds=seconds), arrays, notes)


class _Scene:
    """The networks and data of the diagnostics of one cell."""

    def __init__(self, cell: PlannedCell, recipe: DiagnoseRecipe, context: WorkContext) -> None:
        self.cell, self.recipe, self.scope = cell, recipe.fit, recipe.diagnostic.scope
        self.device = exact_device(context.device)
        self.files = _networks(cell, recipe, context)
        self.task = task_of(cell, recipe.fit)
        train = self.task.target.train
        self.frame = frame_network(self.recipe.network, train.input_shape, train.n_outputs).to(self.device)
        self.start = self._network(0)
        target = self.task.target
        self.examples = self._shown(train if self.scope.part == "target_train" else target.test, target)
        self.source = None if self.task.source is None else self._shown(self.task.source.train, self.task.source)

    @property
    def steps(self) -> list[int | None]:
        """The steps to measure, the end last."""
        return [step for step in self.files if self.scope.wants(step) and (step is None or step < self.last_step)]

    @property
    def last_step(self) -> int:
        """The training step of the end."""
        return _last_step(self.cell, self.recipe, self.files[None])

    def subject(self, step: int | None) -> Subject:
        """Return the network of a step, with its initial network."""
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

    def _shown(self, chosen: LabelledSet, data: Dataset) -> Examples:
        return spread_examples(
            chosen, scale=scale_of(self.start, data.train), at_most=self.scope.examples, device=self.device
        )


def _networks(cell: PlannedCell, recipe: DiagnoseRecipe, context: WorkContext) -> dict[int | None, Path]:
    """Return the files of the method cell's networks by step, in order; the end is None."""
    key = cell.needs[-1]
    if not _are_there(cell, recipe, context):
        fit_method(cell, recipe.fit, context, key=key)
        if 0 not in context.snapshots(key):  # it went on from a state after networks that have gone since
            context.checkpoint(cell.key).unlink(missing_ok=True)
            fit_method(cell, recipe.fit, context, key=key)
    files: dict[int | None, Path] = {step: path for step, path in context.snapshots(key).items()}  # noqa: C416
    return files | {None: context.network(key)}


def _are_there(cell: PlannedCell, recipe: DiagnoseRecipe, context: WorkContext) -> bool:
    """Return whether all networks of a diagnostic are intact, since retraining may have been interrupted."""
    key, every = cell.needs[-1], recipe.diagnostic.scope.every
    kept, end = context.snapshots(key), context.network(key)
    if not all(is_whole(path) for path in (end, *kept.values())):
        return False
    return kept.keys() >= {0, *range(0, _last_step(cell, recipe.fit, end), every or sys.maxsize)}


def _last_step(cell: PlannedCell, recipe: MethodRecipe, end: Path) -> int:
    if (taken := read_notes(end).get(STEP_NOTE)) is not None:
        return int(taken)
    _, training = with_settings(recipe.method, recipe.training, cell.payload.get(CHOSEN, {}))
    return training.n_steps(number(cell, "n_target"))
