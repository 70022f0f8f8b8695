import bz2
import gzip
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from data.catalogue.originals import cifar_batch, write_cifar, write_idx, write_idx_set, write_svhn, write_usps
from transferscope.data.catalogue import CATALOGUE
from transferscope.data.catalogue.cifar10 import read_array_pickle
from transferscope.data.catalogue.idx import read_idx
from transferscope.errors import CorruptDataError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(5,), (5, 3, 4), (2, 2, 2, 2)])
def test_idx_gives_back_what_was_written(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = RNG.integers(0, 256, shape, dtype=np.uint8)
    assert np.array_equal(read_idx(write_idx(tmp_path / "a.gz", array)), array)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\x08\1\0\0\0\3ab", r"a\.gz has 2 values; expected \(3,\), as in its header: fetch it again"),
        (b"\0\0\x08\2\0\0\0\3ab", r"a\.gz has 0 values; expected \(\), as in its header: fetch it again"),
        (b"\0\0\x0d\1\0\0\0\1ab", r"a\.gz starts with 00000d01; expected 000008, an idx file of unsigned bytes"),
        (b"", r"a\.gz starts with ; expected 000008"),
    ],
)
def test_idx_that_is_none_is_corrupt(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.gz"
    file.write_bytes(gzip.compress(content))
    with pytest.raises(CorruptDataError, match=message):
        read_idx(file)


def test_a_damaged_gzip_is_corrupt(tmp_path: Path) -> None:
    file = write_idx(tmp_path / "a.gz", RNG.integers(0, 256, (50, 9), dtype=np.uint8))
    whole = file.read_bytes()
    for content in (whole[:-30], b"plain", whole[:100] + b"\xff\xff" + whole[102:]):
        file.write_bytes(content)
        with pytest.raises(CorruptDataError, match=r"a\.gz cannot be unpacked \(.+\); delete it and fetch it again$"):
            read_idx(file)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_mnist_layout(tmp_path: Path, name: str) -> None:
    parts = CATALOGUE[name].decode(write_idx_set(tmp_path), 0)
    assert parts.train.inputs.shape == (20, 1, 3, 4)
    assert parts.train.inputs[1, 0, 2].tolist() == [20, 21, 22, 23]
    assert parts.test.labels.tolist() == list(range(10))
    assert parts.test.classes == CATALOGUE[name].classes


def test_mnist_files_of_other_shapes_are_corrupt(tmp_path: Path) -> None:
    files = write_idx_set(tmp_path)
    write_idx(files["train-labels-idx1-ubyte.gz"], np.zeros(19))
    with pytest.raises(CorruptDataError, match=r"images of shape \(20, 3, 4\) and labels of shape \(19,\)"):
        CATALOGUE["mnist"].decode(files, 0)


def usps_files(folder: Path) -> dict[str, Path]:
    values = np.linspace(-1, 1, 256 * 10).reshape(10, 256)
    values[3, 4] = 0
    labels = np.arange(1, 11)
    return {name: write_usps(folder / name, values, labels) for name in ("usps.bz2", "usps.t.bz2")}


def test_usps(tmp_path: Path) -> None:
    train = CATALOGUE["usps"].decode(usps_files(tmp_path), 0).train
    assert train.labels.tolist() == list(range(10))
    assert train.inputs.shape == (10, 1, 16, 16)
    assert (train.inputs.min(), train.inputs.max()) == (0, 255)
    assert train.inputs[3, 0, 0, 4] == 128  # a zero that was left out is mid-grey, 127.5 rounded to even


@pytest.mark.parametrize(
    "content", [b"no bz2", bz2.compress(b"1 1:x"), bz2.compress(b"11 1:0.5"), bz2.compress(b"1 1:3"), b""]
)
def test_usps_that_is_none_is_corrupt(tmp_path: Path, content: bytes) -> None:
    files = usps_files(tmp_path)
    files["usps.bz2"].write_bytes(content)
    with pytest.raises(CorruptDataError, match=r"usps\.bz2 .*fetch it again$"):
        CATALOGUE["usps"].decode(files, 0)


def test_svhn(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, (32, 32, 3, 10), dtype=np.uint8)
    labels = np.array([10, 1, 2, 3, 4, 5, 6, 7, 8, 9], np.uint8)
    files = {name: write_svhn(tmp_path / name, images, labels) for name in ("train_32x32.mat", "test_32x32.mat")}
    train = CATALOGUE["svhn"].decode(files, 0).train
    assert train.labels.tolist() == list(range(10))
    assert train.inputs[7, 2, 5, 6] == images[5, 6, 2, 7]
    write_svhn(files["train_32x32.mat"], images, labels - 1)
    with pytest.raises(CorruptDataError, match="expected bytes"):
        CATALOGUE["svhn"].decode(files, 0)
    files["train_32x32.mat"].write_bytes(b"MATLAB 5.0")
    with pytest.raises(CorruptDataError, match=r"is not a MATLAB file with X and y \(.+\); fetch it again$"):
        CATALOGUE["svhn"].decode(files, 0)


BATCHES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]


def test_cifar10(tmp_path: Path) -> None:
    pixels = {name: RNG.integers(0, 256, (4, 3072), dtype=np.uint8) for name in BATCHES}
    file = write_cifar(
        tmp_path / "c.tar.gz",
        {name: cifar_batch(array, [9, 0, 3, i]) for i, (name, array) in enumerate(pixels.items())},
    )
    parts = CATALOGUE["cifar10"].decode({"cifar-10-python.tar.gz": file}, 0)
    assert parts.train.labels.tolist() == [value for i in range(5) for value in (9, 0, 3, i)]
    assert parts.train.inputs.shape == (20, 3, 32, 32)
    assert parts.train.inputs[5, 1, 2, 3] == pixels["data_batch_2"][1, 1024 + 2 * 32 + 3]
    assert np.array_equal(parts.test.inputs.reshape(4, -1), pixels["test_batch"])
    assert parts.test.classes is not None
    assert parts.test.classes[9] == "truck"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # NumPy's, for the old name of a module
def test_arrays_are_those_that_unpickling_gives() -> None:
    content = cifar_batch(RNG.integers(0, 256, (2, 3072), dtype=np.uint8), [1, 2])
    for batch in (content, content.replace(b"\x89T", b"\x88T")):  # the second is column by column
        expected = pickle.loads(batch, encoding="latin1")
        found = read_array_pickle(batch, name="batch")
        assert np.array_equal(found.pop("data"), expected.pop("data"))
        assert found == expected


class Evil:
    """Would write a file, if it were unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_cannot_run_anything(tmp_path: Path, protocol: int) -> None:
    target = tmp_path / "touched"
    content = pickle.dumps({"data": Evil(target), "labels": []}, protocol)
    with pytest.raises(CorruptDataError, match=rf"^batch cannot be read \(it asks to run {os.name}\.mkdir\); delete"):
        read_array_pickle(content, name="batch")
    assert not target.exists()
    pickle.loads(content)
    assert target.exists(), "the pickle is harmless, so the test shows nothing"


@pytest.mark.parametrize(
    "content",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"c__builtin__\neval\n(S'1'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"\x80\x04\x8c\x08builtins\x8c\x04exec\x93\x8c\x011\x85R.",
        b"\x80\x02\x82\x01.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"cnumpy.core.multiarray\n_reconstruct.__init__\n.",
        b"P1\n.",
    ],
)
def test_no_opcode_reaches_a_function(content: bytes) -> None:
    with pytest.raises(CorruptDataError, match=r"^batch cannot be read"):
        read_array_pickle(content, name="batch")


def test_damaged_pickles_are_corrupt() -> None:
    whole = cifar_batch(np.zeros((2, 3072), np.uint8), [1, 2])
    for content in (b"", whole[:100], whole[:-5], b"]."):
        with pytest.raises(CorruptDataError, match=r"^batch cannot be read"):
            read_array_pickle(content, name="batch")


def test_a_cifar_archive_that_is_none_is_corrupt(tmp_path: Path) -> None:
    file = tmp_path / "c.tar.gz"
    whole, short = (cifar_batch(np.zeros((n, 3072), np.uint8), [1]) for n in (1, 2))
    messages = {
        "has no cifar-10-batches-py/data_batch_2; delete": {"data_batch_1": whole},
        "data_batch_1 has no images with labels": {"data_batch_1": short},
    }
    for message, batches in messages.items():
        write_cifar(file, batches)
        with pytest.raises(CorruptDataError, match=message):
            CATALOGUE["cifar10"].decode({"cifar-10-python.tar.gz": file}, 0)
    file.write_bytes(b"no tar")
    with pytest.raises(CorruptDataError, match="cannot be unpacked"):
        CATALOGUE["cifar10"].decode({"cifar-10-python.tar.gz": file}, 0)


def test_digits_are_bundled() -> None:
    first, again, other = (CATALOGUE["digits"].decode({}, seed) for seed in (0, 0, 1))
    assert (len(first.train), len(first.test)) == (1438, 359)
    assert first.train.inputs.shape == (1438, 1, 8, 8)
    assert (first.train.inputs.min(), first.train.inputs.max()) == (0, 255)
    assert first.test.fingerprint == again.test.fingerprint != other.test.fingerprint
    assert np.ptp(first.test.class_counts()) <= 2
