"""The pairs of a study on the diagram of linear transfer (tahir2024, Figures 1 and 6), with learners that are ridged.

What lies outside the pretrained features, the noise and the dimensions are estimated from labelled target examples,
each with an interval that is carried through to what the model says. It is a picture and no forecast: on real pairs the
sign of the model is right no more often than one sign for all of them (docs/theory/placement.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float64
from matplotlib import colormaps
from matplotlib.axes import Axes

from transferscope.analyses.finished_study import StudyNetworks, pretrained_of, target_data
from transferscope.data.task import Dataset
from transferscope.diagnostics.features import features_of
from transferscope.errors import DataError
from transferscope.estimate import Estimate
from transferscope.numerics.intervals import t_interval
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import INK, drawing, new_figure
from transferscope.study.cell import code_as_planned, code_of
from transferscope.study.facts import as_read
from transferscope_papers.from_study import FinishedStudy
from transferscope_papers.made import ClaimSeen, FigureMade
from transferscope_papers.tahir2024.pair_parameters import (
    PairEstimate,
    Unexplained,
    estimate_pair,
    ranged,
    target_examples,
    unexplainable,
    unexplained,
)
from transferscope_papers.theory.effective_dimension import DimensionBand, dimension_band
from transferscope_papers.theory.placement import Pair, modelled_transferability, risk_draws, scratch_risk

_PROBE, _EXAMPLES = "linear-probe", 2000
"""The method that is linear transfer, and how many target examples parameters are estimated from."""
_FEWEST_SEEDS = 4
"""With fewer the sign of a measured gain is not held against the model."""
_PANEL_INCHES, _BAR_INCHES, _PANELS_IN_A_ROW = (3.8, 3.4), 0.8, 3
_MAP, _LIMIT, _GRID, _LEAST_TOP = "RdBu", 0.5, 161, 0.3
_CAPTION = (
    "Blue: transfer helps by the linear model; the line is its boundary, broken at the ends of the noise. Crosses: "
    "intervals of the pair; the colour of a point is what linear probes gained over training from scratch (white: "
    "nothing, or not measured). Labels of classes count as codes, so that signs are to be compared rather than sizes."
)


@dataclass(frozen=True)
class Placement:
    """A pair on the diagram at one number of labels; risks are in units of the variance of the labels.

    Attributes:
        name: The source, with the number of its examples when the study has several.
        outside: Share of the target function outside the pretrained features, sin^2(theta).
        noise: sigma/tau.
        gamma: Target labels over directions of the inputs, n/d.
        scratch_modelled: Squared error from scratch by the model, the noise included.
        modelled: Transferability by the model, with the error of the model in its interval.
        scratch: Squared error from scratch that was measured.
        measured: Gain of the linear probe over training from scratch, paired by seed.
    """

    name: str
    n_target: int
    outside: Estimate
    noise: Estimate
    gamma: Estimate
    scratch_modelled: Estimate
    modelled: Estimate
    scratch: Estimate
    measured: Estimate


def placement(study: FinishedStudy) -> FigureMade:
    """The sources of a study with linear probes, one panel each, and how often the model's sign is right.

    Raises:
        DataError: No method starts from a pretrained network, a network is gone, or the target is no task of one class
            or numbers for each input, or too small.
    """
    with code_as_planned(code_of((stored.cell for stored in study.cells), "network")):
        networks = pretrained_of(
            [stored for stored in study.cells if stored.cell.labels.get("pretrain_step") is None],
            study.store.files,
            none=f"no method of {study.name} starts from a pretrained network, so there are no features to place; add "
            "[methods.linear-probe] to its file and run it again",
        )
        data = target_data(networks.recipe)
        if data.train.is_tokens or data.train.kind == "multi-label" or data.train.grid is not None:
            raise DataError(
                f"the target of {study.name} has texts, several labels or a label for each place, and the linear model "
                "is one of inputs that are numbers with one class, or numbers, each; take another study"
            )
        errors = squared_errors(study)
        pairs = _estimated(networks, data, errors)
    points = [_placed(name, pair, n, study, errors) for name, pair in pairs.items() for n in study.frames.sizes]
    best = {name: pair.best for name, pair in pairs.items()}
    return FigureMade((_draw(best, points, study.name),), (_levels(points),), _signs(points), {"pairs": _table(points)})


def _estimated(networks: StudyNetworks, data: Dataset, errors: pd.DataFrame) -> dict[str, PairEstimate]:
    target = target_examples(data, at_most=_EXAMPLES)
    noise = min([unexplainable(target.flat_inputs, target.codes), *_trained(errors)], key=lambda one: one.limit)
    directions = _dimension(target.flat_inputs, "the inputs")
    pairs = {}
    for origin, files in networks.files.items():
        what, missed, dimensions = f"the features pretrained on {origin.source}", [], []
        for file in dict.fromkeys(files.values()):  # a network from a file is that of every seed
            network, read = networks.open(origin, next(s for s in files if files[s] == file), data).network, target
            if network.input is not None:
                recipe = networks.recipes[origin]
                seen = as_read(data, recipe.target, recipe.network)
                read = target_examples(seen, at_most=_EXAMPLES, network=network)
            features: np.ndarray = features_of(network, read.examples).numpy()
            missed.append(unexplained(features, target.codes, what=what))
            dimensions.append(_dimension(features, what))
        pairs[networks.names[origin]] = estimate_pair(
            missed, noise, dimensions, directions, n_examples=len(target.codes)
        )
    return pairs


def _dimension(vectors: np.ndarray, what: str) -> DimensionBand:
    band = dimension_band(vectors)
    if band.low.status != "ok":
        raise DataError(
            f"{what} do not vary over the target examples, so nothing can be learnt from them; check the data and the "
            "pretraining"
        )
    return band


def squared_errors(study: FinishedStudy) -> pd.DataFrame:
    """Squared errors on the target's test set of every run, in units of the variance of the test labels.

    Class labels count as codes e_c: a wrong prediction is off by |e_a - e_b|^2 = 2, and the variance of the labels is
    1 - sum_c p_c^2.

    Returns:
        Final rows of the study with `error` and its `stderr` over examples; none where test labels are not kept.
    """
    labels, frames = study.frames.test_labels, study.frames
    classes, numbers = frames.final("accuracy"), frames.final("mse")
    if labels is None:
        rows = classes.iloc[:0].assign(error=[])
    elif len(classes):
        shares = np.unique(labels, return_counts=True)[1] / len(labels)
        factor = 2 / (1 - float((shares**2).sum()))
        rows = classes.assign(error=factor * (1 - classes["value"]), stderr=factor * classes["stderr"])
    else:
        factor = 1 / float(labels.var(axis=0).mean())
        rows = numbers.assign(error=factor * numbers["value"], stderr=factor * numbers["stderr"])
    return rows[(rows["role"] == "method") & rows["pretrain_step"].isna()]


def _trained(errors: pd.DataFrame) -> list[Unexplained]:
    """What each method leaves unexplained with the most labels: an upper bound of the noise.

    Its error fell since the next smaller number of labels, as if by halving.
    """
    largest, curves = errors["n_target"].max(), []
    for _, rows in errors.groupby(["method", "source"]):
        seeds = rows.groupby("n_target")["error"].agg(["mean", "sem", "count"])
        if largest not in seeds.index:
            continue
        last, fell = seeds.loc[largest], 0.0
        if len(seeds) > 1:
            before = seeds.index[-2]
            fell = max(float(seeds["mean"][before] - last["mean"]), 0.0) / (largest / before - 1)
        over_examples = float(np.mean(rows[rows["n_target"] == largest]["stderr"].fillna(0) ** 2))
        stderr = math.sqrt(over_examples + float(np.nan_to_num(last["sem"])) ** 2)
        curves.append(Unexplained(Estimate(float(last["mean"]), stderr, int(last["count"])), fell))
    return curves


def _placed(name: str, pair: PairEstimate, n: int, study: FinishedStudy, errors: pd.DataFrame) -> Placement:
    best, draws, risks = pair.best, pair.draws, risk_draws(pair.draws, n)
    at_n = errors[errors["n_target"] == n]
    scratch = at_n[at_n["method"] == study.frames.baseline].set_index("seed")["error"]
    probe = at_n[at_n["method"].isin(study.methods(_PROBE)[:1]) & (at_n["source"] == name)]
    gains = (scratch - probe.set_index("seed")["error"]).dropna()

    def own(value: np.ndarray | float, possible: np.ndarray | float) -> Estimate:
        return ranged(float(value), np.asarray(possible, dtype=np.float64), n=pair.n_examples)

    return Placement(
        name=name,
        n_target=n,
        outside=own(best.outside_share, draws.outside_share),
        noise=own(best.noise_level, draws.noise_level),
        gamma=own(n / best.input_dimension, n / draws.input_dimension),
        scratch_modelled=own(scratch_risk(best, n) + best.noise, risks.scratch + draws.noise),
        modelled=own(modelled_transferability(best, n), risks.transferability),
        scratch=_over_seeds(scratch),
        measured=_over_seeds(gains),
    )


def _over_seeds(values: pd.Series) -> Estimate:
    return t_interval(values.to_numpy(np.float64)) if len(values) else Estimate.missing("undefined", 0)


def _levels(points: Sequence[Placement]) -> str:
    """How many times the measured error of training from scratch the modelled one is."""
    cases = {(one.n_target, one.name): one.scratch_modelled.value / one.scratch.value for one in points}
    known = [ratio for ratio in cases.values() if math.isfinite(ratio)]
    if not known:
        return "no training from scratch was measured to hold the model against"
    return (
        f"the model has {min(known):.2g} to {max(known):.2g} times (median {np.median(known):.2g}) the error that "
        "training from scratch has"
    )


def _signs(points: Sequence[Placement]) -> tuple[ClaimSeen, ...]:
    told = [one for one in points if one.measured.n >= _FEWEST_SEEDS and one.measured.sign != 0]
    if not told:
        return ()
    right = sum(one.measured.sign * one.modelled.value > 0 for one in told)
    up = sum(one.measured.sign > 0 for one in told)
    one_sign = max(up, len(told) - up)
    return (
        ClaimSeen(
            "the model's sign is that of the measured transferability more often than one sign for all pairs",
            "follows tahir2024, Figures 1c and 6c",
            right > one_sign,
            seen=f"right in {right} of {len(told)} cases whose sign is measured, one sign in {one_sign}",
        ),
    )


def _table(points: Sequence[Placement]) -> pd.DataFrame:
    """A row for each case: every number with the ends of its interval."""
    rows = []
    for point in points:
        row: dict[str, object] = {"source": point.name, "n_target": point.n_target}
        for name, one in vars(point).items():
            if isinstance(one, Estimate):
                ends = (one.interval.low, one.interval.high) if one.interval else (math.nan, math.nan)
                row |= {name: one.value, f"{name}_low": ends[0], f"{name}_high": ends[1]}
        rows.append(row)
    return pd.DataFrame(rows)


def _draw(pairs: dict[str, Pair], points: Sequence[Placement], study: str) -> Figure:
    n_columns = min(len(pairs), _PANELS_IN_A_ROW)
    n_rows = -(-len(pairs) // n_columns)
    with drawing():
        canvas = new_figure(_PANEL_INCHES[0] * n_columns + _BAR_INCHES, _PANEL_INCHES[1] * n_rows)
        panels = list(canvas.subplots(n_rows, n_columns, squeeze=False).flat)
        for axes in panels[len(pairs) :]:
            axes.remove()
        for axes, (name, pair) in zip(panels, pairs.items(), strict=False):
            own = [point for point in points if point.name == name]
            gammas = [point.gamma.value for point in own]
            highest = max(one.outside.interval.high if one.outside.interval else one.outside.value for one in own)
            gamma = np.geomspace(min([*gammas, 0.5]) / 2, max([*gammas, 2.0]) * 3, _GRID)
            share = np.linspace(0, min(max(_LEAST_TOP, 1.5 * highest), 1.0), _GRID)
            values = _values(pair, gamma, share)
            image = axes.pcolormesh(
                gamma, share, values, cmap=_MAP, vmin=-_LIMIT, vmax=_LIMIT, rasterized=True, shading="nearest"
            )
            noise = own[0].noise
            ends = (noise.value,) * 2 if noise.interval is None else (noise.interval.low, noise.interval.high)
            low, high = (replace(pair, noise=level**2 / (1 + level**2)) for level in ends)
            for one, style in ((pair, "-"), (low, ":"), (high, "--")):
                edge = _values(one, gamma, share)
                if edge.min() < 0 < edge.max():
                    axes.contour(gamma, share, edge, levels=[0.0], colors=INK, linewidths=1.0, linestyles=style)
            _draw_points(axes, own)
            axes.set_title(name)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xlabel("labels per direction of the inputs, n/d")
            axes.set_ylabel("share outside the pretrained features")
            axes.grid(visible=False)
        canvas.colorbar(image, ax=panels[: len(pairs)], label="transferability (variance of labels)", shrink=0.85)
    return Figure(f"tahir2024-placement-{study}", canvas, _table(points), _CAPTION)


def _values(pair: Pair, gamma: Float64[np.ndarray, " p"], share: Float64[np.ndarray, " q"]) -> np.ndarray:
    there = replace(pair, outside=share[:, None] * pair.signal)
    n = np.maximum(gamma * pair.input_dimension, 1.0)
    return np.asarray(np.clip(modelled_transferability(there, n[None, :]), -_LIMIT, _LIMIT))


def _draw_points(axes: Axes, points: Sequence[Placement]) -> None:
    for point in points:
        x, y = point.gamma, point.outside
        axes.errorbar(x.value, y.value, xerr=_arms(x), yerr=_arms(y), fmt="none", capsize=3, ecolor=INK, zorder=3)
        gain = point.measured.value if np.isfinite(point.measured.value) else 0.0
        colour = colormaps[_MAP](0.5 + 0.5 * np.clip(gain / _LIMIT, -1, 1))
        axes.scatter([x.value], [y.value], s=45, color=[colour], edgecolors=INK, linewidths=1.2, zorder=4)
        axes.annotate(f"n = {point.n_target}", (x.value, y.value), xytext=(6, 6), textcoords="offset points", zorder=5)


def _arms(one: Estimate) -> list[list[float]] | None:
    return [[one.value - one.interval.low], [one.interval.high - one.value]] if one.interval else None
