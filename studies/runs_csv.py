"""Every finished run of the studies of a store, as a CSV that a page of docs/results stands on.

    python studies/runs_csv.py runs/merlin-tiles.sqlite FILE.csv [--diagnostics NAMES [--step 0]]

A row is one number: study, method, source, n_source (0 without one), n_target, seed, pretrain_step (empty for the end
of pre-training), diagnostic (empty for accuracies), part, name, step (empty for final values) and value: the final
accuracies on source and target, and what diagnostics measured whose names match a regular expression, at every step or
at one.
The first line says the version, and what each method chose where settings were searched.
"""

import argparse
import json
from pathlib import Path

import pandas as pd
from theory.stored import COLUMNS, KEYS

from transferscope import __version__
from transferscope.store import Store
from transferscope.study.frames import read_study


def rows(store: Store, study: str, *, diagnostics: str, step: int | None) -> pd.DataFrame:
    """The numbers of a study."""
    frames = read_study(store, study)
    records = frames.records
    is_final = records["step"].isna() & (records["name"] == "accuracy") & (records["role"] != "diagnose")
    measured = (records["role"] == "diagnose") & records["name"].astype(str).str.fullmatch(diagnostics)
    if step is not None:
        measured &= records["step"] == step
    found = records[is_final | measured]
    return found.assign(study=study)[list(COLUMNS)].sort_values(list(KEYS), ignore_index=True)


def chosen(store: Store, study: str) -> dict[str, object]:
    """The settings that were searched, by method, source and number of labels."""
    cells = read_study(store, study).method_cells
    cells = cells[cells["seed"] == cells["seed"].min()]
    keys = zip(cells["method"], cells["source"], cells["n_target"], cells["tuning"], strict=True)
    return {" ".join(map(str, key)): note["chosen"] for *key, note in keys if note.get("chosen")}


def main() -> None:
    """Read the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--diagnostics", default="", metavar="NAMES", help="which of their numbers")
    parser.add_argument("--step", type=int, help="the only step of diagnostics")
    given = parser.parse_args()
    with Store.open(str(given.store), create=False) as store:
        names = [study.name for study in store.studies()]
        table = pd.concat([rows(store, name, diagnostics=given.diagnostics, step=given.step) for name in names])
        searched = {key: value for name in names for key, value in chosen(store, name).items()}
    table = table.drop_duplicates(KEYS[1:] if len(names) == 1 else KEYS)
    settings = json.dumps(searched, sort_keys=True) if searched else "none searched"
    text = table.to_csv(index=False, float_format="%.5g", lineterminator="\n")
    given.table.write_text(f"# transferscope {__version__}; settings: {settings}\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
