"""The picture of a race: every arm's gain over training from scratch, and how many runs it got."""

import math

from matplotlib.figure import Figure as Canvas

from transferscope.analyses.decide.result import ArmResult, Decision
from transferscope.analyses.decide.tables import arm_rows
from transferscope.analyses.decide.words import arm_words
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import beside_axis, evenly_chosen
from transferscope.report.figures.style import INK, NARROW, PAPER, QUIET, drawing, new_figure
from transferscope.wording import capitalised

_MOST_ARMS = 24
_NAME_WIDTH, _NARROW_NAME = 34, 22
_BETTER, _WORSE, _BETWEEN = "#009e73", "#d55e00", "#0072b2"


def draw_race(decision: Decision) -> Figure:
    """Gains with intervals, the best on top; filled marks are called better or worse, hollow ones are not."""
    others = [arm for arm in decision.arms[1:] if math.isfinite(arm.gain.value)]
    shown, margin = evenly_chosen(others, _MOST_ARMS), decision.settings.margin

    def drawn(width: float) -> Canvas:
        canvas = new_figure(width, 1.1 + 0.3 * max(len(shown), 2))
        axes = canvas.subplots()
        axes.axvline(0.0, color=QUIET, linestyle="--", linewidth=1)
        axes.axvspan(-margin, margin, color=QUIET, alpha=0.15, linewidth=0)
        reach = max((abs(arm.gain.value) for arm in shown), default=margin) + 4 * margin
        for row, arm in enumerate(shown):
            colour = {"better": _BETTER, "worse": _WORSE}.get(arm.call, _BETWEEN)
            if math.isfinite(arm.gain.low):
                ends = [max(arm.gain.low, -1.5 * reach), min(arm.gain.high, 1.5 * reach)]
                axes.plot(ends, [row, row], color=colour, linewidth=1.8, solid_capstyle="round")
            face = colour if arm.call in ("better", "worse") else PAPER
            axes.plot(arm.gain.value, row, "o", color=colour, markerfacecolor=face, markersize=6.5)
        axes.set_xlim(-1.6 * reach if any(arm.gain.value < margin for arm in shown) else -2 * margin, 1.6 * reach)
        name_width = _NAME_WIDTH if width > NARROW else _NARROW_NAME
        axes.set_yticks(range(len(shown)), [_tick(arm, name_width) for arm in shown], color=INK)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"Gain over training from scratch ({decision.unit})", x=1.0, ha="right")
        return canvas

    with drawing():
        wide = drawn(7.6)
    left = f" Shown are {len(shown)} of {len(others)} ways." if len(shown) < len(others) else ""
    return Figure(
        name="race",
        canvas=wide,
        narrow=lambda: drawn(NARROW),
        data=arm_rows(decision),
        caption=(
            "Mean gain over training from scratch (dashed) on the same seeds, with intervals that hold at every stage "
            f"of the race; those that end at the edge go on. The band is the margin of {margin:g}. Filled marks are "
            f"called better or worse, hollow ones are not. In brackets: runs.{left}"
        ),
    )


def _tick(arm: ArmResult, width: int) -> str:
    return f"{beside_axis(capitalised(arm_words(arm)), width=width)} ({arm.n})"
