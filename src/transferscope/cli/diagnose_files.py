"""What `transferscope diagnose --out` writes: records as CSV, arrays as npz, figures as SVG and PDF."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from transferscope.analyses.diagnose import INCHES, TWO_PANELS, WIDE, Measured, measured_rows
from transferscope.diagnostics import features_of, tsne_of_features
from transferscope.errors import DataError
from transferscope.report.figures.maps import draw_feature_map
from transferscope.report.figures.style import drawing, new_figure, to_svg
from transferscope.report.save import save_figure, write_table
from transferscope.study.diagnose_file import FileQuestion, FileSubject

_LEAST_MAPPED = 8  # examples
_PERPLEXITY = 30.0


def write_all(
    measured: list[Measured], looked_at: FileSubject, question: FileQuestion, out: Path, *, feature_map: bool
) -> str:
    """Write records, arrays and figures.

    Args:
        measured: What there is to write.
        looked_at: What they were measured on, and whose features are mapped.
        question: Where it came from; its seed is that of the map.
        out: An existing folder.
        feature_map: Whether to draw a map of the features.

    Returns:
        The files, for the reader.

    Raises:
        DataError: A map of the features was asked for, and there are next to no examples.
    """
    write_table(measured_rows(measured), out / "records.csv")
    written = ["records.csv", _write_settings(looked_at, question, out)]
    for one in measured:
        name, arrays = one.diagnostic.name, one.findings.arrays
        if arrays:
            np.savez(out / f"{name}.npz", allow_pickle=False, **_by_file_name(arrays))
            written.append(f"{name}.npz")
        if one.has_figure:
            written += write_figure(out, name, one.draw, WIDE if name in TWO_PANELS else INCHES)
    if feature_map:
        written += _write_feature_map(looked_at, out, question.seed)
    return f"{out / written[0]}, {', '.join(written[1:])}" if len(written) > 1 else str(out / written[0])


def write_figure(
    out: Path, name: str, draw: Callable[[Figure], None], inches: tuple[float, float] = INCHES
) -> list[str]:
    """Draw a figure and write it as SVG and PDF.

    Args:
        out: An existing folder.
        name: Of the files, without ending.
        draw: Draws on an empty figure.
        inches: Width and height.

    Returns:
        The names of the files.
    """
    with drawing():
        canvas = new_figure(*inches)
        draw(canvas)
        paths = save_figure(canvas, to_svg(canvas), out, name)
    return [path.name for path in paths]


def _write_settings(looked_at: FileSubject, question: FileQuestion, out: Path) -> str:
    """What was measured on what, and how its inputs were scaled."""
    scale = looked_at.scale
    said = {
        "checkpoint": str(question.checkpoint),
        "against": None if question.against is None else str(question.against),
        "network": asdict(question.network),
        "data": asdict(question.data),
        "source": None if question.source is None else asdict(question.source),
        "part": looked_at.subject.part,
        "examples": len(looked_at.subject.examples),
        "labels": question.labels,
        "seed": question.seed,
        "scaling": {"from": looked_at.scale_from, "mean": scale.mean.tolist(), "std": scale.std.tolist()},
    }
    (out / "measured_on.json").write_text(json.dumps(said, indent=2, default=str) + "\n", encoding="utf-8")
    return "measured_on.json"


def _write_feature_map(looked_at: FileSubject, out: Path, seed: int) -> list[str]:
    subject = looked_at.subject
    if looked_at.classes is None or len(subject.examples) < _LEAST_MAPPED:
        raise DataError(
            f"a map of the features needs at least {_LEAST_MAPPED} examples with class labels and there are "
            f"{len(subject.examples)} with {'numbers' if looked_at.classes is None else 'class labels'}; leave out "
            "--feature-map"
        )
    features = features_of(subject.network, subject.examples, head=subject.head).numpy()
    perplexity = min(_PERPLEXITY, (len(features) - 1) / 3)
    positions = tsne_of_features(features, perplexity=perplexity, seed=seed)
    labels, classes = subject.examples.labels.cpu().numpy(), looked_at.classes
    table = {"x": positions[:, 0], "y": positions[:, 1], "label": [classes[label] for label in labels]}
    write_table(pd.DataFrame(table), out / "feature-map.csv")
    draw = lambda canvas: draw_feature_map(canvas, positions, labels, classes)  # noqa: E731
    return [*write_figure(out, "feature-map", draw), "feature-map.csv"]


def _by_file_name(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays by names that can be files of an archive."""
    return {name.replace("/", "."): array for name, array in arrays.items()}
