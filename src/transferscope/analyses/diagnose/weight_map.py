"""A map of the trained networks of a finished study, by the distances between their weights."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from torch import nn

from transferscope.analyses.diagnose.statements import WORDS
from transferscope.analyses.result import AnalysisResult
from transferscope.data.load import load
from transferscope.errors import DataError, NetworkError, StoreError
from transferscope.models import Network
from transferscope.models.build import frame_network
from transferscope.models.weights import open_network
from transferscope.report.blocks import Figure, Section, Table
from transferscope.report.figures.choice import evenly_chosen
from transferscope.report.figures.style import BASELINE_COLOUR, drawing, mark_styles, new_figure
from transferscope.report.page import Verdict
from transferscope.report.save import file_name, save_figure, write_table
from transferscope.statements import state
from transferscope.store import PlannedCell, Store
from transferscope.study.cell import MethodRecipe, code_as_planned, code_of
from transferscope.study.context import WorkContext
from transferscope.study.facts import shape_as_read
from transferscope.study.fitting import number
from transferscope.study.places import one_study, open_existing

MOST_NETWORKS = 200
"""Networks on a map, snapshots included, above which snapshots are left out; the last ones are always there."""

LEAST_NETWORKS = 4
"""Networks below which there is nothing to lay out."""

NO_SOURCE = "from scratch"
"""What the legend calls networks without a source."""

_INCHES = (6.2, 4.2)
_SMALLEST, _LARGEST = 3.5, 7.0  # points; marks of the fewest and of the most labels
_PERPLEXITY = 5.0  # of the paper's kind of map: a handful of networks are neighbours


@dataclass(frozen=True, slots=True)
class MappedNetwork:
    """A network on the map; its source is "" without pretraining, its step None at the end."""

    key: str
    source: str
    method: str
    n_target: int
    seed: int
    step: int | None
    file: Path


@dataclass(frozen=True)
class Trajectory:
    """The path of a network on the map.

    Attributes:
        source: The source of pretraining; "" without pretraining.
        positions: From the earliest snapshot to the end, shape (T, 2), T at least 1; the start first if it is known.
        has_start: Whether the first position is that of the start.
    """

    source: str
    method: str
    n_target: int
    positions: Float[np.ndarray, "T 2"]
    has_start: bool


@dataclass(frozen=True)
class WeightMap(AnalysisResult):
    """The trained networks of a study in the plane.

    Attributes:
        networks: Those of one cell together, in the order of their training; the end last.
        distances: Euclidean distances between all their weights, shape (M, M).
        positions: The t-SNE map of these distances, shape (M, 2).
    """

    kind: ClassVar[str] = "diagnose"

    study: str
    networks: tuple[MappedNetwork, ...]
    distances: Float[np.ndarray, "M M"]
    positions: Float[np.ndarray, "M 2"]
    perplexity: float

    @property
    def title(self) -> str:
        """The study."""
        return f"Weights of {self.study}"

    @property
    def verdict(self) -> Verdict:
        """The number of networks on the map, and its limitations."""
        trajectories = self.trajectories()
        mapped = state(
            "map",
            networks=len(trajectories),
            points=len(self.networks),
            perplexity=self.perplexity,
        )
        return Verdict({}, WORDS.say(mapped), ())

    def table(self) -> pd.DataFrame:
        """Return one row per network: key, source, method, n_target, seed, step (missing at the end), x, y."""
        rows = [
            {**{k: v for k, v in asdict(network).items() if k != "file"}, "x": x, "y": y}
            for network, (x, y) in zip(self.networks, self.positions, strict=True)
        ]
        return pd.DataFrame(rows)

    def distance_table(self) -> pd.DataFrame:
        """Return the distances, with a row and a column for each network."""
        names = [f"{n.key}{'' if n.step is None else f'.step{n.step}'}" for n in self.networks]
        distances = pd.DataFrame(self.distances, columns=names)
        distances.insert(0, "network", names)
        return distances

    def trajectories(self) -> list[Trajectory]:
        """Return the networks of each cell in the order of their training."""
        rows = zip(self.networks, self.positions, strict=True)
        trajectories = []
        for _, group in groupby(rows, key=lambda row: row[0].key):
            networks, positions = zip(*group, strict=True)
            first: MappedNetwork = networks[0]
            labels = (first.source, first.method, first.n_target)
            trajectories.append(Trajectory(*labels, np.array(positions), has_start=first.step == 0))
        return trajectories

    def shown_tables(self) -> tuple[Table, ...]:
        """Return no table."""
        return ()

    def sections(self) -> list[Section]:
        """Return the map."""
        return [Section("The networks by their weights", "weight-map", (self.figure(),))]

    def figure(self) -> Figure:
        """Return the map with its positions."""
        with drawing():
            canvas = new_figure(*_INCHES)
            draw_weight_map(canvas, self.trajectories(), f"{self.title} (t-SNE)")
        return Figure(f"{file_name(self.study)}-weight-map", canvas, self.table(), "t-SNE of the distances of weights.")

    def write(self, folder: Path) -> list[str]:
        """Write the map as SVG and PDF, positions and distances as CSV; return the names of the files."""
        folder.mkdir(parents=True, exist_ok=True)
        figure, distances = self.figure(), f"{file_name(self.study)}-weight-distances.csv"
        files = [path.name for path in save_figure(figure.canvas, figure.svg, folder, figure.name)]
        write_table(figure.data, folder / f"{figure.name}.csv")
        write_table(self.distance_table(), folder / distances)
        return [*files, f"{figure.name}.csv", distances]


def draw_weight_map(canvas: Canvas, trajectories: Sequence[Trajectory], title: str) -> None:
    """Draw networks by their weights: colour for the source, mark for the method and its size for the labels.

    Marks are hollow at the start.
    """
    axes = canvas.subplots()
    sources = list(dict.fromkeys(one.source for one in trajectories))
    methods = list(dict.fromkeys(one.method for one in trajectories))
    colours = {source: style.colour for source, style in mark_styles(sources, "" if "" in sources else None).items()}
    marks = {method: style.mark for method, style in mark_styles(methods, None).items()}
    counts = sorted({one.n_target for one in trajectories})
    least = _SMALLEST if len(counts) > 1 else _LARGEST
    sizes = dict(zip(counts, np.linspace(least, _LARGEST, len(counts)).tolist(), strict=True))
    for one in trajectories:
        (x, y), colour, mark = one.positions.T, colours[one.source], marks[one.method]
        axes.plot(x, y, "-", color=colour, linewidth=0.8, alpha=0.5)
        axes.plot(x[1:-1], y[1:-1], ".", color=colour, markersize=2.5, alpha=0.7)
        if one.has_start:
            axes.plot(x[0], y[0], mark, markerfacecolor="none", markeredgecolor=colour, markersize=5, alpha=0.8)
        axes.plot(x[-1], y[-1], mark, color=colour, markersize=sizes[one.n_target])
    axes.set(title=title, xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)
    named = [(marks[method], BASELINE_COLOUR, 6.0, method) for method in methods]
    named += [("o", BASELINE_COLOUR, sizes[n], f"{n:,} labels") for n in counts if len(counts) > 1]
    named += [("o", "none", 6.0, "start")] if any(one.has_start for one in trajectories) else []
    handles = [Line2D([], [], color=colours[source], linewidth=4, label=source or NO_SOURCE) for source in sources]
    handles += [
        Line2D([], [], linestyle="", marker=mark, color=BASELINE_COLOUR, mfc=fill, markersize=size, label=name)
        for mark, fill, size, name in named
    ]
    canvas.legend(handles=handles, loc="outside right upper", fontsize="small")


def weight_distances(networks: Sequence[nn.Module]) -> Float[np.ndarray, "M M"]:
    """Return Euclidean distances between all parameters of every two networks.

    Source: "Towards Understanding the Transferability of Deep Representations", section A. Two networks are read at a
    time.

    Returns:
        Symmetric, zero diagonal, float64.

    Raises:
        NetworkError: Parameters differ in names or shapes.
    """
    shapes = [{name: tuple(p.shape) for name, p in network.named_parameters()} for network in networks]
    for i, other in enumerate(shapes):
        if other != shapes[0]:
            raise NetworkError(
                f"network {i} has other parameters than network 0; expected networks of one architecture"
            )
    distances = np.zeros((len(networks), len(networks)))
    for i, first in enumerate(networks):
        for j in range(i):
            pairs = zip(first.parameters(), networks[j].parameters(), strict=True)
            squares = [(a.detach().double() - b.detach().double().to(a.device)).square().sum() for a, b in pairs]
            distances[i, j] = distances[j, i] = float(torch.stack(squares).sum().sqrt())
    return distances


def map_weights(
    place: str | Path,
    *,
    study: str | None = None,
    seed: int = 0,
    on_network: Callable[[int, int], None] = lambda done, total: None,
) -> WeightMap:
    """Map the trained networks of a finished study by the distances between their weights.

    Args:
        place: A study file, or the path or URL of a store.
        study: Name of the study if the store holds several.

    Raises:
        TransferscopeError: As in `map_study`, or the store or study does not exist.
    """
    with open_existing(str(place)) as store:
        return map_study(store, one_study(store, str(place), study), seed=seed, on_network=on_network)


def map_study(
    store: Store, study: str, *, seed: int = 0, on_network: Callable[[int, int], None] = lambda done, total: None
) -> WeightMap:
    """Map the networks that the methods of a study trained, from start to end if snapshots exist.

    Source: "Towards Understanding the Transferability of Deep Representations", section A and Fig. 4. Networks after
    fewer steps of pretraining are left out.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: No run of a method is finished.
        DataError: Fewer than 4 networks were kept.
        NetworkError: A network does not match the architecture of the study, or has weights that are not finite.
    """
    done = [one for one in store.cells(study) if one.cell.role == "method" and one.state == "done"]
    fits = [one.cell for one in done if one.cell.labels.get("pretrain_step") is None]
    if not fits:
        of_commands = "run" in store.study(study).spec
        raise StoreError(
            f"the runs of {study} are commands, whose networks are not known to transferscope"
            if of_commands
            else f"no method of {study} is done; run it with `transferscope run` before its networks are mapped"
        )
    listed = _listed(fits, WorkContext(store.files))
    if len(listed) < LEAST_NETWORKS:
        raise DataError(
            f"{study} kept {len(listed)} networks in {store.files}; expected at least {LEAST_NETWORKS}: add keep = "
            '"all" to [engine] and [diagnostics.weights] with every = 100 to its file, and run it in a new store'
        )
    with code_as_planned(code_of([fits[0]])):
        recipe = MethodRecipe.from_payload(fits[0].payload)
        data = load(recipe.target.data, transforms=recipe.target.transforms, limit=recipe.target.limit)
        frame = frame_network(recipe.network, shape_as_read(data, recipe.network), data.train.n_outputs)
    networks = []
    for i, entry in enumerate(listed):
        networks.append(_read(frame, entry))
        on_network(i + 1, len(listed))
    distances = weight_distances(networks)
    perplexity = min(_PERPLEXITY, (len(listed) - 1) / 3)
    from sklearn.manifold import TSNE  # takes seconds to import

    tsne = TSNE(perplexity=perplexity, metric="precomputed", init="random", random_state=seed, method="exact")
    positions = tsne.fit_transform(distances.copy())  # it squares them in place
    return WeightMap(study, tuple(listed), distances, positions, perplexity)


def _listed(cells: Sequence[PlannedCell], context: WorkContext) -> list[MappedNetwork]:
    """Return the existing networks of the cells, with as many snapshots as MOST_NETWORKS allows."""
    there = [cell for cell in cells if context.network(cell.key).is_file()]
    with code_as_planned(code_of(there)):
        ends = [cell for cell in there if MethodRecipe.from_payload(cell.payload).method.is_diagnosed]
    most = max(0, MOST_NETWORKS // max(1, len(ends)) - 1)
    listed = []
    for cell in ends:
        snapshots = list(context.snapshots(cell.key).items())
        chosen = evenly_chosen(snapshots, most) if most > 1 else snapshots[:most]
        source, method = cell.labels["source"], str(cell.labels["method"])
        labels = ("" if source is None else str(source), method, number(cell, "n_target"), number(cell, "seed"))
        for step, file in (*chosen, (None, context.network(cell.key))):
            listed.append(MappedNetwork(cell.key, *labels, step, file))
    return listed


def _read(frame: Network, entry: MappedNetwork) -> Network:
    """Return a network with a zero bias added to a head without one: the same function, with all parameters."""
    network = open_network(frame, entry.file).network
    if not isinstance(network.head, nn.Linear) or "bias" in dict(network.head.named_parameters()):
        return network
    weight = network.head.weight.detach()
    head = nn.Linear(weight.shape[1], weight.shape[0])
    head.load_state_dict({"weight": weight, "bias": torch.zeros(len(weight))})
    return network.with_head(head)
