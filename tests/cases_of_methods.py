"""Small problems and one quick setting per method, for the contract tests."""

import numpy as np

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.methods import (
    METHODS,
    FineTune,
    Joint,
    Knn,
    L2Sp,
    LinearProbe,
    Merlin,
    MerlinFt,
    Method,
    Raw,
    Scratch,
)
from transferscope.models import Network, NetworkSettings, build_network
from transferscope.training import TrainingSettings

CASES: dict[str, Method] = {
    "scratch": Scratch(),
    "raw": Raw(),
    "knn": Knn(),
    "linear-probe": LinearProbe(),
    "linear-probe, logistic": LinearProbe(solver="logistic"),
    "fine-tune": FineTune(lr_scale=1.0),
    "fine-tune, from the probe": FineTune(head="probe", frozen_blocks=1, head_lr_scale=1.0),
    "fine-tune, block by block": FineTune(lr_scale=1.0, layer_decay=0.9, unfreeze=0.4),
    "l2-sp": L2Sp(lr_scale=1.0, beta=0.01),
    "joint": Joint(),
    "merlin": Merlin(target_batch=24, lr_scale=0.2),
    "merlin, a constant ridge": Merlin(target_batch=24, lr_scale=0.2, ridge=1.0),
    "merlin, unrolled": Merlin(inner="unrolled", inner_steps=10, target_batch=24, ridge=0.1, lr_scale=0.2),
    "merlin, pretrained, target only": Merlin(initial="pretrained", source_term=False, target_batch=24, lr_scale=0.2),
    "merlin-ft": MerlinFt(target_batch=24, lr_scale=0.2),
}
CLASSIFICATION_ONLY = {"linear-probe, logistic"}
WITHOUT_STEPS = {"raw", "knn", "linear-probe", "linear-probe, logistic"}

BUDGET = TrainingSettings(steps=6, batch_size=8, lr=0.05, eval_every=3)
N_FEATURES = 7


def missing_cases() -> set[str]:
    """Methods without a case."""
    return set(METHODS) - {case.name for case in CASES.values()}


def blobs(n: int, n_classes: int, *, seed: int, width: int = 5) -> LabelledSet:
    """Gaussian clouds around class means that do not depend on the seed, classes in turn."""
    means = np.random.default_rng(0).normal(size=(n_classes, width)) * 2
    labels = np.arange(n) % n_classes
    noise = np.random.default_rng(seed).normal(size=(n, width))
    inputs = (means[labels] + noise).astype(np.float32)
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
