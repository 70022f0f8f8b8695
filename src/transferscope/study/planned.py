"""A study that is ready to be done."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from transferscope.store import PlannedCell, StudyRow


@dataclass(frozen=True)
class StudyPlan:
    """All that the store is told of a study before any of it is done.

    Attributes:
        study: The study with its spec and facts.
        cells: Its cells, in the order in which they should be done.
        arrays: Arrays of the study: "target_test_labels".
    """

    study: StudyRow
    cells: tuple[PlannedCell, ...]
    arrays: Mapping[str, np.ndarray]
