"""The published rows behind "A Scaling Law for Syn2Real Transfer" (Mikami et al. 2021).

One row of the table is one evaluation; the error of a run is 1 - value at its last evaluation (not the best one). This
module has the curves of each figure, and their fits beside the printed numbers.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar, nnls

from transferscope.errors import CorruptDataError, first_line, missing_file
from transferscope.scaling.fit import LawFit, fit_law, standard_errors
from transferscope.scaling.observations import Observations, observe
from transferscope.scaling.surface import Surface, fit_surface
from transferscope.settings.questions import Loss
from transferscope_papers.mikami2021.common_d import PAPER_LAW, PUBLISHED_RATES, common_d

IMAGENET_IMAGES = 1_281_167
"""Training images of ImageNet: fine-tuning size s is this times the share that was used."""

GROUP = ("ptask", "fdata", "ftask", "model", "pscale", "fratio", "pdata")
"""Columns that identify a curve over pretraining sizes."""

_COLUMNS = ("n_eval", "value", "pretrain.data", "nparam", *GROUP)
_RUNS = 436

PUBLISHED_D = 0.48
"""The common D of the paper: a constant, see `common_d`."""

FIGURE_5_LARGEST = 16_000
"""Largest fitted size in Figure 5, which gives five sizes of the 64k series ("the first five dots")."""

PUBLISHED_FIGURE_5 = {
    "power": {"r50": 0.0099, "r101": 0.0074, "r152": 0.0091},
    "power+floor": {"r50": 0.0024, "r101": 0.0016, "r152": 0.0017},
}
"""Root mean square errors printed beside Figure 5."""

PUBLISHED_FULL_LAW = {"alpha": 0.544, "beta": 0.322, "gamma": 0.478, "delta": 41.8}
"""Appendix C.2, with s in images."""

FULL_LAW_SHARES = (2, 4, 7, 16, 32, 64)
"""Percent of ImageNet in Figure 9; its legend has 8, the rows have 7."""


def read_errors(path: Path) -> pd.DataFrame:
    """Return one row per run: the columns of `GROUP`, `nparam` (millions), `n`, `s` (images, for ImageNet) and `error`.

    Args:
        path: The table syn2real_finetune.csv of the authors' repository.

    Returns:
        Runs sorted by group and n; a run whose pretraining size is missing is left out.

    Raises:
        MissingDataError: There is no such file.
        CorruptDataError: It is damaged, has other columns, or lacks rows.
    """
    if not path.is_file():
        raise missing_file("table", path, "give syn2real_finetune.csv of the authors' repository")
    try:
        rows = pd.read_csv(path)
    except ValueError as error:
        raise CorruptDataError(f"{path} cannot be read ({first_line(error)}); expected the authors' table") from error
    missing = [column for column in _COLUMNS if column not in rows.columns]
    if missing:
        raise CorruptDataError(f"{path} lacks the column(s) {', '.join(missing)}; expected the authors' table")
    rows = rows.rename(columns={"pretrain.data": "n"}).dropna(subset=["n"])
    last = rows.sort_values("n_eval").groupby([*GROUP, "n"], as_index=False).last()
    if len(last) < _RUNS:
        raise CorruptDataError(
            f"{path} has {len(last)} runs; expected the {_RUNS} of the authors' table: download it again"
        )
    return last.assign(error=1 - last["value"], s=last["fratio"] / 100 * IMAGENET_IMAGES)


def pretrained(errors: pd.DataFrame, *, pscale: str = "64k") -> pd.DataFrame:
    """Return runs pretrained on synthetic images of one series ("64k" or "1280k"), without n = 0 and without
    ImageNet."""
    return errors[(errors["pdata"] != "imagenet") & (errors["n"] > 0) & (errors["pscale"] == pscale)]


@dataclass(frozen=True)
class Panel:
    """Curves that share a panel of a figure.

    Attributes:
        curves: Observations over n of each series, by name.
    """

    title: str
    curves: dict[str, Observations]


def task_panels(errors: pd.DataFrame) -> tuple[Panel, ...]:
    """Return Figure 1: a panel for each fine-tuning task, a series for each pretraining task (ResNet-50, 1 % of the
    data)."""
    rows = _with(pretrained(errors), fratio=1, model="r50", pdata="bop").sort_values("ptask", kind="stable")
    return tuple(Panel(task, _series(_with(rows, ftask=task), "ptask")) for task in ("objdet", "semseg", "sinclass"))


def model_panels(errors: pd.DataFrame) -> tuple[Panel, ...]:
    """Return Figure 4: mulclass to sinclass and objdet to objdet, a series for each depth of the network."""
    rows = _with(pretrained(errors), fratio=1, pdata="bop").sort_values("nparam", kind="stable")
    return tuple(
        Panel(f"{ptask} to {ftask}", _series(_with(rows, ptask=ptask, ftask=ftask), "model"))
        for ptask, ftask in (("mulclass", "sinclass"), ("objdet", "objdet"))
    )


RENDERINGS = {
    "bop-lv0": (),
    "bop-lv1": ("texture",),
    "bop-lv2": ("several",),
    "bop-lv3": ("several", "texture"),
    "bop-lv2.5": ("several", "light"),
    "bop-lv4": ("several", "light", "texture"),
    "bop-lv5": ("several", "light", "background"),
    "bop": ("several", "light", "background", "texture"),
}
"""Attributes (appearance, light, background, object texture) that vary in each of the eight data sets of Figure 7, by
the authors' names; inferred from the names of configuration files, since the rows lack them."""


SCENES = {
    "several": ("appearance", "several"),
    "light": ("light", "random"),
    "background": ("background", "random"),
    "texture": ("texture", "with"),
}
"""The option of rendered scenes for each attribute, and its value where the attribute varies."""


def rendering_panels(errors: pd.DataFrame) -> tuple[Panel, ...]:
    """Return Figure 6: objdet to objdet, a series for each of `RENDERINGS` by its attributes."""
    rows = _with(pretrained(errors), fratio=1, ptask="objdet", ftask="objdet", model="r50")
    curves = {
        ", ".join(attributes) or "single": _over_n(_with(rows, pdata=name)) for name, attributes in RENDERINGS.items()
    }
    return (Panel("objdet to objdet", curves),)


def rendering_pairs() -> list[tuple[str, str, str]]:
    """Return the pairs of `RENDERINGS` that differ in one attribute: it, the name without it, and the name with it."""
    return [
        (next(iter(set(own) - set(less))), few, more)
        for few, less in RENDERINGS.items()
        for more, own in RENDERINGS.items()
        if set(less) < set(own) and len(own) == len(less) + 1
    ]


def rendering_steps(fitted: pd.DataFrame) -> pd.DataFrame:
    """Return the effect of one more attribute of the images (Figure 6 right): added, before, alpha and C before and
    after; from the fits of `rendering_panels`."""
    fits = dict(zip(RENDERINGS, fitted.to_dict("records"), strict=True))
    return pd.DataFrame(
        {
            "added": added,
            "to": fits[few]["series"],
            **{
                f"{name} {when}": fits[of][name]
                for name in ("alpha", "C")
                for when, of in (("before", few), ("after", more))
            },
        }
        for added, few, more in rendering_pairs()
    )


def equal_fits(panel: Panel) -> pd.DataFrame:
    """Return two laws of equal size: alpha and C per series with a common D, or D and C with a common alpha.

    The rows support a difference in alpha only if the first has smaller residuals. `rmse` is of the error itself.
    """
    curves = [(data.sizes[:, 0], data.errors) for data in panel.curves.values()]
    held = [(data, paper_fit(data)) for data in panel.curves.values()]
    points = sum(len(errors) for _, errors in curves)

    def left(alpha: float) -> float:
        return sum(nnls(np.stack([(n / n[0]) ** -alpha, np.ones(len(n))], axis=1), y)[1] ** 2 for n, y in curves)

    one = minimize_scalar(left, bounds=PUBLISHED_RATES, method="bounded")
    squares = (sum(float(((fit.predict(data.sizes) - data.errors) ** 2).sum()) for data, fit in held), float(one.fun))
    laws = ("D held, alpha of each series", "one alpha, D of each series")
    return pd.DataFrame(
        {"law": laws, "alpha": (math.nan, float(one.x)), "rmse": [math.sqrt(square / points) for square in squares]}
    )


def extrapolation_series(errors: pd.DataFrame) -> dict[str, tuple[Observations, Observations]]:
    """Return Figure 5: for each depth, the data fitted (64k series, n <= 16,000) and predicted (1280k series, n >=
    80,000).

    The paper fits five sizes of one series; the published rows have only two of them, so the 64k series replaces it.
    """
    pairs = {}
    for model in ("r50", "r101", "r152"):
        rows = _with(errors, ptask="objdet", ftask="objdet", fratio=1, model=model, pdata="bop")
        small, large = pretrained(rows), pretrained(rows, pscale="1280k")
        small, large = small[small["n"] <= FIGURE_5_LARGEST], large[large["n"] >= 80_000]
        pairs[model] = (_over_n(small), _over_n(large))
    return pairs


def surface_rows(errors: pd.DataFrame) -> pd.DataFrame:
    """Return Figures 2 and 9: mulclass to sinclass, ResNet-50, all fine-tuning sizes of the 64k series."""
    return _with(pretrained(errors), ptask="mulclass", ftask="sinclass", model="r50", pdata="bop")


def all_curves(errors: pd.DataFrame) -> dict[str, Observations]:
    """Return the curves of appendix D: 1 % of the fine-tuning data, 64k series, one for each of the columns `GROUP`."""
    rows = _with(pretrained(errors), fratio=1)
    return {", ".join(map(str, key)): _over_n(own) for key, own in rows.groupby(list(GROUP))}


def paper_fit(data: Observations) -> LawFit:
    """Fit the law (1) as the authors' code: D = 0.48 fixed, alpha in [0.1, 1.5], residuals of the error itself."""
    return fit_law(data.sizes, data.errors, law=PAPER_LAW, loss="linear", fixed={"D": PUBLISHED_D})


def panel_fits(panels: tuple[Panel, ...]) -> pd.DataFrame:
    """Return rate and transfer gap of every series (Figures 1, 4, 6, 8), with D fixed.

    `rmse` and `power_rmse` are the residuals of the log error for the law with fixed D and for a power law, `straight`
    is the R^2 of log(error - C) over log n, and `below` counts points below C, which have no such logarithm.
    """
    rows = []
    for panel in panels:
        for name, data in panel.curves.items():
            held = paper_fit(data)
            power = fit_law(data.sizes, data.errors, law="power", loss="linear")
            above = data.errors > held.theta[2]
            line = np.log(data.sizes[above, 0]), np.log(data.errors[above] - held.theta[2])
            alpha_stderr, _, gap_stderr = standard_errors(*held.solved) if held.solved else (math.nan,) * 3
            rows.append(
                {
                    "panel": panel.title,
                    "series": name,
                    "alpha": float(held.theta[0]),
                    "alpha_stderr": float(alpha_stderr),
                    "C": float(held.theta[2]),
                    "C_stderr": float(gap_stderr),
                    "rmse": _left(held, data),
                    "power_rmse": _left(power, data),
                    "straight": float(np.corrcoef(*line)[0, 1] ** 2),
                    "below": int((~above).sum()),
                }
            )
    return pd.DataFrame(rows)


def _left(fit: LawFit, data: Observations) -> float:
    return float(np.sqrt(np.mean(np.log(fit.predict(data.sizes) / data.errors) ** 2)))


def common_d_table(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the common-D procedure from several starts (published: 0.48), over the 29 curves of appendix D."""
    curves = all_curves(errors)
    rows = []
    for start in (0.3, 0.5, 0.7):
        history, status = common_d(curves.values(), start=start)
        rows.append(
            {
                "start": start,
                "D_first_pass": float(history[0, 0]),
                "D": float(history[-1, 0]),
                "alpha": float(history[-1, 1]),
                "status": status,
                "published": PUBLISHED_D,
            }
        )
    return pd.DataFrame(rows)


def extrapolation_table(errors: pd.DataFrame) -> pd.DataFrame:
    """Return root mean square errors beyond 64,000 images (Figure 5), with the published ones."""
    rows = []
    for model, (seen, unseen) in extrapolation_series(errors).items():
        for law, published in PUBLISHED_FIGURE_5.items():
            fit = fit_law(seen.sizes, seen.errors, law="power") if law == "power" else paper_fit(seen)
            error = fit.predict(unseen.sizes) - unseen.errors
            rows.append(
                {"model": model, "law": law, "rmse": float(np.sqrt(np.mean(error**2))), "published": published[model]}
            )
    return pd.DataFrame(rows)


def full_law_fit(errors: pd.DataFrame, loss: Loss = "linear") -> LawFit:
    """Return the full law (2) on the 42 points of Figure 9; by linear residuals it has the printed parameters."""
    rows = surface_rows(errors)
    rows = rows[rows["fratio"].isin(FULL_LAW_SHARES)]
    return fit_law(rows[["n", "s"]].to_numpy(), rows["error"].to_numpy(), law="full", loss=loss)


def full_law_table(errors: pd.DataFrame) -> pd.DataFrame:
    """Return parameters of the full law (2), by linear residuals as published and by log residuals, s in images."""
    columns: dict[str, Mapping[str, float | str]] = {"published": PUBLISHED_FULL_LAW}
    losses: tuple[Loss, ...] = ("linear", "log")
    for loss in losses:
        fit = full_law_fit(errors, loss)
        alpha, beta, delta_gamma, delta = fit.theta
        columns[f"{loss} residuals"] = {"alpha": alpha, "beta": beta, "gamma": delta_gamma / delta, "delta": delta}
        columns[f"{loss}: status"] = {
            "alpha": fit.estimates["alpha"].status,
            "beta": fit.estimates["beta"].status,
            "gamma": fit.estimates["delta*gamma"].status,
            "delta": fit.estimates["delta"].status,
        }
    return pd.DataFrame(columns).rename_axis("parameter").reset_index()


def paper_surface(errors: pd.DataFrame) -> Surface:
    """Return all laws in (n, s) on the 63 published points."""
    rows = surface_rows(errors)
    return fit_surface(rows["n"], rows["s"], rows["error"])


def surface_table(surface: Surface) -> pd.DataFrame:
    """Return held-out scores of every law in (n, s), root mean squares of the log error."""
    return pd.DataFrame(
        {"law": law, **asdict(score), "weight": surface.weights[law]} for law, score in surface.scores.items()
    )


def _with(errors: pd.DataFrame, **values: float | str) -> pd.DataFrame:
    """Return the runs that have these values in these columns."""
    for column, value in values.items():
        errors = errors[errors[column] == value]
    return errors


def _series(rows: pd.DataFrame, column: str) -> dict[str, Observations]:
    """Return the curves by the values of a column, in the order of the rows."""
    return {str(name): _over_n(part) for name, part in rows.groupby(column, sort=False)}


def _over_n(rows: pd.DataFrame) -> Observations:
    return observe(rows["n"].to_numpy(), rows["error"].to_numpy())
