"""Base of methods that train one network on the target's labels alone.

A subclass overrides what it changes: the initial weights (`start`), the initial head (`first_head`), frozen blocks
(`frozen`), further frozen or replaced weights (`adapt`), learning rates of parameters (`groups`), a penalty on the loss
(`regulariser`, or `loss` if it needs more than features), and the predicting network (`predictor`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.data.task import TransferTask
from transferscope.errors import SettingsError, out_of_range
from transferscope.methods.common import Domain, drawn_head, fit_learner, held_statistics, training_domain, working_copy
from transferscope.methods.method import FitOptions, Fitted, Method, Start, Value, searched_shares
from transferscope.methods.probe_head import probe_of
from transferscope.models.network import Network
from transferscope.records import NotNegative, Positive, Says
from transferscope.training import Batch, Draw, Learner, ParameterGroup, TrainingSettings, batch_loss, frozen_features

Regulariser = Callable[[Float[Tensor, ""], Float[Tensor, "n m ..."]], Float[Tensor, ""]]
"""Takes the task loss and the features of a batch; returns the objective."""


@dataclass(frozen=True)
class Beginning:
    """A network before its training.

    Attributes:
        own: The network, a copy to train, with its initial head.
        source_head: Its head as a pretrained network; None for a start from random weights.
    """

    target: Domain
    own: Network
    source_head: nn.Module | None


@dataclass(frozen=True)
class TargetTraining(Method):
    """Minimise the task's loss on target batches, plus the penalty of a subclass."""

    start: ClassVar[Start] = "random"

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`."""
        return self.fit_from(self.begin(task, network, options), options)

    def begin(self, task: TransferTask, network: Network, options: FitOptions) -> Beginning:
        """Return the data on the device, and the network with its initial head."""
        target = training_domain(task.target, options, network)
        own = working_copy(network, task.target.train, options, start=self.start)
        source_head = own.head if self.start == "pretrained" else None
        own.head = self.first_head(own, target, options)
        return Beginning(target, own, source_head)

    def fit_from(self, begun: Beginning, options: FitOptions) -> Fitted:
        """Train a started method, in place."""
        own, target = begun.own, begun.target
        frozen = [*self.frozen(own)]
        for block in frozen:
            block.requires_grad_(False)
        predictor = self.predictor(begun)
        frozen += self.adapt(own, options)
        trained = any(parameter.requires_grad for parameter in own.features.parameters())
        own.is_frozen = begun.source_head is not None and not trained and set(own.blocks()) <= set(frozen)
        loss, module = self.loss(begun), self.module(begun)
        frozen += held_statistics(own, options) if begun.source_head is not None else []

        def objective(batches: Mapping[str, Batch], step: int) -> Float[Tensor, ""]:
            return loss(batches["target"])

        learner = Learner(module, self.all_groups(begun), {"target": Draw(target.train)}, objective, frozen, own)
        return fit_learner(
            learner, target, options, as_network=predictor, source_head=begun.source_head, start=self.start
        )

    def first_head(self, own: Network, target: Domain, options: FitOptions) -> nn.Module:
        """Return the initial target head, drawn from the seed."""
        return drawn_head(own, target.train.n_outputs, options, "target head")

    def groups(self, own: Network) -> Sequence[ParameterGroup]:
        """Return the trained parameters with their learning rates: all, at that of the training settings."""
        return [ParameterGroup(list(own.parameters()))]

    def all_groups(self, begun: Beginning) -> Sequence[ParameterGroup]:
        """Return the `groups` of the network, and further parameters of a subclass; by default none."""
        return self.groups(begun.own)

    def adapt(self, own: Network, options: FitOptions) -> Sequence[nn.Module]:
        """Change which weights are trained, before training; by default nothing.

        Returns:
            Further modules that stay in evaluation mode.
        """
        return ()

    def module(self, begun: Beginning) -> nn.Module:
        """Return all that training changes: the network."""
        return begun.own

    def predictor(self, begun: Beginning) -> Callable[[], Network]:
        """Return a function that returns the predicting network at any time in training: the trained one.

        Called before training and before `adapt`; copy here what is needed of `begun`.
        """
        return lambda: begun.own

    def loss(self, begun: Beginning) -> Callable[[Batch], Float[Tensor, ""]]:
        """Return the objective of a batch of the target: the task's loss, modified by `regulariser`.

        Called before training; copy here what is needed of `begun`.
        """
        own, regularised = begun.own, self.regulariser(begun.own)

        def loss(batch: Batch) -> Float[Tensor, ""]:
            features = own.features(batch.inputs)
            return regularised(batch_loss(own.head(features), batch), features)

        return loss

    def regulariser(self, own: Network) -> Regulariser:
        """Return the training objective; by default the task's loss.

        Called before training, with the initial head; copy here what is needed of `own`.
        """
        return lambda loss, features: loss


MOST_SHARE = 1e6  # of a rate: none that trains is near it
RateShare = Annotated[Positive, Le(MOST_SHARE), Says("Learning rate as a share of the training settings' rate")]
BackboneRate = Annotated[
    Positive,
    Le(MOST_SHARE),
    Says(
        "Learning rate of the backbone as a share of the training settings' rate",
        'Without a recipe a tenth, the "standard practice" of section 6.1.2 of Liu et al. (2020, MeRLin).',
    ),
]
FirstHead = Annotated[
    Literal["random", "probe"],
    Says(
        "Initial head",
        '"random" draws it from the seed; "probe" starts from the ridge probe on the pretrained features (LP-FT; Kumar '
        "et al. 2022).",
    ),
]
FrozenBlocks = Annotated[
    int,
    Ge(-1),
    Says(
        "How many of the backbone's blocks, from the input up, keep their pretrained weights",
        "-1 for all before the last one of several layers, which may be followed by a normalisation, say.",
    ),
]


@dataclass(frozen=True)
class FineTuning(TargetTraining):
    """Training from the pretrained backbone and a new head, with a learning rate for each."""

    lr_scale: BackboneRate = 0.1
    head_lr_scale: Annotated[
        Annotated[Positive, Le(MOST_SHARE)] | None,
        Says("Learning rate of the head as such a share", "None for `lr_scale`."),
    ] = None
    head: FirstHead = field(default="random", kw_only=True)
    frozen_blocks: FrozenBlocks = field(default=0, kw_only=True)

    start: ClassVar[Start] = "pretrained"

    @property
    def recipe(self) -> str:
        """The recipe of last-block training if the first blocks are frozen."""
        return "last-block" if self.frozen_blocks else "fine-tune"

    def searched_rates(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return multiples of `lr_scale`."""
        return searched_shares(self.lr_scale)

    def check_network(self, network: Network) -> None:
        """Refuse a network with fewer blocks than are to be frozen, with a SettingsError."""
        first_blocks(network, self.frozen_blocks)

    def first_head(self, own: Network, target: Domain, options: FitOptions) -> nn.Module:
        """Return the initial head of the setting `head`."""
        if self.head == "random":
            return super().first_head(own, target, options)
        return probe_of(frozen_features(own, target.train), target.train, options.training)

    def frozen(self, own: Network) -> Sequence[nn.Module]:
        """Return the frozen blocks; raises SettingsError if the backbone has fewer."""
        return first_blocks(own, self.frozen_blocks)

    def groups(self, own: Network) -> Sequence[ParameterGroup]:
        """Return backbone and head with their learning rates."""
        head_scale = self.lr_scale if self.head_lr_scale is None else self.head_lr_scale
        trained = [parameter for parameter in own.features.parameters() if parameter.requires_grad]
        return [ParameterGroup(trained, self.lr_scale), ParameterGroup(list(own.head.parameters()), head_scale)]


@dataclass(frozen=True)
class FewWeights(FineTuning):
    """Fine-tuning of a small part of the backbone's weights, at the full learning rate."""

    lr_scale: RateShare = 1.0
    frozen_blocks: int = field(default=0, init=False)

    def as_stepped(self, network: Network) -> Network:
        """Return a copy that is adapted: its steps compute no gradients of the other weights."""
        own = network.copy()
        self.adapt(own, FitOptions(TrainingSettings(steps=1)))
        return own


def other_head(head: Literal["random", "probe"]) -> dict[str, tuple[Value, ...]]:
    """Return both initial heads as values to search, the given one first."""
    return {"head": (head, "random" if head == "probe" else "probe")}


@dataclass(frozen=True)
class AnchoredFineTuning(FineTuning):
    """Fine-tuning regularised towards the pretrained network instead of weight decay."""

    beta: Annotated[NotNegative, Says("Weight of what holds the backbone")] = 0.1
    alpha: ClassVar[float] = 0.01  # weight decay of the new head; `beta` is what is searched

    def groups(self, own: Network) -> Sequence[ParameterGroup]:
        """Return backbone and head, without weight decay."""
        return [replace(group, weight_decay=0.0) for group in super().groups(own)]


def first_blocks(own: Network, n_blocks: int) -> Sequence[nn.Module]:
    """Return the blocks nearest to the input; for -1 those before the last of several layers, or else the last with
    weights.
    """
    blocks = own.blocks()
    if n_blocks > len(blocks):
        raise out_of_range("frozen_blocks", n_blocks, f"at most {len(blocks)}, the blocks of the backbone")
    if n_blocks >= 0:
        return blocks[:n_blocks]
    matrices = [sum(parameter.ndim > 1 for parameter in block.parameters()) for block in blocks]
    for least in (2, 1):
        if last := [i for i, n in enumerate(matrices) if i and n >= least]:
            return blocks[: last[-1]]
    raise SettingsError(
        f"frozen_blocks = {n_blocks} freezes all blocks except the last, but this backbone has one block; leave it "
        "out for fine-tuning"
    )
