"""Fitting the method of a cell: its task, its initial network, and its options."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from transferscope.data.splits import few_shot
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.diagnostics import Examples
from transferscope.errors import CorruptDataError, SettingsError
from transferscope.methods import FitOptions, Fitted, Snapshots
from transferscope.methods.tuning import Tuned, trials_file, tune, with_chosen_settings
from transferscope.models import Network, OpenedNetwork, build_network, open_network, open_pretrained, save_weights
from transferscope.models.pretrained import fingerprint_of, notes_of
from transferscope.models.weights import is_whole
from transferscope.settings.data import DataSettings
from transferscope.store import PlannedCell, Store
from transferscope.study.cell import MethodRecipe, PretrainRecipe
from transferscope.study.context import CELL_NOTE, CHOSEN, STEP_NOTE, WorkContext
from transferscope.study.facts import as_read, checksum, read_data
from transferscope.training import PixelScale, TrainingSettings, frozen_features, scale_of, stream_seed, to_tensors
from transferscope.training.feature_cache import is_kept


@dataclass(frozen=True)
class CellFit:
    """A fitted method of a cell.

    Attributes:
        options: The options used, including chosen ones.
        tuned: How the settings were chosen; None if they were given.
    """

    fitted: Fitted
    task: TransferTask
    options: FitOptions
    tuned: Tuned | None


def fit_method(cell: PlannedCell, recipe: MethodRecipe, context: WorkContext, *, key: str) -> CellFit:
    """Fit the method of a cell and write the networks of its recipe, snapshots first.

    Args:
        cell: The cell, whose labels give sizes and seed; its first need is the pretraining, if the method starts from
            one.
        key: Key of the method cell, which names the files of its networks.
    """
    task = task_of(cell, recipe)
    network = starting_network(cell, recipe, task, context)
    options = fit_options(cell, context, recipe.training)
    method, tuned = recipe.method, None
    if CHOSEN in cell.payload:
        method, options = with_chosen_settings(method, options, cell.payload[CHOSEN])
    elif recipe.tuning is not None:
        tuned = tune(method, task, network, options, grid=recipe.tuning.grid)
        method, options = tuned.method, tuned.options
    if recipe.snapshots is not None:
        notes = {**scale_of(network, task.target.train).as_notes, CELL_NOTE: key, **notes_of(recipe.network)}
        options = replace(options, snapshots=snapshots(context, key, notes, every=recipe.snapshots))
    fitted = method.fit(task, network, options)
    while fitted.status == "non_finite" and tuned is not None and (other := tuned.next_best(fitted.cost)) is not None:
        tuned = other
        # a state of its own: that of the training which diverged says nothing of the method's settings
        attempt = context.checkpoint(f"{cell.key}.{len(tuned.diverged)}")
        options = replace(tuned.options, snapshots=options.snapshots, checkpoint=attempt)
        fitted = tuned.method.fit(task, network, options)
    trials_file(context.checkpoint(cell.key)).unlink(missing_ok=True)
    if tuned is not None and tuned.diverged:
        for n in range(len(tuned.diverged)):
            context.checkpoint(f"{cell.key}.{n + 1}").unlink(missing_ok=True)
        for file in context.snapshots(key).values() if recipe.snapshots is not None else ():
            file.unlink(missing_ok=True)  # of several trainings; diagnostics make those of the last one again
    # a diagnostic that makes networks again leaves the one that the run has kept, whose file says more of it
    if recipe.snapshots is not None and (cell.key == key or not is_whole(context.network(key))):
        save_weights(fitted.network, context.network(key), notes=network_notes(fitted, recipe, key))
    return CellFit(fitted, task, options, tuned)


def with_chosen(cell: PlannedCell, store: Store) -> PlannedCell:
    """Return the cell with the settings chosen by the run of the first seed.

    A diagnostic has those of its run, whose networks it may have to retrain. Unchanged if nothing was chosen.
    """
    fit = cell.payload.get("fit") if cell.role == "diagnose" else cell.payload
    if not isinstance(fit, Mapping) or fit.get("tuning") is None:
        return cell
    notes = store.notes(cell.needs)
    chosen = [notes[key][CHOSEN] for key in cell.needs if CHOSEN in notes.get(key, {})]
    return replace(cell, payload={**cell.payload, CHOSEN: chosen[0]}) if chosen else cell


def network_notes(fitted: Fitted, recipe: MethodRecipe, key: str) -> dict[str, str]:
    """Return the notes in the file of a cell's network: input scaling, cell, code, and the chosen step."""
    best = fitted.notes.get("best_step")
    chosen = {} if best is None else {STEP_NOTE: str(int(best))}
    return {**fitted.scale.as_notes, CELL_NOTE: key, **notes_of(recipe.network), **chosen}


def snapshots(
    context: WorkContext,
    key: str,
    notes: Mapping[str, str],
    *,
    every: tuple[int, ...] = (),
    steps: tuple[int, ...] = (),
) -> Snapshots:
    """Return a callback that writes snapshots of a cell beside its network, with notes on input scaling."""
    return Snapshots(
        lambda step, network: save_weights(network, context.snapshot(key, step), notes=notes), every, steps
    )


def task_of(cell: PlannedCell, recipe: MethodRecipe) -> TransferTask:
    """Return the task of a method cell, with the few-shot subset of its seed, as its network reads the data."""
    seed = number(cell, "seed")
    target = as_planned(recipe.target, recipe.contents.get("target"))
    subset = few_shot(target.train, number(cell, "n_target"), seed=stream_seed(seed, "subset"), draw=recipe.draw)
    few, source = replace(target, train=subset), None
    data = None if recipe.source is None else recipe.source.as_data
    if data is not None:
        source = source_data(data, number(cell, "n_source"), seed, content=recipe.contents.get("source"))
    if recipe.method.uses_network:
        few = as_read(few, recipe.target, recipe.network)
        source = None if data is None or source is None else as_read(source, data, recipe.network)
    return TransferTask(few, source)


def as_planned(data: DataSettings, content: str | None) -> Dataset:
    """Return a data set; raises CorruptDataError if it has changed since planning."""
    loaded = read_data(data)
    if content is not None and loaded.fingerprint != content:
        raise CorruptDataError(
            f"the data {data.data} have changed since the study was planned with them; restore the earlier data, or "
            "run the study file again, which repeats the runs that read them"
        )
    return loaded


def source_data(data: DataSettings, n_source: int, seed: int, *, content: str | None) -> Dataset:
    """Return a source, cut to the `n_source` first training examples of a seed.

    Args:
        n_source: Number of examples to keep; all if there are fewer.
        content: Fingerprint of the data at planning; None if unknown.

    Raises:
        CorruptDataError: The data have changed since planning.
    """
    source = as_planned(data, content)
    if n_source >= len(source.train):
        return source
    return replace(source, train=few_shot(source.train, n_source, seed=stream_seed(seed, "source subset")))


def starting_network(cell: PlannedCell, recipe: MethodRecipe, task: TransferTask, context: WorkContext) -> Network:
    """Return the network that the method starts from."""
    seed, target = number(cell, "seed"), task.target
    if not recipe.method.uses_network:
        return build_network("linear", target.train.input_shape, target.train.n_outputs, seed=0)
    if recipe.method.start == "random" or recipe.source is None:
        return fresh_network(recipe, target, seed)
    if task.source is not None:
        step = cell.labels.get("pretrain_step")
        need = cell.needs[0]
        file = context.snapshot(need, step) if isinstance(step, int) else context.network(need)
        return open_network(fresh_network(recipe, task.source, seed), file).network
    n_outputs, seed = target.train.n_outputs, stream_seed(seed, "network")
    return open_source(recipe, target.train.input_shape, n_outputs=n_outputs, seed=seed).network


def open_source(
    recipe: MethodRecipe,
    input_shape: tuple[int, ...],
    *,
    n_outputs: int = 1,
    head: Literal["frame", "either"] = "frame",
    seed: int = 0,
) -> OpenedNetwork:
    """Open the network of a source; arguments as for `open_pretrained`.

    Raises:
        MissingDataError: Its file is missing.
        CorruptDataError: The network has changed since planning.
    """
    assert recipe.source is not None
    pretrained, planned = recipe.source.pretrained(recipe.network), recipe.checksum
    if planned is not None and pretrained.weights is not None:
        _check_unchanged(pretrained.name, checksum(pretrained.weights), planned)
    if planned is not None and pretrained.weights is None:
        _check_unchanged(pretrained.name, fingerprint_of(pretrained, input_shape), planned)
    return open_pretrained(pretrained, input_shape, n_outputs=n_outputs, head=head, seed=seed)


def _check_unchanged(name: str, seen: str, planned: str) -> None:
    if seen != planned:
        raise CorruptDataError(
            f"the network file {name} has changed since the study was planned with it; restore the earlier file, or "
            "run the study file again, which repeats the runs that start from it"
        )


def fresh_network(recipe: PretrainRecipe | MethodRecipe, data: Dataset, seed: int) -> Network:
    """Return the initialisation of a seed, shared by all methods and sources as far as shapes allow."""
    shape, n_outputs = data.train.input_shape, data.train.n_outputs
    return build_network(recipe.network, shape, n_outputs, seed=stream_seed(seed, "network"))


def fit_options(cell: PlannedCell, context: WorkContext, training: TrainingSettings) -> FitOptions:
    """Return the fit options of a cell."""
    return FitOptions(
        training,
        seed=stream_seed(number(cell, "seed"), "fit"),
        device=context.device,
        checkpoint=context.checkpoint(cell.key),
        on_progress=context.progress,
    )


def number(cell: PlannedCell, label: str) -> int:
    """Return an integer label; raises SettingsError for another value."""
    value = cell.labels[label]
    if not isinstance(value, int):
        raise SettingsError(f"label {label} of a cell is {value!r}; expected a whole number")
    return value


def spread_examples(
    chosen: LabelledSet, *, scale: PixelScale, at_most: int, device: str | torch.device = "cpu"
) -> Examples:
    """Return evenly spaced examples, scaled for the network; features of large networks are cached on disk.

    Args:
        scale: Input scaling, `scale_of` the network and the training examples of the same data.
        at_most: Maximum number of examples, at least 1.
    """
    shown = to_tensors(chosen, scale, device).spread(at_most)
    ready = shown.batch(torch.arange(len(shown), device=shown.device))

    def kept(network: nn.Module) -> Tensor | None:
        return frozen_features(network, shown) if isinstance(network, Network) and is_kept(network.features) else None

    return Examples(ready.inputs, ready.labels, kept, chosen.classes)
