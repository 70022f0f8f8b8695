"""Gradient boosting by scikit-learn, stored as a module of plain tensors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Num, Shaped
from torch import Tensor, nn


class Trees(nn.Module):
    """Regression trees: each output is a constant plus a sum of trees.

    Args:
        rate: Factor on their values.
        output: Output of each tree.
    """

    feature: Tensor
    threshold: Tensor
    below: Tensor
    value: Tensor
    output: Tensor
    base: Tensor

    def __init__(self, trees: Sequence[Any], rate: float, output: Sequence[int], base: Float[np.ndarray, " K"]) -> None:
        super().__init__()
        grown = [one.tree_ for one in trees]
        shape = (len(grown), max((tree.node_count for tree in grown), default=1))
        feature, threshold = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        below = np.tile(np.arange(shape[1])[:, None], (shape[0], 1, 2))  # a leaf leads to itself
        value = np.zeros(shape, np.float32)
        for i, tree in enumerate(grown):
            inner = np.flatnonzero(tree.children_left >= 0)
            feature[i, inner] = tree.feature[inner]
            threshold[i, inner] = _rounded_down(tree.threshold[inner])
            below[i, inner] = np.stack([tree.children_left, tree.children_right], axis=1)[inner]
            value[i, : tree.node_count] = rate * tree.value[:, 0, 0]
        self.depth = max((int(tree.max_depth) for tree in grown), default=0)
        for name, whole in {"feature": feature, "below": below, "output": np.asarray(output, np.int64)}.items():
            self.register_buffer(name, torch.from_numpy(whole))
        for name, real in {"threshold": threshold, "value": value, "base": base.astype(np.float32)}.items():
            self.register_parameter(name, nn.Parameter(torch.from_numpy(real), requires_grad=False))

    def forward(self, inputs: Float[Tensor, "n D"]) -> Float[Tensor, "n K"]:
        """Return the outputs."""
        tree = torch.arange(len(self.feature), device=inputs.device)
        at = torch.zeros(len(inputs), len(tree), dtype=torch.int64, device=inputs.device)
        for _ in range(self.depth):
            right = inputs.gather(1, self.feature[tree, at]) > self.threshold[tree, at]
            at = self.below[tree, at, right.long()]
        return self.base.repeat(len(inputs), 1).index_add(1, self.output, self.value[tree, at])


def boosted(
    inputs: Float[np.ndarray, "N D"],
    labels: Shaped[np.ndarray, "N ..."],
    n_outputs: int,
    *,
    weights: Num[np.ndarray, "N ..."] | None = None,
    **settings: Any,
) -> Trees:
    """Fit gradient boosting (Friedman 2001, "Greedy function approximation") with scikit-learn.

    Args:
        labels: Classes (N,), numbers (N, K), or booleans (N, K) of several labels.
        weights: Of the examples, (N,), or (N, K) for each of several labels; None for 1.
        settings: Settings of `GradientBoostingRegressor` and `GradientBoostingClassifier`, including "learning_rate".

    Returns:
        Numbers, or log-odds. A class of which there is no example has -65504 (the lowest float16), and a label that all
        examples or none have log((k + 1/2) / (N - k + 1/2)) of the k that have it.
    """
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    trees: list[Any] = []
    output: list[int] = []
    base = np.zeros(n_outputs)

    def add(model: Any, scores: Float[np.ndarray, " k"], outputs: Sequence[int]) -> None:
        """Check the stages of a model against the scores of the first example."""
        for column, to in enumerate(outputs):
            stages = list(model.estimators_[:, column])
            given = settings["learning_rate"] * sum(float(tree.predict(inputs[:1])[0]) for tree in stages)
            base[to] = float(scores[column]) - given
            trees.extend(stages)
            output.extend([to] * len(stages))

    if labels.ndim == 1:
        present = np.unique(labels)
        base[:] = float(np.finfo(np.float16).min)
        base[present[0]] = 0.0  # alone, or of two classes, of which the second has the log-odds against the first
        if len(present) > 1:
            model = GradientBoostingClassifier(**settings).fit(inputs, labels, sample_weight=weights)
            scores = np.atleast_1d(model.decision_function(inputs[:1])[0])
            add(model, scores, present[-len(scores) :].tolist())
        return Trees(trees, settings["learning_rate"], output, base)
    for k, column in enumerate(labels.T):
        weight = weights if weights is None or weights.ndim == 1 else weights[:, k]
        if labels.dtype != np.bool_:
            model = GradientBoostingRegressor(**settings).fit(inputs, column, sample_weight=weight)
            add(model, model.predict(inputs[:1]), [k])
        elif column.min() == column.max():
            base[k] = np.log((column.sum() + 0.5) / ((~column).sum() + 0.5))
        else:
            model = GradientBoostingClassifier(**settings).fit(inputs, column, sample_weight=weight)
            add(model, model.decision_function(inputs[:1]), [k])
    return Trees(trees, settings["learning_rate"], output, base)


def _rounded_down(numbers: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Round thresholds down to float32, so that no float32 input changes sides."""
    near = numbers.astype(np.float32)
    return np.where(near > numbers, np.nextafter(near, np.float32(-np.inf)), near)
