"""Steps and examples of the learning curve of a large network."""

import math
from dataclasses import dataclass

from transferscope.settings.training import TrainingSettings

LARGE = 100_000
"""Weights from which a curve is thinned, so that of LeNet is; a smaller network takes no time for its examples."""

MOST_SHARE = 0.2
"""Largest share of the training time for the curve, with a step at three times the time of reading its examples."""

CURVE_POINTS, LEAST_POINTS = 20, 5
"""Points of a curve after its first, and of all its points those that are never left out: start, quarters and end."""

LEAST_EXAMPLES = 100


@dataclass(frozen=True)
class CurvePlan:
    """The steps at which a learning curve is measured.

    Attributes:
        every: Steps between two points; the last step is one, too.
        examples: Maximum number of training examples, and of test examples, of a point.
    """

    every: int
    examples: int

    def wants(self, step: int, n_steps: int) -> bool:
        """Return whether a step is a point of the curve."""
        return step % self.every == 0 or step == n_steps


def curve_plan(
    training: TrainingSettings, *, n_steps: int, n_train: int, n_test: int, n_parameters: int, examples: int
) -> CurvePlan:
    """Return the points of a run's learning curve.

    They are `eval_every` steps apart, or 20 in all. If they would take more than MOST_SHARE of the training time of a
    large network and `eval_every` is not given, points are reduced to that share, but to at least five, and then
    examples, but to at least 100 of each part. The share is counted in examples, not timed, so a run always has the
    same curve.
    """
    every = training.eval_every or max(1, n_steps // CURVE_POINTS)
    shown = min(examples, n_train) + min(examples, n_test)
    room = MOST_SHARE * 3 * n_steps * min(training.batch_size, n_train)  # examples that are read once
    points = 1 + math.ceil(n_steps / every)
    if training.eval_every is not None or n_parameters < LARGE or points * shown <= room:
        return CurvePlan(every, examples)
    left = max(LEAST_POINTS, int(room / shown))
    every *= max(1, math.ceil((points - 1) / (left - 1)))
    points = 1 + math.ceil(n_steps / every)
    if points * shown > room:
        examples = max(LEAST_EXAMPLES, int(room / points / 2))
    return CurvePlan(every, examples)
