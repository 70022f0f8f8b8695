"""What the tests that write the first step of a method by hand begin from."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, RidgeCV
from torch import Tensor, nn

from cases_of_methods import BUDGET, blobs
from transferscope.data.task import Dataset, TransferTask
from transferscope.methods import FitOptions
from transferscope.models import Network, NetworkSettings, build_network, new_head
from transferscope.numerics.leave_one_out import RIDGE_GRID
from transferscope.training import pixel_scale, stream_seed, to_tensors

ONE_STEP = replace(BUDGET, steps=1, batch_size=64, momentum=0.0, weight_decay=0.0, schedule="constant")
OPTIONS = FitOptions(ONE_STEP, seed=3, device="cpu", curve_examples=0)


def whole(data: Dataset) -> tuple[Tensor, Tensor]:
    """All training inputs, scaled, and their labels."""
    tensors = to_tensors(data.train, pixel_scale(data.train))
    batch = tensors.batch(torch.arange(len(tensors)))
    return batch.inputs, batch.labels


def target_head(network: Network) -> nn.Linear:
    """The head of three classes that seed 3 draws."""
    return new_head(network.n_features, 3, seed=stream_seed(3, "target head"))


def first_order(n: int, epoch: int = 0) -> Tensor:
    """The order in which the first pass of a run, or a later one, reads n target examples."""
    order = stream_seed(stream_seed(3, "target", "order"), f"epoch {epoch}")
    return torch.randperm(n, generator=torch.Generator().manual_seed(order))


class KilledError(Exception):
    """Of a run that is cut off."""


def die(done: int, total: int) -> None:
    """Told of a run's progress, it cuts the run off."""
    raise KilledError


def images(n: int = 12) -> TransferTask:
    """Random images of three classes."""
    pixels = np.random.default_rng(0).random((n, 3, 16, 16)).astype(np.float32)
    train = replace(blobs(n, 3, seed=0), inputs=pixels)
    return TransferTask(Dataset("images", train, train))


def convolutions() -> Network:
    """A small residual network, with batch normalisation, for `images`."""
    return build_network(NetworkSettings("resnet20", (2, 2, 3)), (3, 16, 16), 4, seed=0)


def unit(features: np.ndarray) -> float:
    """The mean squared distance of features from their mean, in units of which penalties are given."""
    return float(np.square(features - features.mean(axis=0)).sum(axis=1).mean())


def ridge(features: np.ndarray, targets: np.ndarray, **fitted: Any) -> Any:
    """Scikit-learn's ridge regression, with the penalty of the least leave-one-out error."""
    return RidgeCV(RIDGE_GRID * unit(features)).fit(features, targets, **fitted)


def logistic(features: np.ndarray, labels: np.ndarray, penalty: float = 1.0, **settings: Any) -> Any:
    """Scikit-learn's logistic regression with this penalty."""
    return LogisticRegression(C=1 / penalty / unit(features), max_iter=1000, **settings).fit(features, labels)
