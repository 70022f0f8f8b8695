"""How well the features separate the classes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.features import class_labels, feature_array
from transferscope.diagnostics.subject import Subject
from transferscope.numerics.jackknife import jackknife
from transferscope.records import Meaning


def variance_ratio(features: Float[np.ndarray, "N D"], labels: Int[np.ndarray, " N"]) -> float:
    """Return intra-class to inter-class variance ratio.

        C sum_ij ||phi_ij - mu_i||^2 / (N sum_i ||mu_i - mu||^2),    mu = (1/C) sum_i mu_i

    Source: "Meta-learning Transferable Representations with a Single Target Domain", section 6.3. It does not change
    when features are shifted, rotated or scaled; 0 when every class is one point.

    Args:
        features: phi, shape (N, D).
        labels: Class of each, shape (N,); C is the number of classes that occur.

    Returns:
        The ratio; NaN with a single class or when all class means agree.
    """
    classes, index = np.unique(labels, return_inverse=True)
    counts = np.bincount(index)
    means = np.zeros((len(classes), features.shape[1]))
    np.add.at(means, index, features)
    means /= counts[:, None]
    within = ((features - means[index]) ** 2).sum()
    between = ((means - means.mean(axis=0)) ** 2).sum()
    smallest = np.finfo(np.float64).eps * (features**2).sum()
    return float(len(classes) * within / (len(features) * between)) if between > smallest else float("nan")


@dataclass(frozen=True)
class ClassSeparation(Diagnostic):
    """Intra-class to inter-class variance ratio of the features."""

    name: ClassVar[str] = "class-separation"
    headline: ClassVar[str] = "variance_ratio"
    meaning: ClassVar[Meaning] = Meaning(
        "intra- to inter-class variance",
        lower="better separated classes",
        higher="classes that lie closer together",
        expected="lower",
        limits=(
            "On training data a large network separates anything, so read it on test data; it does not see whether a "
            "linear head could separate classes that overlap in distance."
        ),
    )
    looks_at: ClassVar[str] = "features"
    kinds: ClassVar[tuple[str, ...]] = ("classification",)

    def measure(self, subject: Subject) -> Findings:
        """Record "variance_ratio", "undefined" with a single class; standard error by the jackknife over examples.

        Raises:
            DataError: The labels are numbers, or several of each example.
        """
        labels = class_labels(subject.examples, self.name)
        features = feature_array(subject)
        estimate = jackknife(lambda index: variance_ratio(features[index], labels[index]), len(labels))
        return Findings.of(subject, {"variance_ratio": estimate})
