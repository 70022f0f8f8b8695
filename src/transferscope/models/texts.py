"""Text encoders of transformers as networks: tokens in, one row of features or logits out."""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.errors import NetworkError

Pooling = Literal["mean", "first", "max", "mean-root", "weighted", "last"]
"""Pooling of the last hidden states of the n tokens of a text: mean, first token, maximum, sum over the square root of
n, mean with weights 1 to n, last token.
"""

POOLING = "text_pooling"
"""Attribute of a module with its `Pooling`s; without it the pooled output of the module is used, else the mean."""

AFTER = "after_pooling"
"""Submodule of a module of transformers that reads the pooled row."""

_OF_FULL_LENGTH = ("siglip_text_model", "siglip2_text_model")  # trained on padded texts without a mask

ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "SiLU", "Sigmoid", "LeakyReLU", "ELU", "Softplus", "Mish")
"""Activations of `Dense`, with the settings that torch gives them."""


class Dense(nn.Module):
    """A linear layer with an activation, one of `ACTIVATIONS`, as in sentence-transformers."""

    def __init__(self, n_in: int, n_out: int, bias: bool, activation: str) -> None:
        super().__init__()
        self.linear = nn.Linear(n_in, n_out, bias=bias)
        self.activation = getattr(nn, activation)()

    def forward(self, rows: Tensor) -> Tensor:
        """Return rows (N, n_out)."""
        made: Tensor = self.activation(self.linear(rows))
        return made


class Normalize(nn.Module):
    """Normalisation of rows to length 1."""

    def forward(self, rows: Tensor) -> Tensor:
        """Return rows (N, m)."""
        return F.normalize(rows, dim=-1)


def reads_texts(module: nn.Module) -> bool:
    """Return whether a module is a transformers model of token ids."""
    return getattr(module, "main_input_name", None) == "input_ids" and vocabulary_of(module) is not None


def vocabulary_of(module: nn.Module) -> int | None:
    """Return the vocabulary size of a transformers model; None if its configuration has none."""
    size = getattr(getattr(module, "config", None), "vocab_size", None)
    return size if isinstance(size, int) else None


def first_tensor(outputs: object, names: Sequence[str]) -> Tensor | None:
    """Return the first of these attributes of a model's output that is a tensor; None if none is."""
    return next((value for name in names if isinstance(value := getattr(outputs, name, None), Tensor)), None)


def sample_tokens(vocabulary: int, input_shape: tuple[int, ...], *, n: int = 2) -> Tensor:
    """Draw random texts of full length from torch's global generator; int32 (n, *input_shape).

    Args:
        input_shape: (2, L) or (4, L), as in a `LabelledSet`.
    """
    tokens = torch.randint(vocabulary, (n, *input_shape), dtype=torch.int32)
    tokens[:, 1::2] = 0
    return tokens


def encoded(module: nn.Module, tokens: Tensor) -> Tensor:
    """Return the encoding of texts by a transformers model, one row each.

    Args:
        tokens: As in a `LabelledSet`, (N, 2, L), of any type; or (N, 4, L), whose halves are encoded separately.

    Returns:
        Logits or features (N, m). For two separately encoded texts u and v, |u - v| and u * v concatenated: (N, 2 m).

    Raises:
        NetworkError: The inputs are not tokens, or the model returns no supported output.
    """
    if tokens.ndim != 3 or tokens.shape[1] not in (2, 4):
        raise NetworkError(
            f"the network reads texts, but the inputs have shape {tuple(tokens.shape)}; give the data as text:PATH"
        )
    if are_pairs(tokens):
        first, second = (encoded(module, half) for half in halves(tokens))
        return torch.cat([(first - second).abs(), first * second], dim=1)
    config: Any = module.config
    there = tokens[:, 0] >= 0
    padding = getattr(config, "pad_token_id", None)
    ids = tokens[:, 0].long().masked_fill(~there, padding if isinstance(padding, int) else 0)
    given = {"input_ids": ids, "attention_mask": there.long()}
    if not isinstance(padding, int) and getattr(module, "score", None) is not None:
        raise NetworkError(
            f"{type(module).__name__} reads the last token before the padding, but its configuration has no padding "
            "token; set pad_token_id in config.json to that of the tokenizer"
        )
    if getattr(config, "model_type", None) in _OF_FULL_LENGTH:
        room = config.max_position_embeddings - ids.shape[1]
        given = {"input_ids": F.pad(ids, (0, max(room, 0)), value=padding)}
    if (getattr(config, "type_vocab_size", None) or 0) > 1:
        given["token_type_ids"] = tokens[:, 1].long().clamp(min=0)
    outputs = module(**given)
    pooling: Sequence[Pooling] | None = getattr(module, POOLING, None)
    pooled = first_tensor(outputs, ("logits", "text_embeds", "pooler_output"))
    if pooled is not None and pooled.ndim == 2 and pooling is None:
        return pooled
    hidden = getattr(outputs, "last_hidden_state", None)
    if not isinstance(hidden, Tensor):
        raise NetworkError(
            f"{type(module).__name__} returns neither logits nor hidden states for a text; give an encoder"
        )
    rows = torch.cat([pooled_row(hidden, there, mode) for mode in pooling or ("mean",)], dim=1)
    after = getattr(module, AFTER, None)
    return rows if after is None else after(rows)


def pooled_row(hidden: Tensor, there: Tensor, mode: Pooling) -> Tensor:
    """Return one pooled row per text.

    Args:
        hidden: Hidden states of its tokens (N, L, m).
        there: Mask of its tokens (N, L): the first ones, at least one.
    """
    n = there.sum(dim=1, keepdim=True)
    if mode == "first":
        return hidden[:, 0]
    if mode == "last":
        return hidden[torch.arange(len(hidden), device=hidden.device), n[:, 0] - 1]
    if mode == "max":
        return hidden.masked_fill(~there[..., None], -torch.inf).amax(dim=1)
    weights = there.to(hidden.dtype)
    if mode == "weighted":
        weights = weights * torch.arange(1, there.shape[1] + 1, device=hidden.device)
    total = weights.sum(dim=1, keepdim=True).clamp(min=1)
    return (hidden * weights[..., None]).sum(dim=1) / (total.sqrt() if mode == "mean-root" else total)


def are_pairs(tokens: Tensor) -> bool:
    """Return whether tokens (N, 2 or 4, L) are pairs of texts encoded apart."""
    return tokens.shape[1] == 4


def halves(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first and the second texts (N, 2, L) of pairs (N, 4, L), each trimmed to its longest."""
    return _trimmed(tokens[:, :2]), _trimmed(tokens[:, 2:])


def _trimmed(tokens: Tensor) -> Tensor:
    """Remove trailing padding shared by all texts; one text of a pair is often much shorter."""
    taken = (tokens[:, 0] >= 0).any(dim=0).nonzero()
    return tokens[:, :, : int(taken[-1]) + 1 if len(taken) else 1]
