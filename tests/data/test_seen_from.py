"""Relative paths in names of data, meant from a folder."""

import os
from pathlib import Path

import numpy as np
import pytest

from transferscope.data.load import load, seen_from


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("mnist", "mnist"),
        ("glyphs", "glyphs"),
        ("glyphs?n_train=5", "glyphs?n_train=5"),
        ("glyphs?fonts=own&n_train=5", "glyphs?fonts=/f/own&n_train=5"),
        ("npz:a.npz", "npz:/f/a.npz"),
        ("npz:/else/a.npz", "npz:/else/a.npz"),
        ("npz:../a.npz", "npz:/f/../a.npz"),
        ("folder:photos?resize=32", "folder:/f/photos?resize=32"),
        ("csv:a.csv?label=y%26z&test=b%26.csv", "csv:/f/a.csv?label=y%26z&test=/f/b%26.csv"),
        ("parquet:a.parquet?label=test", "parquet:/f/a.parquet?label=test"),
        ("folder:photos?labels=own.csv", "folder:/f/photos?labels=/f/own.csv"),
        ("hf-dataset:pets?size=8", "hf-dataset:/f/pets?size=8"),
        ("npz:~nobody-here/a.npz", "npz:/f/~nobody-here/a.npz"),
        ("npz:", "npz:"),
        ("", ""),
        ("a.csv", "a.csv"),
        ("csv:a.csv?label", "csv:/f/a.csv?label"),
    ],
)
def test_paths_are_those_of_the_folder_and_the_rest_stays(
    name: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRANSFERSCOPE_DATA", raising=False)  # its folder may have one of these names
    assert seen_from(name, Path("/f")) == seen
    assert seen_from(seen, Path("/elsewhere")) == seen


def test_a_path_below_the_data_folder_is_found_there_unless_it_is_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.npz").touch()
    monkeypatch.setenv("TRANSFERSCOPE_DATA", str(tmp_path / "data"))
    assert seen_from("npz:a.npz", tmp_path) == f"npz:{tmp_path}/data/a.npz"
    assert seen_from("npz:b.npz", tmp_path) == f"npz:{tmp_path}/b.npz"
    (tmp_path / "a.npz").touch()
    assert seen_from("npz:a.npz", tmp_path) == f"npz:{tmp_path}/a.npz"


@pytest.mark.parametrize("odd", ["plain", "with space", "a?b", "a&b", "50%25", "a=b", "a:b", "ü"])
def test_folders_of_any_name_can_be_read(odd: str, tmp_path: Path) -> None:
    """The grammar of names has its own use for "?" and "&"; the folder of a study file may be called anything."""
    folder = tmp_path / odd
    folder.mkdir()
    x = np.random.default_rng(0).normal(size=(20, 3))
    np.savez(folder / "a.npz", x_train=x[:10], y_train=np.arange(10) % 2, x_test=x[10:], y_test=np.arange(10) % 2)
    for part in ("a", "b"):
        rows = "".join(f"{i},{i * i % 7},{'pq'[i % 2]}\n" for i in range(ord(part) - 90, ord(part) - 80))
        (folder / f"{part}.csv").write_text(f"u,v,label\n{rows}")
    here = Path.cwd()
    try:
        os.chdir(folder)
        names = ("npz:a.npz", "csv:a.csv?label=label&test=b.csv")
        expected = [load(name).fingerprint for name in names]
    finally:
        os.chdir(here)
    assert [load(seen_from(name, folder)).fingerprint for name in names] == expected
