"""From a name to data, for everything outside the catalogue: one reader per kind of name, imported where it is used.

Those of tables and texts import pandas, which takes a while.
"""

from collections.abc import Callable
from importlib import import_module

from transferscope.data.spec import DataSpec
from transferscope.data.task import Dataset

Reader = Callable[[DataSpec, int], Dataset]
"""Takes a name whose kind it reads, and a seed; returns the data."""


def _reader(module: str, name: str) -> Reader:
    def read(spec: DataSpec, seed: int) -> Dataset:
        dataset: Dataset = getattr(import_module(f"{__name__}.{module}"), name)(spec, seed)
        return dataset

    return read


READERS: dict[str, Reader] = {
    "npz": _reader("images", "read_npz"),
    "folder": _reader("images", "read_folder"),
    "csv": _reader("tables", "read_table"),
    "parquet": _reader("tables", "read_table"),
    "table": _reader("tables", "read_table"),
    "text": _reader("texts", "read_texts"),
    "hf-dataset": _reader("texts", "read_hf_dataset"),
    "glyphs": _reader("rendered", "read_glyphs"),
    "scenes": _reader("rendered", "read_scenes"),
}
"""What reads each kind of name."""
