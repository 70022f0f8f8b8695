"""NCE: negative conditional entropy of the target labels given the source labels.

Tran, Nguyen and Hassner, "Transferability and hardness of supervised classification tasks", ICCV 2019, section 3: with
z the source class of each example, here the one that the source head finds most probable,

    -H(Y | Z) = sum_{y, z} P(y, z) log(P(y, z) / P(z)).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from transferscope.data.task import Kind
from transferscope.estimate import Estimate
from transferscope.scores.score import Needs, TargetView, indicators, without_value


@dataclass(frozen=True)
class Nce:
    """NCE, between -log C and 0, in nats.

    The paper has source labels of the same examples; reading them off the source head's argmax is common practice, and
    makes the score rate that head. The entropy is that of counts on few examples, which is too low: by about
    (C - 1)(number of source classes seen) / (2 n). An example that is alone in its source class counts as explained
    whatever its label; with more than half of them the status is "not_identified".
    """

    name: ClassVar[str] = "nce"
    title: ClassVar[str] = "NCE"
    source: ClassVar[str] = "Tran et al. 2019, section 3"
    needs: ClassVar[Needs] = "source_probabilities"
    kinds: ClassVar[tuple[Kind, ...]] = ("classification",)

    def value(self, view: TargetView) -> Estimate:
        """Negative conditional entropy; see the class."""
        refusal = without_value(self, view)
        if refusal is not None or view.source_probabilities is None:
            return refusal or Estimate.missing("undefined", len(view))
        n = len(view)
        source = np.unique(view.source_probabilities.argmax(axis=1), return_inverse=True)[1]
        counts = np.eye(source.max() + 1)[source].T @ indicators(view)  # (Z, C)
        seen = counts.sum(axis=1, keepdims=True)
        log_ratio = np.log(counts / seen, out=np.zeros_like(counts), where=counts > 0)
        alone = int((seen == 1).sum())
        return Estimate(float((counts * log_ratio).sum() / n), None, n, "not_identified" if 2 * alone > n else "ok")
