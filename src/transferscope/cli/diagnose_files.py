"""What `transferscope diagnose --out` writes: records as CSV, arrays as npz, figures as SVG and PDF."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from transferscope.diagnostics import Diagnostic, Findings, GradientStability, Landscape, features_of, tsne_of_features
from transferscope.errors import DataError
from transferscope.report.export import write_table
from transferscope.report.figures.diagnosed import draw_density, draw_descent, draw_gradients, draw_interpolation
from transferscope.report.figures.landscape import draw_landscape
from transferscope.report.figures.maps import draw_feature_map
from transferscope.report.figures.style import drawing, new_figure, save_figure, to_svg
from transferscope.study.diagnose_file import FileSubject

_INCHES = (4.6, 3.6)
_WIDE = (7.6, 3.4)
_TWO_PANELS = ("gradient-stability",)
_LEAST_MAPPED = 8  # examples
_PERPLEXITY = 30.0


@dataclass(frozen=True)
class Measured:
    """A diagnostic that was measured.

    Attributes:
        diagnostic: With its settings.
        findings: What it saw.
    """

    diagnostic: Diagnostic
    findings: Findings


def write_all(measured: list[Measured], looked_at: FileSubject, out: Path, *, feature_map: bool, seed: int) -> str:
    """Write records, arrays and figures.

    Args:
        measured: What there is to write.
        looked_at: Whose features are mapped.
        out: An existing folder.
        feature_map: Whether to draw a map of the features.
        seed: Seed of the map.

    Returns:
        The files, for the reader.

    Raises:
        DataError: A map of the features was asked for, and there are next to no examples.
    """
    written = [_write_records(measured, out)]
    for one in measured:
        name, arrays = one.diagnostic.name, one.findings.arrays
        if arrays:
            np.savez(out / f"{name}.npz", allow_pickle=False, **_by_file_name(arrays))
            written.append(f"{name}.npz")
        if name in _FIGURES and np.isfinite(np.concatenate([a.ravel() for a in arrays.values()])).any():
            written += write_figure(out, name, _FIGURES[name](one), _WIDE if name in _TWO_PANELS else _INCHES)
    if feature_map:
        written += _write_feature_map(looked_at, out, seed)
    return f"{out / written[0]}, {', '.join(written[1:])}" if len(written) > 1 else str(out / written[0])


def write_figure(
    out: Path, name: str, draw: Callable[[Figure], None], inches: tuple[float, float] = _INCHES
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


def _write_records(measured: list[Measured], out: Path) -> str:
    rows = [
        {
            "diagnostic": one.diagnostic.name,
            "name": record.name,
            "value": record.estimate.value,
            "stderr": record.estimate.stderr,
            "n": record.estimate.n,
            "status": record.estimate.status,
            "part": record.part,
            "headline": record.name == one.diagnostic.headline,
        }
        for one in measured
        for record in one.findings.records
    ]
    write_table(pd.DataFrame(rows), out / "records.csv")
    return "records.csv"


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


def _arrays(one: Measured) -> Mapping[str, np.ndarray]:
    return one.findings.arrays


def _landscape(one: Measured) -> Callable[[Figure], None]:
    sharpest = isinstance(one.diagnostic, Landscape) and one.diagnostic.directions == "eigenvectors"
    along = "weight norms along sharpest direction" if sharpest else "filter norms along random direction"
    return lambda canvas: draw_landscape(
        canvas, _arrays(one)["landscape_axis"], _arrays(one)["landscape_loss"], along=along
    )


def _interpolation(one: Measured) -> Callable[[Figure], None]:
    return lambda canvas: draw_interpolation(
        canvas, _arrays(one)["interpolation_t"], _arrays(one)["interpolation_loss"]
    )


def _density(one: Measured) -> Callable[[Figure], None]:
    return lambda canvas: draw_density(canvas, _arrays(one)["hessian_density_points"], _arrays(one)["hessian_density"])


def _descent(one: Measured) -> Callable[[Figure], None]:
    scale = one.diagnostic.scale if isinstance(one.diagnostic, GradientStability) else 1.0
    return lambda canvas: draw_descent(
        canvas, _arrays(one)["descent_gradient_step"], _arrays(one)["descent_fixed_step"], scale
    )


def _gradients(one: Measured) -> Callable[[Figure], None]:
    return lambda canvas: draw_gradients(canvas, _arrays(one))


_FIGURES: dict[str, Callable[[Measured], Callable[[Figure], None]]] = {
    "landscape": _landscape,
    "interpolation": _interpolation,
    "curvature-density": _density,
    "gradient-stability": _descent,
    "gradient-scaling": _gradients,
}
