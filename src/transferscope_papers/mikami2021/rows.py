"""The published rows behind "A Scaling Law for Syn2Real Transfer" (Mikami et al. 2021).

One row of the table is one evaluation; the error of a run is 1 - value at its last evaluation (not the best one).
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from transferscope.errors import CorruptDataError, MissingDataError
from transferscope.scaling.observations import Observations, observe

IMAGENET_IMAGES = 1_281_167
"""Training images of ImageNet: fine-tuning size s is this times the share that was used."""

GROUP = ("ptask", "fdata", "ftask", "model", "pscale", "fratio", "pdata")
"""Columns that name one curve over pre-training sizes."""

_COLUMNS = ("n_eval", "value", "pretrain.data", "nparam", *GROUP)

PUBLISHED_D = 0.48
"""The common D of the paper: a constant, see `common_d`."""

PUBLISHED_RATES = (0.1, 1.5)
"""Bounds of alpha in the authors' code."""

FIGURE_5_LARGEST = 16_000
"""Largest size that is fitted in Figure 5: with it, five sizes of the 64k series ("the first five dots")."""


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


@dataclass(frozen=True)
class Panel:
    """Curves that share a panel of a figure.

    Attributes:
        title: Its title.
        curves: Observations over n of each series, by name.
    """

    title: str
    curves: dict[str, Observations]


def task_panels(errors: pd.DataFrame) -> tuple[Panel, ...]:
    """Figure 1: a panel for each fine-tuning task, a series for each pre-training task (ResNet-50, 1 % of the data)."""
    rows = _one_percent(errors)
    rows = rows[(rows["model"] == "r50") & (rows["pdata"] == "bop")].sort_values("ptask", kind="stable")
    return tuple(
        Panel(task, _series(rows[rows["ftask"] == task], "ptask")) for task in ("objdet", "semseg", "sinclass")
    )


def model_panels(errors: pd.DataFrame) -> tuple[Panel, ...]:
    """Figure 4: mulclass to sinclass and objdet to objdet, a series for each depth of the network."""
    rows = _one_percent(errors)
    rows = rows[rows["pdata"] == "bop"].sort_values("nparam", kind="stable")
    pairs = (("mulclass", "sinclass"), ("objdet", "objdet"))
    return tuple(
        Panel(f"{ptask} to {ftask}", _series(rows[(rows["ptask"] == ptask) & (rows["ftask"] == ftask)], "model"))
        for ptask, ftask in pairs
    )


def rendering_panels(errors: pd.DataFrame) -> tuple[Panel, ...]:
    """Figure 6: objdet to objdet, a series for each rendering variant under the authors' name for it."""
    rows = _one_percent(errors)
    rows = rows[(rows["ptask"] == "objdet") & (rows["ftask"] == "objdet") & (rows["model"] == "r50")]
    rows = rows.sort_values("pdata", kind="stable")
    return (Panel("objdet to objdet", _series(rows, "pdata")),)


def extrapolation_series(errors: pd.DataFrame) -> dict[str, tuple[Observations, Observations]]:
    """Figure 5: for each depth, what is fitted (64k series, n <= 16,000) and predicted (1280k series, n >= 80,000).

    The paper fits five sizes of one series; the published rows hold only two of them, so the 64k series stands in.
    """
    pairs = {}
    for model in ("r50", "r101", "r152"):
        chosen = (errors["ptask"] == "objdet") & (errors["ftask"] == "objdet") & (errors["fratio"] == 1)
        rows = errors[chosen & (errors["model"] == model) & (errors["pdata"] == "bop")]
        small, large = pretrained(rows), pretrained(rows, pscale="1280k")
        small, large = small[small["n"] <= FIGURE_5_LARGEST], large[large["n"] >= 80_000]
        pairs[model] = (_over_n(small), _over_n(large))
    return pairs


def surface_rows(errors: pd.DataFrame) -> pd.DataFrame:
    """Figures 2 and 9: mulclass to sinclass, ResNet-50, all fine-tuning sizes of the 64k series."""
    rows = pretrained(errors)
    chosen = (rows["ptask"] == "mulclass") & (rows["ftask"] == "sinclass") & (rows["model"] == "r50")
    return rows[chosen & (rows["pdata"] == "bop")]


def all_curves(errors: pd.DataFrame) -> dict[str, Observations]:
    """The curves of appendix D: 1 % of the fine-tuning data, 64k series, one for each of the columns `GROUP`."""
    return {", ".join(map(str, key)): _over_n(rows) for key, rows in _one_percent(errors).groupby(list(GROUP))}


def _one_percent(errors: pd.DataFrame) -> pd.DataFrame:
    rows = pretrained(errors)
    return rows[rows["fratio"] == 1]


def _series(rows: pd.DataFrame, column: str) -> dict[str, Observations]:
    """Curves by the values of a column, in the order of the rows."""
    return {str(name): _over_n(part) for name, part in rows.groupby(column, sort=False)}


def _over_n(rows: pd.DataFrame) -> Observations:
    return observe(rows["n"].to_numpy(), rows["error"].to_numpy())
