"""The figure of a ranking: distance of each candidate to the best, by actual transfer and by every score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.rank.ranking import RANDOM, Hindsight, Ranking, in_order
from transferscope.analyses.rank.tables import ranking_rows
from transferscope.estimate import Estimate
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import beside_axis, evenly_chosen, short
from transferscope.report.figures.panels import panels, side_by_side
from transferscope.report.figures.style import BASELINE_COLOUR, INK, drawing
from transferscope.wording import capitalised, measure_words

_PANELS_IN_A_ROW = 4
_MOST_CANDIDATES = 12
_NAME_WIDTH = 24
_SCORE_COLOUR, _MEASURED_COLOUR = "#0072b2", "#d55e00"


@dataclass(frozen=True, slots=True)
class _Panel:
    """The content of one panel: the best minus each candidate, in some unit; None for the best itself."""

    title: str
    behind: Mapping[str, Estimate | None]
    scale: float
    colour: str
    unit: str


def draw_ranking(ranking: Ranking, hindsight: Hindsight | None = None) -> Figure:
    """Draw the figure for one number of labels.

    Args:
        hindsight: Actual results of transfer, shown in the first panel; None without them.
    """
    by_score = [
        _Panel(
            score.score,
            {one.candidate: one.behind for one in score.rated if one.place is not None},
            1.0,
            _SCORE_COLOUR,
            "",
        )
        for score in ranking.scores
    ]
    measured, said = list[_Panel](), ""
    if hindsight is not None:
        behind = {one.candidate: one.behind for one in hindsight.transferred if one.n_target == ranking.n_target}
        if behind:
            unit = f"{measure_words(hindsight.measure)}, points"
            measured = [_Panel(short(capitalised(hindsight.method)), behind, 100.0, _MEASURED_COLOUR, unit)]
            said = f" The first panel is what {hindsight.method} gave."
    shown = [*measured, *by_score]
    candidates = evenly_chosen([one.candidate for one in in_order(ranking)], _MOST_CANDIDATES)

    def drawn(most_in_a_row: int, width: float) -> Canvas:
        height = 0.75 + 0.24 * len(candidates)
        canvas, axes = panels(len(shown), most_in_a_row, width=width, height=height, sharey=True)
        for one, panel in zip(axes, shown, strict=True):
            _draw_panel(one, panel, candidates)
        axes[0].set_yticks(range(len(candidates)), [beside_axis(name, width=_NAME_WIDTH) for name in candidates])
        axes[0].set_ylim(len(candidates) - 0.5, -0.5)
        return canvas

    with drawing():
        wide = drawn(_PANELS_IN_A_ROW, min(9.2, 2.2 + 1.9 * min(len(shown), _PANELS_IN_A_ROW)))
    n_all = len(ranking.candidates)
    left_out = f" Shown are {len(candidates)} of {n_all} candidates." if len(candidates) < n_all else ""
    return Figure(
        name="ranking",
        canvas=wide,
        narrow=(lambda inches: drawn(side_by_side(inches, 2.6), inches)) if len(shown) > 1 else None,
        data=ranking_rows([ranking]),
        caption=(
            f"Behind the best with {ranking.n_target:,} labels: each candidate minus the best by that score (at the "
            "line), with its paired 95 % interval. A score distinguishes two where the interval ends before the line; "
            f"grey is the network as it is initialised. Each panel has its own unit.{said}{left_out}"
        ),
    )


def _draw_panel(axes: Axes, panel: _Panel, candidates: Sequence[str]) -> None:
    axes.axvline(0, color=INK, linewidth=0.8, zorder=0.5)
    for row, name in enumerate(candidates):
        if name not in panel.behind:
            continue
        behind = panel.behind[name]
        colour = BASELINE_COLOUR if name == RANDOM else panel.colour
        value = 0.0 if behind is None else -panel.scale * behind.value
        if behind is not None and behind.interval is not None:
            ends = [-panel.scale * behind.interval.low, -panel.scale * behind.interval.high]
            axes.plot(ends, [row, row], color=colour, linewidth=1.8, solid_capstyle="butt")
        axes.plot(value, row, "D" if behind is None else "o", color=colour, markersize=6, clip_on=False)
    axes.set_title(panel.title)
    axes.grid(axis="y", visible=False)
    axes.locator_params(axis="x", nbins=3)
    if panel.unit:
        axes.set_xlabel(panel.unit)
