"""What methods read of the blocks of encoders of texts: the tokens that there are, of both texts of a pair."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from text_encoders import encoder, encoder_of_pairs, pairs, texts
from transferscope.data.task import TransferTask
from transferscope.methods import AllLayersProbe, FitOptions, all_layers_probe
from transferscope.methods.all_layers_probe import AllLayers
from transferscope.methods.block_outputs import BlockOutputs
from transferscope.methods.common import domain
from transferscope.methods.delta import block_variances, channel_weights, map_distance
from transferscope.methods.target_training import Beginning
from transferscope.models import Network
from transferscope.training import TrainingSettings

OPTIONS = FitOptions(TrainingSettings(steps=2, batch_size=8, lr=0.01), device="cpu")


def case(*, of_pairs: bool) -> tuple[TransferTask, Network]:
    task, network = (pairs(), encoder_of_pairs()) if of_pairs else (texts(), encoder())
    return task, network.eval()


def layers(network: Network, task: TransferTask) -> AllLayers:
    return AllLayers(network, domain(task.target, OPTIONS, network).train)


def tokens_of(task: TransferTask) -> Tensor:
    return torch.from_numpy(task.target.train.inputs)


def alone(text: Tensor) -> Tensor:
    """One text (2, L) as a batch of its own, without what fills it up."""
    return text[None, :, : int((text[0] >= 0).sum())]


@torch.no_grad()
def layers_of(network: Network, text: Tensor) -> list[Tensor]:
    """What each layer of an encoder below the last gives for one text, (tokens, 8), by hand."""
    features = network.features
    parts = features if hasattr(features, "embed") else features.encoder
    ids = alone(text)[0, 0].long()
    hidden = (parts.embed(ids) + parts.place[0, : len(ids)])[None]  # type: ignore[operator, index, union-attr]
    found = [hidden[0]]
    for layer in list(parts.layers)[:2]:  # type: ignore[arg-type, union-attr]
        hidden = layer(hidden)
        found.append(hidden[0])
    return found


@pytest.mark.parametrize("of_pairs", [False, True])
def test_all_layers_average_the_tokens_that_there_are_and_compare_both_texts_of_a_pair(of_pairs: bool) -> None:
    task, network = case(of_pairs=of_pairs)
    with torch.no_grad():
        together = layers(network, task)(tokens_of(task))
    width = 16 if of_pairs else 8
    assert together.shape == (21, 3 * width + 8)
    for text, row in zip(tokens_of(task), together, strict=True):
        expected = [layer.mean(dim=0) for layer in layers_of(network, text[:2])]
        if of_pairs:
            others = [layer.mean(dim=0) for layer in layers_of(network, text[2:])]
            expected = [torch.cat([(u - v).abs(), u * v]) for u, v in zip(expected, others, strict=True)]
        assert row[: 3 * width].numpy() == pytest.approx(torch.cat(expected).numpy(), abs=1e-5)


@pytest.mark.parametrize("of_pairs", [False, True])
def test_the_probe_of_all_layers_says_the_same_of_a_text_beside_longer_ones(
    of_pairs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_layers_probe, "FRACTIONS", (1.0,))
    task, start = case(of_pairs=of_pairs)
    fitted = AllLayersProbe().fit(task, start, OPTIONS).network.eval()
    tokens = tokens_of(task)
    with torch.no_grad():
        for text, row in zip(tokens, fitted(tokens), strict=True):
            length = int((text[::2] >= 0).any(dim=0).sum())
            assert fitted(text[None, :, :length])[0].numpy() == pytest.approx(row.numpy(), abs=1e-4)


@pytest.mark.parametrize("of_pairs", [False, True])
def test_delta_measures_the_distance_over_the_tokens_of_all_texts(of_pairs: bool) -> None:
    task, start = case(of_pairs=of_pairs)
    other = start.copy().eval()
    with torch.no_grad():
        for parameter in other.features.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    tokens = tokens_of(task)
    now, then = BlockOutputs(other), BlockOutputs(start)
    with now.watched(), then.watched(), torch.no_grad():
        moved, anchors = now.of(tokens), then.of(tokens)
    parts = [slice(0, 2), slice(2, 4)] if of_pairs else [slice(0, 2)]
    begun = Beginning(domain(task.target, OPTIONS, start), start, start.head)
    variances = list(block_variances(begun).values())
    for place, name in enumerate(list(moved)[:-1]):
        own, first = ([layers_of(n, text[part])[place] for text in tokens for part in parts] for n in (other, start))
        squares = [(a - b).square().mean(dim=0).sum() for a, b in zip(own, first, strict=True)]
        expected = torch.stack(squares).mean().item()
        assert map_distance(moved[name], anchors[name], None).item() == pytest.approx(expected, rel=1e-4)
        everything = torch.cat(first)
        assert variances[place].item() == pytest.approx(everything.var(dim=0, correction=0).sum().item(), rel=1e-4)


def test_delta_weighs_channels_of_pairs_by_passes_that_begin_behind_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    task, start = pairs(), encoder_of_pairs()
    begun = Beginning(domain(task.target, OPTIONS, start), start.copy(), start.head)
    found = channel_weights(begun)
    ran: list[int] = []
    layer, plain = begun.own.features.get_submodule("encoder.layers.0"), nn.TransformerEncoderLayer.forward

    def counted(self: nn.TransformerEncoderLayer, src: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        ran.extend([1] * (self is layer))
        return plain(self, src, *args, **kwargs)

    monkeypatch.setattr(nn.TransformerEncoderLayer, "forward", counted)
    channel_weights(begun)
    assert len(ran) == 2 * (2 + 8)  # the probe, a whole pass, one for each channel of the embedding; for both texts
    monkeypatch.setattr("transferscope.methods.block_outputs.are_pairs", lambda tokens: False)
    whole = channel_weights(begun)
    assert len(ran) == 2 * (2 + 8) + 2 * (2 + 3 * 8)
    for name, weights in found.items():
        assert weights.numpy() == pytest.approx(whole[name].numpy(), rel=1e-3)
