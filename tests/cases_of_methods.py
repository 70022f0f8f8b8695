"""Small problems and one quick setting per method, for the contract tests."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.methods import (
    AllLayersProbe,
    BitFit,
    Boosting,
    BoostingRidge,
    Bss,
    CoTuning,
    Delta,
    Distill,
    DoNothing,
    FineTune,
    Joint,
    Knn,
    L2Sp,
    LinearProbe,
    LoRA,
    Merlin,
    MerlinFt,
    MerlinTargetOnly,
    Method,
    PooledBoosting,
    PooledBoostingRidge,
    RandomFeatures,
    Raw,
    Scratch,
    SmallScratch,
    Soup,
    SourceBoosting,
    Surgical,
    WiseFt,
)
from transferscope.methods.merlin import MerlinWithoutSource
from transferscope.testing.methods import BUDGET, blobs, classification_task, network_for, regression_task

__all__ = ["BUDGET", "blobs", "classification_task", "network_for", "regression_task"]


@dataclass(frozen=True)
class Stumps(Boosting):
    """Trees of one question, which learn from as few examples as a promise has."""

    depth: ClassVar[int] = 1


CASES: dict[str, Method] = {
    "scratch": Scratch(),
    "small-scratch": SmallScratch(),
    "raw": Raw(),
    "random-features": RandomFeatures(),
    "knn": Knn(),
    "do-nothing": DoNothing(),
    "boosting": Stumps(),
    "boosting-ridge": BoostingRidge(),
    "source-boosting": SourceBoosting(),
    "pooled-boosting": PooledBoosting(),
    "pooled-boosting-ridge": PooledBoostingRidge(),
    "all-layers-probe": AllLayersProbe(),
    "linear-probe": LinearProbe(),
    "fine-tune": FineTune(lr_scale=1.0),
    "fine-tune, from the probe": FineTune(head="probe", frozen_blocks=1, head_lr_scale=1.0),
    "fine-tune, fixed under a head of two layers": FineTune(lr_scale=1.0, layer_decay=0.0, hidden_units=8),
    "fine-tune, block by block": FineTune(lr_scale=1.0, layer_decay=0.9),
    "l2-sp": L2Sp(lr_scale=1.0, beta=0.01),
    "wise-ft": WiseFt(lr_scale=1.0),
    "wise-ft, half way": WiseFt(lr_scale=1.0, share=0.5),
    "soup": Soup(lr_scale=0.05),
    "lora": LoRA(),
    "lora, from the probe": LoRA(rank=2, alpha=2.0, head="probe"),
    "bitfit": BitFit(),
    "surgical": Surgical(lr_scale=1.0),
    "bss": Bss(lr_scale=1.0),
    "delta": Delta(lr_scale=1.0, beta=0.01),
    "delta, without attention": Delta(lr_scale=1.0, beta=0.01, attention="none"),
    "co-tuning": CoTuning(lr_scale=1.0),
    "distill": Distill(lr_scale=1.0, beta=0.01),
    "joint": Joint(),
    "merlin": Merlin(target_batch=24, lr_scale=0.2),
    "merlin, a constant ridge": Merlin(target_batch=24, lr_scale=0.2, ridge=1.0),
    "merlin, unrolled": Merlin(inner="unrolled", inner_steps=10, target_batch=24, ridge=0.1, lr_scale=0.2),
    "merlin, pretrained, target only": MerlinWithoutSource(initial="pretrained", target_batch=24, lr_scale=0.2),
    "merlin-target-only": MerlinTargetOnly(target_batch=24, lr_scale=0.2),
    "merlin-ft": MerlinFt(target_batch=24, lr_scale=0.2),
    "merlin-ft, no inner fit": MerlinFt(inner="none", target_batch=24, lr_scale=0.2),
}
CLASSES_ALONE = {"co-tuning"}
"""Neither numbers nor several labels."""
NOT_HELD_TO_LEARN = {"do-nothing", "source-boosting"}
"""Fits no target labels, or needs better features than random ones to be right on .8 of three easy classes."""


def tagged(n: int, *, seed: int) -> LabelledSet:
    """Three labels, each decided by another direction of Gaussian inputs, with a little noise."""
    random = np.random.default_rng(seed)
    inputs = random.normal(size=(n, 6)).astype(np.float32)
    weights = np.random.default_rng(0).normal(size=(6, 3)) * 2
    return LabelledSet(inputs, inputs @ weights + random.normal(size=(n, 3)) > 0.5, ("ant", "bee", "cow"))


def with_classes(data: Dataset, names: tuple[str, ...]) -> Dataset:
    """The same data, whose classes have other names."""
    return replace(data, train=replace(data.train, classes=names), test=replace(data.test, classes=names))


def labelled_task() -> TransferTask:
    """Three labels of each input, source and target from the same directions."""
    target = Dataset("tagged", tagged(60, seed=1), tagged(80, seed=2))
    return TransferTask(target, Dataset("source", tagged(90, seed=3), tagged(50, seed=4)))
