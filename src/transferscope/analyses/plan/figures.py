"""The figure of a plan: learning curves with their bands, and the gain of transfer over the number of labels."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter

from transferscope.analyses.plan.facts import LabelPlan
from transferscope.analyses.plan.tables import heading
from transferscope.analyses.scaling.axes import log_ticks, mark_extrapolated, short_size
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import beside_axis, short
from transferscope.report.figures.style import QUIET, drawing, mark_styles, new_figure, tip
from transferscope.scaling.advice.label_plan import Pairs

_MOST_DRAWN = 5
_BAND = (0.05, 0.5, 0.95)


def draw_plan(plan: LabelPlan) -> Figure:
    """Draw scores of training from scratch and transfer arms with their curves, and the gain of the leading arm."""
    shown, lead = plan.arms[:_MOST_DRAWN], plan.lead
    styles = mark_styles([arm.name for arm in shown], plan.scratch.name if plan.scratch else None)
    rows = []

    def drawn(n_rows: int, n_columns: int, width: float) -> Canvas:
        n_panels = 1 if plan.pairs is None else 2
        canvas = new_figure(width * (0.6 if n_panels == 1 and n_columns > 1 else 1), 3.7 * min(n_rows, n_panels))
        left, *right = canvas.subplots(min(n_rows, n_panels), min(n_columns, n_panels), squeeze=False).flat
        for arm in shown:
            colour, mark = styles[arm.name].colour, styles[arm.name].mark
            measured = plan.measure.scores(arm.data.errors)
            name, sizes = short(heading(arm.name), width=40), arm.data.sizes[:, 0]
            (marks,) = left.plot(sizes, measured, mark, color=colour, markersize=4.5)
            tip(marks, *(f"{name}, {n:,.0f} labels: {v:.3g}" for n, v in zip(sizes, measured, strict=True)))
            rows.append(pd.DataFrame({"arm": arm.name, "labels": sizes, "measured": measured}).round(6))
            if arm.curve is None:
                marks.set_label(name)
                continue
            x = arm.curve.sizes
            low, median, high = plan.measure.scores(np.quantile(arm.curve.errors, _BAND, axis=0))
            left.plot(x, median, color=colour, linewidth=1.5, label=name)
            if arm in (plan.scratch, lead):
                left.fill_between(x, low, high, color=colour, alpha=0.16, linewidth=0)
            rows.append(
                pd.DataFrame({"arm": arm.name, "labels": x, "low": np.minimum(low, high), "median": median})
                .assign(high=np.maximum(low, high))
                .round(6)
            )
        if plan.target_error is not None:
            left.axhline(plan.measure.score(plan.target_error), color=QUIET, linestyle=":", linewidth=1.2)
        left.set_ylabel(plan.measure.title)
        left.legend(loc="best", fontsize=8)
        if plan.pairs is not None:
            _draw_gain(right[0], plan, plan.pairs, styles[lead.name].colour)
        for axes in (left, *right):
            axes.set(xscale="log", xlabel="Labels")
            log_ticks(axes.xaxis, (float(plan.sizes[0]), float(plan.sizes[-1])), FuncFormatter(short_size))
            mark_extrapolated(axes, max(arm.largest for arm in shown), float(plan.sizes[-1]))
        return canvas

    with drawing():
        wide = drawn(1, 2, 9.2)
    first = "First: measured" if plan.pairs else "Measured"
    hidden = len(plan.arms) - len(shown)
    left_out = f" {hidden} further arms are in the table only." if hidden else ""
    gain = (
        f" Second: how far {lead.name} is ahead of training from scratch, with the measured differences; the bar at "
        "the bottom is the 90 % interval of where scratch matches it."
    )
    return Figure(
        name="label-plan",
        canvas=wide,
        narrow=lambda inches: drawn(2, 1, inches),
        data=pd.concat(list(rows), ignore_index=True),
        caption=(
            f"{first} scores (means over seeds) with the median and 90 % band "
            f"of the curves that they allow{'; dotted: the wanted score' if plan.target_error is not None else ''}."
            f"{gain if plan.pairs else ''} Shaded: beyond what was measured.{left_out}"
        ),
    )


def _draw_gain(axes: Axes, plan: LabelPlan, pairs: Pairs, colour: str) -> None:
    lead, scratch = plan.lead, plan.scratch
    assert scratch is not None
    assert scratch.curve is not None
    assert lead.curve is not None
    gain = scratch.curve.errors[pairs.scratch] - lead.curve.errors[pairs.transfer]
    band = np.quantile(gain, _BAND, axis=0, weights=pairs.weights, method="inverted_cdf")
    low, median, high = plan.measure.scale * band
    x = plan.sizes
    axes.axhline(0.0, color=QUIET, linestyle="--", linewidth=1)
    axes.plot(x, median, color=colour, linewidth=1.5)
    axes.fill_between(x, low, high, color=colour, alpha=0.16, linewidth=0)
    shared, a, b = np.intersect1d(scratch.data.sizes[:, 0], lead.data.sizes[:, 0], return_indices=True)
    measured = scratch.data.errors[a] - lead.data.errors[b]
    axes.plot(shared, plan.measure.scale * measured, "o", color=colour, markersize=4.5)
    axes.set_ylabel(f"Gain of transfer{' (points)' if plan.measure.in_percent else ''}")
    axes.set_title(beside_axis(heading(lead.name), width=40))
    count, bottom = lead.catch_up, axes.get_xaxis_transform()
    if count is None or count.open:
        return
    ends = np.clip([count.low, count.high], x[0], x[-1])
    axes.plot(ends, [0.03, 0.03], color="#d55e00", linewidth=4, solid_capstyle="butt", transform=bottom)
    if 0 < count.value < np.inf:
        axes.plot([count.value], [0.03], "|", color="#d55e00", markersize=14, markeredgewidth=2, transform=bottom)
