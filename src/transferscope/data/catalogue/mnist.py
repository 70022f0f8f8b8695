"""MNIST: handwritten digits (LeCun, Bottou, Bengio, Haffner, Proceedings of the IEEE, 1998)."""

from functools import partial

from transferscope.data.catalogue.entry import CatalogueEntry
from transferscope.data.catalogue.idx import decode_idx, idx_files

_CLASSES = tuple("0123456789")

ENTRY = CatalogueEntry(
    name="mnist",
    title="handwritten digits, 60,000 / 10,000, 28 x 28 grey",
    licence="none stated",
    home="http://yann.lecun.com/exdb/mnist/",
    classes=_CLASSES,
    files=idx_files(
        address="https://ossci-datasets.s3.amazonaws.com/mnist/",
        mirror="https://storage.googleapis.com/cvdf-datasets/mnist/",
        md5={
            "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
            "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
            "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
        },
    ),
    decode=partial(decode_idx, classes=_CLASSES),
)
