import io
import json
import re
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd
import pytest

from transferscope.data.load import load
from transferscope.data.npz import load_npz
from transferscope.errors import CorruptDataError, DataError

RNG = np.random.default_rng(0)


def write(path: Path, **changes: Any) -> Path:
    """A file of 6 + 3 grey images of 4 x 5 pixels with labels 0..2, with some arrays replaced or (None) left out."""
    arrays: dict[str, Any] = {
        "x_train": RNG.integers(0, 256, (6, 4, 5), dtype=np.uint8),
        "y_train": np.array([0, 1, 2, 0, 1, 2]),
        "x_test": RNG.integers(0, 256, (3, 4, 5), dtype=np.uint8),
        "y_test": np.array([2, 1, 0]),
        **changes,
    }
    file = path / "own.npz"
    np.savez(file, **{key: value for key, value in arrays.items() if value is not None})
    return file


def images(*shape: int, dtype: str = "uint8") -> dict[str, np.ndarray]:
    return {f"x_{part}": np.ones((n, *shape), dtype) for part, n in (("train", 6), ("test", 3))}


def labels(*values: Any) -> dict[str, np.ndarray]:
    return {"y_train": np.array(values), "y_test": np.array(values[:3])}


def test_grey_images_become_one_channel(tmp_path: Path) -> None:
    file = write(tmp_path)
    parts = load_npz(file)
    assert parts.train.inputs.shape == (6, 1, 4, 5)
    with np.load(file) as raw:
        assert np.array_equal(parts.test.inputs[:, 0], raw["x_test"])
    assert parts.train.classes == ("0", "1", "2")
    assert parts.test.labels.tolist() == [2, 1, 0]
    assert parts.test.labels.dtype == np.int64


@pytest.mark.parametrize("shape", [(8, 9, 3), (9, 9, 7)])  # many channels where images are square
def test_channels_are_found_in_front_and_behind(tmp_path: Path, shape: tuple[int, int, int]) -> None:
    (height, width, channels), last = shape, RNG.integers(0, 256, (6, *shape), dtype=np.uint8)
    behind = load(f"npz:{write(tmp_path, **images(*shape) | {'x_train': last})}")
    front = write(tmp_path, **images(channels, height, width) | {"x_train": np.moveaxis(last, 3, 1)})
    assert np.array_equal(behind.train.inputs, load_npz(front).train.inputs)
    assert np.array_equal(behind.train.inputs, last.transpose(0, 3, 1, 2))
    said = "; images of 7 channels, 9 x 9" if channels == 7 else ""
    assert behind.provenance["understood"] == f"classification, 3 classes: 0, 1, 2{said}"


def test_vectors_become_float32(tmp_path: Path) -> None:
    parts = load_npz(write(tmp_path, **images(7, dtype="int64")))
    assert parts.train.inputs.dtype == np.float32
    assert parts.train.input_shape == (7,)


@pytest.mark.parametrize(("dtype", "value", "expected"), [("float64", 0.5, 0.5), ("int32", 200, 200), ("bool", 1, 255)])
def test_pixels_keep_their_meaning(tmp_path: Path, dtype: str, value: float, expected: float) -> None:
    given = {key: (array * value).astype(dtype) for key, array in images(4, 5).items()}
    inputs = load_npz(write(tmp_path, **given)).train.inputs
    assert inputs.dtype == (np.float32 if dtype == "float64" else np.uint8)
    assert (inputs == expected).all()


def test_any_whole_numbers_and_texts_are_classes(tmp_path: Path) -> None:
    numbers = load_npz(write(tmp_path, **labels(10, -1, 10, 7, 7, -1))).train
    assert (numbers.classes, numbers.labels.tolist()) == (("-1", "7", "10"), [2, 0, 2, 1, 1, 0])
    texts = load_npz(write(tmp_path, **labels("b", "a<br>", "b", "b", "b", "b"))).train
    assert (texts.classes, texts.labels.tolist()) == (("a<br>", "b"), [1, 0, 1, 1, 1, 1])


@pytest.mark.parametrize("test_type", ["U2", "S2", "uint8", "float64"])
@pytest.mark.parametrize("train_type", ["U2", "S2", "int64"])
def test_labels_mean_the_same_in_both_parts_whatever_their_types(
    tmp_path: Path, train_type: str, test_type: str
) -> None:
    if test_type == "float64" and train_type != "int64":
        test_type = "int64"  # as text, 2.0 is another label than 2
    y = np.array([2, 10, 1, 1, 10, 2])
    parts = load_npz(write(tmp_path, y_train=y.astype(train_type), y_test=y[:3].astype(test_type)))
    for part, expected in ((parts.train, y), (parts.test, y[:3])):
        assert part.classes is not None
        assert [part.classes[label] for label in part.labels] == [str(value) for value in expected]


def test_floating_point_labels_are_regression(tmp_path: Path) -> None:
    one = load_npz(write(tmp_path, **labels(0.5, 1, 2, 3, 4, 5))).train
    assert (one.kind, one.labels.shape, one.labels.dtype.name) == ("regression", (6, 1), "float32")
    two = load_npz(write(tmp_path, y_train=np.zeros((6, 2)), y_test=np.ones((3, 2)))).test
    assert two.n_outputs == 2


BAD: list[tuple[dict[str, Any], str]] = [
    ({"y_train": None, "x_test": None}, "has no y_train and no x_test"),
    ({"x_train": np.array([np.zeros(2), np.zeros(3)] * 3, dtype=object)}, "x_train is an array of objects"),
    ({"y_test": np.zeros(4, np.int64)}, "x_test has shape (3, 4, 5) and y_test (4,)"),
    ({"x_train": np.zeros((0, 4, 5), np.uint8), "y_train": np.zeros(0, np.int64)}, "x_train has shape (0, 4, 5)"),
    (images(4, 5, dtype="float64") | {"x_train": np.full((6, 4, 5), 255.0)}, "float64 run from 255.0 to 255.0"),
    ({"x_train": np.full((6, 4, 5), -1)}, "pixels of type int64 run from -1 to -1"),
    ({"x_train": np.array([["a"]] * 6)}, "and type <U1"),
    (images(8, 8, 9), "inputs have shape (6, 8, 8, 9), and it is unclear which axis"),
    (images(8, 9, 6), "inputs have shape (6, 8, 9, 6), and it is unclear which axis"),
    ({"x_train": np.zeros(6)}, "inputs have shape (6,)"),
    ({"y_test": np.array([0, 1, 3])}, "the test label '3' is not among the training labels"),
    (images(4, 4) | {"y_train": np.full((6, 2, 2), np.inf), "y_test": np.zeros((3, 2, 2))}, "labels contain NaN"),
    ({"y_train": np.array(["2024-05-01", "NaT"] * 3, "M8[D]")}, "3 of 6 class labels are NaN; drop those examples"),
    (
        {"x_train": np.where(np.arange(18).reshape(6, 3) == 7, np.nan, 1.0), "x_test": np.zeros((3, 3))},
        "training part: inputs contain NaN or infinity in 1 of 6 examples (first: 2)",
    ),
    (images(4, 5, dtype="float64") | {"x_train": np.full((6, 4, 5), np.nan)}, "in 6 of 6 examples (first: 0)"),
    (labels(0.1, 1, 2, np.nan, 3, 4), "training part: regression labels contain NaN or infinity"),
    (images(4, 5, dtype="bool") | {"x_test": np.ones((3, 4, 5), np.uint8)}, "have type bool but test images uint8"),
    (images(3, dtype="complex128"), "and type complex128; expected numbers"),
    (images(0), "training part: inputs have shape (6, 0)"),
    (
        {"x_train": np.full((6, 2), 1e300), "x_test": np.ones((3, 2))},
        "inputs run from 1e+300 to 1e+300, too large for 32 bits (3.4e38)",
    ),
    (
        {"y_train": np.array([2**60, 2**60 + 1] * 3, np.uint64), "y_test": np.array([2**60 + 1] * 3)},
        "training labels of type uint64 cannot be compared with test labels of type int64",
    ),
    (labels(1j, 2j, 3j, 1j, 2j, 3j), "class labels have shape (6,) and type complex128"),
    (labels(b"\xff", b"b", b"c", b"b", b"b", b"c"), "class labels are not UTF-8 text"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_arrays_that_fit_nothing_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = write(tmp_path, **changes)
    with pytest.raises(DataError, match=re.escape(message)):
        load_npz(file)


def test_a_file_that_is_no_archive_is_corrupt(tmp_path: Path) -> None:
    text, single = tmp_path / "a.npz", tmp_path / "b.npy"
    text.write_text("x_train")
    np.save(single, np.zeros(3))
    with pytest.raises(CorruptDataError, match=r"is not an \.npz file"):
        load_npz(text)
    with pytest.raises(CorruptDataError, match="is a single array"):
        load_npz(single)


def test_a_truncated_or_damaged_archive_is_corrupt(tmp_path: Path) -> None:
    whole = write(tmp_path).read_bytes()
    damaged = bytearray(whole)
    damaged[200] ^= 0xFF
    for content in (whole[: len(whole) // 2], bytes(damaged)):
        file = tmp_path / "bad.npz"
        file.write_bytes(content)
        with pytest.raises(CorruptDataError, match=r"bad\.npz cannot be read as an \.npz file"):
            load_npz(file)


def header(shape: str, dtype: str = "|u1", version: tuple[int, int] = (1, 0)) -> bytes:
    """The beginning of an array's file, whatever shape it claims."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(2 if version == (1, 0) else 4, "little") + text


@contextmanager
def little_memory() -> Iterator[None]:
    """Check that what is done within takes less than 20 MB."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def archive(path: Path, **entries: bytes) -> Path:
    """An .npz file of which some entries are not what NumPy would have written."""
    file = write(path)
    with ZipFile(file) as whole:
        kept = {name: whole.read(name) for name in whole.namelist() if name.removesuffix(".npy") not in entries}
    with ZipFile(file, "w", ZIP_DEFLATED) as changed:
        for name, content in kept.items() | {(f"{key}.npy", content) for key, content in entries.items()}:
            changed.writestr(name, content)
    return file


LIARS = [
    header("(6000000000,)"),
    header("(100000, 100000, 3)") + bytes(10),
    header("(6, -4)"),
    header("(1000000000000000000,)", "|V0"),
    header("(9" + "9" * 300 + ",)"),
    header("(6, 4)", version=(2, 0)),
    header("(6, 4)") + bytes(25),
    header("(6, 4)")[:40],
    header("(6, 4) if 1 else 2"),
    b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(100),
    b"\x93NUMPY\x09\x09" + bytes(100),
    b"",
    b"no array",
]


@pytest.mark.parametrize("content", LIARS)
def test_an_array_that_is_not_what_its_header_says_is_refused_without_taking_memory(
    tmp_path: Path, content: bytes
) -> None:
    file = archive(tmp_path, x_train=content)
    with little_memory(), pytest.raises(CorruptDataError, match=r"own\.npz(: x_train| cannot be read)"):
        load_npz(file)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSFERSCOPE_MOST_GB", "0.04")
    n_bytes = 50_000_000
    file = archive(tmp_path, x_train=header(f"({n_bytes},)") + bytes(n_bytes))
    assert file.stat().st_size < 100_000
    said = r"own\.npz decompresses to 0\.1 GB, but the limit is 0\.04 GB; .* raise TRANSFERSCOPE_MOST_GB$"
    with little_memory(), pytest.raises(DataError, match=said):
        load_npz(file)


def test_entries_that_lie_elsewhere_or_have_odd_names_are_never_unpacked(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    file = write(tmp_path / "inner")
    before = sorted(tmp_path.rglob("*"))
    with ZipFile(file, "a") as whole:
        for name in ("../../x_train.npy", "/etc/x_train.npy", "..", "?.npy", " "):
            whole.writestr(name, b"seen")
    assert load_npz(file).train.inputs.shape == (6, 1, 4, 5)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_array_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path)
    stream = io.BytesIO()
    np.save(stream, np.zeros((6, 4, 5), np.uint8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ZipFile(file, "a") as whole:
            whole.writestr("x_train.npy", stream.getvalue())
    with pytest.raises(CorruptDataError, match="has x_train 2 times"):
        load_npz(file)


@pytest.mark.parametrize(("place", "value"), [(6, 1), (8, 99)])
def test_an_archive_that_is_encrypted_or_packed_in_an_unknown_way_is_refused(
    tmp_path: Path, place: int, value: int
) -> None:
    content = bytearray(write(tmp_path).read_bytes())
    for begin, offset in ((b"PK\x03\x04", place), (b"PK\x01\x02", place + 2)):
        at = content.find(begin)
        while at >= 0:
            content[at + offset] = value
            at = content.find(begin, at + 1)
    file = tmp_path / "odd.npz"
    file.write_bytes(content)
    with pytest.raises(CorruptDataError, match=r"odd\.npz cannot be read as an \.npz file"):
        load_npz(file)


def test_a_class_name_that_no_file_could_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"training part: the class name '\\ud800' is not UTF-8 text"):
        load_npz(write(tmp_path, **labels("a", "\ud800", "b", "a", "b", "b")))


@pytest.mark.parametrize("axis", ["first", "last"])
def test_the_axis_of_many_channels_can_be_said(tmp_path: Path, axis: str) -> None:
    images = np.random.default_rng(0).integers(0, 256, (8, 12, 5, 7)).astype(np.uint8)  # 12 channels, 5 x 7
    stored = images if axis == "first" else images.transpose(0, 2, 3, 1)
    file = write(tmp_path, x_train=stored[:6], x_test=stored[5:])
    with pytest.raises(DataError, match=r"add \?channels=first or \?channels=last"):
        load_npz(file)
    data = load(f"npz:{file}?channels={axis}")
    assert np.array_equal(data.train.inputs, images[:6])


def test_numbers_to_predict_are_counted_in_units_of_about_1_as_those_of_a_table(tmp_path: Path) -> None:
    y = np.random.default_rng(0).normal(100, 15, 40)
    x = np.random.default_rng(1).normal(size=(40, 3))
    file = write(tmp_path, x_train=x[:30], y_train=y[:30], x_test=x[30:], y_test=y[30:])
    data = load(f"npz:{file}")
    assert json.loads(data.provenance["label_units"]) == [[100.0, 10.0]]
    assert "regression of 1 number; labels are counted in units of 10 from 100" in data.provenance["understood"]
    np.testing.assert_allclose(100 + 10 * data.train.labels[:, 0].astype(float), y[:30], rtol=1e-6)
    np.testing.assert_allclose(100 + 10 * data.test.labels[:, 0].astype(float), y[30:], rtol=1e-6)
    table = pd.DataFrame({"y": y, "a": x[:, 0], "part": ["train"] * 30 + ["test"] * 10})
    table.to_csv(tmp_path / "same.csv", index=False)
    same = load(f"csv:{tmp_path / 'same.csv'}?label=y&split=part")
    assert same.provenance["label_units"] == data.provenance["label_units"]
    assert np.array_equal(same.train.labels, data.train.labels)
    near = load(f"npz:{write(tmp_path, x_train=x[:30], y_train=y[:30] / 15, x_test=x[30:], y_test=y[30:])}")
    assert "label_units" not in near.provenance
    assert np.array_equal(near.train.labels[:, 0], (y[:30] / 15).astype(np.float32))


@pytest.mark.parametrize(
    ("column", "unit"),
    [(np.zeros(30), 1.0), (np.full(30, 1e-20), 1.0), (np.full(30, 0.1), 1.0), (np.full(30, 3e6), 1e6)],
    ids=["zero", "tiny", "rounded", "large"],
)
def test_a_number_to_predict_that_is_the_same_for_all_training_examples_stays_finite(
    tmp_path: Path, column: np.ndarray, unit: float
) -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(40, 3)), random.normal(1000, 15, 40)
    labels = np.stack([y[:30], column], axis=1)
    test = np.stack([y[30:], np.arange(10.0)], axis=1)
    data = load(f"npz:{write(tmp_path, x_train=x[:30], y_train=labels, x_test=x[30:], y_test=test)}")
    (first, second) = json.loads(data.provenance["label_units"])
    assert first == [1000.0, 10.0]
    assert second[1] == unit
    np.testing.assert_allclose(
        second[0] + unit * data.test.labels[:, 1].astype(float), np.arange(10.0), atol=1e-6 * max(second[0], unit)
    )


def test_vectors_of_which_32_bits_would_hold_next_to_nothing_are_refused(tmp_path: Path) -> None:
    far = np.column_stack([np.arange(9.0), 1.7e9 + np.random.default_rng(0).normal(0, 50, 9).round(1)])
    for inputs in (far, far.astype(np.int64)):
        low, middle, high = (f"{quantile:.15g}" for quantile in np.quantile(inputs[:6, 1], [0, 0.5, 1]))
        said = rf"own\.npz: feature 1 of x_train .* from {low} to {high}, .*; subtract one number, such as {middle}"
        with pytest.raises(DataError, match=said):
            load_npz(write(tmp_path, x_train=inputs[:6], x_test=inputs[6:]))
    nearer = far - [0, 1.7e9]
    assert load_npz(write(tmp_path, x_train=nearer[:6], x_test=nearer[6:])).train.input_shape == (2,)
    already = far.astype(np.float32)
    assert load_npz(write(tmp_path, x_train=already[:6], x_test=already[6:])).train.input_shape == (2,)


def test_pixels_of_0_and_1_in_whole_numbers_are_said(tmp_path: Path) -> None:
    pixels = RNG.integers(0, 2, (9, 4, 5))
    said = "; pixels are whole numbers 0 and 1 of 255, nearly black to a network that is not scaled by these images"
    for kind, is_said in ((np.uint8, True), (np.int64, True), (np.bool_, False), (np.float64, False)):
        inputs = pixels.astype(kind)
        data = load(f"npz:{write(tmp_path, x_train=inputs[:6], x_test=inputs[6:])}")
        assert (said in data.provenance["understood"]) is is_said
    assert said not in load(f"npz:{write(tmp_path)}").provenance["understood"]
