"""What every kind of cell needs to fit a method: its task, the network it starts from, its options."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from transferscope.data.splits import few_shot
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.diagnostics import Examples
from transferscope.errors import CorruptDataError, SettingsError
from transferscope.methods import FitOptions, Fitted, Snapshots
from transferscope.methods.tuning import Tuned, trials_file, tune
from transferscope.models import Network, build_network
from transferscope.models.weights import open_network, save_weights
from transferscope.store import PlannedCell
from transferscope.study.cell import MethodRecipe, PretrainRecipe
from transferscope.study.context import WorkContext
from transferscope.study.facts import checksum, kept_data
from transferscope.study.settings import DataSettings
from transferscope.training import PixelScale, TrainingSettings, pixel_scale, stream_seed, to_tensors


@dataclass(frozen=True)
class CellFit:
    """A method, fitted as a cell says.

    Attributes:
        fitted: What came of it.
        task: What it was fitted to.
        options: The options that it was fitted with, chosen ones included.
        tuned: How the settings were chosen; None when they were given.
    """

    fitted: Fitted
    task: TransferTask
    options: FitOptions
    tuned: Tuned | None


def fit_method(cell: PlannedCell, recipe: MethodRecipe, context: WorkContext, *, key: str) -> CellFit:
    """Fit the method of a cell, keeping the networks that its recipe asks for: snapshots first, the last one last.

    Args:
        cell: Its labels say sizes and seed; its first need is the pre-training, if the method starts from one.
        recipe: What to do.
        context: Where.
        key: Key of the method cell, which names the files of its networks.

    Returns:
        The fitted method; a function of the recipe and of the labels.
    """
    task, network = task_of(cell, recipe), _start(cell, recipe, context)
    options = fit_options(cell, context, recipe.training)
    method, tuned = recipe.method, None
    if recipe.tuning is not None:
        tuning = recipe.tuning
        tuned = tune(
            method,
            task,
            network,
            options,
            grid=tuning.grid,
            trials=tuning.trials,
            n_folds=tuning.folds,
            search=tuning.search,
        )
        method, options = tuned.method, tuned.options
    if recipe.snapshots is not None:
        options = replace(options, snapshots=snapshots(context, key, task.target, every=recipe.snapshots))
    fitted = method.fit(task, network, options)
    trials_file(context.checkpoint(cell.key)).unlink(missing_ok=True)
    if recipe.snapshots is not None:
        save_weights(fitted.network, context.network(key), notes=pixel_scale(task.target.train).as_notes)
    return CellFit(fitted, task, options, tuned)


def snapshots(
    context: WorkContext, key: str, data: Dataset, *, every: tuple[int, ...] = (), steps: tuple[int, ...] = ()
) -> Snapshots:
    """Snapshots of a cell, as files beside its network that say how their inputs are scaled: as those of `data`."""
    notes = pixel_scale(data.train).as_notes
    return Snapshots(
        lambda step, network: save_weights(network, context.snapshot(key, step), notes=notes), every, steps
    )


def task_of(cell: PlannedCell, recipe: MethodRecipe) -> TransferTask:
    """The task of a method cell, with the few-shot subset of its seed."""
    seed = number(cell, "seed")
    target = kept_data(recipe.target)
    subset = few_shot(target.train, number(cell, "n_target"), seed=stream_seed(seed, "subset"))
    data = None if recipe.source is None else recipe.source.as_data
    source = None if data is None else source_data(data, number(cell, "n_source"), seed)
    return TransferTask(replace(target, train=subset), source)


def source_data(data: DataSettings, n_source: int, seed: int) -> Dataset:
    """A source, cut to the `n_source` first training examples of a seed."""
    source = kept_data(data)
    if n_source >= len(source.train):
        return source
    return replace(source, train=few_shot(source.train, n_source, seed=stream_seed(seed, "source subset")))


def _start(cell: PlannedCell, recipe: MethodRecipe, context: WorkContext) -> Network:
    """The network that the method starts from."""
    seed = number(cell, "seed")
    if recipe.method.start == "random" or recipe.source is None:
        return fresh_network(recipe, kept_data(recipe.target), seed)
    if recipe.source.as_data is not None:
        frame = fresh_network(recipe, kept_data(recipe.source.as_data), seed)
        return open_network(frame, _pretrained(cell, context)).network
    target = kept_data(recipe.target)
    read_as = recipe.network.read_as(target.train.input_shape)
    frame = fresh_network(recipe, target, seed)
    return open_network(frame, network_file(recipe), head="frame", read_as=read_as).network


def network_file(recipe: MethodRecipe) -> Path:
    """The file of a source that is a network.

    Raises:
        MissingDataError: It is gone.
        CorruptDataError: It is not the file that the cell was planned with.
    """
    assert recipe.source is not None
    file = Path(str(recipe.source.network))
    if recipe.checksum is not None and checksum(file) != recipe.checksum:
        raise CorruptDataError(
            f"the network file {file} has changed since the study was planned with it; put the earlier file back, or "
            "run the study file again, which redoes the cells that start from it"
        )
    return file


def _pretrained(cell: PlannedCell, context: WorkContext) -> Path:
    step = cell.labels.get("pretrain_step")
    return context.snapshot(cell.needs[0], step) if isinstance(step, int) else context.network(cell.needs[0])


def fresh_network(recipe: PretrainRecipe | MethodRecipe, data: Dataset, seed: int) -> Network:
    """The initialisation of a seed, which every method and source shares as far as shapes allow."""
    shape, n_outputs = data.train.input_shape, data.train.n_outputs
    return build_network(recipe.network, shape, n_outputs, seed=stream_seed(seed, "network"))


def fit_options(cell: PlannedCell, context: WorkContext, training: TrainingSettings) -> FitOptions:
    """The options of a cell that trains."""
    return FitOptions(
        training,
        seed=stream_seed(number(cell, "seed"), "fit"),
        device=context.device,
        checkpoint=context.checkpoint(cell.key),
        on_progress=context.progress,
    )


def number(cell: PlannedCell, label: str) -> int:
    """A label that is a whole number.

    Raises:
        SettingsError: It is none.
    """
    value = cell.labels[label]
    if not isinstance(value, int):
        raise SettingsError(f"a cell's label {label} is {value!r}; expected a whole number")
    return value


def spread_examples(
    chosen: LabelledSet, *, scale: PixelScale, at_most: int, device: str | torch.device = "cpu"
) -> Examples:
    """Examples at even distances, scaled as the network expects them.

    Args:
        chosen: Where they are taken from.
        scale: How; `pixel_scale` of the training examples of the same data for a network of a study.
        at_most: How many, at least 1; all if there are fewer.
        device: Where to put them.

    Returns:
        The examples, in their order.
    """
    shown = to_tensors(chosen, scale, device).spread(at_most)
    ready = shown.batch(torch.arange(len(shown), device=shown.device))
    return Examples(ready.inputs, ready.labels)
