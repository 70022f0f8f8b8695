"""The linear probe: a head on frozen pretrained features."""

import copy
import time
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from torch import nn

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError
from transferscope.methods.common import Domain, domain, solved, working_copy
from transferscope.methods.method import FitOptions, Fitted, Method, Start, Value
from transferscope.methods.probe_head import Solver, best_probe, logistic_probe, probe_of
from transferscope.models.network import Network, n_weights
from transferscope.records import Count, Positive, Says
from transferscope.training import TrainingSettings, frozen_features, stream_seed


@dataclass(frozen=True)
class LinearProbe(Method):
    """Fit a linear head to the pretrained features, which stay as they are (in evaluation mode)."""

    solver: Annotated[
        Literal["auto", "ridge", "logistic"],
        Says(
            "How the head is fitted",
            '"ridge" (squared loss in closed form, penalty by leave-one-out error), "logistic" (cross-entropy, '
            'run to convergence), or "auto" for the one that makes fewer errors over folds, see '
            "`probe_head.best_probe`.",
        ),
    ] = "auto"
    penalty: Annotated[Positive, Says("L2 penalty of the logistic solver on standardised features")] = 1.0
    max_iterations: Annotated[Count, Says("Limit of the logistic solver")] = 2000

    name: ClassVar[str] = "linear-probe"
    called: ClassVar[tuple[str, ...]] = ("linear probe",)
    version: ClassVar[int] = 4
    start: ClassVar[Start] = "pretrained"
    takes_steps: ClassVar[bool] = False

    def check_task(self, target: Dataset, source: Dataset | None) -> None:
        """Refuse numbers as labels of the logistic solver, with a DataError."""
        if self.solver == "logistic" and target.train.kind == "regression":
            raise DataError('the logistic probe was asked of a regression task; use solver = "ridge"')

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; a DataError where the logistic solver was asked of a regression task."""
        self.check_task(task.target, task.source)
        started = time.perf_counter()
        target = domain(task.target, options, network)
        own = working_copy(network, task.target.train, options, start=self.start)
        head, solver, converged = self._probe(own, target, task.target.train, options)
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

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Penalties of the logistic solver; ridge chooses its own."""
        factors = (1.0, 0.01, 0.1, 10.0, 100.0, 1000.0)
        return {} if self.solver != "logistic" else {"penalty": tuple(self.penalty * factor for factor in factors)}

    @torch.no_grad()
    def _probe(
        self, own: Network, target: Domain, examples: LabelledSet, options: FitOptions
    ) -> tuple[nn.Linear, Solver, bool]:
        features, train, training = frozen_features(own, target.train), target.train, options.training
        if self.solver == "auto":
            return best_probe(features, train, examples, training, seed=stream_seed(options.seed, "solver"))
        if self.solver == "ridge":
            return probe_of(features, train, training), "ridge", True
        head, converged = logistic_probe(
            features,
            train.labels,
            train.n_outputs,
            penalty=self.penalty,
            max_iterations=self.max_iterations,
            balanced=training.class_weights == "balanced",
        )
        return head, "logistic", converged
