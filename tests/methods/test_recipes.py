"""Recipes: which row a method has, what a study's own settings win over, and how images are augmented."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import nn

from study.specs import FACTS, spec
from transferscope.data import LabelledSet
from transferscope.methods import METHODS, FineTune, recipes
from transferscope.methods.recipes import RECIPES, Traits, augmentation_of, even_batch, row_of
from transferscope.models import Network
from transferscope.models.families import Family, family_of
from transferscope.study.plan import plan_cells
from transferscope.study.resolved import Resolved, resolved
from transferscope.training.stream import SHIFT, TURN, ZOOM, BatchStream, flip, warp

OF_IMAGES = Traits("small-cnn", "warp")


def settings_of(name: str, traits: Traits, labels: int = 100, **changes: Any) -> Resolved:
    return resolved(spec(**{"training": None, "recipe": "field", **changes}), name, traits, labels)


@pytest.mark.parametrize(("family", "name"), list(product(get_args(Family), METHODS.own)))
def test_every_method_has_a_row_in_every_family(family: Family, name: str) -> None:
    found = settings_of("one", Traits(family), methods={"one": {"method": name}})
    if not found.method.takes_steps:
        assert found.method == METHODS[name]()
        return
    row = row_of(family, found.method.recipe)
    wanted = {**row.training, **({"augment": "none"} if "augment" in row.training else {})}  # by these traits
    wanted["batch_size"] = even_batch(int(row.training["batch_size"]), 100)
    assert {key: getattr(found.training, key) for key in wanted} == wanted
    assert found.training.steps == row.n_steps(100)


def test_what_a_study_says_wins_over_the_recipe_key_by_key() -> None:
    found = settings_of(
        "fine-tune", OF_IMAGES, methods={"fine-tune": {"lr_scale": 0.2}}, training={"lr": 0.3, "steps": 7}
    )
    assert (found.training.lr, found.training.steps) == (0.3, 7)
    assert found.method == FineTune(lr_scale=0.2)
    assert found.training.augment == "warp"
    assert found.training.warmup == RECIPES["small-cnn"]["fine-tune"].training["warmup"]
    in_passes = settings_of("scratch", OF_IMAGES, training={"steps": None, "epochs": 3.0}).training
    assert (in_passes.steps, in_passes.epochs) == (None, 3.0)


def test_the_rate_of_a_row_is_that_of_its_optimiser() -> None:
    found = settings_of("scratch", OF_IMAGES, training={"steps": None, "optimiser": "adamw"}).training
    assert (found.optimiser, found.lr) == ("adamw", 0.001)


@pytest.mark.parametrize(("name", "colour", "grey"), [("scratch", 0.02, 0.05), ("fine-tune", 0.02, 0.02)])
def test_a_small_network_learns_colour_images_at_a_rate_that_is_stable(name: str, colour: float, grey: float) -> None:
    for is_grey, expected in ((False, colour), (True, grey)):
        traits = replace(OF_IMAGES, is_grey=is_grey)
        assert settings_of(name, traits).training.lr == expected
        assert settings_of(name, traits, training={"steps": None, "lr": 0.3}).training.lr == 0.3


@pytest.mark.parametrize(
    ("wanted", "n", "expected"),
    [
        (16, 100, [17] * 5 + [15]),
        (64, 100, [50, 50]),
        (64, 64, [64]),
        (16, 24, [12, 12]),
        (16, 20, [10, 10]),
        (16, 17, [9, 8]),
    ],
)
def test_a_pass_over_few_labels_ends_with_no_small_batch(wanted: int, n: int, expected: list[int]) -> None:
    stream = BatchStream(n, even_batch(wanted, n), seed=1)
    assert [len(stream.indices(step)) for step in range(len(expected))] == expected


def test_batches_of_many_labels_and_those_that_are_given_stay_as_they_are() -> None:
    assert even_batch(16, 161) == 16
    assert settings_of("scratch", OF_IMAGES, 100).training.batch_size == 50
    given = settings_of("scratch", OF_IMAGES, 100, training={"steps": None, "batch_size": 30}).training
    assert given.batch_size == 30


@pytest.mark.parametrize(("labels", "rate"), [(10, 0.02), (49, 0.02), (50, 0.05)])
def test_few_grey_images_are_trained_at_the_rate_of_colour_ones(labels: int, rate: float) -> None:
    assert settings_of("scratch", Traits("small-cnn", "warp", is_grey=True), labels).training.lr == rate


@pytest.mark.parametrize(
    ("family", "augment", "labels", "expected"),
    [
        ("small-cnn", "flip-crop", 499, "flip-crop"),
        ("small-cnn", "flip-crop", 500, "strong"),
        ("small-cnn", "warp", 500, "warp"),
        ("small-resnet", "flip-crop", 500, "flip-crop"),
    ],
)
def test_many_photographs_are_changed_strongly(family: Any, augment: str, labels: int, expected: str) -> None:
    for name in ("scratch", "fine-tune"):
        assert settings_of(name, Traits(family, augment), labels).training.augment == expected


def test_steps_grow_with_the_labels() -> None:
    steps = RECIPES["small-cnn"]["scratch"].steps
    for least, expected in steps.items():
        assert settings_of("scratch", OF_IMAGES, max(least, 1)).training.steps == expected
        if least > 1:
            assert settings_of("scratch", OF_IMAGES, least - 1).training.steps != expected
    assert list(steps.values()) == sorted(steps.values())


def test_runs_are_made_anew_after_a_change_of_their_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys(recipe: str) -> dict[object, set[str]]:
        cells = plan_cells(spec(training=None, recipe=recipe) if recipe == "field" else spec(), facts)
        return {name: {c.key for c in cells if c.labels["method"] == name} for name in ("scratch", "merlin")}

    facts = replace(FACTS, own_traits=OF_IMAGES)
    before = {recipe: keys(recipe) for recipe in ("field", "equal")}
    rows = RECIPES["small-cnn"]
    changed = replace(rows["scratch"], training={**rows["scratch"].training, "warmup": 0.2})
    table = {**RECIPES, "small-cnn": {**rows, "scratch": changed}}
    monkeypatch.setattr(recipes, "RECIPES", table)
    after = {recipe: keys(recipe) for recipe in ("field", "equal")}
    assert after["equal"] == before["equal"]
    assert after["field"]["merlin"] == before["field"]["merlin"]
    assert not after["field"]["scratch"] & before["field"]["scratch"]


@pytest.mark.parametrize(
    ("shape", "classes", "expected"),
    [
        ((1, 28, 28), ("coat", "shirt"), "warp"),
        ((3, 32, 32), ("0", "1"), "warp"),  # digits in colour: flips would change some
        ((3, 32, 32), ("cat", "ship"), "flip-crop"),
        ((1, 64, 64), ("cat", "ship"), "flip-crop"),
        ((3, 32, 32), None, "none"),
        ((5,), ("cat", "ship"), "none"),
    ],
)
def test_images_are_augmented_so_that_labels_stay_true(
    shape: tuple[int, ...], classes: tuple[str, ...] | None, expected: str
) -> None:
    labels = np.zeros((2, 1), np.float32) if classes is None else np.arange(2)
    assert augmentation_of(LabelledSet(np.zeros((2, *shape), np.float32), labels, classes)) == expected


def test_a_warp_turns_zooms_and_shifts_each_image_within_its_bounds() -> None:
    """Read off where ramps of the columns and rows come from, of images that are not square."""
    n, height, width = 200, 24, 40
    columns = torch.arange(width).expand(height, width)
    rows = torch.arange(height)[:, None].expand(height, width)
    ramps = torch.stack((columns, rows)).float().expand(n, 2, height, width)
    warped = warp(ramps, seed=1, step=3).double().numpy()
    y, x = np.mgrid[9:15, 16:24] - np.array([(height - 1) / 2, (width - 1) / 2])[:, None, None]  # far from the border
    design = np.stack([x.ravel(), y.ravel(), np.ones(x.size)], axis=1)
    angles, zooms, shifts = [], [], []
    for image in warped:
        from_ = image[:, 9:15, 16:24].reshape(2, -1).T - [(width - 1) / 2, (height - 1) / 2]
        (a, c), (b, d), shift = np.linalg.lstsq(design, from_, rcond=None)[0]
        assert (a, b) == pytest.approx((d, -c), abs=1e-4)  # a similarity in pixels
        angles.append(np.arctan2(c, a))
        zooms.append(np.hypot(a, c) - 1)
        shifts.append(shift / [width / 2, height / 2])
    for values, most in ((angles, TURN), (zooms, ZOOM), (np.ravel(shifts), SHIFT)):
        assert np.abs(values).max() <= most * (1 + 1e-3)
        deviation = most / 3**0.5  # of a uniform distribution
        assert np.std(values) == pytest.approx(deviation, rel=0.15)
        assert abs(np.mean(values)) < 4 * deviation / len(values) ** 0.5
    assert np.array_equal(warp(ramps, seed=1, step=3).double().numpy(), warped)
    assert not torch.equal(warp(ramps, seed=1, step=4), warp(ramps, seed=1, step=3))


def test_half_of_the_images_are_flipped_and_nothing_else() -> None:
    images = torch.rand(400, 2, 3, 5)
    flipped = flip(images, seed=0, step=0)
    as_they_were = (flipped == images).flatten(1).all(dim=1)
    assert torch.equal(flipped[~as_they_were], images[~as_they_were].flip(3))
    assert abs(int(as_they_were.sum()) - 200) < 4 * 100**0.5


class Attention(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


@pytest.mark.parametrize(
    ("layers", "name", "family"),
    [
        (lambda: [nn.Flatten(), nn.Linear(4, 2)], "mlp", "mlp"),
        (lambda: [nn.Conv2d(1, 2, 3)], "lenet", "small-cnn"),
        (lambda: [nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)], "resnet20", "small-resnet"),
        (lambda: [nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)], "timm:x", "cnn-batch-norm"),
        (lambda: [nn.Conv2d(1, 2, 3), nn.GroupNorm(1, 2)], "timm:x", "cnn"),
        (lambda: [nn.Conv2d(1, 2, 3), Attention()], "timm:x", "vision-transformer"),
    ],
)
def test_a_family_is_told_by_what_a_network_is_made_of(
    layers: Callable[[], list[nn.Module]], name: str, family: Family
) -> None:
    assert family_of(Network(nn.Sequential(*layers()), nn.Identity(), 2), name) == family
