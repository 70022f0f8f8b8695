"""How long to pre-train: transfer from earlier steps, with the best one named."""

from transferscope.report.blocks import Block, Section, Text
from transferscope.report.checkpoints import CheckpointSeries, checkpoint_series
from transferscope.report.figures.checkpoints import draw_checkpoints
from transferscope.report.results import Summary
from transferscope.wording import candidate_words, capitalised, counted, signed


def checkpoints_section(summary: Summary) -> Section | None:
    """The section; None for a study that asks for no checkpoints."""
    found = checkpoint_series(summary)
    if not found:
        return None
    blocks: list[Block] = [Text(_in_words(summary, series)) for series in found]
    note = (
        "The best of several steps on the test set looks a little better than it is; choose the step on target data "
        "that the final score is not measured on."
    )
    return Section(
        "How long to pre-train", "checkpoints", (*blocks, draw_checkpoints(summary, found), Text(note, "note"))
    )


def _in_words(summary: Summary, series: CheckpointSeries) -> str:
    name = f"{candidate_words(series.method, series.source)} with {counted(series.n_target, 'label')}"
    said = f"{capitalised(name)}: the best checkpoint of {len(series.table)} is "
    if series.lead is None:
        return f"{said}the last, after {series.best:,} steps of pre-training."
    scale, lead = summary.frames.metric.scale, series.lead
    gain = signed(scale * lead.value, 1 if scale > 1 else 4)
    said += f"that after {series.best:,} steps of pre-training, {gain} against the last"
    if lead.interval is None:
        return f"{said} in one seed."
    low, high = (signed(scale * end, 1 if scale > 1 else 4) for end in (lead.interval.low, lead.interval.high))
    sure = "" if lead.interval.excludes(0.0) else ", which may be chance"
    return f"{said} ({low} to {high} over {counted(lead.n, 'seed')}{sure})."
