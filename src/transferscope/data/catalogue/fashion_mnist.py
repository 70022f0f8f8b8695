"""Fashion-MNIST: photographs of clothes (Xiao, Rasul, Vollgraf, arXiv:1708.07747, 2017)."""

from functools import partial

from transferscope.data.catalogue.entry import CatalogueEntry
from transferscope.data.catalogue.idx import decode_idx, idx_files

_CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")

ENTRY = CatalogueEntry(
    name="fashion-mnist",
    title="photographs of clothes, 60,000 / 10,000, 28 x 28 grey",
    licence="MIT",
    home="https://github.com/zalandoresearch/fashion-mnist",
    classes=_CLASSES,
    files=idx_files(
        address="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        mirror="https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        md5={
            "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
            "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
            "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
        },
    ),
    decode=partial(decode_idx, classes=_CLASSES),
)
