"""Common parts of methods: domains on a device, the learning curve, one call of the training loop."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import NetworkError, SettingsError, unsupported
from transferscope.methods.held_out import harm, held_out_part
from transferscope.methods.method import FitOptions, Fitted, Snapshots, Start
from transferscope.models.initialise import reinitialise
from transferscope.models.network import Network, Scaled, device_of, n_weights, new_head, preserved_mode
from transferscope.records import Cost, Record
from transferscope.training import (
    Curve,
    HeldOut,
    Learner,
    PixelScale,
    TensorSet,
    TrainingSettings,
    Watch,
    check_data,
    choose_device,
    measure,
    outputs_of,
    pixel_scale,
    scale_of,
    stream_seed,
    to_tensors,
    train,
    weights_in,
)
from transferscope.training.curve import curve_plan
from transferscope.training.loop import memory_in_use

LEAST_MOMENTUM = 0.1
"""Least share of a batch in the running statistics of batch normalisation where training begins with random weights.

It is PyTorch's own. Networks that were trained for very long have .01 (EfficientNet, MobileNetV3), with which 100 steps
leave 37 % of the initial zeros and ones in what predictions are computed with: EfficientNet-lite0 read 10 % of the
images that it was trained on, and 94 % with .1.
"""

_CHECKED_EXAMPLES = 16
"""Training examples whose outputs must be finite numbers after training."""


@dataclass(frozen=True)
class Domain:
    """One data set on a device, scaled by its own training examples.

    Attributes:
        test: Test examples, for evaluation only.
        held_out: Training examples held out for early stopping; None for none.
    """

    train: TensorSet
    test: TensorSet
    scale: PixelScale
    held_out: TensorSet | None = None


def domain(dataset: Dataset, options: FitOptions, network: Network | None = None) -> Domain:
    """Move a data set to the device of the options, scaled as the network reads it.

    Args:
        network: The network that reads the data; None for a linear model.
    """
    device = choose_device(options.device)
    if device.type == "cuda":
        torch.cuda.init()  # type: ignore[no-untyped-call]  # the next line expects it
        torch.cuda.reset_peak_memory_stats(device)  # what a fit takes is counted from here
    scale = pixel_scale(dataset.train, get_args(Scaled)) if network is None else scale_of(network, dataset.train)
    return Domain(to_tensors(dataset.train, scale, device), to_tensors(dataset.test, scale, device), scale)


def training_domain(dataset: Dataset, options: FitOptions, network: Network) -> Domain:
    """Return the training data of the `domain`, without the examples held out for early stopping."""
    check_data(options.training, dataset.train)
    whole = domain(dataset, options, network)
    if options.training.early_stopping is None:
        return whole
    part = held_out_part(dataset.train, seed=stream_seed(options.seed, "early stopping"))
    if part is None:
        return whole
    fit, held_out = (
        to_tensors(dataset.train.take(index), whole.scale, whole.train.device) for index in (part.fit, part.validate)
    )
    return replace(whole, train=fit, held_out=held_out)


def source_of(task: TransferTask, method: str) -> Dataset:
    """Return the source data of a task; raises DataError if there are none."""
    if task.source is None:
        raise unsupported(method, "source data", "the source is a network without data")
    return task.source


def working_copy(
    network: Network, example: LabelledSet, options: FitOptions, *, start: Start | Literal["as it is"]
) -> Network:
    """Return a copy to train, on the device, in the fastest memory order for convolutions.

    Args:
        example: The target's training examples.
        start: "random" for initial weights: other weights are drawn again from the seed, and the momentum of batch
            normalisation is at least LEAST_MOMENTUM. "pretrained" for its own weights, with the statistics of batch
            normalisation of the training settings. "as it is" for its own weights, otherwise like "random".

    Raises:
        NetworkError: The network does not accept such inputs, does not return (N, n_features), or cannot draw random
        weights.
        SettingsError: The training settings request statistics of batch normalisation from a network without it.
    """
    keep = start != "random" or network.is_random
    own = network.copy() if keep else reinitialise(network, seed=stream_seed(options.seed, "network"))
    own.is_random = False
    if example.inputs.ndim == 2:  # a table: what reads other data from here on scales the same features
        own.scaled = scale_of(network, example).scaled
    own = own.on_grid(example.grid).to(choose_device(options.device))
    own.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    for parameter in own.parameters():
        parameter.grad = None
    _check_fit(own, example)
    if start != "pretrained":
        quicken_statistics(own)
    if start == "pretrained" and options.training.batch_norm != "train":
        check_batch_norm(own, options.training)
    return own


def solved(
    network: Network,
    data: Domain,
    started: float,
    *,
    trained: int,
    source_head: nn.Module | None = None,
    converged: bool = True,
    notes: Mapping[str, float] | None = None,
) -> Fitted:
    """Return the result of a closed form or a solver, without steps and curve.

    Args:
        network: The fitted network, for inputs scaled as `data`.
        started: `time.perf_counter` at the start.
        converged: Whether the solver reached its tolerance.
    """
    network.scaled = data.scale.scaled
    cost = Cost(time.perf_counter() - started, memory_in_use(data.train.device), trained, examples_seen=len(data.train))
    return Fitted(network, data.scale, source_head, (), cost, "converged" if converged else "max_steps", notes or {})


def batch_norms(network: nn.Module) -> list[_BatchNorm]:
    """Return the layers with running statistics."""
    return [module for module in network.modules() if isinstance(module, _BatchNorm) and module.track_running_stats]


def slow_statistics(network: nn.Module) -> list[_BatchNorm]:
    """Return the layers whose running statistics adapt more slowly than LEAST_MOMENTUM."""
    return [one for one in batch_norms(network) if one.momentum is not None and one.momentum < LEAST_MOMENTUM]


def quicken_statistics(network: nn.Module) -> None:
    """Let running statistics follow at least as fast as LEAST_MOMENTUM, in place."""
    for layer in slow_statistics(network):
        layer.momentum = LEAST_MOMENTUM


def check_batch_norm(network: Network, training: TrainingSettings) -> None:
    """Refuse, with a SettingsError, statistics of batch normalisation for a network without any."""
    if training.batch_norm == "source" and not batch_norms(network.features):
        raise SettingsError(
            f'batch_norm = "{training.batch_norm}", but the network has no batch normalisation; leave it out, or use '
            "a network such as resnet20"
        )


def held_statistics(network: Network, options: FitOptions) -> list[_BatchNorm]:
    """Return the layers whose running statistics are frozen while a pretrained network is trained."""
    return [] if options.training.batch_norm == "train" else batch_norms(network.features)


def drawn_head(
    network: Network, n_outputs: int, options: FitOptions, purpose: Literal["target head", "source head"]
) -> nn.Linear:
    """Return a new head for the labels of one domain, drawn from the seed, on the network's device."""
    seed = stream_seed(options.seed, purpose)
    return new_head(network.n_features, n_outputs, seed=seed, grid=network.grid).to(device_of(network))


def _check_fit(network: Network, example: LabelledSet) -> None:
    one = example.take(np.arange(1))
    try:
        features = outputs_of(network.features, to_tensors(one, scale_of(network, one), device_of(network)))
    except (RuntimeError, ValueError) as error:
        raise NetworkError(f"the network fails on inputs of shape {example.input_shape}: {error}") from error
    if features.ndim != (2 if network.grid is None else 4) or features.shape[1] != network.n_features:
        raise NetworkError(
            f"the network's features have shape {tuple(features.shape)}; expected (N, {network.n_features})"
        )


def fit_learner(
    learner: Learner,
    data: Domain,
    options: FitOptions,
    *,
    as_network: Callable[[], Network],
    source_head: nn.Module | None,
    start: Start = "random",
) -> Fitted:
    """Train a learner with the options' budget and wrap the result.

    Args:
        data: The target: epochs count passes over its training set, and the curve is measured on it.
        as_network: Returns the current target network; called for the curve and at the end.
        source_head: The head that reads source labels from the trained backbone, if there is one.
        start: Origin of the backbone: features of a pretrained one may be cached before the first step.

    Returns:
        The fitted network; with status "non_finite" also where its outputs are not finite after the last step.
    """
    n_steps = options.training.n_steps(len(data.train))
    run = train(
        learner,
        options.training,
        options,
        n_steps=n_steps,
        curve=_curve(data, as_network, options, learner.module, start) if options.curve_examples else None,
        watch=None if options.snapshots is None else _watch(options.snapshots, as_network, n_steps),
        held_out=_held_out(data, as_network, options.training),
    )
    notes = {} if run.best_step is None else {"best_step": float(run.best_step), "stopped_at": float(run.cost.steps)}
    network = as_network()
    outputs = outputs_of(network, data.train.spread(_CHECKED_EXAMPLES))  # the last loss is that before the last step
    status = run.status if bool(torch.isfinite(outputs).all()) else "non_finite"
    return Fitted(network, data.scale, source_head, run.history, run.cost, status, notes)


def _held_out(data: Domain, as_network: Callable[[], Network], training: TrainingSettings) -> HeldOut | None:
    if data.held_out is None:
        return None
    held_out, weights = data.held_out, weights_in(training, data.train)
    return lambda: harm(outputs_of(as_network(), held_out), held_out.labels, weights)


def _watch(snapshots: Snapshots, as_network: Callable[[], Network], n_steps: int) -> Watch:
    def watch(step: int) -> None:
        if snapshots.wants(step, n_steps):
            network = as_network()
            with preserved_mode(network):
                snapshots.save(step, network)

    return watch


def _curve(
    data: Domain, as_network: Callable[[], Network], options: FitOptions, trained: nn.Module, start: Start
) -> Curve:
    n_steps = options.training.n_steps(len(data.train))
    plan = curve_plan(
        options.training,
        n_steps=n_steps,
        n_train=len(data.train),
        n_test=len(data.test),
        n_parameters=n_weights(trained),
        examples=options.curve_examples,
    )
    whole = {"target_train": data.train, "target_test": data.test}
    shown = {part: examples.spread(plan.examples) for part, examples in whole.items()}

    def curve(step: int) -> tuple[Record, ...]:
        if not plan.wants(step, n_steps):
            return ()
        network = as_network()
        # before the first step all methods that start pretrained have one backbone; the end is measured by the run, too
        keep = True if step == 0 and start == "pretrained" else None
        measured = []
        for part, examples in shown.items():
            again = step == n_steps and len(examples) == len(whole[part])
            outputs = outputs_of(network, examples, keep=keep, again=again)
            measured.append(measure(outputs, examples.labels, part=part, step=step))
        return tuple(record for measures in measured for record in measures.records)

    return curve
