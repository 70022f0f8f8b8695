"""Predictions and metrics of a trained network."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.data.task import UNLABELLED
from transferscope.estimate import Estimate
from transferscope.models.network import Network, evaluated, n_weights
from transferscope.numerics.average_precision import example_contributions
from transferscope.records import Record
from transferscope.training.feature_cache import LEAST_PARAMETERS, LOOKED_AT, content_key, is_kept, kept_features
from transferscope.training.losses import check_targets
from transferscope.training.tensors import TensorSet, joined

CHUNK, TEXTS = 512, 32
"""Examples, of up to 64 x 64 numbers each (fewer of larger ones), and texts, that are read at once."""

MOST_REMEMBERED, MOST_BYTES = 2, 2**26
"""Most cached sets of outputs (training and test examples), and most bytes of one."""

_remembered: dict[str, tuple[Tensor, Tensor]] = {}


@torch.no_grad()
def outputs_of(
    network: nn.Module, data: TensorSet, *, keep: bool | None = None, again: bool = False
) -> Float[Tensor, "N K ..."]:
    """Return the outputs of a network in evaluation mode, for all examples in order.

    The modes of the network and its parts are restored.

    Args:
        keep: Whether to cache the backbone's features on disk, see `feature_cache`; None for a `Network` with a frozen
            backbone.
        again: Whether the same outputs are requested several times, so that the last ones are kept in memory.

    Returns:
        The same numbers with all values of the last two.
    """
    with evaluated(network):
        if isinstance(network, Network) and (network.is_frozen if keep is None else keep) and is_kept(network.features):
            ordered, size, order = _in_order(data)
            features = kept_features(network.features, ordered, size)
            # a copy of each part, as the backbone would have given it: arithmetic may depend on where numbers lie
            parts = (features[start : start + size] for start in range(0, len(features), size))
            return _put_back(joined((network.head(part.clone()) for part in parts), len(features)), order)
        return _computed_once(network, data) if again else _computed(network, data)


@torch.no_grad()
def frozen_features(network: Network, data: TensorSet) -> Float[Tensor, "N m"]:
    """Return the features of a frozen backbone in evaluation mode, for all examples in order.

    The same numbers as `outputs_of(network.features, data)`, from the disk if cached.
    """
    with evaluated(network.features):
        if not is_kept(network.features):
            return _computed(network.features, data)
        ordered, size, order = _in_order(data)
        return _put_back(kept_features(network.features, ordered, size), order)


def _computed(network: nn.Module, data: TensorSet) -> Float[Tensor, "N K ..."]:
    ordered, size, order = _in_order(data)
    return _put_back(joined((network(batch.inputs) for batch in ordered.chunks(size)), len(ordered)), order)


def _computed_once(network: nn.Module, data: TensorSet) -> Float[Tensor, "N K ..."]:
    """Return the outputs of all examples, cached if weights and examples are the same as last time."""
    if n_weights(network) < LEAST_PARAMETERS:
        return _computed(network, data)
    key, few = content_key(network, data), _computed(network, data.spread(LOOKED_AT))
    remembered = _remembered.get(key)
    if remembered is not None and torch.equal(remembered[0], few):
        return remembered[1].clone()
    whole = _computed(network, data)
    if whole.nbytes <= MOST_BYTES:
        _remembered[key] = (few, whole.clone())
        while len(_remembered) > MOST_REMEMBERED:
            del _remembered[next(iter(_remembered))]
    return whole


def _in_order(data: TensorSet) -> tuple[TensorSet, int, Int[Tensor, " N"] | None]:
    """Return examples in reading order, the batch size, and their original positions; None for unchanged order."""
    if data.inputs.dtype != torch.int32:
        return data, max(16, min(CHUNK, CHUNK * 64**2 // data.inputs[0].numel())), None
    order = (data.inputs >= 0).any(dim=1).sum(dim=1).argsort(stable=True)
    return replace(data, inputs=data.inputs[order], labels=data.labels[order]), TEXTS, order


def _put_back(outputs: Tensor, order: Tensor | None) -> Tensor:
    return outputs if order is None else torch.empty_like(outputs).index_copy_(0, order, outputs)


@dataclass(frozen=True)
class Measures:
    """Metrics of outputs against labels, with their standard errors over examples.

    Attributes:
        records: "accuracy" and "loss" (cross-entropy in nats) for classification; "mse" and "r2" for regression; for
            several labels of each input "average_precision" (macro average), "micro_f1" and "exact_match" of the labels
            whose output is above 0, and "loss" (binary cross-entropy in nats, mean over labels). For segmentation
            "accuracy" (of the labelled cells), "mean_iou" (intersection over union, mean over the classes that occur)
            and "loss"; for numbers on a grid "mse" and "r2", and "angular_error" (mean angle between directions, in
            degrees) where labels are unit vectors of three components. Standard errors are over images, not cells.
        predictions: Class index int32 (N,), or float32 (N, K) regression values or logits of labels; on a grid
            int32 (N, h, w) or float32 (N, K, h, w); on the CPU.
    """

    records: tuple[Record, ...]
    predictions: Tensor


def measure(outputs: Float[Tensor, "N K ..."], labels: Tensor, *, part: str, step: int | None = None) -> Measures:
    """Measure outputs against labels.

    Args:
        outputs: Logits or regression values; (N, K, h, w) on a grid.
        labels: int64 classes (N,) or (N, h, w), float targets (N, K) or (N, K, h, w), or booleans (N, K).

    Returns:
        Records and predictions; a non-finite loss has status "non_finite".

    Raises:
        DataError: Regression targets or booleans are not of the shape of the outputs.
    """
    outputs, labels = outputs.cpu(), labels.cpu()  # once
    exact, of_numbers = outputs.to(torch.float64), labels.is_floating_point()
    if of_numbers or labels.dtype == torch.bool:
        check_targets(labels, tuple(outputs.shape))
        predictions = outputs.to(torch.float32)
    else:
        predictions = outputs.argmax(dim=1).to(torch.int32)
    if labels.dtype == torch.bool:
        named = _of_several_labels(exact, labels)
    elif labels.ndim == 3:
        named = _of_classes_on_grid(exact, labels)
    elif not of_numbers:
        correct = (predictions == labels).to(torch.float64)
        losses = F.cross_entropy(exact, labels.long(), reduction="none")
        named = {"accuracy": mean_over_examples(correct), "loss": mean_over_examples(losses)}
    else:
        squares = (exact - labels).square().flatten(1).mean(dim=1)
        named = {"mse": mean_over_examples(squares), "r2": _r_squared(squares, labels.to(torch.float64).flatten(1))}
        if labels.ndim == 4 and labels.shape[1] == 3 and bool(((labels.norm(dim=1) - 1).abs() < 1e-3).all()):
            cosine = F.cosine_similarity(exact, labels.to(torch.float64), dim=1)
            degrees = torch.rad2deg(cosine.clamp(-1, 1).acos()).flatten(1).mean(dim=1)
            named["angular_error"] = mean_over_examples(degrees)
    records = tuple(Record(name, estimate, part, step) for name, estimate in named.items())
    return Measures(records, predictions)


def _of_classes_on_grid(outputs: Float[Tensor, "N K h w"], labels: Tensor) -> dict[str, Estimate]:
    """Return metrics of semantic segmentation: Long, Shelhamer and Darrell 2015, section 5.

    Standard errors are those of linearised ratios of means over images, and of their mean over classes.
    """
    labels = labels.long()
    known, predicted = labels != UNLABELLED, outputs.argmax(dim=1)
    cells = known.sum(dim=(1, 2)).to(torch.float64)
    losses = F.cross_entropy(outputs, labels, ignore_index=UNLABELLED, reduction="none").sum(dim=(1, 2))
    right = ((predicted == labels) & known).sum(dim=(1, 2)).to(torch.float64)
    shares, influences = [], []
    for label in range(outputs.shape[1]):
        there, given = labels == label, (predicted == label) & known
        if bool(there.any()):
            both, either = (part.sum(dim=(1, 2)).to(torch.float64) for part in (there & given, there | given))
            share = both.sum() / either.sum()
            shares.append(share)
            influences.append((both - share * either) / either.mean())
    n, influence = len(labels), torch.stack(influences).mean(dim=0)
    mean = float(torch.stack(shares).mean())
    iou = Estimate(mean, float(influence.std()) / n**0.5 if n > 1 else None, n)
    finite = bool(torch.isfinite(outputs).all())
    loss = _ratio(losses, cells) if finite else Estimate.missing("non_finite", n)
    return {"accuracy": _ratio(right, cells), "mean_iou": iou, "loss": loss}


def _of_several_labels(outputs: Float[Tensor, "N K"], labels: Tensor) -> dict[str, Estimate]:
    """Return metrics of multi-label classification: Tsoumakas and Katakis 2007, section 4; see average_precision."""
    losses = F.binary_cross_entropy_with_logits(outputs, labels.to(outputs.dtype), reduction="none").mean(dim=1)
    predicted = outputs > 0
    right = 2 * (predicted & labels).sum(dim=1).to(torch.float64)
    counted = predicted.sum(dim=1) + labels.sum(dim=1).to(torch.float64)
    shares = torch.from_numpy(example_contributions(outputs.numpy(), labels.numpy()))
    nothing = not labels.any()
    return {
        "average_precision": Estimate.missing("undefined", len(labels)) if nothing else mean_over_examples(shares),
        "micro_f1": _ratio(right, counted),
        "exact_match": mean_over_examples((predicted == labels).all(dim=1).to(torch.float64)),
        "loss": mean_over_examples(losses),
    }


def _ratio(above: Float[Tensor, " N"], below: Float[Tensor, " N"]) -> Estimate:
    """Return a ratio of two means over examples, with the error of its linearisation."""
    n, whole = len(above), float(below.mean())
    if whole == 0.0:
        return Estimate.missing("undefined", n)
    ratio = float(above.mean()) / whole
    stderr = float((above - ratio * below).std()) / whole / n**0.5 if n > 1 else None
    return Estimate(ratio, stderr, n)


def mean_over_examples(values: Float[Tensor, " N"]) -> Estimate:
    """Return a mean with its standard error; with status "non_finite" if a value is."""
    n = len(values)
    mean = float(values.mean())
    if not torch.isfinite(values).all():
        return Estimate.missing("non_finite", n)
    stderr = float(values.std()) / n**0.5 if n > 1 else None
    return Estimate(mean, stderr, n)


def _r_squared(squares: Float[Tensor, " N"], labels: Float[Tensor, "N K"]) -> Estimate:
    spread = (labels - labels.mean(dim=0)).square().mean(dim=1)
    n, total = len(labels), float(spread.mean())
    if total == 0.0 or n < 2:
        return Estimate.missing("undefined", n)
    ratio = squares / total
    if not torch.isfinite(ratio).all():
        return Estimate.missing("non_finite", n)
    residual = ratio - ratio.mean() * spread / total  # linearisation of a ratio of means
    return Estimate(1.0 - float(ratio.mean()), float(residual.std()) / n**0.5, n)
