"""MeRLin: features on which a target head fitted to one half of the data predicts the other half."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import torch
from annotated_types import Ge
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.data.task import TransferTask
from transferscope.errors import SettingsError, unsupported
from transferscope.methods.common import (
    domain,
    drawn_head,
    fit_learner,
    held_statistics,
    source_of,
    training_domain,
    working_copy,
)
from transferscope.methods.inner_head import (
    Goal,
    InnerHead,
    finished_head,
    leave_one_out_head,
    unrolled_head,
    weighted_ridge_head,
)
from transferscope.methods.joint import shared_features
from transferscope.methods.method import FitOptions, Fitted, Method, Start, Value, searched_shares
from transferscope.methods.target_training import RateShare, first_blocks
from transferscope.models.network import Network, linear_of
from transferscope.records import Count, Positive, Says
from transferscope.training import (
    Batch,
    Draw,
    Learner,
    ParameterGroup,
    TensorSet,
    TrainingSettings,
    batch_loss,
    outputs_of,
    task_loss,
    weights_in,
)


@dataclass(frozen=True)
class Merlin(Method):
    """Minimise L_source(theta_s, phi) + rho L_val(theta_t(phi), phi) over the backbone phi and the source head theta_s.

    "Meta-learning Transferable Representations with a Single Target Domain" (Liu, HaoChen, Wei, Ma 2020,
    arXiv:2011.01418), equation 3. Each step splits a batch of target training examples at random into two halves; the
    target head theta_t(phi) is fitted on the first and L_val is its loss on the second. The head that predicts is
    fitted by the same rule on all target training examples, and to the end where the inner head takes steps.
    """

    rho: Annotated[Positive, Says("Weight of the target term")] = 2.0
    inner: Annotated[
        Literal["ridge", "unrolled", "none"],
        Says(
            "How the inner head is fitted",
            '"ridge" is Algorithm 2: theta_t in closed form, L_val the squared error with classes as e_c - 1/K, and '
            'several labels of an input as y - 1/2. "unrolled" is Algorithm 1: `inner_steps` gradient steps on the '
            'task\'s own loss, differentiated through. "none" is the ablation with the same split and no inner fit: '
            "theta_t starts as the closed form on all examples and is trained beside the backbone, by the squared "
            "error of the first half alone, as the backbone is by that of the second.",
        ),
    ] = "ridge"
    ridge: Annotated[
        Positive | Literal["auto"],
        Says(
            "lambda of the inner head on the sum of squares",
            '"auto" chooses it by leave-one-out error in every step, for a head with a bias on centred features, and '
            "in the same way for the head that predicts. A number above 0 is the paper's constant, without bias and "
            'centring. "unrolled" has no closed form: "auto" is 1 there.',
        ),
    ] = "auto"
    inner_steps: Annotated[Count, Says("Gradient steps of the unrolled head in training")] = 20
    target_batch: Annotated[
        Annotated[int, Ge(4)] | None,
        Says("Target examples per step, both halves together", "None for the batch size of training."),
    ] = None
    initial: Annotated[
        Literal["random", "pretrained"],
        Says(
            "Initial network",
            '"random" trains a fresh network; "pretrained" starts from the pretrained one ("MeRLin (pretrained)", '
            "section A.5).",
        ),
    ] = "random"
    lr_scale: RateShare = 1.0
    frozen_blocks: Annotated[
        int, Ge(0), Says("How many of the pretrained backbone's blocks, from the input up, keep their weights")
    ] = 0

    name: ClassVar[str] = "merlin"
    called: ClassVar[str] = "MeRLin"
    version: ClassVar[int] = 3
    recipe: ClassVar[str] = "merlin"
    uses_source: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frozen_blocks and self.initial == "random":
            raise SettingsError(
                f'frozen_blocks = {self.frozen_blocks} with initial = "random" keeps random weights; give initial = '
                '"pretrained", or frozen_blocks = 0'
            )

    @property
    def start(self) -> Start:
        """The setting `initial`."""
        return self.initial

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return a larger weight of the meta-objective; without other terms, the values that every method searches."""
        return {"rho": (self.rho, 4 * self.rho)} if self.uses_source else super().searched(training)

    def searched_rates(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return multiples of `lr_scale` if it starts pretrained, otherwise of the training settings' rate."""
        return searched_shares(self.lr_scale) if self.initial == "pretrained" else super().searched_rates(training)

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`.

        Raises:
            DataError: There are fewer than 4 target examples to split.
            SettingsError: The training has weights of classes and the head is unrolled.
        """
        if self.inner == "unrolled" and options.training.class_weights != "none":
            raise SettingsError(
                'inner = "unrolled" does not support class_weights; use inner = "ridge", or leave them out'
            )
        if len(task.target.train) < 4:
            raise unsupported("MeRLin", "at least 4 target examples", f"there are {len(task.target.train)}")
        target = training_domain(task.target, options, network)
        own = working_copy(network, task.target.train, options, start=self.start)
        source = domain(source_of(task, self.name), options, own) if self.uses_source else None
        head_s = own.head
        if self.initial == "random" and source is not None:
            head_s = drawn_head(own, source.train.n_outputs, options, "source head")
        own.head = nn.Identity()
        frozen = list(first_blocks(own, self.frozen_blocks))
        for block in frozen:
            block.requires_grad_(False)
        if self.initial == "pretrained":
            frozen += held_statistics(own, options)
        as_network = partial(self.predictor, own, target.train, options.training)
        risks = _MeanRisk().to(target.train.device)
        module = nn.ModuleDict({"features": own.features, "source_head": head_s, "risks": risks})
        trained = [p for p in own.features.parameters() if p.requires_grad]
        draws = {"target": Draw(target.train, self.target_batch or options.training.batch_size)}
        if source is not None:
            trained += head_s.parameters()
            draws["source"] = Draw(source.train)
        head_t: nn.Linear | None = None
        if self.inner == "none":
            fit = as_network().head
            assert isinstance(fit, nn.Linear)
            module["target_head"] = head_t = fit
            trained += head_t.parameters()
        objective = _MerlinObjective(self, own, head_s, target.train.n_outputs, risks, head_t)
        learner = Learner(module, [ParameterGroup(trained, self.lr_scale)], draws, objective, frozen, own)
        fitted = fit_learner(learner, target, options, as_network=as_network, source_head=head_s, start=self.start)
        return replace(fitted, notes={**fitted.notes, **risks.notes()})

    def inner_head(self, features: Float[Tensor, "n m"], goal: Goal) -> InnerHead:
        """Return theta_t(phi) as a differentiable function of the features of some target examples."""
        if self.inner != "unrolled" and self.ridge == "auto":
            return leave_one_out_head(features, goal.targets, goal.weights)
        if self.inner != "unrolled":
            return _plain(weighted_ridge_head(features, goal.targets, self._constant, goal.weights))
        steps = self.inner_steps
        return _plain(unrolled_head(features, goal.labels, goal.targets, ridge=self._constant, steps=steps))

    @property
    def _constant(self) -> float:
        return 1.0 if isinstance(self.ridge, str) else self.ridge

    def outer_loss(self, outputs: Float[Tensor, "n K"], goal: Goal) -> Float[Tensor, ""]:
        """Return L_val: squared error summed over outputs, averaged over examples (ridge), or the task's own loss."""
        return task_loss(outputs, goal.labels) if self.inner == "unrolled" else goal.squared_loss(outputs)

    @torch.no_grad()
    def predictor(self, own: Network, train: TensorSet, training: TrainingSettings) -> Network:
        """Return the backbone with a head fitted, with `class_weights`, to all target training examples."""
        features = outputs_of(own.features, train)
        seen = Batch(features, train.labels, weights=weights_in(training, train))
        goal = Goal.of(seen, train.n_outputs)
        if self.inner == "unrolled":
            fit = _plain(finished_head(features, goal.labels, goal.targets, ridge=self._constant))
        else:
            fit = self.inner_head(features, goal)
        return own.under(linear_of(fit.theta.T, fit.bias, device=fit.theta.device))


@dataclass(frozen=True)
class MerlinWithoutSource(Merlin):
    """MeRLin without the term L_source."""

    uses_source: ClassVar[bool] = False


def _plain(theta: Float[Tensor, "m K"]) -> InnerHead:
    return InnerHead(theta, None, theta.new_full((), torch.nan))


class _MeanRisk(nn.Module):
    """The mean of `InnerHead.risk` over the steps of a run; a module, so that a checkpoint keeps it."""

    def __init__(self) -> None:
        super().__init__()
        self.total: Tensor
        self.count: Tensor
        self.register_buffer("total", torch.zeros(()))
        self.register_buffer("count", torch.zeros(()))

    def add(self, risk: Float[Tensor, ""]) -> None:
        """Count one step, unless it has no risk."""
        known = torch.isfinite(risk)
        self.total += torch.where(known, risk, 0.0).to(self.total.dtype)
        self.count += known

    def notes(self) -> dict[str, float]:
        """Return the notes of the result."""
        return {"inner_risk": float(self.total / self.count)} if self.count > 0 else {}


@dataclass(frozen=True)
class _MerlinObjective:
    settings: Merlin
    network: Network
    source_head: nn.Module
    n_outputs: int
    risks: _MeanRisk
    trained_head: nn.Linear | None = None

    def __call__(self, batches: Mapping[str, Batch], step: int) -> Float[Tensor, ""]:
        features = shared_features(self.network, batches)
        loss = self.settings.rho * self._target_term(features["target"], batches["target"])
        if "source" in batches:
            loss = loss + batch_loss(self.source_head(features["source"]), batches["source"])
        return loss

    def _target_term(self, features: Float[Tensor, "n m"], batch: Batch) -> Float[Tensor, ""]:
        half = len(features) // 2  # the order of a batch is random already
        if half == 0:  # one example left over at the end of a pass says nothing about a head
            return 0.0 * features.sum()
        with torch.autocast(features.device.type, enabled=False):
            goal = Goal.of(batch, self.n_outputs)
            if self.trained_head is not None:
                weight, bias = self.trained_head.weight, self.trained_head.bias
                features = features.to(weight.dtype)
                of_head = goal.part(slice(half)).squared_loss(F.linear(features[:half].detach(), weight, bias))
                fixed = F.linear(features[half:], weight.detach(), None if bias is None else bias.detach())
                return of_head + goal.part(slice(half, None)).squared_loss(fixed)
            head = self.settings.inner_head(features[:half], goal.part(slice(half)))
            self.risks.add(head.risk)
            return self.settings.outer_loss(head(features[half:]), goal.part(slice(half, None)))
