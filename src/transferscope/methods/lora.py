"""LoRA: training low-rank changes of weight matrices."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Annotated, Any, ClassVar, Literal

import torch
from annotated_types import Ge, Lt
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrize

from transferscope.errors import SettingsError
from transferscope.methods.bit_fit import is_normalisation
from transferscope.methods.method import FitOptions, Value
from transferscope.methods.target_training import Beginning, FewWeights
from transferscope.models.network import Network, seeded
from transferscope.records import Count, Positive, Says
from transferscope.training import TrainingSettings, stream_seed

ADAPTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.MultiheadAttention)
"""Layers that get a low-rank change. Attention of transformers is made of linear layers; of torch's own
`MultiheadAttention` the one matrix of queries, keys and values gets it as a whole, and its output layer is linear."""

Targets = Literal["all", "query-value", "auto"]

QUERY_VALUE = frozenset({
    "query", "value", "q", "v", "q_proj", "v_proj", "q_lin", "v_lin", "query_proj", "value_proj",
    "qkv", "qkv_proj", "Wqkv", "query_key_value",
})  # fmt: skip
"""Last parts of the names of layers that make queries and values, in one matrix with the keys where these are last.

They are those of the encoders and decoders that PEFT gives changes by default: BERT, RoBERTa, ELECTRA and ViT, T5,
Llama and its relatives, DistilBERT, DeBERTa, and those of timm.
"""


class LowRank(nn.Module):
    """The weight W as W + (alpha / r) B A, with W of any shape read as a matrix of one row for each output.

    A (r, n_in) is drawn as `nn.Linear` draws its weights and B (n_out, r) is zero, so that nothing has changed before
    the first step.

    Args:
        rank: r, at least 1; the smaller side of the matrix where that is less.
        dropout: Dropout rate on the inputs of `change` in training.
    """

    def __init__(self, weight: Tensor, *, rank: int, alpha: float, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        n_out, n_in = len(weight), weight[0].numel()
        rank = min(rank, n_out, n_in)
        self.scale = alpha / rank
        drawn = nn.init.kaiming_uniform_(torch.empty(rank, n_in, dtype=weight.dtype), a=math.sqrt(5))
        self.a = nn.Parameter(drawn.to(weight.device))
        self.b = nn.Parameter(weight.new_zeros(n_out, rank))

    def forward(self, weight: Float[Tensor, "n_out ..."]) -> Float[Tensor, "n_out ..."]:
        """Return the weight with its low-rank change."""
        return weight + self.scale * (self.b @ self.a).view_as(weight)

    def change(self, inputs: Float[Tensor, "... n_in"]) -> Float[Tensor, "... n_out"]:
        """Return the change of a linear layer's outputs, which is faster than changing the weight."""
        dropped = F.dropout(inputs, self.dropout, self.training)
        return self.scale * F.linear(F.linear(dropped, self.a), self.b)


def _forward(layer: Any, inputs: Tensor) -> Tensor:
    """Return the outputs of a linear layer plus those of its change."""
    weight = layer.parametrizations.weight
    out: Tensor = F.linear(inputs, weight.original, layer.bias) + weight[0].change(inputs)
    return out


@dataclass(frozen=True)
class LoRA(FewWeights):
    """Train a new head and, for linear, convolutional and attention layers, the factors of a low-rank change.

    "LoRA: Low-Rank Adaptation of Large Language Models" (Hu et al. 2022, arXiv:2106.09685), section 4.1: W = W0 +
    (alpha / r) B A. The pretrained weights, biases and normalisation layers (with the statistics of batch
    normalisation) stay as they are. A convolution is read as the matrix (outputs, inputs * kernel). A weight that a
    layer of another kind shares, such as an embedding, stays as it is. The network that predicts has the changes merged
    into its weights, and is as large as any other. Two factors take a larger rate than their product does.

    PEFT gives BERT and its relatives changes with alpha twice the rank in the layers of queries and values, and drops
    a tenth of what these read: rank = 8, alpha = 16, dropout = 0.1, targets = "query-value".
    """

    rank: Annotated[Count, Says("Rank r of the changes", "In a layer with a side shorter than it, that side.")] = 4
    alpha: Annotated[Positive, Says("Factor on the change, divided by the rank")] = 4.0
    dropout: Annotated[
        float,
        Ge(0),
        Lt(1),
        Says("Share of the inputs of a linear layer that its change does not read", "Drawn again in each step."),
    ] = 0.0
    targets: Annotated[
        Targets,
        Says(
            "Which layers are changed",
            '"all" linear, convolutional and attention layers; "query-value" for those of the queries and values of '
            'attention, by their names (`lora.QUERY_VALUE`), as Hu et al. chose them; "auto" for these where there are '
            "any, and otherwise all.",
        ),
    ] = "all"

    name: ClassVar[str] = "lora"
    called: ClassVar[str] = "LoRA"
    version: ClassVar[int] = 3
    recipe: ClassVar[str] = "lora"

    def check_network(self, network: Network) -> None:
        """Refuse, with a SettingsError, a network without the layers that are to be changed."""
        super().check_network(network)
        if not self._layers(network.features) and any(True for _ in network.features.parameters()):
            if self.targets == "query-value":
                named = ", ".join(sorted(QUERY_VALUE))
                raise SettingsError(
                    f'targets = "query-value", but no layer of the backbone is named {named}; give targets = "all"'
                )
            raise SettingsError(
                "lora changes linear, convolutional and attention layers, but the backbone has none; use bitfit or "
                "fine-tune"
            )

    def _layers(self, backbone: nn.Module) -> list[nn.Module]:
        named = backbone.named_modules()
        layers: dict[str, nn.Module] = {name: module for name, module in named if isinstance(module, ADAPTED)}
        read_by_attention = [
            module
            for name, module in layers.items()
            if name.rpartition(".")[2] in QUERY_VALUE or isinstance(module, nn.MultiheadAttention)
        ]
        takes_all = self.targets == "all" or (self.targets == "auto" and not read_by_attention)
        return list(layers.values()) if takes_all else read_by_attention

    def adapt(self, own: Network, options: FitOptions) -> Sequence[nn.Module]:
        """Add the low-rank changes to trained weights.

        Raises:
            SettingsError: As in `check_network`, or no trained weight belongs to a layer to change.
        """
        self.check_network(own)
        backbone, of_weight = own.features, dict[int, LowRank]()
        free = [parameter for parameter in backbone.parameters() if parameter.requires_grad]
        for parameter in free:
            parameter.requires_grad_(False)
        tied = {
            id(parameter)
            for module in backbone.modules()
            if not isinstance(module, ADAPTED)
            for parameter in module.parameters(recurse=False)
        }
        free_ids = set(map(id, free)) - tied  # an embedding that shares a weight would go on reading the old one
        with seeded(stream_seed(options.seed, "low rank")):
            for module in self._layers(backbone):
                for name, weight in list(module.named_parameters(recurse=False)):
                    if id(weight) not in free_ids or weight.ndim < 2 or "bias" in name:
                        continue
                    if id(weight) not in of_weight:  # a weight that two layers share keeps being one
                        of_weight[id(weight)] = LowRank(weight, rank=self.rank, alpha=self.alpha, dropout=self.dropout)
                    parametrize.register_parametrization(module, name, of_weight[id(weight)], unsafe=True)
                    if type(module).forward is nn.Linear.forward:
                        module.forward = MethodType(_forward, module)
        if free and not of_weight:
            raise SettingsError(
                "all weights that lora could change are shared with other layers; use bitfit or fine-tune"
            )
        return [module for module in backbone.modules() if is_normalisation(module)]

    def predictor(self, begun: Beginning) -> Callable[[], Network]:
        """Return the network with the changes merged into its weights."""
        plain, own = begun.own.copy(), begun.own
        return lambda: merged(plain, own)

    def searched(self, training: TrainingSettings) -> dict[str, tuple[Value, ...]]:
        """Return a higher rank."""
        return {"rank": (self.rank, 4 * self.rank)}


@torch.no_grad()
def merged(plain: Network, adapted: Network) -> Network:
    """Give a network without parametrizations, in place, the weights that one with them computes, and return it."""
    modules = dict(adapted.named_modules())
    for path, module in plain.named_modules():
        for name, tensor in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
            tensor.copy_(getattr(modules[path], name))
    return plain
