"""Learning rate against training step."""

import math

from transferscope.training.settings import TrainingSettings


def lr_factor(settings: TrainingSettings, step: int, n_steps: int) -> float:
    """The learning rate of a step as a share of the initial rate.

    Args:
        settings: Gives schedule, decay and warm-up.
        step: Counted from 0.
        n_steps: Length of the run, at least 1.

    Returns:
        A factor in [0, 1]: linear warm-up times the schedule.
    """
    warmup_steps = settings.warmup * n_steps
    warm = min(1.0, (step + 1) / warmup_steps) if warmup_steps > 0 else 1.0
    progress = step / n_steps
    match settings.schedule:
        case "constant":
            return warm
        case "step":
            return warm * settings.decay ** math.floor(3 * progress)
        case "cosine":
            return warm * 0.5 * (1.0 + math.cos(math.pi * progress))
