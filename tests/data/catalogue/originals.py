"""Small files in the original formats, written byte by byte after the published descriptions."""

import bz2
import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
from scipy.io import savemat


def write_idx(path: Path, array: np.ndarray) -> Path:
    """LeCun's idx format: 00 00 08 (bytes), the number of axes, each length big-endian, the values."""
    header = bytes((0, 0, 8, array.ndim)) + b"".join(struct.pack(">I", length) for length in array.shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))
    return path


def write_idx_set(folder: Path, *, n_train: int = 20, n_test: int = 10) -> dict[str, Path]:
    """MNIST's four files: pixels count up, labels run through 0..9."""
    files = {}
    for stem, n in (("train", n_train), ("t10k", n_test)):
        images = np.arange(n * 12, dtype=np.uint8).reshape(n, 3, 4)
        for name, array in (
            (f"{stem}-images-idx3-ubyte.gz", images),
            (f"{stem}-labels-idx1-ubyte.gz", np.arange(n) % 10),
        ):
            files[name] = write_idx(folder / name, array)
    return files


def write_usps(path: Path, values: np.ndarray, labels: np.ndarray) -> Path:
    """LIBSVM text: `label index:value ...` with labels 1..10 and indices from 1; zeros may be left out."""
    lines = [
        f"{label} " + " ".join(f"{i + 1}:{value:.4f}" for i, value in enumerate(row) if value != 0)
        for row, label in zip(values, labels, strict=True)
    ]
    path.write_bytes(bz2.compress("\n".join(lines).encode() + b"\n"))
    return path


def write_svhn(path: Path, images: np.ndarray, labels: np.ndarray) -> Path:
    """MATLAB file: X (32, 32, 3, N) bytes, y (N, 1) with 10 for the digit 0."""
    savemat(path, {"X": images, "y": labels[:, None]})
    return path


def cifar_batch(pixels: np.ndarray, labels: list[int]) -> bytes:
    """A batch as Python 2's cPickle wrote it (protocol 2): batch_label, labels, data, filenames."""
    ints = b"".join(b"K" + bytes((label,)) for label in labels)
    content = pixels.tobytes()
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08K\x00\x85U\x01b\x87Rq\x09"
        + b"(K\x01"
        + b"J" + struct.pack("<i", pixels.shape[0]) + b"J" + struct.pack("<i", pixels.shape[1]) + b"\x86"
        + b"cnumpy\ndtype\nq\x0aU\x02u1K\x00K\x01\x87Rq\x0b(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        + b"\x89T" + struct.pack("<i", len(content)) + content + b"tb"
    )  # fmt: skip
    return (
        b"\x80\x02}q\x01(U\x0bbatch_labelq\x02U\x15training batch 1 of 5q\x03U\x06labelsq\x04]q\x05("
        + ints
        + b"eU\x04dataq\x06"
        + array
        + b"U\x09filenamesq\x0c]q\x0d(U\x05a.pngU\x05b.pngeu."
    )


def write_cifar(path: Path, batches: dict[str, bytes]) -> Path:
    """The gzipped tar of the batches in their folder."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in batches.items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path
