"""Which features of a table are scaled: against leave-one-out errors of ridge regression by scikit-learn."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from sklearn.datasets import load_digits

from methods.by_hand import ridge
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.methods import FitOptions, Joint, LinearProbe, pretrain
from transferscope.models import NetworkSettings, build_network
from transferscope.models.network import Scaled
from transferscope.models.weights import open_network, save_weights
from transferscope.training import PixelScale, TrainingSettings, pixel_scale, scale_of

OPTIONS = FitOptions(TrainingSettings(steps=3, batch_size=8), device="cpu", curve_examples=0)


def table(better: Scaled, *, n: int = 60, seed: int = 0) -> LabelledSet:
    """Labels that follow categories, the rare ones most, or numbers of one importance, or the numbers of large size."""
    draw = np.random.default_rng(seed)
    rates = np.linspace(0.04, 0.5, 30)
    flags = (draw.uniform(size=(n, 30)) < rates).astype(np.float64)
    numbers = draw.normal(size=(n, 4)) * np.array([30.0, 1.0, 1.0, 1.0])
    weights = {
        "all": (flags[:, ::5] / np.sqrt(rates * (1 - rates))[::5]).sum(axis=1),
        "numbers": (numbers / [30, 1, 1, 1]).sum(axis=1),
        "none": numbers[:, 0],
    }
    labels = weights[better] + 0.05 * draw.normal(size=n)
    return LabelledSet(np.hstack([flags, numbers]).astype(np.float32), labels[:, None].astype(np.float32))


def risk(train: LabelledSet, std: np.ndarray) -> float:
    design = (train.inputs - train.inputs.mean(axis=0)) / np.where(std > 0, std, 1)
    return -float(ridge(design, train.labels).best_score_)


@pytest.mark.parametrize("better", get_args(Scaled))
def test_the_way_with_the_least_leave_one_out_error_is_taken(better: Scaled) -> None:
    train = table(better)
    std, is_flag = train.inputs.std(axis=0), np.arange(34) < 30
    ways = {"all": std, "numbers": np.where(is_flag, 1.0, std), "none": np.ones(34)}
    risks = {way: risk(train, scale) for way, scale in ways.items()}
    assert min(risks, key=lambda way: risks[way]) == better  # the table is what it is meant to be
    found = pixel_scale(train, get_args(Scaled))
    assert found.scaled == better
    assert found.std == pytest.approx(ways[better] * (std > 0), rel=1e-5)


def test_features_that_vary_are_all_standardised_where_ways_do_not_differ() -> None:
    train = table("numbers")
    numbers = replace(train, inputs=train.inputs[:, 30:])
    assert pixel_scale(numbers).scaled == "all"
    assert pixel_scale(train.take(np.arange(1))).scaled == "all"  # one example, which nothing can be left out of


def test_what_was_pretrained_reads_other_tables_scaled_in_the_same_way(tmp_path: Path) -> None:
    """Numbers alone, in memory and from its file, whatever suits either table; joint training goes by the target."""
    source, target = (Dataset(better, table(better), table(better, seed=1)) for better in ("numbers", "all"))
    assert (pixel_scale(source.train).scaled, pixel_scale(target.train).scaled) == ("numbers", "all")
    frame = build_network(NetworkSettings("mlp", (6, 5)), (34,), 1, seed=0)
    for data in (source, target):
        trained = pretrain(data, frame, OPTIONS)
        save_weights(trained.network, tmp_path / "net.safetensors", notes=trained.scale.as_notes)
        read = open_network(frame, tmp_path / "net.safetensors").network
        for network in (trained.network, read):
            assert scale_of(network, target.train).scaled == "numbers"
            assert LinearProbe().fit(TransferTask(target), network, OPTIONS).scale.scaled == "numbers"
    assert frame.scaled is None  # what is given is left as it was
    joint = Joint().fit(TransferTask(target, source), frame, OPTIONS)
    assert scale_of(joint.network, source.train).scaled == joint.scale.scaled == "all"


def test_images_in_a_far_smaller_range_than_in_training_are_said() -> None:
    """The digits of scikit-learn are 0 to 16, also as bytes, and MNIST's mean and deviation are published ones."""
    digits = load_digits().images[:100, None]
    scale = PixelScale(np.array([0.1307], np.float32), np.array([0.3081], np.float32))
    (said,) = scale.remarks(digits.astype(np.uint8))
    assert f"deviation {digits.std() / 255:.2g} and 0.31 of 0..1" in said
    for unit in (digits * 255 / 16).astype(np.uint8), digits / 16, digits[:0], digits[:, 0, 0]:
        assert scale.remarks(unit) == ()
    as_they_are = PixelScale(np.zeros(1, np.float32), np.ones(1, np.float32))
    assert as_they_are.remarks((digits * 255 / 16).astype(np.uint8)) == ()
