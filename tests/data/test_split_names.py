"""The names of training, validation and test parts, wherever data come in parts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.test_image_folder import picture
from data.test_texts import Words
from transferscope.data.load import load
from transferscope.data.readers import texts
from transferscope.data.split_names import NAMES, split_names
from transferscope.errors import DataError

Sizes = dict[str, int]


def folder(path: Path, sizes: Sizes) -> str:
    for part, n in sizes.items():
        for i in range(n):
            picture(path / part / "ab"[i % 2] / f"{i}.png", value=10 * i)
    return f"folder:{path}"


def arrays(path: Path, sizes: Sizes) -> str:
    file = path / "data.npz"
    x = {f"x_{part}": np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32) for part, n in sizes.items()}
    y = {f"y_{part}": np.arange(n) % 2 for part, n in sizes.items()}
    np.savez(file, **x, **y)  # type: ignore[arg-type]  # its stubs take any keyword for allow_pickle
    return f"npz:{file}"


def column(path: Path, sizes: Sizes) -> str:
    parts = [part for part, n in sizes.items() for _ in range(n)]
    names = ["ab"[i % 2] for n in sizes.values() for i in range(n)]
    table = pd.DataFrame({"part": parts, "x": np.arange(len(parts)) / 7, "label": names})
    table.to_csv(path / "table.csv", index=False)
    return f"csv:{path / 'table.csv'}?label=label&split=part"


def files(path: Path, sizes: Sizes) -> str:
    for part, n in sizes.items():
        rows = pd.DataFrame({"text": [f"word {i}" for i in range(n)], "label": ["ab"[i % 2] for i in range(n)]})
        rows.to_csv(path / f"{part}.csv", index=False)
    return f"text:{path}?text=text&label=label&max_length=4"


@pytest.mark.parametrize("write", [folder, arrays, column, files])
def test_parts_are_told_by_their_names_in_every_kind_of_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, Sizes], str]
) -> None:
    monkeypatch.setattr(texts, "tokenizer_of", lambda _: Words())
    two, three = {"Training": 8, "VAL": 4}, {"train": 8, "dev": 6, "testing": 4}
    cases = {"two": (two, "VAL is the test set"), "three": (three, "dev is left out, since testing is the test set")}
    for name, (sizes, note) in cases.items():
        (tmp_path / name).mkdir()
        data = load(write(tmp_path / name, sizes))
        assert (len(data.train), len(data.test)) == (8, 4)
        assert note in data.provenance["understood"]
    (tmp_path / "twice").mkdir()
    with pytest.raises(DataError, match=r"has (eval and valid|valid and eval), which are both the validation part"):
        load(write(tmp_path / "twice", {"train": 8, "eval": 4, "valid": 4}))


@pytest.mark.parametrize("train", NAMES["training"])
@pytest.mark.parametrize("held_out", [*NAMES["validation"], *NAMES["test"]])
def test_every_name_of_the_table_is_known(train: str, held_out: str) -> None:
    found = split_names(["0", held_out.upper(), train], "here")
    assert found is not None
    assert (found.train, found.test, found.left_out) == (train, held_out.upper(), "")
    assert split_names([held_out, "0"], "here") is None
    assert split_names([train, "0"], "here") is None
