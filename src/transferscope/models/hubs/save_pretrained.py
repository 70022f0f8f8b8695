"""Export of a trained transformers network to a folder for `from_pretrained`."""

import copy
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from transferscope.errors import NetworkError
from transferscope.files import written_whole
from transferscope.models.adapt import NO_HEAD, OneTensor, adapt, sample_inputs
from transferscope.models.fields import read_json
from transferscope.models.hubs.huggingface import HuggingFace, transformers_package
from transferscope.models.hubs.sentences import MODULES
from transferscope.models.inputs import NetworkInput
from transferscope.models.neighbours import NeighbourHead
from transferscope.models.network import Network, seeded
from transferscope.models.texts import AFTER
from transferscope.models.weights import check_weights, checksum_notes, head_of, read_tensors

WEIGHTS, HEAD = "model.safetensors", "head.safetensors"

Problem = Literal["regression", "single_label_classification", "multi_label_classification"]

_BESIDE = (
    "tokenizer*.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
    "preprocessor_config.json",
    "processor_config.json",
    "[0-9]*_*/config.json",
    "modules.json",
    "sentence_*_config.json",
    "config_sentence_transformers.json",
)
"""Files of a model besides configuration and weights: tokenizer, image processor, pooling."""

FILES = (WEIGHTS, HEAD, "config.json", "generation_config.json", f"[0-9]*_*/{WEIGHTS}", *_BESIDE)
"""Patterns of the files that `save_pretrained` may write."""

_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class SavedModel:
    """The result of `save_pretrained`.

    Attributes:
        architecture: Class of transformers for `from_pretrained`, as in "ViTForImageClassification".
        head: Name of its head; None for an encoder, whose head is in `head.safetensors`.
    """

    architecture: str
    head: str | None


def save_pretrained(
    named: HuggingFace,
    network: Network,
    folder: Path,
    *,
    input_shape: tuple[int, ...],
    n_outputs: int,
    classes: Sequence[str] | None,
    problem: Problem,
    notes: Callable[[SavedModel], Mapping[str, str]],
) -> SavedModel:
    """Write a transformers network to a folder, with its tokenizer or image processor.

    A model with a head is written with the new head. An encoder becomes the classification model of its kind if that
    computes the same (a ViT without its pooling layer, a BERT with it); otherwise, as with the mean over tokens, it
    stays an encoder with its head in a separate file.

    Args:
        network: The trained network, on the CPU.
        folder: An existing folder.
        input_shape: Shape of one input, as the network reads it.
        classes: Names of the classes or labels; None for numbers.
        problem: Problem type in the terms of transformers.

    Raises:
        NetworkError: The network does not match `named`, or transformers cannot write it.
    """
    if not isinstance(network.features, OneTensor) or not isinstance(network.head, nn.Linear | NeighbourHead):
        raise NetworkError(f"hf:{named.name} was changed, so transformers has no model for it; export another arm")
    for kind, prefix in _kinds(named):
        model, head = _filled(named, kind, prefix, network, n_outputs, classes, problem)
        if model is not None and _computes_the_same(model, head, network, input_shape):
            saved = SavedModel(kind.__name__, head)
            break
    else:
        model = copy.deepcopy(network.features.module)
        if named.head != NO_HEAD:
            raise NetworkError(
                f"the head of hf:{named.name} cannot be replaced in its model; export a network with another head"
            )
        saved = SavedModel(type(model).__name__, None)
        with written_whole(folder / HEAD) as unfinished:
            of_head = {name: tensor.detach().contiguous() for name, tensor in network.head.state_dict().items()}
            save_file(of_head, unfinished, metadata=checksum_notes(of_head))
    layers, sentences = model._modules.pop(AFTER, ()), named.sentences
    for layer, (inside, _) in zip(layers, sentences.after if sentences is not None and layers else (), strict=True):
        if own := {name: t.detach().contiguous() for name, t in layer.state_dict().items()}:
            (folder / inside).mkdir(exist_ok=True)
            with written_whole(folder / inside / WEIGHTS) as unfinished:
                save_file(own, unfinished)
    with named.as_network_error("written"):
        model.save_pretrained(str(folder), max_shard_size="1000GB")
    tensors = load_file(folder / WEIGHTS)
    with written_whole(folder / WEIGHTS) as unfinished:
        save_file(tensors, unfinished, metadata={**notes(saved), **checksum_notes(tensors), "format": "pt"})
    for pattern in _BESIDE:
        for file in named.folder.glob(pattern):
            place = folder / file.relative_to(named.folder)
            place.parent.mkdir(exist_ok=True)
            shutil.copyfile(file, place)
    if sentences is not None and sentences.left_out:  # the head reads rows that are not brought to length 1
        modules = [one for one in read_json(folder / MODULES) if one["path"] not in sentences.left_out]
        with written_whole(folder / MODULES) as unfinished:
            unfinished.write_text(json.dumps(modules, indent=2), encoding="utf-8")
    return saved


def open_saved(folder: Path, saved: SavedModel, *, input_shape: tuple[int, ...], known: NetworkInput | None) -> Network:
    """Open the network written by `save_pretrained`.

    Raises:
        NetworkError: A file is missing, or belongs to another model.
        CorruptDataError: Weights have changed since the export.
    """
    opened = HuggingFace(str(folder)).trained()
    if opened.missing:
        raise NetworkError(f"{folder} lacks weights, such as {opened.missing[0]}; export the network again")
    network = adapt(opened.module, saved.head or NO_HEAD, input_shape=input_shape, input=known)
    if saved.head is not None:
        return network
    stored = read_tensors(folder / HEAD)
    head = head_of(stored, network)
    if not isinstance(head, nn.Linear | NeighbourHead):
        shapes = {name: tuple(tensor.shape) for name, tensor in stored.items()}
        raise NetworkError(
            f"{folder / HEAD} has {shapes}; expected the weight (outputs, {network.n_features}) of a head with or "
            "without bias, or nearest neighbours: export the network again"
        )
    check_weights(stored, stored, folder / HEAD)
    head.load_state_dict(stored)
    return network.under(head)


def _kinds(named: HuggingFace) -> Iterator[tuple[Any, str]]:
    """Yield candidate classes for the network with its head, and their prefix of the names of its weights."""
    if named.head != NO_HEAD:
        yield named.kind, ""
        return
    package: Any = transformers_package()
    for task in ("IMAGE", "SEQUENCE"):
        mapping: Any = getattr(package, f"MODEL_FOR_{task}_CLASSIFICATION_MAPPING")
        kind: Any = mapping.get(type(named.configuration), None)
        if kind is not None and kind.base_model_prefix:
            yield kind, f"{kind.base_model_prefix}."


def _filled(
    named: HuggingFace,
    kind: Any,
    prefix: str,
    network: Network,
    n_outputs: int,
    classes: Sequence[str] | None,
    problem: Problem,
) -> tuple[Any, str]:
    """Return a model of a class with the network's weights, and the name of its head; None if they do not fit."""
    config = copy.deepcopy(named.configuration)
    labels = [f"output_{i}" for i in range(n_outputs)] if classes is None else list(classes)
    config.id2label, config.label2id = dict(enumerate(labels)), {name: i for i, name in enumerate(labels)}
    config.problem_type = problem
    with seeded(0), named.as_network_error("written"):
        model = kind(config)
    features = network.features
    assert isinstance(features, OneTensor)
    own = {f"{prefix}{name}": tensor for name, tensor in features.module.state_dict().items()}
    wanted: dict[str, Tensor] = model.state_dict()
    heads = [name for name in wanted if name not in own]
    head = heads[0].rpartition(".")[0] if heads else ""
    given = own | {f"{head}.{name}": tensor for name, tensor in network.head.state_dict().items()}
    if given.keys() != wanted.keys() or any(given[name].shape != wanted[name].shape for name in wanted):
        return None, ""
    model.load_state_dict(given)
    return model, head


def _computes_the_same(model: Any, head: str, network: Network, input_shape: tuple[int, ...]) -> bool:
    vocabulary = None if network.input is None else network.input.vocabulary
    with seeded(0), torch.no_grad():
        drawn = sample_inputs(input_shape, vocabulary)
        try:
            again = adapt(model, head, input_shape=input_shape, input=network.input)
        except NetworkError:
            return False
        expected, computed = copy.deepcopy(network).eval()(drawn), again.eval()(drawn)
    return expected.shape == computed.shape and torch.allclose(expected, computed, rtol=_TOLERANCE, atol=_TOLERANCE)
