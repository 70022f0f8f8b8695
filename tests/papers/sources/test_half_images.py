import numpy as np
import pytest
from scipy import stats

from transferscope.data.task import Dataset, LabelledSet
from transferscope_papers.sources.half_images import Parts, half_images, signature


def part(n: int, seed: int, height: int = 8, n_classes: int = 10) -> LabelledSet:
    random = np.random.default_rng(seed)
    images = random.integers(0, 256, (n, 3, height, 6)).astype(np.uint8)
    return LabelledSet(images, np.arange(n) % n_classes, tuple(str(i) for i in range(n_classes)))


def make(n: int = 60, height: int = 8, n_classes: int = 10) -> Dataset:
    return Dataset("set", part(n, 0, height, n_classes), part(20, 1, height, n_classes), {"spec": "npz:set.npz"})


def halves(parts: Parts, dataset: Dataset | None = None, seed: int = 0) -> Dataset:
    return half_images(dataset or make(), parts=parts, seed=seed)


def test_ab_is_the_upper_half_of_a_and_the_lower_half_of_b() -> None:
    dataset = make()
    a, b, ab = (halves(parts, dataset).train.inputs for parts in ("A", "B", "AB"))
    np.testing.assert_array_equal(ab[:, :, :4], dataset.train.inputs[:, :, :4])
    np.testing.assert_array_equal(a[:, :, :4], ab[:, :, :4])
    np.testing.assert_array_equal(b[:, :, 4:], ab[:, :, 4:])


@pytest.mark.parametrize(("parts", "rows"), [("A", slice(4, 8)), ("B", slice(0, 4))])
def test_what_is_taken_away_becomes_the_mean_of_the_training_images(parts: Parts, rows: slice) -> None:
    dataset = make()
    means = np.rint(dataset.train.inputs.astype(float).mean(axis=(0, 2, 3)))
    changed = halves(parts, dataset)
    for inputs in (changed.train.inputs, changed.test.inputs):
        assert (inputs[:, :, rows] == means[:, None, None]).all()


def test_the_signature_is_normal_around_a_tenth_of_the_class() -> None:
    labels = np.repeat(np.arange(10), 20)
    patches = signature(labels, (3, 16, 32), noise=0.2, seed=0, start=0)
    noise = (patches - labels[:, None, None, None] / 10).ravel() / 0.2
    assert stats.kstest(noise, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 4 / np.sqrt(noise.size)


def test_clamped_pixels_have_the_mean_of_a_clamped_normal() -> None:
    dataset = make(n=2000, height=16)
    lower = halves("B", dataset).train.inputs[:, :, 8:] / 255
    for c in (0, 5, 9):
        mean, low, high = c / 10, -c / 10 / 0.2, (1 - c / 10) / 0.2
        phi, cdf = stats.norm.pdf, stats.norm.cdf
        inside = mean * (cdf(high) - cdf(low)) - 0.2 * (phi(high) - phi(low))
        expected = inside + (1 - cdf(high))
        seen = lower[dataset.train.labels == c]
        assert abs(seen.mean() - expected) < 4 * 0.2 / np.sqrt(seen.size) + 1e-3


def test_noise_belongs_to_the_index_and_the_seed() -> None:
    few, many = make(n=30), make(n=60)
    first = halves("B", few).train.inputs[:, :, 4:]
    np.testing.assert_array_equal(halves("B", many).train.inputs[:30, :, 4:], first)
    assert not np.array_equal(halves("B", few, seed=1).train.inputs[:, :, 4:], first)


def test_training_and_test_images_have_different_noise() -> None:
    data = part(20, 0)
    changed = halves("B", Dataset("set", data, data))
    assert not np.array_equal(changed.train.inputs, changed.test.inputs)


def test_labels_stay_and_the_making_is_noted() -> None:
    dataset = make()
    changed = halves("AB", dataset, seed=3)
    np.testing.assert_array_equal(changed.train.labels, dataset.train.labels)
    assert changed.name == "set-AB"
    assert dict(changed.provenance) == {"spec": "npz:set.npz", "halves": "AB", "noise": "0.2", "halves_seed": "3"}


def test_floating_point_images_give_the_same_bytes() -> None:
    dataset = make()
    floats = Dataset(
        "set",
        LabelledSet(dataset.train.inputs / 255, dataset.train.labels, dataset.train.classes),
        LabelledSet(dataset.test.inputs / 255, dataset.test.labels, dataset.test.classes),
    )
    np.testing.assert_array_equal(halves("AB", floats).train.inputs, halves("AB", dataset).train.inputs)


def test_the_middle_row_belongs_to_the_lower_half() -> None:
    dataset = make(height=7)
    upper = halves("A", dataset).train.inputs
    np.testing.assert_array_equal(upper[:, :, :3], dataset.train.inputs[:, :, :3])
    assert (upper[:, :, 3:] == upper[:1, :, 3:]).all()
