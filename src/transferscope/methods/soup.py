"""A model soup: the average of fine-tuned networks with a common start."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

from transferscope.data.task import TransferTask
from transferscope.methods.fine_tune import FineTune
from transferscope.methods.held_out import blend, forget_runs, harm, held_out_part, one_of_several, total_cost
from transferscope.methods.method import FitOptions, Fitted, Value
from transferscope.methods.target_training import Beginning, FirstHead
from transferscope.models.network import Network
from transferscope.records import Positive, Says
from transferscope.training import TrainingSettings, outputs_of, stream_seed, to_tensors, weights_in

FACTORS = (1.0, 5.0, 25.0)
"""Learning rates of the members as multiples of the given ones."""


@dataclass(frozen=True)
class Soup(FineTune):
    """Fine-tune several times from one start and average the weights of those that help.

    "Model soups: averaging weights of multiple fine-tuned models improves accuracy without increasing inference time"
    (Wortsman et al. 2022, arXiv:2203.05482), recipe 1 ("greedy soup"): members by their risk on held-out examples, the
    best first; each joins if the average with it is no worse. A quarter of the target's training examples is held out
    for that; the members that joined are then trained again on all of them and averaged. Statistics of batch
    normalisation are averaged like weights. With fewer than four examples for each class nothing can be held out: then
    all members of the given rate are averaged ("uniform soup").

    All members begin with the same head. The training curve and the networks on the way are those of the first member.
    """

    lr_scale: Annotated[Positive, Says("The least rate of the members, as a share of the training settings' rate")] = (
        0.1
    )
    head: FirstHead = "probe"
    hidden_units: int = field(default=0, init=False)  # a probe is linear

    name: ClassVar[str] = "soup"
    called: ClassVar[str] = "model soup"
    version: ClassVar[int] = 2

    @property
    def most_runs(self) -> int:
        """Twice all members, if all join."""
        return 2 * len(FACTORS)

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; notes how many runs it took ("runs") and how many "joined"."""
        train = task.target.train
        part = held_out_part(train, seed=stream_seed(options.seed, "held out"))
        tried: list[Fitted] = []
        joined = [1.0]
        quiet = replace(options, curve_examples=0, snapshots=None)
        if part is not None:
            begun = self.begin(task.with_target_train(train.take(part.fit)), network, options)
            several = [one_of_several(quiet, i, 2 * len(FACTORS)) for i in range(len(FACTORS))]
            tried = self._trained(begun, FACTORS, several)
            held_out = to_tensors(train.take(part.validate), begun.target.scale, begun.target.train.device)
            weights = weights_in(options.training, begun.target.train)

            def risk_of(some: Sequence[int]) -> float:
                mean = blend([tried[i].network for i in some], [1 / len(some)] * len(some))
                return harm(outputs_of(mean, held_out), held_out.labels, weights)[0]

            joined = [FACTORS[i] for i in greedy(len(FACTORS), risk_of)]
        n_runs = len(tried) + len(joined)
        several = [one_of_several(quiet if i else options, len(tried) + i, n_runs) for i in range(len(joined))]
        made = self._trained(self.begin(task, network, options), joined, several)
        forget_runs(options, n_runs)
        mean = blend([one.network for one in made], [1 / len(made)] * len(made))
        return replace(
            made[0],
            network=mean,
            cost=total_cost([one.cost for one in (*tried, *made)]),
            status=next((one.status for one in made if one.status == "non_finite"), made[0].status),
            notes={**made[0].notes, "runs": float(n_runs), "joined": float(len(joined))},
        )

    def _trained(self, begun: Beginning, members: Sequence[float], options: Sequence[FitOptions]) -> list[Fitted]:
        """Return the members (factors on the rates), each with its options, trained from one start."""
        made = []
        for factor, own in zip(members, options, strict=True):
            method = replace(
                self,
                lr_scale=factor * self.lr_scale,
                head_lr_scale=None if self.head_lr_scale is None else factor * self.head_lr_scale,
            )
            made.append(method.fit_from(replace(begun, own=begun.own.copy()), own))
        return made

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return no values, since the members are the search."""
        return {}

    def searched_rates(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return no values, likewise."""
        return {}


def greedy(n: int, risk_of: Callable[[Sequence[int]], float]) -> list[int]:
    """Return the members that join a soup, in order.

    Args:
        n: Number of members, at least 1.
        risk_of: Returns the held-out risk of the average of some members; infinite if not finite.

    Returns:
        Their indices: the best alone first, then, by their own risk, each with which the average is no worse.
    """
    alone = sorted(range(n), key=lambda i: risk_of([i]))
    joined, least = alone[:1], risk_of(alone[:1])
    for i in alone[1:]:
        with_it = risk_of([*joined, i])
        if with_it <= least and math.isfinite(with_it):
            joined, least = [*joined, i], with_it
    return joined
