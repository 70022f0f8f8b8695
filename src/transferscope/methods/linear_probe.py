"""The linear probe: a head on frozen pretrained features."""

import copy
import time
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from transferscope.data.task import TransferTask
from transferscope.methods.common import domain, solved, working_copy
from transferscope.methods.method import FitOptions, Fitted, Method, Start
from transferscope.methods.probe_head import best_probe
from transferscope.models.network import Network, n_weights
from transferscope.training import frozen_features, stream_seed


@dataclass(frozen=True)
class LinearProbe(Method):
    """Fit a linear head to the pretrained features, which stay as they are (in evaluation mode).

    It is ridge regression (squared loss in closed form, penalty by leave-one-out error) or logistic regression
    (cross-entropy, run to convergence), on the features as they are or standardised, whichever makes fewer errors over
    folds. With too few labels for folds it reads the directions of features of another package's network, but for pairs
    of texts, see `probe_head.best_probe`.
    """

    name: ClassVar[str] = "linear-probe"
    called: ClassVar[str] = "linear probe"
    version: ClassVar[int] = 6
    start: ClassVar[Start] = "pretrained"
    takes_steps: ClassVar[bool] = False

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; notes "logistic" of logistic regression."""
        started = time.perf_counter()
        target = domain(task.target, options, network)
        own = working_copy(network, task.target.train, options, start=self.start)
        features, seed = frozen_features(own, target.train), stream_seed(options.seed, "solver")
        train, training = task.target.train, options.training
        single = train.is_image or (train.is_tokens and train.input_shape[0] == 2)  # lengths of pairs tell
        directions = single and own.input is not None
        head, solver, converged = best_probe(
            features, target.train, train, training, seed=seed, standardises=True, directions=directions
        )
        fitted = own.with_head(head)
        fitted.is_frozen = True
        if options.snapshots is not None:  # it takes no steps: its start is a head of zeros, of the least penalty
            zero = copy.deepcopy(head)
            for parameter in zero.parameters():
                nn.init.zeros_(parameter)
            options.snapshots.save(0, own.with_head(zero))
        source_head = own.head if self.start == "pretrained" else None
        return solved(
            fitted,
            target,
            started,
            trained=n_weights(head),
            source_head=source_head,
            converged=converged,
            notes={"logistic": 1.0} if solver == "logistic" else {},
        )
