"""Durations and cells in words."""

from transferscope.store import PlannedCell


def duration(seconds: float) -> str:
    """A duration to two digits or so: "8 s", "12 min", "3 h 20 min".

    Args:
        seconds: At least 0.
    """
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def name_of(cell: PlannedCell) -> str:
    """A cell in words: "fine-tune from fashion, 600 labels, seed 2", or "curvature of fine-tune from ..."."""
    labels = cell.labels
    parts = [str(labels.get("method") or cell.role)]
    if labels.get("source") is not None:
        parts[0] += f" from {labels['source']}"
    if labels.get("pretrain_step") is not None:
        parts[0] += f" after {labels['pretrain_step']} steps"
    if labels.get("diagnostic") is not None:
        parts[0] = f"{labels['diagnostic']} of {parts[0]}"
    if labels.get("n_target") is not None:
        parts.append(f"{labels['n_target']} labels")
    parts.append(f"seed {labels.get('seed')}")
    return ", ".join(parts)
