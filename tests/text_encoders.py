"""Small encoders of texts, and of pairs of texts that are read apart, with examples for them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.models import Network
from transferscope.models.inputs import NetworkInput
from transferscope.models.texts import halves


def save_tokenizer(transformers: Any, words: Sequence[str], folder: Path) -> None:
    """Write a tokenizer like BERT's, with a token for each of the words after its five special ones."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate([*special, *words])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


class Attention(nn.Module):
    """An encoder of texts that masks what is not there, its layers called with the mask."""

    def __init__(
        self, *, masked: bool = True, drop: float = 0.0, in_tuples: bool = False, shared: bool = False
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.place = nn.Parameter(0.1 * torch.randn(1, 9, 8))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(8, 2, 16, drop, batch_first=True) for _ in range(3))
        self.dropout, self.masked, self.shared = nn.Dropout(drop), masked, shared

    def forward(self, tokens: Tensor) -> Tensor:
        there = tokens[:, 0] >= 0
        hidden = self.embed(tokens[:, 0].long().clamp(min=0)) + self.place[:, : tokens.shape[-1]]
        hidden = self.dropout(hidden)
        for layer in self.layers:
            hidden = layer(hidden, src_key_padding_mask=~there if self.masked else None)
        if self.shared:
            hidden = hidden + self.embed(tokens[:, 0].long().clamp(min=0))
        weights = there[..., None].to(hidden.dtype) if self.masked else torch.ones_like(hidden[..., :1])
        pooled: Tensor = (hidden * weights).sum(dim=1) / weights.sum(dim=1)
        return pooled


def texts() -> TransferTask:
    draw = np.random.default_rng(0)
    tokens = np.full((21, 2, 9), -1, dtype=np.int32)
    for text in tokens:
        length = draw.integers(2, 10)
        text[0, :length], text[1, :length] = draw.integers(1, 12, length), 0
    part = LabelledSet(tokens, np.arange(21) % 4, ("a", "b", "c", "d"))
    return TransferTask(Dataset("texts", part, part))


def encoder(**settings: Any) -> Network:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        features = Attention(**settings)
        names = ("embed", "layers.0", "layers.1", "layers.2")
        return Network(features, nn.Linear(8, 4), 8, input=NetworkInput(vocabulary=12), block_names=names)


class Pairs(nn.Module):
    """Two texts one after the other, as `texts.encoded` reads pairs, or both in one run."""

    def __init__(self, encoder: Attention, *, at_once: bool = False) -> None:
        super().__init__()
        self.encoder, self.at_once = encoder, at_once

    def forward(self, tokens: Tensor) -> Tensor:
        if self.at_once:
            first, second = self.encoder(torch.cat([tokens[:, :2], tokens[:, 2:]])).chunk(2)
        else:
            first, second = (self.encoder(half) for half in halves(tokens))
        made: Tensor = (first - second).abs() + first * second
        return made


def pairs() -> TransferTask:
    """The texts of `texts`, and beside each another one, of which the longest has seven tokens."""
    part = texts().target.train
    beside = np.roll(part.inputs, 5, axis=0)
    beside[:, :, 7:] = -1
    part = replace(part, inputs=np.concatenate([part.inputs, beside], axis=1))
    return TransferTask(Dataset("pairs", part, part))


def encoder_of_pairs(*, at_once: bool = False, **settings: Any) -> Network:
    plain = encoder(**settings)
    assert isinstance(plain.features, Attention)
    names = tuple(f"encoder.{name}" for name in plain.block_names)
    features = Pairs(plain.features, at_once=at_once)
    return Network(features, plain.head, 8, input=plain.input, block_names=names)
