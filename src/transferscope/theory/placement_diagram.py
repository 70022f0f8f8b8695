"""Drawing pairs on the diagram of linear transfer: where transfer helps by the model, and where the pairs are."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from transferscope.estimate import Estimate
from transferscope.theory.placement import Pair, Placement, modelled_transferability

_MAP = "RdBu"
_INK = "#1b1f23"
_GRID = 161
_LEAST_TOP = 0.3
_LIMIT = 0.5
_KEY_LETTERS = 70
_BAR = "transferability (variance of labels)"
_KEY = "Map: the model. Point: the pair, filled with what was measured. Line: no transfer; broken: ends of the noise."


@dataclass(frozen=True)
class PlacedPanel:
    """One panel: a source with its points.

    Attributes:
        title: Above it.
        pair: The parameters of the map; their share outside does not matter.
        low_noise: The same with the lower end of the noise.
        high_noise: The same with its upper end.
        placements: The points.
    """

    title: str
    pair: Pair
    low_noise: Pair
    high_noise: Pair
    placements: tuple[Placement, ...]


def panel_of(title: str, pair: Pair, placements: Sequence[Placement]) -> PlacedPanel:
    """A panel for one source.

    Args:
        title: Above it.
        pair: Point estimates.
        placements: The points of this source, at least one.

    Returns:
        The panel; the boundary is shown at both ends of the interval of the noise too.
    """
    interval = placements[0].noise_level.interval
    ends = (placements[0].noise_level.value,) * 2 if interval is None else (interval.low, interval.high)
    low, high = (replace(pair, noise=level**2 / (1 + level**2)) for level in ends)
    return PlacedPanel(title, pair, low, high, tuple(placements))


def draw_placements(canvas: Figure, panels: Sequence[PlacedPanel]) -> None:
    """Draw on an empty figure, one panel beside the other.

    Blue is positive transferability, red negative; the line is the boundary, broken at the ends of the interval of the
    noise; crosses are the intervals of the pair, and the colour of a point is what was measured (white: nothing).

    Args:
        canvas: The figure.
        panels: The panels, at least one.
    """
    grid = canvas.subplots(1, len(panels), squeeze=False)[0]
    images = []
    for axes, panel in zip(grid, panels, strict=True):
        gamma, share = _ranges(panel)
        images.append(_draw_map(axes, _values(panel.pair, gamma, share), gamma, share))
        for pair, style in ((panel.pair, "-"), (panel.low_noise, ":"), (panel.high_noise, "--")):
            _draw_boundary(axes, pair, gamma, share, style)
        _draw_points(axes, panel)
        _label(axes, panel)
    canvas.colorbar(images[-1], ax=list(grid), label=_BAR, shrink=0.85)
    canvas.supxlabel(textwrap.fill(_KEY, _KEY_LETTERS * len(panels)), fontsize="small", x=0.01, ha="left")


@dataclass(frozen=True)
class PlacementRow:
    """One number of a pair.

    Attributes:
        source: Name of the source, with its size where there are several.
        method: The linear transfer that was measured; "" for none.
        n_target: Target labels.
        name: What it is: a field of `Placement`.
        value: The number.
        low: Lower end of its interval; None for none.
        high: Upper end.
        stderr: Its standard error; None if unknown.
        n: Examples or seeds behind it.
        status: As in `records.Estimate`.
    """

    source: str
    method: str
    n_target: int
    name: str
    value: float
    low: float | None
    high: float | None
    stderr: float | None
    n: int
    status: str


def placement_rows(panels: Sequence[PlacedPanel]) -> list[PlacementRow]:
    """The numbers of all points as rows of a table."""
    return [
        PlacementRow(
            source=panel.title,
            method=placement.method,
            n_target=placement.n_target,
            name=name,
            value=ranged.value,
            low=None if ranged.interval is None else ranged.interval.low,
            high=None if ranged.interval is None else ranged.interval.high,
            stderr=ranged.stderr,
            n=ranged.n,
            status=ranged.status,
        )
        for panel in panels
        for placement in panel.placements
        for name, ranged in placement.quantities.items()
    ]


def _ranges(panel: PlacedPanel) -> tuple[np.ndarray, np.ndarray]:
    gammas = [placement.examples_per_dimension.value for placement in panel.placements]
    shares = [one.outside_share for one in panel.placements]
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
        axes.contour(gamma, share, values, levels=[0.0], colors=_INK, linewidths=1.0, linestyles=style)


def _draw_points(axes: Axes, panel: PlacedPanel) -> None:
    for placement in {one.n_target: one for one in panel.placements}.values():
        x, y = placement.examples_per_dimension, placement.outside_share
        axes.errorbar(x.value, y.value, xerr=_arms(x), yerr=_arms(y), fmt="none", capsize=3, ecolor=_INK, zorder=3)
        measured = placement.measured.value if np.isfinite(placement.measured.value) else 0.0
        colour = colormaps[_MAP](0.5 + 0.5 * np.clip(measured / _LIMIT, -1, 1))
        axes.scatter([x.value], [y.value], s=45, color=[colour], edgecolors=_INK, linewidths=1.2, zorder=4)
        axes.annotate(
            f"n = {placement.n_target}", (x.value, y.value), xytext=(6, 6), textcoords="offset points", zorder=5
        )


def _arms(ranged: Estimate) -> list[list[float]] | None:
    if ranged.interval is None:
        return None
    return [[ranged.value - ranged.interval.low], [ranged.interval.high - ranged.value]]


def _label(axes: Axes, panel: PlacedPanel) -> None:
    axes.set_title(panel.title)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("labels per direction of the inputs, n/d")
    axes.set_ylabel("share outside the pretrained features")
    axes.grid(visible=False)
