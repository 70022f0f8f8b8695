"""WiSE-FT: interpolation between the pretrained and the fine-tuned weights."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

from transferscope.data.task import TransferTask
from transferscope.methods.fine_tune import FineTune
from transferscope.methods.held_out import blend, forget_runs, harm, held_out_part, one_of_several, total_cost
from transferscope.methods.method import FitOptions, Fitted, Value
from transferscope.methods.target_training import Beginning, FirstHead
from transferscope.models.network import Network
from transferscope.records import Says, Share
from transferscope.training import TrainingSettings, outputs_of, stream_seed, to_tensors, weights_in

SHARES = tuple(i / 10 for i in range(10, -1, -1))
"""Candidate shares of the fine-tuned weights, the full share first: it is preferred in ties."""

UNTRIED = 0.5
"""Default share if labels are too few to choose one, as advised by the authors."""


@dataclass(frozen=True)
class WiseFt(FineTune):
    """Fine-tune from the probe's head, then interpolate: w = (1 - share) w0 + share w1.

    "Robust fine-tuning of zero-shot models" (Wortsman et al. 2022, arXiv:2109.01903), section 3; w0 is the pretrained
    backbone with the ridge probe, instead of the zero-shot head of image-text models, and w1 the result of fine-tuning.
    Statistics of batch normalisation are interpolated, too. A random head is interpolated towards an uninformative one.
    """

    head: FirstHead = "probe"
    hidden_units: int = field(default=0, init=False)  # a probe is linear
    share: Annotated[
        Share | Literal["auto"],
        Says(
            "How far to go, from the start (0) to fine-tuning (1), both exact",
            '"auto" chooses among SHARES by the risk on a held-out quarter of the target\'s training examples '
            "(their loss among equals), with a run of its own of the whole budget on the other three, and takes "
            "UNTRIED where there are fewer than four examples for each class.",
        ),
    ] = field(default="auto", kw_only=True)

    name: ClassVar[str] = "wise-ft"
    called: ClassVar[str] = "WiSE-FT"
    version: ClassVar[int] = 2

    @property
    def most_runs(self) -> int:
        """Two if the share is chosen, else one."""
        return 2 if self.share == "auto" else 1

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; notes the "share"."""
        if self.share != "auto":
            return super().fit(task, network, options)
        train = task.target.train
        part = held_out_part(train, seed=stream_seed(options.seed, "held out"))
        if part is None:
            fitted = replace(self, share=UNTRIED).fit(task, network, options)
            return replace(fitted, notes={**fitted.notes, "share": UNTRIED})
        first = replace(one_of_several(options, 0, 2), curve_examples=0, snapshots=None)
        begun = self.begin(task.with_target_train(train.take(part.fit)), network, first)
        start = begun.own.copy()
        tried = replace(self, share=1.0).fit_from(begun, first)
        held_out = to_tensors(train.take(part.validate), begun.target.scale, begun.target.train.device)
        weights = weights_in(options.training, begun.target.train)

        def harm_of(share: float) -> tuple[float, float]:
            mean = blend([start, tried.network], [1 - share, share])
            return harm(outputs_of(mean, held_out), held_out.labels, weights)

        share = min(SHARES, key=harm_of)
        fitted = replace(self, share=share).fit(task, network, one_of_several(options, 1, 2))
        forget_runs(options, 2)
        cost = total_cost([tried.cost, fitted.cost])
        return replace(fitted, cost=cost, notes={**fitted.notes, "share": share, "runs": 2.0})

    def predictor(self, begun: Beginning) -> Callable[[], Network]:
        """Return interpolated weights between the initial and the current ones."""
        start, share = begun.own.copy(), self.share
        assert share != "auto"
        if share == 1:
            return super().predictor(begun)
        return lambda: blend([start, begun.own], [1 - share, share])

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return values of weight decay, since the share is chosen by the method."""
        return super(FineTune, self).searched(training)
