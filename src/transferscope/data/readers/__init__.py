"""Readers of data by name outside the catalogue: one per kind of name, imported on use.

Those of tables and texts import pandas, which takes a while.
"""

from collections.abc import Callable
from importlib import import_module

from transferscope.data.spec import TABLES, DataSpec, reads_path
from transferscope.data.task import Dataset

Reader = Callable[[DataSpec, int], Dataset]
"""Takes a name whose kind it reads, and a seed; returns the data."""


def _reader(module: str, name: str) -> Reader:
    def read(spec: DataSpec, seed: int) -> Dataset:
        dataset: Dataset = getattr(import_module(f"{__name__}.{module}"), name)(spec, seed)
        return dataset

    return read


READERS: dict[str, Reader] = {
    "npz": reads_path()(_reader("images", "read_npz")),
    "folder": reads_path("labels")(_reader("images", "read_folder")),
    **dict.fromkeys(TABLES, reads_path("test", "encoding", "together")(_reader("tables", "read_table"))),
    "text": reads_path("test", "tokenizer")(_reader("texts", "read_texts")),
    "hf-dataset": reads_path("tokenizer")(_reader("texts", "read_hf_dataset")),
    "glyphs": _reader("rendered", "read_glyphs"),
}
"""The reader of each kind of name."""

FONTS = "fonts"
"""Option of glyphs that is a path."""
