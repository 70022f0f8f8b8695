"""MeRLin-ft: MeRLin on target data alone, from a pretrained network, over all of its weights or over adapters."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transferscope.data.task import TransferTask
from transferscope.errors import SettingsError
from transferscope.methods.common import training_domain, working_copy
from transferscope.methods.lora import LoRA, merged
from transferscope.methods.merlin import FirstBlocks, Inner, InnerRidge, Merlin, MerlinWithoutSource, TargetBatch
from transferscope.methods.method import FitOptions, Fitted, Method, Start, Value, searched_shares
from transferscope.methods.target_training import BackboneRate, Beginning, first_blocks
from transferscope.models.network import Network, seeded
from transferscope.records import Says
from transferscope.training import TrainingSettings, frozen_features, stream_seed

HIDDEN = 32
"""Width of the small network's hidden layer."""


class Bottleneck(nn.Module):
    """h + B relu(A h + a) + b on features h, with B = 0 and b = 0 to begin with (an adapter; Houlsby et al. 2019)."""

    def __init__(self, n_features: int, hidden: int) -> None:
        super().__init__()
        self.down = nn.Linear(n_features, hidden)
        self.up = nn.Linear(hidden, n_features)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, features: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
        """Return the changed features."""
        change: Tensor = self.up(torch.relu(self.down(features)))
        return features + change


@dataclass(frozen=True)
class MerlinFt(Method):
    """MeRLin-ft: start from the pretrained network and meta-learn on target data only (section 6.1.3)."""

    inner: Inner = "ridge"
    ridge: InnerRidge = "auto"
    target_batch: TargetBatch = None
    lr_scale: BackboneRate = 0.1
    frozen_blocks: FirstBlocks = 0
    adapters: Annotated[
        Literal["none", "lora", "head"],
        Says(
            "Trained part of the backbone",
            '"none" trains its weights. "lora" trains a low-rank change of each of its weight matrices, as the '
            'method `lora` does. "head" trains a small network on the features of the backbone, which stays as it '
            "is: its features are computed once, unless augmentation changes the inputs. Few weights "
            "take a larger rate: lr_scale = 1.",
        ),
    ] = "none"

    name: ClassVar[str] = "merlin-ft"
    called: ClassVar[str] = "MeRLin-ft"
    version: ClassVar[int] = 3
    recipe: ClassVar[str] = "merlin-ft"
    start: ClassVar[Start] = "pretrained"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._merlin()
        if self.adapters == "head" and self.frozen_blocks:
            raise SettingsError(
                f'frozen_blocks = {self.frozen_blocks} with adapters = "head", which freezes all blocks; give one of '
                "them"
            )

    @property
    def keeps_network(self) -> bool:
        """Not where a small network stands between backbone and head."""
        return self.adapters != "head"

    def searched_rates(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return multiples of `lr_scale`."""
        return searched_shares(self.lr_scale)

    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`."""
        merlin = self._merlin()
        if self.adapters == "none":
            return merlin.fit(task, network, options)
        merlin.check_fit(task, options)
        target = training_domain(task.target, options, network)
        own = working_copy(network, task.target.train, options, start=self.start)
        begun = Beginning(target, own, own.head)
        own.head = nn.Identity()
        over = self._over_low_rank if self.adapters == "lora" else self._over_head
        return over(merlin, begun, options)

    def _over_low_rank(self, merlin: Merlin, begun: Beginning, options: FitOptions) -> Fitted:
        own, plain = begun.own, begun.own.copy()
        frozen = list(first_blocks(own, self.frozen_blocks))
        for block in frozen:
            block.requires_grad_(False)
        frozen += LoRA().adapt(own, options)

        def as_network() -> Network:
            return merlin.predictor(merged(plain, own), begun.target.train, options.training)

        return merlin.fit_from(begun, options, None, frozen, as_network)

    def _over_head(self, merlin: Merlin, begun: Beginning, options: FitOptions) -> Fitted:
        target, trunk = begun.target, begun.own
        trunk.requires_grad_(False)
        trunk.eval()
        with seeded(stream_seed(options.seed, "adapter")):
            adapter = Bottleneck(trunk.n_features, HIDDEN)
        adapter.to(target.train.device)
        features = frozen_features(trunk, target.train)
        one = features.new_ones(1)
        known = replace(target.train, inputs=features, shift=0 * one, factor=one, mapped=None)
        small = Network(adapter, nn.Identity(), trunk.n_features)

        def as_network() -> Network:
            head = merlin.predictor(small, known, options.training).head
            network = trunk.under(nn.Sequential(adapter, head))
            network.is_frozen = True
            return network

        if options.training.augment == "none":
            return merlin.fit_from(replace(begun, own=small), options, None, (), as_network, train=known)
        both = Network(nn.Sequential(trunk.features, adapter), nn.Identity(), trunk.n_features)
        return merlin.fit_from(replace(begun, own=both), options, None, (trunk.features,), as_network)

    def _merlin(self) -> Merlin:
        return MerlinWithoutSource(
            rho=1.0,
            inner=self.inner,
            ridge=self.ridge,
            target_batch=self.target_batch,
            initial="pretrained",
            lr_scale=self.lr_scale,
            frozen_blocks=self.frozen_blocks,
        )
