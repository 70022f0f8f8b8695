"""Text encoders of transformers as networks: tokens in, one row of features or logits out."""

import json
from pathlib import Path
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from transferscope.errors import NetworkError

Pooling = Literal["mean", "first", "max"]
"""How the last hidden states of a text's tokens become one row: their mean, the first token's, or their maximum."""

POOLING = "text_pooling"
"""Attribute of a module that says its `Pooling`; without it the pooled output of the module, or else the mean."""


def reads_texts(module: nn.Module) -> bool:
    """Whether a module is a model of transformers that reads ids of tokens."""
    return getattr(module, "main_input_name", None) == "input_ids" and vocabulary_of(module) is not None


def vocabulary_of(module: nn.Module) -> int | None:
    """Number of tokens that a model of transformers knows; None where its configuration says none."""
    found = getattr(getattr(module, "config", None), "vocab_size", None)
    return found if isinstance(found, int) else None


def sample_tokens(vocabulary: int, input_shape: tuple[int, ...], *, n: int = 2) -> Tensor:
    """Random texts of full length, drawn from torch's global generator; int32 (n, *input_shape).

    Args:
        vocabulary: Number of tokens.
        input_shape: (2, L) or (4, L), as in a `LabelledSet`.
        n: How many.
    """
    tokens = torch.randint(vocabulary, (n, *input_shape), dtype=torch.int32)
    tokens[:, 1::2] = 0
    return tokens


def read_pooling(folder: Path) -> Pooling | None:
    """The pooling that a folder of sentence-transformers says; None for a folder that says none.

    Args:
        folder: With `1_Pooling/config.json`, if it is one.

    Raises:
        NetworkError: Its pooling is another one than those of `Pooling`.
    """
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return None
    names: dict[str, Pooling] = {
        "pooling_mode_mean_tokens": "mean",
        "pooling_mode_cls_token": "first",
        "pooling_mode_max_tokens": "max",
    }
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        modes = [key for key, value in found.items() if key.startswith("pooling_mode") and value]
        if modes == ["pooling_mode"]:  # newer files name it
            mode: Pooling = {"mean": "mean", "cls": "first", "max": "max"}[found["pooling_mode"]]  # type: ignore[assignment]
            return mode
        (only,) = modes
        return names[only]
    except (ValueError, KeyError, AttributeError, OSError) as error:
        raise NetworkError(
            f"{path} asks for a pooling that is not known here; expected one of {', '.join(get_args(Pooling))}"
        ) from error


def encoded(module: nn.Module, tokens: Tensor) -> Tensor:
    """What a model of transformers makes of texts, one row for each.

    Args:
        module: The model.
        tokens: As in a `LabelledSet`, (N, 2, L), of any type; or (N, 4, L), of which each half is read on its own.

    Returns:
        Logits or features (N, m). Of two texts u and v that are read apart, |u - v| beside u * v: (N, 2 m).

    Raises:
        NetworkError: The inputs are no tokens, or the model returns nothing that can be read.
    """
    if tokens.ndim != 3 or tokens.shape[1] not in (2, 4):
        raise NetworkError(f"the network reads texts and its inputs have shape {tuple(tokens.shape)}; name text:PATH")
    if are_pairs(tokens):
        first, second = (encoded(module, half) for half in halves(tokens))
        return torch.cat([(first - second).abs(), first * second], dim=1)
    config = module.config
    there = tokens[:, 0] >= 0
    padding = getattr(config, "pad_token_id", None)
    ids = tokens[:, 0].long().masked_fill(~there, padding if isinstance(padding, int) else 0)
    given = {"input_ids": ids, "attention_mask": there.long()}
    if (getattr(config, "type_vocab_size", None) or 0) > 1:
        given["token_type_ids"] = tokens[:, 1].long().clamp(min=0)
    outputs = module(**given)
    pooling = getattr(module, POOLING, None)
    names = ("logits", "text_embeds", "pooler_output")
    pooled = next((v for name in names if isinstance(v := getattr(outputs, name, None), Tensor)), None)
    if pooled is not None and pooled.ndim == 2 and pooling is None:
        return pooled
    hidden = getattr(outputs, "last_hidden_state", None)
    if not isinstance(hidden, Tensor):
        raise NetworkError(
            f"{type(module).__name__} gives neither logits for a text nor hidden states of its tokens; give an encoder"
        )
    if pooling == "first":
        return hidden[:, 0]
    if pooling == "max":
        return hidden.masked_fill(~there[..., None], -torch.inf).amax(dim=1)
    weights = there[..., None].to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def are_pairs(tokens: Tensor) -> bool:
    """Whether tokens (N, 2 or 4, L) are pairs of texts that are read apart."""
    return tokens.shape[1] == 4


def halves(tokens: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the second texts (N, 2, L) of pairs (N, 4, L) that are read apart, each as long as its longest."""
    return _trimmed(tokens[:, :2]), _trimmed(tokens[:, 2:])


def _trimmed(tokens: Tensor) -> Tensor:
    """Texts without the places that all of them leave empty at the end: of a pair, one is often much shorter."""
    taken = (tokens[:, 0] >= 0).any(dim=0).nonzero()
    return tokens[:, :, : int(taken[-1]) + 1 if len(taken) else 1]
