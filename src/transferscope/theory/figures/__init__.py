"""The figures of the papers, regenerated: theory as lines and maps, simulation as points with error bars.

`FIGURES` lists them by the name that `transferscope theory NAME` takes. Adding one: a frozen dataclass as described in
`figure.TheoryFigure`, a line here, a line in docs/theory/.
"""

from transferscope.theory.figures.draw import draw
from transferscope.theory.figures.figure import (
    Curve,
    Diagram,
    Panel,
    Point,
    Simulated,
    Theory,
    TheoryFigure,
    agreement_of,
    configure,
    settings_of,
)
from transferscope.theory.figures.fine_tuning import DecidingFigure, FineTuningDiagram
from transferscope.theory.figures.linear_transfer import (
    DistanceFigure,
    LinearTransferDiagram,
    NoiselessDiagram,
    RidgeFigure,
    SimulatedDiagram,
)
from transferscope.theory.figures.teachers import AlignmentFigure, DepthFigure, FrozenFigure, ScaleFigure

FIGURES: dict[str, type[TheoryFigure]] = {
    figure.name: figure
    for figure in (
        LinearTransferDiagram,
        RidgeFigure,
        FineTuningDiagram,
        DistanceFigure,
        NoiselessDiagram,
        SimulatedDiagram,
        DecidingFigure,
        AlignmentFigure,
        DepthFigure,
        ScaleFigure,
        FrozenFigure,
    )
}
"""Every figure by its name."""

__all__ = [
    "FIGURES",
    "Curve",
    "Diagram",
    "Panel",
    "Point",
    "Simulated",
    "Theory",
    "TheoryFigure",
    "agreement_of",
    "configure",
    "draw",
    "settings_of",
]
