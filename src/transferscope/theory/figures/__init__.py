"""The figures of the papers, regenerated: theory as lines and maps, simulation as points with error bars.

`FIGURES` lists them by the name that `transferscope theory NAME` takes. Adding one: a frozen dataclass as described in
`figure.TheoryFigure`, a line here, a line in docs/theory/.
"""

from transferscope.theory.figures.digits import DigitTable
from transferscope.theory.figures.draw import draw
from transferscope.theory.figures.figure import (
    CheckedClaim,
    Claim,
    Conclusion,
    Curve,
    Diagram,
    Drawn,
    Panel,
    Point,
    Range,
    SharingFigure,
    Simulated,
    Theory,
    TheoryFigure,
    agreement_of,
    check_claims,
    conclude,
    configure,
    settings_of,
    with_conclusion,
)
from transferscope.theory.figures.fine_tuning import DecidingFigure, FineTuningDiagram
from transferscope.theory.figures.kernel import KernelFigure
from transferscope.theory.figures.linear_transfer import (
    DistanceFigure,
    LinearTransferDiagram,
    NoiselessDiagram,
    RidgeFigure,
    SimulatedDiagram,
)
from transferscope.theory.figures.quadratic import QuadraticFigure
from transferscope.theory.figures.rates import RatesFigure
from transferscope.theory.figures.relu import ReluFigure
from transferscope.theory.figures.teachers import AlignmentFigure, DepthFigure, FrozenFigure, ScaleFigure

FIGURES: dict[str, TheoryFigure] = {
    figure.name: figure
    for figure in (
        LinearTransferDiagram(),
        RidgeFigure(),
        FineTuningDiagram(),
        ReluFigure(),
        DistanceFigure(),
        NoiselessDiagram(),
        SimulatedDiagram(),
        DecidingFigure(),
        AlignmentFigure(),
        DepthFigure(),
        ScaleFigure(),
        FrozenFigure(),
        DigitTable(),
        KernelFigure(),
        RatesFigure(),
        QuadraticFigure(),
    )
}
"""Every figure by its name, with the settings of the paper."""

__all__ = [
    "FIGURES",
    "CheckedClaim",
    "Claim",
    "Conclusion",
    "Curve",
    "Diagram",
    "Drawn",
    "Panel",
    "Point",
    "Range",
    "SharingFigure",
    "Simulated",
    "Theory",
    "TheoryFigure",
    "agreement_of",
    "check_claims",
    "conclude",
    "configure",
    "draw",
    "settings_of",
    "with_conclusion",
]
