"""The published rows behind "A Scaling Law for Syn2Real Transfer" (Mikami et al. 2021).

One row of the table is one evaluation; the error of a run is 1 - value at its last evaluation (not the best one).
"""

from pathlib import Path

import pandas as pd

from transferscope.errors import CorruptDataError, MissingDataError

IMAGENET_IMAGES = 1_281_167
"""Training images of ImageNet: fine-tuning size s is this times the share that was used."""

GROUP = ("ptask", "fdata", "ftask", "model", "pscale", "fratio", "pdata")
"""Columns that name one curve over pre-training sizes."""

_COLUMNS = ("n_eval", "value", "pretrain.data", "nparam", *GROUP)

SIZES = tuple(1000.0 * 2**i for i in range(7))
"""Pre-training sizes of the 64k series."""


def read_errors(path: Path) -> pd.DataFrame:
    """One row per run: the columns of `GROUP`, `nparam` (millions), `n`, `s` (images, for ImageNet) and `error`.

    Args:
        path: The table syn2real_finetune.csv of the authors' repository.

    Returns:
        Runs sorted by group and n; a run whose pre-training size is missing is left out.

    Raises:
        MissingDataError: There is no such file.
        CorruptDataError: It has other columns.
    """
    if not path.is_file():
        raise MissingDataError(f"{path} is not a file; give the table syn2real_finetune.csv of the authors' repository")
    rows = pd.read_csv(path)
    missing = [column for column in _COLUMNS if column not in rows.columns]
    if missing:
        raise CorruptDataError(f"{path} lacks the column(s) {', '.join(missing)}; expected the authors' table")
    rows = rows.rename(columns={"pretrain.data": "n"}).dropna(subset=["n"])
    last = rows.sort_values("n_eval").groupby([*GROUP, "n"], as_index=False).last()
    return last.assign(error=1 - last["value"], s=last["fratio"] / 100 * IMAGENET_IMAGES)


def pretrained(errors: pd.DataFrame, *, pscale: str = "64k") -> pd.DataFrame:
    """Runs pre-trained on synthetic images of one series ("64k" or "1280k"), without n = 0 and without ImageNet."""
    return errors[(errors["pdata"] != "imagenet") & (errors["n"] > 0) & (errors["pscale"] == pscale)]
