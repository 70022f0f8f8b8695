"""One command for each figure of the Syn2Real paper: drawings, their numbers, and the published numbers beside ours."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pandas as pd

from transferscope.report.blocks import Figure
from transferscope.report.figures.scaling_landscape import draw_landscapes
from transferscope.report.figures.scaling_surface import draw_surface
from transferscope.report.save import save_figure, write_table
from transferscope_papers.catalogue import found_at, listed
from transferscope_papers.mikami2021.drawings import (
    draw_extrapolation,
    draw_gap_over_models,
    draw_panel_parameters,
    draw_panels,
)
from transferscope_papers.mikami2021.results import (
    common_d_table,
    extrapolation_table,
    full_law_table,
    panel_fits,
    paper_surface,
    surface_table,
)
from transferscope_papers.mikami2021.rows import model_panels, read_errors, rendering_panels, task_panels


@dataclass(frozen=True)
class PaperFigure:
    """What a figure of the paper is made of.

    Attributes:
        drawings: Its parts.
        tables: Numbers to print, by title.
    """

    drawings: tuple[Figure, ...]
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


def figure_1(errors: pd.DataFrame) -> PaperFigure:
    """Cross-task curves with the fitted law."""
    panels = task_panels(errors)
    return PaperFigure(
        (draw_panels(panels, name="mikami2021-fig1", series="Pre-trained on"),), {"fits": panel_fits(panels)}
    )


def figure_4(errors: pd.DataFrame) -> PaperFigure:
    """Effect of model size."""
    panels = model_panels(errors)
    sizes = {str(model): float(rows["nparam"].iloc[0]) for model, rows in errors.groupby("model")}
    drawings = (
        draw_panels(panels, name="mikami2021-fig4-left", series="Network"),
        draw_gap_over_models(panels, sizes, name="mikami2021-fig4-right"),
    )
    return PaperFigure(drawings, {"fits": panel_fits(panels)})


def figure_5(errors: pd.DataFrame) -> PaperFigure:
    """Extrapolation beyond 64,000 images."""
    table = extrapolation_table(errors)
    return PaperFigure((draw_extrapolation(errors, name="mikami2021-fig5"),), {"root mean square errors": table})


def figure_6(errors: pd.DataFrame) -> PaperFigure:
    """Effect of the complexity of synthetic images."""
    panels = rendering_panels(errors)
    drawings = (
        draw_panels(panels, name="mikami2021-fig6-left", series="Rendering"),
        draw_panel_parameters(panels, name="mikami2021-fig6-right"),
    )
    return PaperFigure(drawings, {"fits": panel_fits(panels)})


def figure_8(errors: pd.DataFrame) -> PaperFigure:
    """Rates and transfer gaps of the cross-task setting."""
    panels = task_panels(errors)
    return PaperFigure((draw_panel_parameters(panels, name="mikami2021-fig8"),), {"fits": panel_fits(panels)})


def figure_9(errors: pd.DataFrame) -> PaperFigure:
    """The full law over both sizes, with its points, which are Figure 2."""
    surface = paper_surface(errors)
    drawings = tuple(
        draw_surface(surface, name=f"mikami2021-fig9-{law}", law=law)
        for law in ("full", "effective-data")
        if law in surface.fits
    )
    tables = {"full law": full_law_table(errors), "held-out scores": surface_table(surface)}
    return PaperFigure(drawings, tables)


def figure_10(errors: pd.DataFrame) -> PaperFigure:
    """Figure 1, linearised."""
    return PaperFigure(
        (draw_panels(task_panels(errors), name="mikami2021-fig10", series="Pre-trained on", linearised=True),)
    )


def figure_11(errors: pd.DataFrame) -> PaperFigure:
    """Figure 4, linearised."""
    return PaperFigure((draw_panels(model_panels(errors), name="mikami2021-fig11", series="Network", linearised=True),))


def figure_12(errors: pd.DataFrame) -> PaperFigure:
    """Figure 6, linearised."""
    return PaperFigure(
        (draw_panels(rendering_panels(errors), name="mikami2021-fig12", series="Rendering", linearised=True),)
    )


def figure_13(errors: pd.DataFrame) -> PaperFigure:
    """The landscape of objdet to objdet, and the common-D procedure of the same appendix."""
    curve = {"objdet to objdet": task_panels(errors)[0].curves["objdet"]}
    return PaperFigure((draw_landscapes(curve, name="mikami2021-fig13"),), {"common D": common_d_table(errors)})


def figure_14(errors: pd.DataFrame) -> PaperFigure:
    """The landscapes of all tasks."""
    curves = {
        f"{series} to {panel.title}": data for panel in task_panels(errors) for series, data in panel.curves.items()
    }
    return PaperFigure((draw_landscapes(curves, name="mikami2021-fig14"),))


def write_paper_figure(table: Path, name: str, folder: Path) -> list[str]:
    """Draw a figure of the paper from the authors' table.

    Args:
        table: syn2real_finetune.csv.
        name: Its name in the catalogue, as in "fig5".
        folder: Where SVG, PDF and CSV go; made if it is missing.

    Returns:
        Lines to print: the tables with the published numbers, and the files written.

    Raises:
        UnknownNameError: The paper has no such figure.
        MissingDataError: There is no such table.
    """
    make = cast(Callable[[pd.DataFrame], PaperFigure], found_at(listed("mikami2021", name).place))
    made = make(read_errors(table))
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{title}\n{frame.to_string(index=False, float_format='{:.4g}'.format)}\n"
        for title, frame in made.tables.items()
    ]
    for drawing in made.drawings:
        paths = save_figure(drawing.canvas, drawing.svg, folder, drawing.name)
        write_table(drawing.data, folder / f"{drawing.name}.csv")
        lines.append(f"{paths[0]}, {drawing.name}.pdf, {drawing.name}.csv\n{drawing.caption}")
    return lines
