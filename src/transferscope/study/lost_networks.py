"""Pretrained networks whose files are gone or damaged while cells still need them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from transferscope.models.weights import is_whole
from transferscope.store import PlannedCell
from transferscope.study.context import WorkContext


def lost_networks(cells: Sequence[PlannedCell], states: Mapping[str, str], context: WorkContext) -> list[str]:
    """Pre-training cells that are done and needed by a cell that is not, and whose file is gone or damaged.

    They are to be done again: the same cell gives the same network.

    Args:
        cells: All cells of a study.
        states: Where each stands, by key.
        context: Where files are.

    Returns:
        Their keys, in the order of the study.
    """
    pretrained = {cell.key for cell in cells if cell.role == "pretrain" and states.get(cell.key) == "done"}
    waiting = (cell for cell in cells if pretrained and states.get(cell.key) != "done")
    read = {(key, cell.labels.get("pretrain_step")) for cell in waiting for key in cell.needs if key in pretrained}
    lost = {key for key, step in read if not is_whole(_file(context, key, step))}
    return [key for key in dict.fromkeys(cell.key for cell in cells) if key in lost]


def _file(context: WorkContext, key: str, step: object) -> Path:
    return context.snapshot(key, step) if isinstance(step, int) else context.network(key)
