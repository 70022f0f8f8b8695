"""The pairs of a study on the diagram of linear transfer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure as Canvas

from transferscope.estimate import Estimate
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import INK, NARROW, drawing, new_figure
from transferscope_papers.place.placement import Placement, placement_rows
from transferscope_papers.theory.placement import Pair, modelled_transferability

_PANEL_INCHES, _BAR_INCHES = (3.8, 3.4), 0.8
_PANELS_IN_A_ROW = 3
_MAP = "RdBu"
_GRID = 161
_LEAST_TOP = 0.3
_LIMIT = 0.5
_BAR = "transferability (variance of labels)"


def draw_diagram(pairs: Mapping[str, Pair], points: Sequence[Placement]) -> Figure:
    """Where transfer helps by the model, and where the pairs are: one panel for each source.

    Blue is positive transferability, red negative; the line is the boundary, broken at the ends of the interval of the
    noise; crosses are the intervals of the pair, and the colour of a point is what was measured (white: nothing).

    Args:
        pairs: Point estimates of the parameters by the name of the source; their share outside does not matter.
        points: The placements, at least one of each source.
    """

    def drawn(n_columns: int, width: float) -> Canvas:
        n_rows = -(-len(pairs) // n_columns)
        canvas = new_figure(width, _PANEL_INCHES[1] * n_rows)
        panels = list(canvas.subplots(n_rows, n_columns, squeeze=False).flat)
        grid, spare = panels[: len(pairs)], panels[len(pairs) :]
        for axes in spare:
            axes.remove()
        images = []
        for axes, (name, pair) in zip(grid, pairs.items(), strict=True):
            own = [point for point in points if point.name == name]
            gamma, share = _ranges(own)
            images.append(_draw_map(axes, _values(pair, gamma, share), gamma, share))
            noise = own[0].noise_level
            ends = (noise.value,) * 2 if noise.interval is None else (noise.interval.low, noise.interval.high)
            low, high = (replace(pair, noise=level**2 / (1 + level**2)) for level in ends)
            for one, style in ((pair, "-"), (low, ":"), (high, "--")):
                _draw_boundary(axes, one, gamma, share, style)
            _draw_points(axes, own)
            axes.set_title(name)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xlabel("labels per direction of the inputs, n/d")
            axes.set_ylabel("share outside the pretrained features")
            axes.grid(visible=False)
        canvas.colorbar(images[-1], ax=grid, label=_BAR, shrink=0.85)
        return canvas

    with drawing():
        n_columns = min(len(pairs), _PANELS_IN_A_ROW)
        wide = drawn(n_columns, _PANEL_INCHES[0] * n_columns + _BAR_INCHES)
    return Figure(
        name="placement",
        canvas=wide,
        narrow=lambda: drawn(1, NARROW),
        data=placement_rows(points),
        caption=(
            "Map: the model. Point: the pair, filled with what was measured. Line: no transfer; "
            "broken: ends of the noise."
        ),
    )


def _ranges(points: Sequence[Placement]) -> tuple[np.ndarray, np.ndarray]:
    gammas = [placement.examples_per_dimension.value for placement in points]
    shares = [one.outside_share for one in points]
    highest = max(share.value if share.interval is None else share.interval.high for share in shares)
    top = min(max(_LEAST_TOP, 1.5 * highest), 1.0)
    return np.geomspace(min([*gammas, 0.5]) / 2, max([*gammas, 2.0]) * 3, _GRID), np.linspace(0, top, _GRID)


def _values(pair: Pair, gamma: np.ndarray, share: np.ndarray) -> np.ndarray:
    there = replace(pair, outside=share[:, None] * pair.signal)
    n = np.maximum(gamma * pair.input_dimension, 1.0)
    return modelled_transferability(there, n[None, :])


def _draw_map(axes: Axes, values: np.ndarray, gamma: np.ndarray, share: np.ndarray) -> QuadMesh:
    shown = np.clip(values, -_LIMIT, _LIMIT)
    return axes.pcolormesh(
        gamma, share, shown, cmap=_MAP, vmin=-_LIMIT, vmax=_LIMIT, rasterized=True, shading="nearest"
    )


def _draw_boundary(axes: Axes, pair: Pair, gamma: np.ndarray, share: np.ndarray, style: str) -> None:
    values = np.clip(_values(pair, gamma, share), -_LIMIT, _LIMIT)
    if values.min() < 0 < values.max():
        axes.contour(gamma, share, values, levels=[0.0], colors=INK, linewidths=1.0, linestyles=style)


def _draw_points(axes: Axes, points: Sequence[Placement]) -> None:
    for placement in {one.n_target: one for one in points}.values():
        x, y = placement.examples_per_dimension, placement.outside_share
        axes.errorbar(x.value, y.value, xerr=_arms(x), yerr=_arms(y), fmt="none", capsize=3, ecolor=INK, zorder=3)
        measured = placement.measured.value if np.isfinite(placement.measured.value) else 0.0
        colour = colormaps[_MAP](0.5 + 0.5 * np.clip(measured / _LIMIT, -1, 1))
        axes.scatter([x.value], [y.value], s=45, color=[colour], edgecolors=INK, linewidths=1.2, zorder=4)
        axes.annotate(
            f"n = {placement.n_target}", (x.value, y.value), xytext=(6, 6), textcoords="offset points", zorder=5
        )


def _arms(ranged: Estimate) -> list[list[float]] | None:
    if ranged.interval is None:
        return None
    return [[ranged.value - ranged.interval.low], [ranged.interval.high - ranged.value]]
