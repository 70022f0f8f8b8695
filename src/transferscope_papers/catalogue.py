"""The figures of the papers, regenerated: theory as lines and maps, simulation as points with error bars.

`FIGURES` lists them by the name that `transferscope theory NAME` takes. Adding one: a frozen dataclass as described in
`figure.TheoryFigure`, a line here, a line in docs/theory/.
"""

from transferscope_papers.draw import draw
from transferscope_papers.figure import (
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
from transferscope_papers.liu2019 import KernelFigure
from transferscope_papers.merlin2020 import QuadraticFigure
from transferscope_papers.mikami2021.rates import RatesFigure
from transferscope_papers.shachaf2021.digits import DigitTable
from transferscope_papers.shachaf2021.teachers import AlignmentFigure, DepthFigure, FrozenFigure, ScaleFigure
from transferscope_papers.tahir2024.fine_tuning import DecidingFigure, FineTuningDiagram
from transferscope_papers.tahir2024.linear_transfer import (
    DistanceFigure,
    LinearTransferDiagram,
    NoiselessDiagram,
    RidgeFigure,
    SimulatedDiagram,
)
from transferscope_papers.tahir2024.relu import ReluFigure

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
