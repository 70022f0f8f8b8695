"""Contract tests of methods."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError, TransferscopeError
from transferscope.methods import FitOptions, Fitted, Method, check_task
from transferscope.models import Network, NetworkSettings, build_network
from transferscope.models.texts import sample_tokens
from transferscope.testing.promises import check_all, has_frozen_settings, require
from transferscope.training import TrainingSettings

BUDGET = TrainingSettings(steps=6, batch_size=8, lr=0.05, eval_every=3)
OPTIONS = FitOptions(BUDGET, seed=7, device="cpu")
N_FEATURES = 7
IMAGE = (1, 16, 16)

LAYERS = NetworkSettings("mlp", (6, N_FEATURES))
"""Two linear layers."""

NETWORKS = (NetworkSettings("resnet20", (2, 2, 3)), NetworkSettings("transferscope.testing.transformer:transformer"))
"""Further networks for the checks of methods: with batch normalisation, and with attention."""


@dataclass(frozen=True)
class MethodCase:
    """A method with its test problem; see `check_method`."""

    method: Method
    regression: bool = True
    learns: bool = True
    network: NetworkSettings = LAYERS
    input_shape: tuple[int, ...] = (5,)

    def classification(self, n_target: int = 12, n_classes: int = 3) -> TransferTask:
        """Return `classification_task` in inputs that the network reads."""
        return self._as_read(classification_task(n_target, n_classes))

    def numbers(self, n_target: int = 12) -> TransferTask:
        """Return `regression_task` in inputs that the network reads."""
        return self._as_read(regression_task(n_target))

    def takes(self) -> bool:
        """Return whether the method can learn from inputs of this shape."""
        task = self.classification()
        try:
            check_task(self.method, task.target, task.source)
        except DataError:
            return False
        return True

    def start(self, task: TransferTask) -> Network:
        """Return the network with the head that the method expects."""
        return network_for(task, self.method, self.network)

    def fit(self, task: TransferTask, options: FitOptions = OPTIONS) -> Fitted:
        """Return the method fitted to a task from the network."""
        return self.method.fit(task, self.start(task), options)

    def _as_read(self, task: TransferTask) -> TransferTask:
        known = build_network(self.network, self.input_shape, 2, seed=0).input
        vocabulary = None if known is None else known.vocabulary

        def part(data: LabelledSet) -> LabelledSet:
            if vocabulary is not None:
                tokens = sample_tokens(vocabulary, self.input_shape, n=len(data))
                return replace(data, inputs=tokens.numpy().astype(np.int32))
            numbers = np.resize(data.inputs.T, (math.prod(self.input_shape), len(data))).T
            numbers = numbers if len(self.input_shape) == 1 else 1 / (1 + np.exp(-numbers))  # images from 0 to 1
            return replace(data, inputs=numbers.reshape(-1, *self.input_shape).astype(np.float32))

        def whole(data: Dataset) -> Dataset:
            return replace(data, train=part(data.train), test=part(data.test))

        assert task.source is not None
        return TransferTask(whole(task.target), whole(task.source))


def check_method(
    method: Method,
    *,
    regression: bool = True,
    learns: bool = True,
    network: str | NetworkSettings | None = None,
    input_shape: tuple[int, ...] = IMAGE,
) -> None:
    """Test the contract of a method on small problems and networks; takes seconds.

    All promises are tested on two linear layers; those independent of learning success (`ON_EVERY_NETWORK`) also on a
    convolutional network with batch normalisation and on a transformer.

    Args:
        method: The method, with settings that learn a problem of three classes in 300 steps.
        regression: Whether it learns numbers, too.
        learns: Whether it learns these classes, to an accuracy of .8; False for one that fits no target labels or needs
            better features.
        network: A further network to test it on, as in "nets.py:mine"; None for none.
        input_shape: Shape of one input of this network: (C, H, W) for images, (D,) for vectors or tokens.

    Raises:
        AssertionError: It breaks a promise of `METHOD_PROMISES`.
    """
    given = NetworkSettings(network) if isinstance(network, str) else network
    tried = [*((one, IMAGE) for one in NETWORKS), *([(given, input_shape)] if given is not None else [])]
    promises = METHOD_PROMISES | {
        f"{promise}, on {one.name.rpartition(':')[2]}": partial(_on, METHOD_PROMISES[promise], one, shape)
        for one, shape in tried
        for promise in ON_EVERY_NETWORK
    }
    check_all(promises, MethodCase(method, regression, learns), f"the method {method.name}")


def _on(
    promise: Callable[[MethodCase], None], network: NetworkSettings, shape: tuple[int, ...], case: MethodCase
) -> None:
    on = replace(case, network=network, input_shape=shape)
    if on.takes():
        promise(on)


def _changes_nothing(case: MethodCase) -> None:
    task = case.classification()
    network = case.start(task)
    network.head.eval()
    for parameter in network.parameters():
        parameter.grad = torch.full_like(parameter, 3.0)
    before, modes = weights_of(network), [part.training for part in network.modules()]
    state = torch.get_rng_state()
    fitted = case.method.fit(task, network, OPTIONS)
    require(same(weights_of(network), before), "it changes the weights of the network that it is given; train a copy")
    require([part.training for part in network.modules()] == modes, "it changes the mode of the network it is given")
    kept = all(torch.equal(p.grad, torch.full_like(p, 3.0)) for p in network.parameters() if p.grad is not None)
    require(kept, "it changes the gradients of the network that it is given")
    require(all(p.requires_grad for p in network.parameters()), "it freezes parameters of the network it is given")
    require(torch.equal(torch.get_rng_state(), state), "it changes the global random state; draw from options.seed")
    theirs = {parameter.data_ptr() for parameter in network.parameters()}
    ours = {parameter.data_ptr() for parameter in fitted.network.parameters()}
    require(not theirs & ours, "the fitted network shares memory with the one that it is given")


def _same_seed(case: MethodCase) -> None:
    task = case.classification()
    one, other = (weights_of(case.fit(task).network) for _ in range(2))
    require(same(one, other), "two fits with one seed give other weights; draw everything from options.seed")


def _reads_no_test_labels(case: MethodCase) -> None:
    task = case.classification()
    test = task.target.test
    other = replace(task, target=replace(task.target, test=replace(test, labels=np.roll(test.labels, 1))))
    one, two = (weights_of(case.fit(given).network) for given in (task, other))
    require(same(one, two), "other test labels give other weights; what is chosen is chosen on training data")


def _learns_classes(case: MethodCase) -> None:
    task = case.classification(n_target=30)
    fitted = case.fit(task, replace(OPTIONS, training=replace(BUDGET, steps=300, lr=0.1, eval_every=100)))
    require(fitted.status != "non_finite", "its training diverges on an easy problem")
    accuracy = float(np.mean(fitted.predict(task.target.test) == task.target.test.labels))
    require(
        not case.learns or accuracy > 0.8,
        f"it reaches an accuracy of {accuracy:.2f} on an easy problem of three classes",
    )


def _learns_numbers(case: MethodCase) -> None:
    if not case.regression:
        return
    task = case.numbers(n_target=40)
    fitted = case.fit(task, replace(OPTIONS, training=replace(BUDGET, steps=300, lr=0.05, eval_every=100)))
    predicted, truth = fitted.predict(task.target.test), task.target.test.labels
    require(predicted.shape == truth.shape, f"it predicts shape {predicted.shape} for labels of shape {truth.shape}")
    r2 = 1 - np.square(predicted - truth).sum() / np.square(truth - truth.mean(axis=0)).sum()
    require(not case.learns or r2 > 0.3, f"it reaches R² = {r2:.2f} on an easy problem")


def _says_its_cost(case: MethodCase) -> None:
    fitted = case.fit(case.classification())
    cost = fitted.cost
    require(cost.seconds > 0 and cost.peak_memory > 0 and cost.examples_seen > 0, f"its cost is incomplete: {cost}")
    own = case.method.takes_steps
    require((cost.steps > 0) == own, f"it took {cost.steps} steps of an optimiser and takes_steps says {own}")
    if fitted.history:
        asked = int(BUDGET.steps or 0) * int(fitted.notes.get("runs", 1))
        require(cost.steps == asked, f"it took {cost.steps} steps of a budget of {asked}")
        steps = sorted({record.step for record in fitted.history if record.step is not None})
        require(steps == [0, 3, 6], f"its training curve has steps {steps} for eval_every = 3 and steps = 6")


def _one_class(case: MethodCase) -> None:
    task = case.classification()
    only = np.flatnonzero(task.target.train.labels == 0)
    try:
        fitted = case.fit(task.with_target_train(task.target.train.take(only)))
    except TransferscopeError:
        return  # said in a sentence
    require(fitted.predict(task.target.test).shape == (30,), "examples of one class alone give no predictions")


def _few_examples(case: MethodCase) -> None:
    task = case.classification(n_target=4, n_classes=2)
    fitted = case.fit(task)
    finite = np.isfinite(fitted.outputs(task.target.test).numpy()).all()
    require(
        finite or fitted.status == "non_finite",
        "fewer examples than features give outputs that are not finite, and its status does not say so",
    )


def _resumes(case: MethodCase) -> None:
    if not case.method.takes_steps:
        return
    task = case.classification()
    with TemporaryDirectory() as folder:
        longer = replace(OPTIONS, training=replace(BUDGET, steps=60))
        kept = replace(longer, checkpoint=Path(folder) / "state", checkpoint_seconds=0.0)

        class CutOffError(Exception):
            pass

        def cut(done: int, total: int) -> None:
            if done >= 50:
                raise CutOffError

        with suppress(CutOffError):
            case.fit(task, replace(kept, on_progress=cut))
        require((Path(folder) / "state").exists(), "it keeps no checkpoint; train with the loop, and pass the options")
        resumed = weights_of(case.fit(task, kept).network)
    require(
        same(resumed, weights_of(case.fit(task, longer).network)),
        "an interrupted run resumes to other weights; what a step does must depend on the step and the state alone",
    )


def _says_that_it_diverged(case: MethodCase) -> None:
    if not case.method.takes_steps:
        return
    task = case.numbers() if case.regression else case.classification()
    fitted = case.fit(task, replace(OPTIONS, training=replace(BUDGET, steps=100, lr=1e12)))
    if case.regression:
        require(fitted.status == "non_finite", f'training that diverged has status "{fitted.status}"')


def _asks_for_source_data(case: MethodCase) -> None:
    if not case.method.uses_source:
        return
    task = case.classification()
    try:
        case.method.fit(replace(task, source=None), case.start(task), OPTIONS)
    except TransferscopeError:
        return
    raise AssertionError("it reads source data and does not refuse a task without any")


METHOD_PROMISES: dict[str, Callable[[MethodCase], None]] = {
    "its settings are frozen": lambda case: has_frozen_settings(case.method),
    "it leaves what it is given as it was": _changes_nothing,
    "the same seed gives the same weights": _same_seed,
    "it reads no test labels": _reads_no_test_labels,
    "it learns classes that are easy to distinguish": _learns_classes,
    "it learns numbers": _learns_numbers,
    "it says what it cost": _says_its_cost,
    "examples of one class are answered": _one_class,
    "fewer examples than features are answered": _few_examples,
    "an interrupted run resumes to the same weights": _resumes,
    "a run that diverges says so": _says_that_it_diverged,
    "it asks for source data where it needs them": _asks_for_source_data,
}
"""Checks by their descriptions."""

ON_EVERY_NETWORK = (
    "it leaves what it is given as it was",
    "the same seed gives the same weights",
    "fewer examples than features are answered",
    "an interrupted run resumes to the same weights",
)
"""Checks that run on each of the `NETWORKS`."""


def weights_of(network: Network) -> dict[str, torch.Tensor]:
    """Return a copy of all weights."""
    return {name: value.clone() for name, value in network.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Return whether weights are bitwise equal; NaN equals NaN, as in training that diverged."""
    equal = (torch.equal(one[name].nan_to_num(), other[name].nan_to_num()) for name in one)
    return one.keys() == other.keys() and all(equal)


def blobs(n: int, n_classes: int, *, seed: int) -> LabelledSet:
    """Return Gaussian clouds around class means that do not depend on the seed, classes in turn."""
    means = np.random.default_rng(0).normal(size=(n_classes, 5)) * 2
    labels = np.arange(n) % n_classes
    noise = np.random.default_rng(seed).normal(size=(n, 5))
    inputs: Any = (means[labels] + noise).astype(np.float32)
    return LabelledSet(inputs, labels, tuple(f"class {c}" for c in range(n_classes)))


def ramps(n: int, *, seed: int) -> LabelledSet:
    """Return two linear functions of Gaussian inputs with a little noise."""
    generator = np.random.default_rng(seed)
    weights = np.random.default_rng(1).normal(size=(5, 2))
    inputs = generator.normal(size=(n, 5))
    labels = inputs @ weights + 0.1 * generator.normal(size=(n, 2))
    return LabelledSet(inputs.astype(np.float32), labels.astype(np.float32))


def classification_task(n_target: int = 12, n_classes: int = 3) -> TransferTask:
    """Return a source with four classes and a target with `n_classes`."""
    target = Dataset("target", blobs(n_target, n_classes, seed=1), blobs(30, n_classes, seed=2))
    return TransferTask(target, Dataset("source", blobs(40, 4, seed=3), blobs(20, 4, seed=4)))


def regression_task(n_target: int = 12) -> TransferTask:
    """Return a source and a target of the same two functions."""
    target = Dataset("target", ramps(n_target, seed=1), ramps(30, seed=2))
    return TransferTask(target, Dataset("source", ramps(40, seed=3), ramps(20, seed=4)))


def network_for(task: TransferTask, method: Method, settings: NetworkSettings = LAYERS) -> Network:
    """Return a small network with the head that the method expects."""
    source = task.source
    assert source is not None
    data = source.train if method.start == "pretrained" else task.target.train
    return build_network(settings, data.input_shape, data.n_outputs, seed=5)
