"""Figure 4 of liu2019: t-SNE of the weights of networks at the start and the end, from scratch and fine-tuned."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import nn

from transferscope.errors import DataError
from transferscope.models.build import frame_network
from transferscope.models.weights import open_network
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import drawing, mark_styles, new_figure
from transferscope.study.cell import MethodRecipe
from transferscope.study.context import WorkContext
from transferscope.study.fitting import number, task_of
from transferscope_papers.draw import TEXT_INCHES
from transferscope_papers.from_study import FinishedStudy
from transferscope_papers.made import FigureMade

_PERPLEXITY = 5.0


def figure_4(study: FinishedStudy) -> FigureMade:
    """Draw the kept networks of a study by the distances between all their weights; mean distances are over seeds.

    Raises:
        DataError: Fewer than two networks have their snapshot before the first step and their end, or they differ in
            architecture.
    """
    context = WorkContext(study.store.files)
    fits = [
        one.cell for one in study.cells if one.cell.role == "method" and one.cell.labels.get("pretrain_step") is None
    ]
    files = {cell.key: (context.snapshot(cell.key, 0), context.network(cell.key)) for cell in fits}
    kept = [cell for cell in fits if all(file.is_file() for file in files[cell.key])]
    if len(kept) < 2:
        raise DataError(
            f"{study.name} kept start and end of {len(kept)} networks in {study.store.files}; expected at least 2: add "
            'keep = "all" to [engine] and [diagnostics.weights] with every = 100'
        )
    sizes = {"n_source": "examples", "n_target": "labels"}
    several = [size for size in sizes if len({cell.labels.get(size) for cell in kept} - {None, 0}) > 1]
    rows, networks = [], []
    for cell in kept:
        recipe = MethodRecipe.from_payload(cell.payload)
        train = task_of(cell, recipe).target.train
        frame = frame_network(recipe.network, train.input_shape, train.n_outputs)
        own = [f"{number(cell, size):,} {sizes[size]}" for size in several if cell.labels.get(size)]
        way = ", ".join([study.frames.at_start(str(cell.labels["method"]), str(cell.labels["source"] or "")), *own])
        for at, file in zip(("start", "end"), files[cell.key], strict=True):
            rows.append({"network": way, "seed": cell.labels["seed"], "at": at})
            networks.append(open_network(frame, file).network)
    distances = weight_distances(networks)
    table = pd.DataFrame(rows)
    moved = pd.Series(np.diagonal(distances, 1)[::2], index=table.loc[::2, "network"])
    means = moved.groupby(level=0, sort=False).mean()
    sentences = (
        f"{len(kept)} of {len(fits)} runs kept their start and end",
        f"from start to end, mean over seeds: {'; '.join(f'{way} {mean:.3g}' for way, mean in means.items())}",
    )
    return FigureMade((_draw(study.name, table, distances),), sentences)


def weight_distances(networks: Sequence[nn.Module]) -> Float[np.ndarray, "M M"]:
    """Return Euclidean distances between all parameters of every two networks; float64.

    Source: "Towards Understanding the Transferability of Deep Representations", section A.

    Raises:
        DataError: Parameters differ in names or shapes.
    """
    weights = [{name: p.detach().double() for name, p in network.named_parameters()} for network in networks]
    distances = np.zeros((len(weights), len(weights)))
    for i, first in enumerate(weights):
        if {name: p.shape for name, p in first.items()} != {name: p.shape for name, p in weights[0].items()}:
            raise DataError("the kept networks differ in architecture; keep the runs of one in the study")
        for j, other in enumerate(weights[:i]):
            squares = [(first[name] - other[name]).square().sum() for name in first]
            distances[i, j] = distances[j, i] = float(torch.stack(squares).sum().sqrt())
    return distances


def _draw(name: str, table: pd.DataFrame, distances: Float[np.ndarray, "M M"]) -> Figure:
    """Draw a line from each start (hollow) to its end; a colour or mark for each method with its source."""
    from sklearn.manifold import TSNE  # slow import

    perplexity = min(_PERPLEXITY, (len(table) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, metric="precomputed", init="random", random_state=0, method="exact")
    table[["x", "y"]] = tsne.fit_transform(distances.copy())  # it squares them in place
    styles = mark_styles(table["network"].unique().tolist(), None)
    with drawing():
        canvas = new_figure(TEXT_INCHES, 3.4)
        axes = canvas.subplots()
        for way, style in styles.items():
            own = table[table["network"] == way]
            start, end = own[own["at"] == "start"], own[own["at"] == "end"]
            axes.plot([start["x"], end["x"]], [start["y"], end["y"]], "-", color=style.colour, linewidth=0.8, alpha=0.5)
            axes.plot(
                start["x"], start["y"], style.mark, markerfacecolor="none", markeredgecolor=style.colour, markersize=5
            )
            axes.plot(end["x"], end["y"], style.mark, color=style.colour, markersize=5, label=way)
        axes.set(xticks=[], yticks=[])
        axes.grid(visible=False)
        canvas.legend(loc="outside right upper", fontsize="small")
    caption = (
        f"t-SNE (perplexity {perplexity:.3g}) of the distances between all weights of the networks of {name}: hollow "
        "at the start, filled at the end. Only neighbourhoods are meaningful; networks that differ by a permutation "
        "of units lie far apart."
    )
    return Figure("liu2019-fig4", canvas, table, caption)
