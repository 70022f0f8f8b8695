"""Figures 3b, 3c, 5, 10, 12 and 13 of liu2019: the loss around the initial and the final weights of each layer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet

from transferscope.errors import DataError
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import drawing, new_figure
from transferscope_papers.from_study import FinishedStudy
from transferscope_papers.made import FigureMade

_SCRATCH = "from scratch"
_AT = {"start": "landscape_loss@0", "end": "landscape_loss"}
_LEVELS = 12


@dataclass(frozen=True)
class _Map:
    """The loss on a plane through the weights of one network."""

    way: str
    at: str
    layer: str
    seed: int
    axis: np.ndarray
    loss: np.ndarray


def landscapes(study: FinishedStudy) -> FigureMade:
    """Draw the maps of a study with the diagnostic `landscape` at the start and the end, from scratch and fine-tuned.

    The networks of the first seed are drawn; the sentences are about all seeds.

    Raises:
        DataError: The study lacks planes of one of them, or fine-tunes from several sources.
    """
    maps = _maps(study)
    ways = list(dict.fromkeys(item.way for item in maps))
    if len(ways) != 2 or _SCRATCH not in ways:
        raise DataError(
            f"{study.name} has landscapes of {len(ways)} kinds of networks ({', '.join(ways) or 'none'}); expected "
            "training from scratch and fine-tuning from one source, as in studies/why-landscapes.toml"
        )
    tuned = next(way for way in ways if way != _SCRATCH)
    table = pd.DataFrame(
        [
            {
                "network": item.way,
                "at": item.at,
                "layer": item.layer,
                "seed": item.seed,
                "centre": item.loss[len(item.axis) // 2, len(item.axis) // 2],
                "rise": item.loss.mean() - item.loss[len(item.axis) // 2, len(item.axis) // 2],
                "variation": np.ptp(item.loss),
            }
            for item in maps
        ]
    )
    layers = list(dict.fromkeys(table["layer"]))
    sentences = [
        f"{at}, {layer}: the loss varies by "
        + " and ".join(
            f"{part['variation'].mean():.3g} ({way})"
            for way in (_SCRATCH, tuned)
            if not (part := table[(table["network"] == way) & (table["at"] == at) & (table["layer"] == layer)]).empty
        )
        for at in _AT
        for layer in layers
        if ((table["at"] == at) & (table["layer"] == layer)).any()
    ]
    first = [item for item in maps if item.seed == min(table["seed"])]
    drawings = tuple(_draw(first, (_SCRATCH, tuned), layers, at, table) for at in _AT if at in set(table["at"]))
    return FigureMade(drawings, tuple(sentences))


def _maps(study: FinishedStudy) -> list[_Map]:
    tables = study.frames.study.spec["diagnostics"]
    losses = {at: study.store.arrays(study.name, name) for at, name in _AT.items()}
    axes = study.store.arrays(study.name, "landscape_axis")
    shown, maps = {study.frames.baseline, *study.methods("fine-tune")[:1]}, []
    for stored in study.cells:
        labels, key = stored.cell.labels, stored.cell.key
        layer = _layer(tables.get(str(labels.get("diagnostic"))))
        if layer is None or key not in axes or labels["method"] not in shown:
            continue
        source = labels.get("source")
        way = _SCRATCH if source is None else f"{labels['method']} from {source}"
        for at, by_key in losses.items():
            if key in by_key and by_key[key].ndim == 2:
                maps.append(_Map(way, at, layer, int(str(labels["seed"])), axes[key], by_key[key]))
    return maps


def _layer(table: object) -> str | None:
    """Return the weights that a landscape moves; None for another diagnostic."""
    if not isinstance(table, Mapping) or table.get("name") != "landscape":
        return None
    settings = table.get("settings")
    blocks = settings.get("blocks") if isinstance(settings, Mapping) else None
    return ", ".join(str(block).removeprefix("features.") for block in blocks) if blocks else "all layers"


def _draw(maps: list[_Map], ways: tuple[str, str], layers: list[str], at: str, table: pd.DataFrame) -> Figure:
    """Draw a row per way of training and a column per layer; the maps of a column share a colour scale."""
    where = {"start": "at the start", "end": "at the end"}[at]
    with drawing():
        canvas = new_figure(1.9 * len(layers) + 0.7, 4.1)
        grid = canvas.subplots(2, len(layers), squeeze=False)
        for column, layer in enumerate(layers):
            shown = {item.way: _from_cross(item) for item in maps if (item.at, item.layer) == (at, layer)}
            finite = np.concatenate([item.loss[np.isfinite(item.loss)] for item in shown.values()])
            low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
            levels = np.linspace(low, max(high, low + 1e-12), _LEVELS)
            image = None
            for row, way in enumerate(ways):
                axes = grid[row, column]
                if way in shown:
                    image = _draw_map(axes, shown[way], levels)
                axes.set_title(layer if row == 0 else "")
                if column == 0:
                    axes.set_ylabel(way)
            if image is not None:
                bar = canvas.colorbar(image, ax=list(grid[:, column]), location="bottom", shrink=0.9, aspect=12)
                bar.set_ticks([levels[0], levels[-1]], labels=[f"{end:.3g}" for end in (levels[0], levels[-1])])
        canvas.suptitle(f"Change of the loss {where}, along two random directions of each layer", fontsize=10)
    caption = (
        f"Loss on the target's training examples around the weights {where}, less that at these weights (cross), in "
        "units of the filters' norms; one network each. The maps of a column share their scale."
    )
    return Figure(f"liu2019-landscapes-{at}", canvas, table[table["at"] == at].reset_index(drop=True), caption)


def _from_cross(item: _Map) -> _Map:
    """Return losses minus that at the point nearest to the weights; all NaN if that is not finite."""
    middle = int(np.abs(item.axis).argmin())
    at_cross = item.loss[middle, middle]
    return replace(item, loss=item.loss - (at_cross if np.isfinite(at_cross) else np.nan))


def _draw_map(axes: Axes, item: _Map, levels: np.ndarray) -> QuadContourSet:
    shown = np.ma.masked_invalid(item.loss.T)
    image = axes.contourf(item.axis, item.axis, shown, levels=levels, cmap="viridis_r")
    axes.contour(item.axis, item.axis, shown, levels=levels, colors="white", linewidths=0.4, alpha=0.7)
    axes.plot(0, 0, "+", color="black", markersize=7)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.tick_params(labelsize=6)
    return image
