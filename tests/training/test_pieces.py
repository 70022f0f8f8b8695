"""The parts of the loop, each against a naive truth."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from scipy.ndimage import affine_transform
from sklearn.metrics import r2_score
from torch import nn

from transferscope.data.task import LabelledSet
from transferscope.errors import DataError, SettingsError
from transferscope.estimate import Estimate
from transferscope.models import Network, NetworkInput
from transferscope.settings.training import lr_factor
from transferscope.training import (
    BatchStream,
    PixelScale,
    TrainingSettings,
    choose_device,
    measure,
    pixel_scale,
    scale_of,
    to_tensors,
)
from transferscope.training.stream import PADDING, flip_crop, stream_seed, strong_change


def test_a_batch_depends_on_seed_and_step_alone() -> None:
    forwards, backwards = BatchStream(10, 4, seed=1), BatchStream(10, 4, seed=1)
    in_order = [forwards.indices(step) for step in range(9)]
    assert all(torch.equal(backwards.indices(step), in_order[step]) for step in reversed(range(9)))
    assert not torch.equal(torch.cat(in_order[:3]), torch.cat(in_order[3:6]))  # another order in each pass


@pytest.mark.parametrize(("n", "sizes"), [(9, [4, 5]), (5, [5]), (1, [1]), (10, [4, 4, 2]), (8, [4, 4])])
def test_an_example_that_is_left_over_joins_the_batch_before_it(n: int, sizes: list[int]) -> None:
    stream = BatchStream(n, 4, seed=1)
    batches = [stream.indices(step) for step in range(2 * len(sizes))]
    assert [len(batch) for batch in batches] == 2 * sizes
    for of_pass in (batches[: len(sizes)], batches[len(sizes) :]):
        assert sorted(torch.cat(of_pass).tolist()) == list(range(n))
    assert TrainingSettings(epochs=3, batch_size=4).n_steps(n) == 3 * len(sizes)
    assert TrainingSettings(epochs=0.01, batch_size=4).n_steps(n) == 1


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [1.0, 1.0, 1.0, 1.0]),
        ("step", [1.0, 1.0, 0.1, 0.01]),
        ("linear", [1.0, 2 / 3, 1 / 3, 0.0]),
        ("cosine", [1.0, 0.75, 0.25, 0.0]),
    ],
)
def test_schedules(schedule: str, expected: list[float]) -> None:
    settings = TrainingSettings(steps=300, schedule=schedule)  # type: ignore[arg-type]
    steps = (0, 99, 100, 200) if schedule == "step" else (0, 100, 200, 300)
    assert [lr_factor(settings, step, 300) for step in steps] == pytest.approx(expected)


def test_warm_up_is_linear_and_ends_at_the_full_rate() -> None:
    settings = TrainingSettings(steps=100, schedule="constant", warmup=0.1)
    assert [lr_factor(settings, step, 100) for step in (0, 4, 9, 50)] == pytest.approx([0.1, 0.5, 1.0, 1.0])


def test_flips_and_crops_are_windows_of_the_padded_image_or_its_mirror() -> None:
    images = torch.arange(6 * 2 * 5 * 7, dtype=torch.float32).reshape(6, 2, 5, 7) + 1
    cropped = flip_crop(images, seed=3, step=8)
    padded = torch.nn.functional.pad(images, (PADDING,) * 4)
    for image, whole in zip(cropped, padded, strict=True):
        windows = [
            whole[:, top : top + 5, left : left + 7]
            for top in range(2 * PADDING + 1)
            for left in range(2 * PADDING + 1)
        ]
        assert any(torch.equal(image, w) or torch.equal(image, w.flip(2)) for w in windows)
    assert torch.equal(cropped, flip_crop(images, seed=3, step=8))
    assert not torch.equal(cropped, flip_crop(images, seed=3, step=9))


def test_half_of_the_images_are_flipped() -> None:
    ramp = torch.arange(8, dtype=torch.float32).expand(2000, 1, 8, 8) + 1
    flipped = sum(int((row[row > 0].diff() < 0).any()) for row in flip_crop(ramp, seed=0, step=0).amax(dim=(1, 2)))
    assert abs(flipped - 1000) < 4 * 500**0.5


def test_a_strong_change_is_one_of_ten_at_any_strength() -> None:
    """Against SciPy's affine maps, Pillow's enhancements, and what posterising is; images are not square."""
    n, height, width, mean, deviation = 300, 12, 18, 100.0, 50.0
    pixels = np.random.default_rng(0).integers(0, 256, (n, 1, height, width)).repeat(3, axis=1)
    pixels[:, :, 0, 0], pixels[:, :, 0, 1] = 0, 255
    given = torch.from_numpy((pixels - mean) / deviation).float()
    changed = strong_change(given, seed=4, step=7).double().numpy() * deviation + mean
    generator = torch.Generator().manual_seed(stream_seed(4, "strong 7"))
    kinds, drawn = torch.randint(10, (n,), generator=generator).numpy(), torch.rand(2, n, generator=generator).numpy()
    centre = np.array([(height - 1) / 2, (width - 1) / 2])
    for image, found, kind, strength, sign in zip(pixels, changed, kinds, *drawn, strict=True):
        signed = float(strength if sign >= 0.5 else -strength)
        angle, shear = np.radians(135) * signed, 0.99 * signed
        sheared_rows, sheared_columns = shear * height / width, shear * width / height
        moves = {
            0: (np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), np.zeros(2)),
            1: (np.array([[1, 0], [sheared_columns, 1]]), np.zeros(2)),
            2: (np.array([[1, sheared_rows], [0, 1]]), np.zeros(2)),
            3: (np.eye(2), np.array([0, signed * width])),
            4: (np.eye(2), np.array([signed * height, 0])),
        }
        photo = Image.fromarray(image.transpose(1, 2, 0).astype(np.uint8))
        if kind in moves:
            matrix, shift = moves[kind]
            offset = centre + shift - matrix @ centre
            expected = [affine_transform(c.astype(float), matrix, offset, order=1, mode="grid-constant") for c in image]
            np.testing.assert_allclose(found, expected, atol=0.05)
        elif kind == 8:
            step = 255 / 2 ** (8 - round(6 * float(strength)))
            assert np.abs(found / step - np.round(found / step)).max() < 1e-3
            assert ((image - found > -1e-3) & (image - found < step + 1e-3)).all()
        else:
            theirs = {
                5: ImageEnhance.Brightness(photo).enhance(1 + shear),
                6: ImageEnhance.Contrast(photo).enhance(1 + shear),
                7: photo,  # of grey images there is no colour to change
                9: ImageOps.solarize(photo, threshold=math.ceil(255 * (1 - strength))),
            }[kind]
            np.testing.assert_allclose(found, np.asarray(theirs).transpose(2, 0, 1), atol=1.5)
    assert set(kinds) == set(range(10))


def test_colour_is_changed_about_the_grey_of_each_pixel() -> None:
    """At -.99 next to nothing of the colour is left."""
    given = torch.rand(400, 3, 6, 6)
    changed = strong_change(given, seed=0, step=0)
    kinds = torch.randint(10, (400,), generator=torch.Generator().manual_seed(stream_seed(0, "strong 0")))
    coloured = kinds == 7
    spread, before = changed[coloured].std(1), given[coloured].std(1)
    shares = (spread / before).flatten(1).median(1).values
    assert 0 < shares.min() < 0.2 < 1.2 < shares.max() < 1.99


def images(n: int, *, seed: int) -> LabelledSet:
    generator = np.random.default_rng(seed)
    pixels = generator.integers(0, 256, size=(n, 3, 4, 5)).astype(np.uint8)
    pixels[:, 2] = 7
    return LabelledSet(pixels, generator.integers(0, 2, size=n), ("a", "b"))


def test_training_pixels_come_out_with_mean_0_and_deviation_1() -> None:
    train = images(50, seed=0)
    batch = to_tensors(train, pixel_scale(train)).batch(torch.arange(50))
    moments = batch.inputs.double()
    assert moments.mean(dim=(0, 2, 3)).numpy() == pytest.approx([0, 0, 0], abs=1e-4)
    assert moments[:, :2].std(dim=(0, 2, 3)).numpy() == pytest.approx([1, 1], abs=1e-3)
    assert (moments[:, 2] == 0).all()


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e-30, 1e6])
@pytest.mark.parametrize("offset", [0.0, 500.0])
def test_features_are_standardised_whatever_their_unit(unit: float, offset: float) -> None:
    random = np.random.default_rng(0)
    values = (unit * (offset + random.normal(size=(40, 2)))).astype(np.float32)
    train = LabelledSet(values, random.integers(0, 2, size=40), ("a", "b"))
    moments = to_tensors(train, pixel_scale(train)).batch(torch.arange(40)).inputs.double()
    assert moments.mean(dim=0).numpy() == pytest.approx([0, 0], abs=1e-3)
    assert moments.std(dim=0, correction=0).numpy() == pytest.approx([1, 1], abs=1e-3)


def test_a_feature_that_does_not_vary_is_0_for_all_inputs() -> None:
    values = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    values[:, 1] = 0.1
    train = LabelledSet(values, np.arange(20) % 2, ("a", "b"))
    kept = PixelScale.from_notes(pixel_scale(train).as_notes)
    assert kept is not None
    test = replace(train, inputs=values + np.array([0, 5000], dtype=np.float32))
    read = to_tensors(test, kept).batch(torch.arange(20)).inputs
    assert (read[:, 1] == 0).all()
    assert read[:, 0].std() > 0.5


def test_a_scale_of_bytes_is_refused_for_vectors() -> None:
    network = Network(nn.Identity(), nn.Linear(2, 2), 2, input=NetworkInput(mean=5.0, std=2.0, scale=1.0))
    vectors = LabelledSet(np.ones((3, 2), np.float32), np.array([0, 1, 0]), ("a", "b"))
    with pytest.raises(DataError, match=r"scale = 1 .* the inputs are vectors"):
        scale_of(network, vectors)


@pytest.mark.parametrize("end", [-0.5, 1.5])
def test_images_of_numbers_outside_of_0_to_1_are_refused(end: float) -> None:
    network = Network(nn.Flatten(), nn.Linear(6, 2), 6, input=NetworkInput(mean=0.5, std=0.2))
    pixels = np.array([0.0, end, 0.2, 0.4, 0.6, 1.0] * 2, dtype=np.float32).reshape(2, 1, 2, 3)
    with pytest.raises(DataError, match="expected bytes, or numbers from 0 to 1"):
        scale_of(network, LabelledSet(pixels, np.arange(2), ("a", "b")))


def test_test_pixels_are_scaled_by_training_pixels() -> None:
    scale = pixel_scale(images(50, seed=0))
    test = images(9, seed=1)
    by_hand = (test.inputs / 255.0 - scale.mean[:, None, None]) / scale.std[:, None, None]
    assert to_tensors(test, scale).batch(torch.arange(9)).inputs.numpy() == pytest.approx(by_hand, abs=1e-4)


def test_chunks_are_all_examples_in_order() -> None:
    tensors = to_tensors(images(10, seed=0), pixel_scale(images(10, seed=0)))
    together = torch.cat([chunk.inputs for chunk in tensors.chunks(4)])
    assert torch.equal(together, tensors.batch(torch.arange(10)).inputs)
    assert len(tensors.spread(4)) == 4
    assert tensors.spread(99) is tensors


def estimates(outputs: torch.Tensor, labels: torch.Tensor) -> dict[str, Estimate]:
    return {record.name: record.estimate for record in measure(outputs, labels, part="target_test").records}


def test_accuracy_and_its_standard_error() -> None:
    outputs = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 1.0], [0.0, 5.0]])
    measured = measure(outputs, torch.tensor([0, 1, 1, 1]), part="target_test", step=4)
    accuracy = {record.name: record for record in measured.records}["accuracy"]
    assert (accuracy.estimate.value, accuracy.estimate.n, accuracy.step) == (0.75, 4, 4)
    assert accuracy.estimate.stderr == pytest.approx(np.std([1, 1, 0, 1], ddof=1) / 2)
    assert measured.predictions.tolist() == [0, 1, 0, 1]


def test_r_squared_is_scikit_learns_and_its_error_that_of_the_bootstrap() -> None:
    generator = np.random.default_rng(0)
    truth = generator.normal(size=(400, 2))
    guess = truth + 0.5 * generator.normal(size=(400, 2))
    r2 = estimates(torch.tensor(guess), torch.tensor(truth))["r2"]
    assert r2.value == pytest.approx(r2_score(truth, guess, multioutput="variance_weighted"))
    draws = [
        r2_score(truth[i], guess[i], multioutput="variance_weighted")
        for i in generator.integers(0, 400, size=(500, 400))
    ]
    assert r2.stderr == pytest.approx(np.std(draws), rel=0.2)


def test_outputs_that_are_not_finite_have_a_status() -> None:
    loss = estimates(torch.full((3, 2), torch.nan), torch.tensor([0, 1, 0]))["loss"]
    assert (loss.status, loss.stderr) == ("non_finite", None)


def test_constant_targets_have_no_r_squared() -> None:
    assert estimates(torch.zeros(3, 1), torch.ones(3, 1))["r2"].status == "undefined"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "neither of steps and epochs are given; give exactly one, as in steps = 3000"),
        ({"steps": 3, "epochs": 2}, "both of steps and epochs are given; give exactly one, as in steps = 3000"),
        ({"steps": 3, "lr": 5e-324}, "lr = 5e-324 is out of range; expected at least 1e-12"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        TrainingSettings(**settings)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(SettingsError, match="unknown device 'tpu'"):
        choose_device("tpu")
