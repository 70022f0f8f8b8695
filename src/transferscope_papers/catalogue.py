"""Which figures of which papers can be drawn, by author and year; a figure is imported when it is asked for.

Adding one: a member of `figure.TheoryFigure`, a line here, a line in docs/theory/.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from transferscope.errors import unknown_name

if TYPE_CHECKING:  # a list of names needs no numerics
    from transferscope_papers.figure import TheoryFigure


@dataclass(frozen=True)
class Listed:
    """A figure of a paper, before it is imported.

    Attributes:
        place: "module:name" within this package: a class, or a function for a figure that reads something.
        reads: "table" for the rows that the authors published, "study" for a finished study of `transferscope run`;
            "nothing" for what is computed and simulated.
    """

    title: str
    place: str
    reads: Literal["nothing", "table", "study"] = "nothing"


@dataclass(frozen=True)
class Paper:
    """A paper with those of its figures that can be drawn, by name.

    Attributes:
        title: Authors, year and title.
    """

    title: str
    figures: Mapping[str, Listed]


_ROWS = "mikami2021.figures"

PAPERS: dict[str, Paper] = {
    "liu2019": Paper(
        "Liu et al. 2019, Towards Understanding the Transferability of Deep Representations",
        {
            "theorems": Listed(
                "Gradients and weight distances of wide networks (Theorems 1, 2)", "liu2019.theorems:KernelFigure"
            ),
            "theorem3": Listed(
                "The rate at which wide networks learn the target (Theorem 3)", "liu2019.theorems:ConvergenceFigure"
            ),
            "landscapes": Listed(
                "The loss around start and end, of each layer (Figures 3, 5, 10, 12, 13)",
                "liu2019.landscapes:landscapes",
                "study",
            ),
            "fig8cd": Listed("Accuracy along fine-tuning from each source", "liu2019.sources:figure_8cd", "study"),
        },
    ),
    "tahir2024": Paper(
        "Tahir et al. 2024, Features are fate",
        {
            "fig1": Listed(
                "Transferability of linear transfer with label noise", "tahir2024.linear_transfer:LinearTransferDiagram"
            ),
            "fig2": Listed("Linear transfer with a ridge", "tahir2024.linear_transfer:RidgeFigure"),
            "fig3": Listed(
                "Transferability of fine-tuning, printed and corrected", "tahir2024.fine_tuning:FineTuningDiagram"
            ),
            "fig4": Listed("Linear transfer of two-layer ReLU networks", "tahir2024.relu:ReluFigure"),
            "fig4-kernels": Listed(
                "Gram matrices of pretrained students and of their source (Figure 4a, b)",
                "tahir2024.relu_kernels:KernelFigure",
            ),
            "fig5": Listed(
                "Transferability against distances between the tasks", "tahir2024.linear_transfer:DistanceFigure"
            ),
            "fig6": Listed(
                "Transferability of linear transfer without label noise", "tahir2024.linear_transfer:NoiselessDiagram"
            ),
            "fig7": Listed(
                "The noiseless diagram, computed and simulated", "tahir2024.linear_transfer:SimulatedDiagram"
            ),
            "double-descent": Listed(
                "The peak of training from scratch at n near d", "tahir2024.double_descent:DoubleDescentFigure"
            ),
            "sparsification": Listed(
                "Features after real pretraining, and where their limit stops", "tahir2024.pretrained:PretrainedFigure"
            ),
            "fine-tuning-sign": Listed(
                "Fine-tuning of a noisy target: printed, corrected and trained", "tahir2024.fine_tuning:DecidingFigure"
            ),
        },
    ),
    "shachaf2021": Paper(
        "Shachaf et al. 2021, A Theoretical Analysis of Fine-tuning with Linear Teachers",
        {
            "fig1": Listed("Fine-tuned risk and where the teachers differ", "shachaf2021.teachers:AlignmentFigure"),
            "fig2a": Listed("Depth and the scale of the target", "shachaf2021.teachers:DepthFigure"),
            "fig2b": Listed("Scaling the source or the target", "shachaf2021.teachers:ScaleFigure"),
            "fig3": Listed("Frozen, fine-tuned and from scratch", "shachaf2021.teachers:FrozenFigure"),
            "table1": Listed("Bounds and test errors on pairs of digits", "shachaf2021.digits:DigitTable"),
        },
    ),
    "mikami2021": Paper(
        "Mikami et al. 2021, A Scaling Law for Syn2real Transfer",
        {
            "table1": Listed("Rates of fine-tuning by averaged SGD", "mikami2021.rates:RatesFigure"),
            "fig1": Listed("Cross-task curves with the fitted law", f"{_ROWS}:figure_1", "table"),
            "fig2": Listed("The full law over both sizes: its points", f"{_ROWS}:figure_9", "table"),
            "fig3": Listed("Scenarios of the law", "mikami2021.pictures:ScenariosFigure"),
            "fig4": Listed("Effect of model size", f"{_ROWS}:figure_4", "table"),
            "fig5": Listed("Extrapolation beyond the fitted sizes", f"{_ROWS}:figure_5", "table"),
            "fig6": Listed("Effect of the complexity of synthetic images", f"{_ROWS}:figure_6", "table"),
            "fig7": Listed("Images by their attributes", "mikami2021.pictures:RenderingsFigure"),
            "fig8": Listed("Rates and transfer gaps of the cross-task setting", f"{_ROWS}:figure_8", "table"),
            "fig9": Listed("The full law over both sizes", f"{_ROWS}:figure_9", "table"),
            "fig10": Listed("Figure 1, linearised", f"{_ROWS}:figure_10", "table"),
            "fig11": Listed("Figure 4, linearised", f"{_ROWS}:figure_11", "table"),
            "fig12": Listed("Figure 6, linearised", f"{_ROWS}:figure_12", "table"),
            "fig13": Listed("The landscape of one fit, and the common D", f"{_ROWS}:figure_13", "table"),
            "fig14": Listed("The landscapes of all tasks", f"{_ROWS}:figure_14", "table"),
        },
    ),
    "merlin2020": Paper(
        "Liu et al. 2020, Meta-learning Transferable Representations with a Single Target Domain (MeRLin)",
        {
            "theorems": Listed("Features of quadratic networks (Theorems 1, 2)", "merlin2020.theorems:QuadraticFigure"),
            "random-starts": Listed(
                "Random starts, and the target examples that it takes", "merlin2020.random_starts:RandomStartsFigure"
            ),
            "fig2a": Listed("Features of every method, by t-SNE", "merlin2020.features:figure_2a", "study"),
            "fig4b": Listed("Accuracy over rho and lambda", "merlin2020.sensitivity:figure_4b", "study"),
        },
    ),
}
"""Every paper by first author (or method) and year. Figures that are missing are sketches, or pictures without data."""


def listed(paper: str, figure: str) -> Listed:
    """A figure by the names of the paper and of the figure; UnknownNameError where there is none."""
    if paper not in PAPERS:
        raise unknown_name("paper", paper, PAPERS)
    if figure not in PAPERS[paper].figures:
        raise unknown_name(f"figure of {paper}", figure, PAPERS[paper].figures)
    return PAPERS[paper].figures[figure]


def found_at(place: str) -> object:
    """What a `Listed.place` leads to."""
    module, _, name = place.partition(":")
    member: object = getattr(import_module(f"{__package__}.{module}"), name)
    return member


class _Figures(Mapping[str, "TheoryFigure"]):
    """The computed and simulated figures; iterating imports none of them."""

    _places: Mapping[str, str] = {
        f"{paper}-{name}": figure.place
        for paper, known in PAPERS.items()
        for name, figure in known.figures.items()
        if figure.reads == "nothing"
    }

    def __getitem__(self, name: str) -> "TheoryFigure":
        made: TheoryFigure = found_at(self._places[name])()  # type: ignore[operator]
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


FIGURES: Mapping[str, "TheoryFigure"] = _Figures()
"""Every figure that is computed and simulated, as PAPER-FIGURE, with the settings of the paper."""
