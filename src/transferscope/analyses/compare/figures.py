"""The figure behind a comparison: training curves."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from transferscope.analyses.compare.summary import Summary
from transferscope.report.blocks import Figure
from transferscope.report.figures.choice import beside_axis
from transferscope.report.figures.panels import multiples, side_by_side
from transferscope.report.figures.style import INK, WITH_SOURCE, WITHOUT, drawing, tip
from transferscope.study.frames import StudyFrames
from transferscope.wording import sizes_in_words

_MOST_ARMS = 8
_CLIMB = 0.1  # of the training steps, in which all curves climb


def draw_curves(summary: Summary) -> Figure | None:
    """Draw test scores during training with the most labels, a panel for each arm; None without curves."""
    frames, metric = summary.frames, summary.frames.metric.along
    measured = frames.curves(metric.record).groupby(["source", "method", "n_target", "step"], sort=False)["value"]
    curves = measured.agg(["mean", "min", "max", "count"]).reset_index()
    if curves.empty:
        return None
    size = int(curves["n_target"].max())
    by_arm = {
        (str(source), str(method)): rows.assign(**{end: metric.scale * rows[end] for end in ("mean", "min", "max")})
        for (source, method), rows in curves[curves["n_target"] == size].groupby(["source", "method"], sort=False)
    }
    baseline = ("", str(frames.baseline))
    arms = [arm for arm in frames.arms if arm in by_arm and arm != baseline] or [baseline]
    shown = arms[:_MOST_ARMS]
    with_source = {c.arm for c in summary.comparisons if c.facts.with_source}
    drawn_rows = pd.concat([by_arm[arm] for arm in {*shown, baseline} if arm in by_arm])
    late = drawn_rows[drawn_rows["step"] >= _CLIMB * drawn_rows["step"].max()]["mean"]
    low, high = late.min(), late.max()
    room = 0.08 * (high - low) or 1.0

    def drawn(n_columns: int, width: float) -> Canvas:
        canvas, panels = multiples(len(shown), n_columns, width=width, height=1.25)
        for axes, arm in zip(panels, shown, strict=True):
            if baseline in by_arm:
                _curve(axes, by_arm[baseline], WITHOUT, "--", frames)
            _curve(axes, by_arm[arm], WITH_SOURCE if arm in with_source else WITHOUT, "-", frames)
            axes.set_title(beside_axis(frames.name_of(*arm), width=20), fontsize=8)
        panels[0].set_ylim(low - room, high + room)
        canvas.supxlabel("Training step", fontsize="medium", color=INK)
        canvas.supylabel(metric.title, fontsize="medium", color=INK)
        return canvas

    with drawing():
        wide = drawn(4, 9.2)
    left_out = f" Shown are the best {len(shown)} of {len(arms)} arms." if len(arms) > len(shown) else ""
    return Figure(
        name="curves",
        canvas=wide,
        narrow=lambda inches: drawn(side_by_side(inches, 1.6), inches),
        data=curves,
        caption=(
            f"Test scores during training with {sizes_in_words([size])}, not used for any choice: mean and "
            f"range of all seeds. Blue: transfer arms. Dashed: training from scratch.{left_out}"
        ),
    )


def _curve(axes: Axes, rows: pd.DataFrame, colour: str, dashes: str, frames: StudyFrames) -> None:
    (line,) = axes.plot(rows["step"], rows["mean"], dashes, color=colour, linewidth=1.4)
    axes.fill_between(
        rows["step"], rows["min"], rows["max"], color=colour, alpha=0.08 if dashes == "--" else 0.2, linewidth=0
    )
    last, metric = rows.iloc[-1], frames.metric.along
    reached = metric.shown(last["mean"] / metric.scale)
    tip(line, f"{frames.tick_name(str(last['method']))}: {reached} after {last['step']:,.0f} steps")
