"""Doing a cell: pre-training and methods, measured on target and source (diagnostics are in `diagnose.py`)."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from transferscope.data.task import Dataset, TransferTask
from transferscope.errors import SettingsError, TransferscopeError
from transferscope.methods import FitOptions, Fitted, keeps_network, pretrain
from transferscope.methods.tuning import Tuned
from transferscope.models import Network
from transferscope.models.weights import save_weights
from transferscope.records import HEADLINES, Record
from transferscope.store import Outcome, PlannedCell
from transferscope.study.cell import MethodRecipe, PretrainRecipe
from transferscope.study.context import CELL_NOTE, KEEP, WorkContext
from transferscope.study.diagnose import diagnose
from transferscope.study.facts import as_read, kept_data
from transferscope.study.fitting import (
    CellFit,
    fit_method,
    fit_options,
    fresh_network,
    number,
    snapshots,
    source_data,
)
from transferscope.study.kept import card_of
from transferscope.trained import card_notes
from transferscope.training import measure, outputs_of, scale_of, to_tensors
from transferscope.training.evaluate import Measures


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Do a cell of role "pretrain", "method" or "diagnose"; see `study.context.Work`."""
    doers = {"pretrain": _pretrain, "method": _method, "diagnose": diagnose}
    if cell.role not in doers:
        raise SettingsError(f"a cell has the role {cell.role!r}; expected one of {', '.join(doers)}")
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
    network = fresh_network(recipe, source, seed)
    options = fit_options(cell, context, recipe.pretraining)
    notes = scale_of(network, source.train).as_notes
    if recipe.checkpoints:
        options = replace(options, snapshots=snapshots(context, cell.key, notes, steps=recipe.checkpoints))
    fitted = pretrain(source, network, options)
    save_weights(fitted.network, context.network(cell.key), notes=notes)
    final = measure_on(fitted.network, source, part="source_test")
    return Outcome((*fitted.history, *final.records), fitted.cost, notes={"status": fitted.status})


def _method(cell: PlannedCell, context: WorkContext) -> Outcome:
    recipe = MethodRecipe.from_payload(cell.payload)
    fit = fit_method(cell, recipe, context, key=cell.key)
    fitted, task = fit.fitted, fit.task
    test = measure_on(fitted.network, task.target, part="target_test")
    if KEEP in cell.payload and keeps_network(recipe.method):
        _keep(cell, recipe, fit, test, context)
    kept = _kept_after_transfer(fitted, task, _held_out(recipe))
    records = (*fitted.history, *test.records, *_on_training_data(fitted, task), *kept)
    tuning_seconds = 0.0 if fit.tuned is None else fit.tuned.cost.seconds
    return Outcome(
        records,
        replace(fitted.cost, seconds=fitted.cost.seconds + tuning_seconds),
        {"predictions": test.predictions.numpy()},
        {"status": fitted.status, "budget": _budget(fit.options, task), **fitted.notes, **_tuning_notes(fit.tuned)},
    )


def _keep(cell: PlannedCell, recipe: MethodRecipe, fit: CellFit, test: Measures, context: WorkContext) -> None:
    """Write the network to a file that says what it is."""
    final = next(record for record in test.records if record.name in HEADLINES)
    notes = {**fit.fitted.scale.as_notes, CELL_NOTE: cell.key}
    with suppress(TransferscopeError):  # data that cannot be read any more take the file's card alone
        study = str(cell.payload[KEEP])
        notes |= card_notes(
            card_of(cell, recipe, fit.task.target, study=study, metric=final.name, score=final.estimate)
        )
    save_weights(fit.fitted.network, context.network(cell.key), notes=notes)


def measure_on(network: Network, data: Dataset, *, part: str) -> Measures:
    """Measure a network on the test examples of a data set, scaled as it reads them."""
    device = next(network.parameters()).device
    test = to_tensors(data.test, scale_of(network, data.train), device)
    return measure(outputs_of(network, test), test.labels, part=part)


def _on_training_data(fitted: Fitted, task: TransferTask) -> tuple[Record, ...]:
    return measure_on(fitted.network, replace(task.target, test=task.target.train), part="target_train").records


def _kept_after_transfer(fitted: Fitted, task: TransferTask, held_out: Mapping[str, Dataset]) -> tuple[Record, ...]:
    """The source head on the transferred backbone: what is left of the source task, and on which inputs."""
    if fitted.source_head is None or task.source is None:
        return ()
    reader = fitted.network.under(fitted.source_head)
    parts = {"source_test": task.source}
    parts |= {f"source_test/{name}": replace(task.source, test=data.test) for name, data in held_out.items()}
    return tuple(record for part, data in parts.items() for record in measure_on(reader, data, part=part).records)


def _held_out(recipe: MethodRecipe) -> dict[str, Dataset]:
    further = {} if recipe.source is None else recipe.source.held_out_data
    return {name: as_read(kept_data(data), data, recipe.network) for name, data in further.items()}


def _budget(options: FitOptions, task: TransferTask) -> dict[str, Any]:
    n_steps = options.training.n_steps(len(task.target.train))
    return {"steps": n_steps, "batch_size": options.training.batch_size}


def _tuning_notes(tuned: Tuned | None) -> dict[str, Any]:
    if tuned is None:
        return {}
    trials = [{"settings": dict(trial.settings), "risk": asdict(trial.risk)} for trial in tuned.trials]
    notes = {"chosen": dict(tuned.chosen), "trials": trials, "tuning_cost": asdict(tuned.cost)}
    return notes | ({"labels_needed": tuned.labels_needed} if tuned.labels_needed else {})
