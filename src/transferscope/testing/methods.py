"""What every method promises, whatever it does inside."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import TransferscopeError
from transferscope.methods import FitOptions, Fitted, Method
from transferscope.models import Network, NetworkSettings, build_network
from transferscope.testing.promises import check_all, has_frozen_settings, require
from transferscope.training import TrainingSettings

BUDGET = TrainingSettings(steps=6, batch_size=8, lr=0.05, eval_every=3)
OPTIONS = FitOptions(BUDGET, seed=7, device="cpu")
N_FEATURES = 7


@dataclass(frozen=True)
class MethodCase:
    """A method, with what it is for.

    Attributes:
        method: The method, with settings under which it learns in 300 steps.
        regression: Whether it learns numbers, too.
        takes_steps: Whether it trains by steps of an optimiser, rather than in closed form.
        learns: Whether it reads the target's labels, rather than predict with what the source has taught.
    """

    method: Method
    regression: bool = True
    takes_steps: bool = True
    learns: bool = True

    def fit(self, task: TransferTask, options: FitOptions = OPTIONS) -> Fitted:
        """The method, fitted to a task from a small network."""
        return self.method.fit(task, network_for(task, self.method), options)


def check_method(method: Method, *, regression: bool = True, takes_steps: bool = True, learns: bool = True) -> None:
    """Try a method on small problems; takes seconds.

    Args:
        method: The method, with settings under which it learns a problem of three classes in 300 steps.
        regression: Whether it learns numbers, too.
        takes_steps: Whether it trains by steps of an optimiser, rather than in closed form.
        learns: Whether it reads the target's labels, rather than predict with what the source has taught.

    Raises:
        AssertionError: It breaks a promise of `METHOD_PROMISES`.
    """
    check_all(METHOD_PROMISES, MethodCase(method, regression, takes_steps, learns), f"the method {method.name}")


def _frozen(case: MethodCase) -> None:
    has_frozen_settings(case.method)


def _changes_nothing(case: MethodCase) -> None:
    task = classification_task()
    network = network_for(task, case.method)
    network.head.eval()
    for parameter in network.parameters():
        parameter.grad = torch.full_like(parameter, 3.0)
    before, modes = weights_of(network), [part.training for part in network.modules()]
    state = torch.get_rng_state()
    case.method.fit(task, network, OPTIONS)
    require(same(weights_of(network), before), "it changes the weights of the network that it is given; train a copy")
    require([part.training for part in network.modules()] == modes, "it changes the mode of the network it is given")
    kept = all(torch.equal(p.grad, torch.full_like(p, 3.0)) for p in network.parameters() if p.grad is not None)
    require(kept, "it changes the gradients of the network that it is given")
    require(all(p.requires_grad for p in network.parameters()), "it freezes parameters of the network it is given")
    require(torch.equal(torch.get_rng_state(), state), "it changes the global random state; draw from options.seed")


def _same_seed(case: MethodCase) -> None:
    task = classification_task()
    one, other = (weights_of(case.fit(task).network) for _ in range(2))
    require(same(one, other), "two fits with one seed give other weights; draw everything from options.seed")


def _shares_nothing(case: MethodCase) -> None:
    task = classification_task()
    network = network_for(task, case.method)
    fitted = case.method.fit(task, network, OPTIONS)
    theirs = {parameter.data_ptr() for parameter in network.parameters()}
    ours = {parameter.data_ptr() for parameter in fitted.network.parameters()}
    require(not theirs & ours, "the fitted network shares memory with the one that it is given")


def _learns_classes(case: MethodCase) -> None:
    task = classification_task(n_target=30)
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
    task = regression_task(n_target=40)
    fitted = case.fit(task, replace(OPTIONS, training=replace(BUDGET, steps=300, lr=0.05, eval_every=100)))
    predicted, truth = fitted.predict(task.target.test), task.target.test.labels
    require(predicted.shape == truth.shape, f"it predicts shape {predicted.shape} for labels of shape {truth.shape}")
    r2 = 1 - np.square(predicted - truth).sum() / np.square(truth - truth.mean(axis=0)).sum()
    require(not case.learns or r2 > 0.3, f"it reaches R² = {r2:.2f} on an easy problem")


def _says_its_cost(case: MethodCase) -> None:
    fitted = case.fit(classification_task())
    cost = fitted.cost
    require(cost.seconds > 0 and cost.peak_memory > 0 and cost.examples_seen > 0, f"its cost is incomplete: {cost}")
    if fitted.history:
        asked = int(BUDGET.steps or 0) * int(fitted.notes.get("runs", 1))
        require(cost.steps == asked, f"it took {cost.steps} steps of a budget of {asked}")
        steps = sorted({record.step for record in fitted.history if record.step is not None})
        require(steps == [0, 3, 6], f"its training curve has steps {steps} for eval_every = 3 and steps = 6")


def _one_class(case: MethodCase) -> None:
    task = classification_task()
    only = np.flatnonzero(task.target.train.labels == 0)
    try:
        fitted = case.fit(task.with_target_train(task.target.train.take(only)))
    except TransferscopeError:
        return  # said in a sentence
    require(fitted.predict(task.target.test).shape == (30,), "examples of one class alone give no predictions")


def _few_examples(case: MethodCase) -> None:
    task = classification_task(n_target=4, n_classes=2)
    outputs = case.fit(task).outputs(task.target.test).numpy()
    require(np.isfinite(outputs).all(), "fewer examples than features give outputs that are not finite")


def _resumes(case: MethodCase) -> None:
    if not case.takes_steps:
        return
    task = classification_task()
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
        "a run that was cut off goes on to other weights; what a step does must depend on the step and the state alone",
    )


def _says_that_it_diverged(case: MethodCase) -> None:
    if not case.takes_steps:
        return
    task = regression_task() if case.regression else classification_task()
    fitted = case.fit(task, replace(OPTIONS, training=replace(BUDGET, steps=100, lr=1e12)))
    if case.regression:
        require(fitted.status == "non_finite", f'training that diverged has status "{fitted.status}"')


def _asks_for_source_data(case: MethodCase) -> None:
    if not case.method.uses_source:
        return
    task = classification_task()
    try:
        case.method.fit(replace(task, source=None), network_for(task, case.method), OPTIONS)
    except TransferscopeError:
        return
    raise AssertionError("it reads source data and does not refuse a task without any")


METHOD_PROMISES: dict[str, Callable[[MethodCase], None]] = {
    "its settings are frozen": _frozen,
    "it leaves what it is given as it was": _changes_nothing,
    "the same seed gives the same weights": _same_seed,
    "it shares no memory with what it is given": _shares_nothing,
    "it learns classes that are easy to tell apart": _learns_classes,
    "it learns numbers": _learns_numbers,
    "it says what it cost": _says_its_cost,
    "examples of one class are answered": _one_class,
    "fewer examples than features are answered": _few_examples,
    "a run that is cut off goes on to the same weights": _resumes,
    "a run that diverges says so": _says_that_it_diverged,
    "it asks for source data where it needs them": _asks_for_source_data,
}
"""What is tried, by what it is called."""


def weights_of(network: Network) -> dict[str, torch.Tensor]:
    """A copy of all weights."""
    return {name: value.clone() for name, value in network.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Whether weights are equal, bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def blobs(n: int, n_classes: int, *, seed: int, width: int = 5) -> LabelledSet:
    """Gaussian clouds around class means that do not depend on the seed, classes in turn."""
    means = np.random.default_rng(0).normal(size=(n_classes, width)) * 2
    labels = np.arange(n) % n_classes
    noise = np.random.default_rng(seed).normal(size=(n, width))
    inputs: Any = (means[labels] + noise).astype(np.float32)
    return LabelledSet(inputs, labels, tuple(f"class {c}" for c in range(n_classes)))


def ramps(n: int, *, seed: int, width: int = 5) -> LabelledSet:
    """Two linear functions of Gaussian inputs with a little noise."""
    generator = np.random.default_rng(seed)
    weights = np.random.default_rng(1).normal(size=(width, 2))
    inputs = generator.normal(size=(n, width))
    labels = inputs @ weights + 0.1 * generator.normal(size=(n, 2))
    return LabelledSet(inputs.astype(np.float32), labels.astype(np.float32))


def classification_task(n_target: int = 12, n_classes: int = 3) -> TransferTask:
    """Source with four classes, target with `n_classes`."""
    target = Dataset("target", blobs(n_target, n_classes, seed=1), blobs(30, n_classes, seed=2))
    return TransferTask(target, Dataset("source", blobs(40, 4, seed=3), blobs(20, 4, seed=4)))


def regression_task(n_target: int = 12) -> TransferTask:
    """Source and target from the same two functions."""
    target = Dataset("target", ramps(n_target, seed=1), ramps(30, seed=2))
    return TransferTask(target, Dataset("source", ramps(40, seed=3), ramps(20, seed=4)))


def network_for(task: TransferTask, method: Method) -> Network:
    """A small network with the head that the method expects."""
    source = task.source
    assert source is not None
    data = source.train if method.start == "pretrained" else task.target.train
    return build_network(NetworkSettings("mlp", (6, N_FEATURES)), data.input_shape, data.n_outputs, seed=5)
