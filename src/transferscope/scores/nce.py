"""NCE: negative conditional entropy of the target labels given the source labels.

Tran, Nguyen and Hassner, "Transferability and hardness of supervised classification tasks", ICCV 2019, section 3: with
z the source class of each example, here the one that the source head finds most probable,

    -H(Y | Z) = sum_{y, z} P(y, z) log(P(y, z) / P(z)).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float64, Int64

from transferscope.estimate import Estimate
from transferscope.scores.score import Needs, Score, TargetView, class_indices


@dataclass(frozen=True)
class Nce(Score):
    """NCE, between -log C and 0, in nats.

    The paper has source labels of the same examples; taking them from the source head's argmax is common practice, and
    makes the score rate that head. The entropy of counts on few examples is biased low, by about
    (C - 1)(number of source classes seen) / (2 n). An example that is alone in its source class counts as explained
    whatever its label; with more than half of them the status is "not_identified".
    """

    name: ClassVar[str] = "nce"
    needs: ClassVar[Needs] = "source_probabilities"

    def computed(self, view: TargetView) -> Estimate:
        """Return the negative conditional entropy; see the class."""
        assert view.source_probabilities is not None
        source, of_pair, of_source = _counts(view, view.source_probabilities)
        n, alone = len(view), int((np.bincount(source) == 1).sum())
        value = float(np.log(of_pair / of_source).mean())
        return Estimate(value, None, n, "not_identified" if 2 * alone > n else "ok")

    def contributions(self, view: TargetView) -> Float64[np.ndarray, " n"]:
        """Return log P(y_i | z_i); the effects of an example on the others add up to 0."""
        assert view.source_probabilities is not None
        _, of_pair, of_source = _counts(view, view.source_probabilities)
        return np.asarray(np.log(of_pair / of_source))


def _counts(
    view: TargetView, theta: Float64[np.ndarray, "n Z"]
) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " n"], Int64[np.ndarray, " n"]]:
    """Return the source class of each example, the count of its (source class, label) pair, and of its source class."""
    source = theta.argmax(axis=1)
    pairs = source * (class_indices(view).max() + 1) + class_indices(view)
    _, pair, together = np.unique(pairs, return_inverse=True, return_counts=True)
    return source, together[pair], np.bincount(source)[source]
