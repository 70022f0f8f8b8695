"""Doing a cell: the one place where data, networks, methods and measures meet."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from transferscope.data.load import load
from transferscope.data.splits import few_shot
from transferscope.data.task import Dataset, TransferTask
from transferscope.errors import SettingsError
from transferscope.methods import FitOptions, Fitted, pretrain
from transferscope.methods.tuning import Tuned, tune
from transferscope.models import Network, build_network
from transferscope.models.weights import load_weights, save_weights
from transferscope.records import Cost, Record
from transferscope.store import Outcome, PlannedCell
from transferscope.study.cell import MethodRecipe, PretrainRecipe
from transferscope.study.context import WorkContext
from transferscope.study.settings import DataSettings
from transferscope.training import TrainingSettings, measure, outputs_of, pixel_scale, stream_seed, to_tensors
from transferscope.training.evaluate import Measures

DATA_SETS_KEPT = 4
"""How many loaded data sets a worker keeps between cells."""


def work(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Do a cell of role "pretrain" or "method"; see `study.context.Work`."""
    doers = {"pretrain": _pretrain, "method": _method}
    if cell.role not in doers:
        raise SettingsError(f"a cell has the role {cell.role!r}; expected one of {', '.join(doers)}")
    outcome = doers[cell.role](cell, context)
    context.checkpoint(cell.key).unlink(missing_ok=True)
    return outcome


def _pretrain(cell: PlannedCell, context: WorkContext) -> Outcome:
    recipe = PretrainRecipe.from_payload(cell.payload)
    seed = _number(cell, "seed")
    source = _source_data(recipe.source, _number(cell, "n_source"), seed)
    network = _fresh_network(recipe, source, seed)
    fitted = pretrain(source, network, _options(cell, context, recipe.pretraining))
    save_weights(fitted.network, context.network(cell.key))
    final = measure_on(fitted.network, source, part="source_test")
    return Outcome((*fitted.history, *final.records), fitted.cost, notes={"status": fitted.status})


def _method(cell: PlannedCell, context: WorkContext) -> Outcome:
    recipe = MethodRecipe.from_payload(cell.payload)
    task, network = _task(cell, recipe), _start(cell, recipe, context)
    options = _options(cell, context, recipe.training)
    method, notes, tuning_cost = recipe.method, {}, Cost()
    if recipe.tuning is not None:
        tuning = recipe.tuning
        tuned = tune(method, task, network, options, grid=tuning.grid, trials=tuning.trials, n_folds=tuning.folds)
        method, options, tuning_cost, notes = tuned.method, tuned.options, tuned.cost, _tuning_notes(tuned)
    fitted = method.fit(task, network, options)
    test = measure_on(fitted.network, task.target, part="target_test")
    kept = _kept_after_transfer(fitted, task, _held_out(recipe))
    records = (*fitted.history, *test.records, *_on_training_data(fitted, task), *kept)
    return Outcome(
        records,
        replace(fitted.cost, seconds=fitted.cost.seconds + tuning_cost.seconds),
        {"predictions": test.predictions.numpy()},
        {"status": fitted.status, "budget": _budget(options, task), **notes},
    )


def measure_on(network: Network, data: Dataset, *, part: str) -> Measures:
    """Measure a network on the test examples of a data set, scaled by its training examples."""
    device = next(network.parameters()).device
    test = to_tensors(data.test, pixel_scale(data.train), device)
    return measure(outputs_of(network, test), test.labels, part=part)


def _on_training_data(fitted: Fitted, task: TransferTask) -> tuple[Record, ...]:
    return measure_on(fitted.network, replace(task.target, test=task.target.train), part="target_train").records


def _kept_after_transfer(fitted: Fitted, task: TransferTask, held_out: Mapping[str, Dataset]) -> tuple[Record, ...]:
    """The source head on the transferred backbone: what is left of the source task, and on which inputs."""
    if fitted.source_head is None or task.source is None:
        return ()
    reader = Network(fitted.network.features, fitted.source_head, fitted.network.n_features)
    parts = {"source_test": task.source}
    parts |= {f"source_test/{name}": replace(task.source, test=data.test) for name, data in held_out.items()}
    return tuple(record for part, data in parts.items() for record in measure_on(reader, data, part=part).records)


def _held_out(recipe: MethodRecipe) -> dict[str, Dataset]:
    further = {} if recipe.source is None else recipe.source.held_out_data
    return {name: _load(data) for name, data in further.items()}


def _task(cell: PlannedCell, recipe: MethodRecipe) -> TransferTask:
    seed = _number(cell, "seed")
    target = _load(recipe.target)
    subset = few_shot(target.train, _number(cell, "n_target"), seed=stream_seed(seed, "subset"))
    data = None if recipe.source is None else recipe.source.as_data
    source = None if data is None else _source_data(data, _number(cell, "n_source"), seed)
    return TransferTask(replace(target, train=subset), source)


def _source_data(data: DataSettings, n_source: int, seed: int) -> Dataset:
    source = _load(data)
    if n_source >= len(source.train):
        return source
    return replace(source, train=few_shot(source.train, n_source, seed=stream_seed(seed, "source subset")))


def _start(cell: PlannedCell, recipe: MethodRecipe, context: WorkContext) -> Network:
    """The network that the method starts from."""
    seed = _number(cell, "seed")
    if recipe.method.start == "random" or recipe.source is None:
        return _fresh_network(recipe, _load(recipe.target), seed)
    if recipe.source.as_data is not None:
        network = _fresh_network(recipe, _load(recipe.source.as_data), seed)
        load_weights(network, context.network(cell.needs[0]))
        return network
    assert recipe.source.network is not None
    network = _fresh_network(recipe, _load(recipe.target), seed)
    load_weights(network, Path(recipe.source.network), heads="ignore")
    return network


def _fresh_network(recipe: PretrainRecipe | MethodRecipe, data: Dataset, seed: int) -> Network:
    shape, n_outputs = data.train.input_shape, data.train.n_outputs
    return build_network(recipe.network, shape, n_outputs, seed=stream_seed(seed, "network"))


def _options(cell: PlannedCell, context: WorkContext, training: TrainingSettings) -> FitOptions:
    return FitOptions(
        training,
        seed=stream_seed(_number(cell, "seed"), "fit"),
        device=context.device,
        checkpoint=context.checkpoint(cell.key),
        on_progress=context.progress,
    )


def _budget(options: FitOptions, task: TransferTask) -> dict[str, Any]:
    n_steps = options.training.n_steps(len(task.target.train))
    return {"steps": n_steps, "batch_size": options.training.batch_size}


def _tuning_notes(tuned: Tuned) -> dict[str, Any]:
    trials = [{"settings": dict(trial.settings), "risk": asdict(trial.risk)} for trial in tuned.trials]
    return {"chosen": trials[0]["settings"], "trials": trials, "tuning_cost": asdict(tuned.cost)}


def _number(cell: PlannedCell, label: str) -> int:
    value = cell.labels[label]
    if not isinstance(value, int):
        raise SettingsError(f"a cell's label {label} is {value!r}; expected a whole number")
    return value


@lru_cache(maxsize=DATA_SETS_KEPT)
def _load(data: DataSettings) -> Dataset:
    return load(data.data, transforms=data.transforms, limit=data.limit, test_limit=data.test_limit)
