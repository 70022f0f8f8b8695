"""What the methods share: domains on a device, the curve, one call of the loop."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError, NetworkError
from transferscope.methods.method import FitOptions, Fitted, Snapshots, Start
from transferscope.models.initialise import reinitialise
from transferscope.models.network import Network, new_head
from transferscope.records import Record
from transferscope.training import (
    Curve,
    Learner,
    PixelScale,
    RunOptions,
    TensorSet,
    Watch,
    choose_device,
    measure,
    outputs_of,
    pixel_scale,
    scale_of,
    stream_seed,
    to_tensors,
    train,
)
from transferscope.training.loop import preserved_mode


@dataclass(frozen=True)
class Domain:
    """One data set on a device, scaled by its own training examples.

    Attributes:
        train: Training examples.
        test: Test examples, for measuring only.
        scale: How inputs are standardised.
    """

    train: TensorSet
    test: TensorSet
    scale: PixelScale


def domain(dataset: Dataset, options: FitOptions, network: Network | None = None) -> Domain:
    """Move a data set to the device of the options, scaled as the network reads it.

    Args:
        dataset: The data.
        options: With the device.
        network: What will read the data; None for what learns on standardised inputs.
    """
    device = choose_device(options.device)
    scale = pixel_scale(dataset.train) if network is None else scale_of(network, dataset.train)
    return Domain(to_tensors(dataset.train, scale, device), to_tensors(dataset.test, scale, device), scale)


def source_of(task: TransferTask, method: str) -> Dataset:
    """The source data of a task.

    Raises:
        DataError: There are none.
    """
    if task.source is None:
        raise DataError(f"{method} trains on source data and the task has none; give source data or leave it out")
    return task.source


def working_copy(network: Network, example: LabelledSet, options: FitOptions, *, start: Start) -> Network:
    """A copy to train, on the device, in the memory order that convolutions run fastest in.

    Args:
        network: The starting network.
        example: What it is to read.
        options: With device and seed.
        start: "random" for weights of an initialisation: others are drawn again from the seed.

    Raises:
        NetworkError: The network does not take inputs like the example's, does not give (N, n_features), or is to start
            from random weights and cannot draw them.
    """
    keep = start == "pretrained" or network.is_random
    own = network.copy() if keep else reinitialise(network, seed=stream_seed(options.seed, "network"))
    own.is_random = False
    own = own.on_grid(example.grid).to(choose_device(options.device))
    own.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    for parameter in own.parameters():
        parameter.grad = None
    _check_fit(own, example)
    return own


def target_head(network: Network, n_outputs: int, options: FitOptions) -> nn.Linear:
    """A new head for the target, drawn from the seed, on the network's device."""
    return _head(network, n_outputs, options, "target head")


def source_head(network: Network, n_outputs: int, options: FitOptions) -> nn.Linear:
    """A new head for the source, drawn from the seed, on the network's device."""
    return _head(network, n_outputs, options, "source head")


def _head(network: Network, n_outputs: int, options: FitOptions, purpose: str) -> nn.Linear:
    seed = stream_seed(options.seed, purpose)
    return new_head(network.n_features, n_outputs, seed=seed, grid=network.grid).to(device_of(network))


def _check_fit(network: Network, example: LabelledSet) -> None:
    one = example.take(np.arange(1))
    try:
        features = outputs_of(network.features, to_tensors(one, scale_of(network, one), device_of(network)))
    except (RuntimeError, ValueError) as error:
        raise NetworkError(f"the network does not take inputs of shape {example.input_shape}: {error}") from error
    if features.ndim != (2 if network.grid is None else 4) or features.shape[1] != network.n_features:
        raise NetworkError(
            f"the network's features have shape {tuple(features.shape)}; expected (N, {network.n_features})"
        )


def device_of(module: nn.Module) -> torch.device:
    """Where a module's parameters live; the CPU when it has none."""
    return next((parameter.device for parameter in module.parameters()), torch.device("cpu"))


def fit_learner(
    learner: Learner,
    data: Domain,
    options: FitOptions,
    *,
    as_network: Callable[[], Network],
    source_head: nn.Module | None,
) -> Fitted:
    """Train a learner with the options' budget and wrap what came of it.

    Args:
        learner: What to train.
        data: The target: epochs count passes over its training set, and the curve is measured on it.
        options: Budget, seed, checkpoint.
        as_network: Gives the target network as it is now; called for the curve and at the end.
        source_head: The head that reads source labels from the trained backbone, if there is one.

    Returns:
        The fitted network.
    """
    run_options = RunOptions(
        options.seed, options.checkpoint, options.checkpoint_seconds, on_progress=options.on_progress
    )
    n_steps = options.training.n_steps(len(data.train))
    run = train(
        learner,
        options.training,
        run_options,
        n_steps=n_steps,
        curve=_curve(data, as_network, options.curve_examples) if options.curve_examples else None,
        watch=None if options.snapshots is None else _watch(options.snapshots, as_network, n_steps),
    )
    return Fitted(as_network(), data.scale, source_head, run.history, run.cost, run.status)


def _watch(snapshots: Snapshots, as_network: Callable[[], Network], n_steps: int) -> Watch:
    def watch(step: int) -> None:
        if snapshots.wants(step, n_steps):
            network = as_network()
            with preserved_mode(network):
                snapshots.save(step, network)

    return watch


def _curve(data: Domain, as_network: Callable[[], Network], n_examples: int) -> Curve:
    shown = {"target_train": data.train.spread(n_examples), "target_test": data.test.spread(n_examples)}

    def curve(step: int) -> tuple[Record, ...]:
        network = as_network()
        measured = [
            measure(outputs_of(network, examples), examples.labels, part=part, step=step)
            for part, examples in shown.items()
        ]
        return tuple(record for measures in measured for record in measures.records)

    return curve
