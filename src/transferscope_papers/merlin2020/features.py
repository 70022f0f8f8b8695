"""Figure 2a of merlin2020: t-SNE of the features of every method, on the target's training and test examples."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from transferscope.diagnostics.class_separation import variance_ratio
from transferscope.errors import DataError, unsupported
from transferscope.models.build import frame_network
from transferscope.models.weights import open_network
from transferscope.report.blocks import Figure
from transferscope.report.figures.style import drawing, new_figure
from transferscope.store import StoredCell
from transferscope.study.cell import MethodRecipe
from transferscope.study.context import WorkContext
from transferscope.study.fitting import task_of
from transferscope.training import outputs_of, scale_of, to_tensors
from transferscope_papers.draw import COLOURS, TEXT_INCHES
from transferscope_papers.from_study import FinishedStudy
from transferscope_papers.made import FigureMade

PERPLEXITY = 80.0
"""As in appendix A.1; a third of the examples if there are fewer than 240."""

_EXAMPLES = 500
"""Shown examples of each part, evenly spaced."""

_PARTS = ("train", "test")


@dataclass(frozen=True)
class CellFeatures:
    """The features of one network.

    Attributes:
        values: Features of the shown examples by part of the target, "train" and "test".
    """

    method: str
    seed: int
    values: dict[str, np.ndarray]
    labels: dict[str, np.ndarray]


def figure_2a(study: FinishedStudy) -> FigureMade:
    """Draw the maps of a study that kept its networks: of the first seed; ratios are means over all seeds.

    Training and test examples of a network share a map. Each network has its own map, since features differ.

    Raises:
        DataError: Fewer than two methods kept their networks, the study has several sources or numbers of labels, or
            the task is not a classification.
    """
    fits, context = [one for one in study.cells if one.cell.role == "method"], WorkContext(study.store.files)
    for label, what in (("source", "sources"), ("n_target", "numbers of labels")):
        if len(several := {str(own) for one in fits if (own := one.cell.labels[label]) is not None}) > 1:
            raise DataError(
                f"{study.name} has runs of {len(several)} {what} ({', '.join(sorted(several))}), but Figure 2a shows "
                "one; keep one in the study file"
            )
    kept = [one for one in fits if context.network(one.cell.key).is_file()]
    networks = [features_of(stored, context) for stored in kept]
    methods = list(dict.fromkeys(item.method for item in networks))
    if len(methods) < 2:
        raise DataError(
            f"{study.name} kept the networks of {len(methods)} methods in {study.store.files}; expected at least 2: "
            'add keep = "all" to [engine]'
        )
    ratios = pd.DataFrame(
        [
            {
                "method": one.method,
                "seed": one.seed,
                "part": part,
                "value": variance_ratio(one.values[part], one.labels[part]),
            }
            for one in networks
            for part in _PARTS
        ]
    )
    means = ratios.groupby(["method", "part"])["value"].mean()
    sentences = [
        "variance within classes over that between them, train / test: "
        + "; ".join(f"{method} {means[method, 'train']:.3g} / {means[method, 'test']:.3g}" for method in methods)
    ]
    first = [one for one in networks if one.seed == min(ratios["seed"])]
    return FigureMade((_draw(study, first, means),), tuple(sentences))


def features_of(stored: StoredCell, context: WorkContext) -> CellFeatures:
    """Return the features of target examples in the network of a finished run, which `context` must have kept.

    Raises:
        DataError: The task is not a classification.
    """
    cell = stored.cell
    recipe = MethodRecipe.from_payload(cell.payload)
    target = task_of(cell, recipe).target
    if target.train.kind != "classification":
        raise unsupported("Figure 2a", "a classification task", f"{target.name} is {target.train.kind}")
    frame = frame_network(recipe.network, target.train.input_shape, target.train.n_outputs)
    network = open_network(frame, context.network(cell.key)).network.eval()
    values, labels = {}, {}
    for part, data in zip(_PARTS, (target.train, target.test), strict=True):
        shown = to_tensors(data, scale_of(network, target.train), "cpu").spread(_EXAMPLES)
        values[part] = outputs_of(network.features, shown).numpy()
        labels[part] = shown.labels.numpy()
    return CellFeatures(str(cell.labels["method"]), int(str(cell.labels["seed"])), values, labels)


def _draw(study: FinishedStudy, networks: list[CellFeatures], means: pd.Series) -> Figure:
    """Draw a column per method, training examples above test examples."""
    from sklearn.manifold import TSNE  # slow import

    tables = []
    with drawing():
        canvas: Canvas = new_figure(min(2.0 * len(networks) + 0.4, TEXT_INCHES), 4.6)
        grid = canvas.subplots(2, len(networks), squeeze=False)
        for column, one in enumerate(networks):
            together = np.concatenate([one.values[part] for part in _PARTS])
            perplexity = min(PERPLEXITY, (len(together) - 1) / 3)
            positions = TSNE(perplexity=perplexity, init="random", random_state=0).fit_transform(together)
            split = np.split(positions, [len(one.values["train"])])
            reach = 1.05 * np.abs(positions).max()
            for axes, part, places in zip(grid[:, column], _PARTS, split, strict=True):
                labels = one.labels[part]
                axes.scatter(*places.T, c=[COLOURS[label % len(COLOURS)] for label in labels], s=4, linewidths=0)
                axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], aspect="equal")
                axes.grid(visible=False)
                axes.set_xlabel(f"ratio {means[one.method, part]:.2g}")
                if part == "train":
                    axes.set_title(one.method)
                if column == 0:
                    axes.set_ylabel({"train": "training examples", "test": "test examples"}[part])
                x, y = places.T
                tables.append(pd.DataFrame({"method": one.method, "part": part, "label": labels, "x": x, "y": y}))
    caption = (
        f"t-SNE (perplexity {perplexity:.3g}) of the features of one network of each method, a colour for each class; "
        "training and test examples of a network lie on one map. Below: variance within classes over that between "
        f"them, mean over the seeds of {study.name}."
    )
    return Figure("merlin2020-fig2a", canvas, pd.concat(tables, ignore_index=True), caption)
