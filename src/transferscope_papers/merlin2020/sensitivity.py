"""Figure 4b of merlin2020: accuracy over rho (weight of the target term) and lambda (ridge of the inner head)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from transferscope.errors import DataError
from transferscope.numerics.intervals import t_interval
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import INK, drawing, new_figure
from transferscope.wording import counted
from transferscope_papers.draw import TEXT_INCHES
from transferscope_papers.from_study import FinishedStudy, paired
from transferscope_papers.made import ClaimSeen, FigureMade, measured_claim

_WITHIN = 0.01
"""Accuracy below that of the best setting that still counts as close to it."""
_DARK = 0.6
"""Share of the scale from which text on it is black."""


def figure_4b(study: FinishedStudy) -> FigureMade:
    """The map of a study whose methods are MeRLin with constant ridges, and training from scratch beside them.

    Raises:
        DataError: The methods are no grid of at least 2 x 2, or a setting has no finished run.
    """
    settings = _grid(study)
    baseline = study.frames.baseline
    tuned = study.methods("fine-tune")
    rows = study.accuracies([*settings, *([baseline] if baseline else []), *tuned])
    rows["value"] *= 100
    study.one_setting(rows, "Figure 4b")
    table = _table(study, settings, rows, baseline)
    trained, diverged = table[table["diverged"] == 0], table[table["diverged"] > 0]
    if trained.empty:
        raise DataError(f"no setting of {study.name} has all its runs; try a smaller rate")
    best, worst = (trained.iloc[index] for index in (trained["accuracy"].argmax(), trained["accuracy"].argmin()))
    close = int((table["accuracy"] >= best["accuracy"] - 100 * _WITHIN).sum())
    sentences = [
        f"{len(trained)} settings, {int(trained['seeds'].min())} seeds each: from {worst['accuracy']:.1f} % "
        f"({_named(worst)}) to {best['accuracy']:.1f} % ({_named(best)}); {close} lie within one point of the best; "
        f"the standard deviation over seeds is {np.sqrt((trained['sd'] ** 2).mean()):.2g} points"
    ]
    if len(diverged):
        named = [f"{_named(row)} ({row['diverged']:.0f} of {row['seeds']:.0f} seeds)" for _, row in diverged.iterrows()]
        sentences.append(f"training diverged in {counted(len(diverged), 'further setting')}: {'; '.join(named)}")
    claims = []
    if baseline:
        above, below = (int((trained[end] * sign > 0).sum()) for end, sign in (("low", 1), ("high", -1)))
        sentences.append(
            f"{above} of the {len(trained)} settings lie above training from scratch and {below} below it, each by its "
            "own 95 % interval over seeds"
        )
        of_worst = next(name for name, pair in settings.items() if pair == (worst["rho"], worst["lambda"]))
        lowest = rows["method"] == of_worst
        claims.append(
            measured_claim(
                "MeRLin is not sensitive to rho and lambda: its worst setting "
                f"{'that trained ' if len(diverged) else ''}lies above training from scratch",
                "merlin2020, section A.7 with Figure 4b",
                paired(rows, lowest, rows["method"] == baseline),
                "points",
            )
        )
    if tuned:
        claims.append(_approaches(settings, rows, tuned[0]))
    return FigureMade((_draw(study, table),), tuple(sentences), tuple(claims))


def _grid(study: FinishedStudy) -> dict[str, tuple[float, float]]:
    """rho and lambda by the name of the method."""
    places: dict[str, tuple[float, float]] = {}
    for name in study.methods("merlin"):
        settings = study.frames.study.spec["methods"][name].get("settings", {})
        rho, ridge = settings.get("rho"), settings.get("ridge")
        if settings.get("inner") == "ridge" and isinstance(rho, int | float) and isinstance(ridge, int | float):
            places[name] = (float(rho), float(ridge))
    sides = [sorted({pair[i] for pair in places.values()}) for i in (0, 1)]
    complete = len(set(places.values())) == len(places) == len(sides[0]) * len(sides[1])
    if not complete or min(map(len, sides)) < 2:
        raise DataError(
            f"{study.name} has {len(places)} methods of MeRLin with a constant ridge, of {len(sides[0])} rho and "
            f"{len(sides[1])} lambda; Figure 4b shows every pair of at least 2 of each, as in studies/merlin-grid.toml"
        )
    return places


def _table(
    study: FinishedStudy, settings: Mapping[str, tuple[float, float]], rows: pd.DataFrame, baseline: str | None
) -> pd.DataFrame:
    """One row per setting, in percent: its accuracy over seeds, and the difference to scratch with its interval.

    A setting of which a run diverged has no accuracy: that of the other seeds would be too good.
    """
    table, cells = [], study.frames.method_cells
    lost = cells[cells["failure_kind"] == "non_finite"].groupby("method").size()
    for name, (rho, ridge) in settings.items():
        own = rows["method"] == name
        values = rows.loc[own, "value"].to_numpy()
        n_diverged = int(lost.get(name, 0))
        if not len(values) and not n_diverged:
            raise DataError(f"no run of {name} in {study.name} is finished; try those that failed again")
        apart = np.array(paired(rows, own, rows["method"] == baseline)) if baseline and not n_diverged else np.zeros(0)
        mean = t_interval(apart) if len(apart) else None
        ends = (np.nan, np.nan) if mean is None or mean.interval is None else (mean.interval.low, mean.interval.high)
        table.append(
            {
                "rho": rho,
                "lambda": ridge,
                "accuracy": np.nan if n_diverged else values.mean(),
                "sd": values.std(ddof=1) if len(values) > 1 and not n_diverged else np.nan,
                "seeds": len(values) + n_diverged,
                "above_scratch": np.nan if mean is None else mean.value,
                "low": ends[0],
                "high": ends[1],
                "diverged": n_diverged,
            }
        )
    return pd.DataFrame(table).sort_values(["lambda", "rho"]).reset_index(drop=True)


def _approaches(settings: Mapping[str, tuple[float, float]], rows: pd.DataFrame, tuned: str) -> ClaimSeen:
    rhos = sorted({rho for rho, _ in settings.values()})
    reference = rows["method"] == tuned

    def apart(rho: float) -> list[float]:
        names = [name for name, pair in settings.items() if pair[0] == rho]
        return paired(rows, rows["method"].isin(names), reference)

    nearer = [abs(b) - abs(a) for a, b in zip(apart(rhos[0]), apart(rhos[len(rhos) // 2]), strict=True)]
    return measured_claim(
        f"accuracy at the smallest rho ({rhos[0]:g}, mean over lambda) is nearer to that of fine-tuning than at rho = "
        f"{rhos[len(rhos) // 2]:g}",
        "merlin2020, section A.7: as rho approaches 0, MeRLin approaches fine-tuning",
        nearer,
        "points",
    )


def _named(row: pd.Series) -> str:
    return f"rho {row['rho']:g}, lambda {row['lambda']:g}"


def _draw(study: FinishedStudy, table: pd.DataFrame) -> Figure:
    """A cell for each setting with its mean and standard deviation; a star where it lies surely above scratch."""
    grid = table.pivot(index="lambda", columns="rho", values="accuracy")
    low, high = float(np.nanmin(grid.to_numpy())), float(np.nanmax(grid.to_numpy()))
    with drawing():
        canvas = new_figure(min(1.6 + 0.85 * grid.shape[1], TEXT_INCHES), 1.3 + 0.55 * grid.shape[0])
        axes = canvas.subplots()
        image = axes.imshow(grid.to_numpy(), origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=high)
        axes.grid(visible=False)
        axes.set_xticks(range(grid.shape[1]), [f"{rho:g}" for rho in grid.columns])
        axes.set_yticks(range(grid.shape[0]), [f"{ridge:g}" for ridge in grid.index])
        axes.set_xlabel("ρ, weight of the target term")
        axes.set_ylabel("λ, ridge of the inner head")
        axes.set_title("Accuracy of MeRLin over ρ and λ")
        for row in table.to_dict("records"):
            x, y = list(grid.columns).index(row["rho"]), list(grid.index).index(row["lambda"])
            colour = "black" if row["accuracy"] > low + _DARK * (high - low) else "white"
            sure, below = "*" if row["low"] > 0 else "", "↓" if row["high"] < 0 else ""
            text = f"{row['accuracy']:.1f}{sure}{below}" + (f"\n± {row['sd']:.1f}" if row["seeds"] > 1 else "")
            if row["diverged"]:
                text, colour = "diverged", INK
            axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=8)
        canvas.colorbar(image, ax=axes, label="accuracy on the target, %")
    caption = (
        f"Mean over {int(table['seeds'].min())} seeds, ± the standard deviation over them. A star: above training from "
        "scratch by its own paired 95 % interval; an arrow: below."
        + (" Diverged: at least one run of the setting did." if table["diverged"].any() else "")
    )
    return Figure("merlin2020-fig4b", canvas, table, caption)
