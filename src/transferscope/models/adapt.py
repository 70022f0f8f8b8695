"""Conversion of any module to a network: its head, its blocks, and one output tensor."""

import copy
import random
from collections import OrderedDict
from contextlib import ExitStack
from difflib import get_close_matches

import numpy as np
import torch
from torch import Tensor, nn

from transferscope.errors import NetworkError, first_line
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import Network, device_of, evaluated, n_weights, seeded
from transferscope.models.texts import AFTER, encoded, first_tensor, reads_texts, sample_tokens, vocabulary_of

_TOLERANCE = 1e-4
_ALL_OF_IT = 0.9  # of a backbone's parameters, nearly
_LISTED = 6

NO_HEAD = "none"
"""Name of a head for modules without one."""


def adapt(
    module: nn.Module,
    head: str | None = None,
    *,
    input_shape: tuple[int, ...],
    input: NetworkInput | None = None,
    like: Network | None = None,
) -> Network:
    """Split a module into the submodule called `head` and everything before it.

    The split is tested on two random inputs: the head's outputs on the features must equal those of the module, so only
    the head may follow the features (no softmax after it, for example).

    Args:
        module: Any module from inputs (N, *input_shape) to outputs (N, n_outputs), or to an object that has them as
            `logits`; it is copied, never changed. A text encoder of transformers reads tokens, see `texts.encoded`.
        head: Name of a submodule, as in `module.named_modules()`: "fc", "classifier.1"; "none" for a module that makes
            features (also as `pooler_output` or `last_hidden_state`) and has no head, which gets an untrained one; None
            to find it: the last linear layer that the module calls.
        input: Input scaling of the module, and size and channels of its images: others are refused, and `load(NAME,
            transforms=input.transforms)` converts them. None to standardise inputs by the training
            examples, and for a text encoder the vocabulary of its configuration.
        like: A network of the same architecture that was split and tested before; None to test this one.

    Returns:
        A network on the module's device that shares no memory with it, whose weights count as trained. Its blocks
        are the parts of an `nn.Sequential`, or the groups that `find_blocks` names, in the order in which they run.

    Raises:
        NetworkError: The submodule does not exist, or none is found; the module fails on inputs of this shape or does
        not return one tensor (N, n_outputs); its outputs depend on other inputs (see `check_answers`); or more than the
        head follows the features.

    Example:
        >>> whole = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        >>> adapt(whole, "2", input_shape=(4,)).n_features
        3
    """
    if head not in (None, NO_HEAD):
        _check_name(module, str(head))
    copied = copy.deepcopy(module)
    if input is None and reads_texts(module):
        input = NetworkInput(vocabulary=vocabulary_of(module))
    vocabulary = None if input is None else input.vocabulary
    if vocabulary is not None and (len(input_shape) != 2 or input_shape[0] not in (2, 4)):
        raise NetworkError(
            f"the network reads texts, but the inputs have shape {input_shape}; give the data as text:PATH"
        )
    if like is not None:
        whole = OneTensor(copied) if isinstance(like.features, OneTensor) else copied
        features, own_head = _parts(whole, like.split, like.n_features)
        parted = Network(features, own_head, like.n_features, input=input, block_names=like.block_names)
        return parted.train(module.training)
    with seeded(0), torch.no_grad():
        inputs = sample_inputs(input_shape, vocabulary).to(device_of(module))
        whole = _one_tensor(copied, inputs)
        check_answers(whole, input_shape, vocabulary)
        if head is None:
            head = _last_linear(whole, inputs)
        elif head != NO_HEAD and whole is not copied:
            head = f"module.{head}"
        if head == NO_HEAD:
            n_features = int(_run(whole.eval(), inputs, "the network").shape[1])
            features, own_head = _parts(whole, head, n_features)
        else:
            original = copy.deepcopy(whole)
            features, own_head = _parts(whole, head, 0)
            n_features = _try_out(original, features, own_head, inputs)
        blocks = () if isinstance(features, nn.Sequential) else _as_run(features.eval(), find_blocks(features), inputs)
    features.train(module.training)
    own_head.train(module.training)
    network = Network(features, own_head, n_features, input=input, block_names=blocks)
    network.split = head
    return network


def _parts(whole: nn.Module, head: str, n_features: int) -> tuple[nn.Module, nn.Module]:
    """Return features and head; the module is changed, and one without a head gets one for so many features."""
    if head == NO_HEAD:
        return whole, nn.Linear(n_features, 1).to(device_of(whole))
    own_head = whole.get_submodule(head)
    if isinstance(whole, nn.Sequential) and whole[-1] is own_head:
        return nn.Sequential(OrderedDict(list(whole._modules.items())[:-1])), own_head
    parent, _, child = head.rpartition(".")
    setattr(whole.get_submodule(parent), child, nn.Identity())
    return whole, own_head


def check_answers(module: nn.Module, input_shape: tuple[int, ...], vocabulary: int | None = None) -> None:
    """Refuse a module whose outputs in evaluation mode are random, or depend on the other inputs of the batch.

    Three random inputs are read twice (more often if a global random generator was used), and two of them again without
    the third; for texts these two are shorter.

    Args:
        module: From inputs (N, *input_shape) to one tensor (N, width).
        vocabulary: Number of tokens, for a module that reads texts.

    Raises:
        NetworkError: The outputs differ, or it fails on these inputs.
    """
    length = max(1, input_shape[-1] // 2)
    with seeded(0), torch.no_grad(), evaluated(module):
        inputs = sample_inputs(input_shape, vocabulary, n=3).to(device_of(module))
        fewer = inputs[1:]
        if vocabulary is not None:
            fewer[:, :, length:] = -1
            fewer = fewer[:, :, :length]
        before = _random_state()
        first = _run(module, inputs, "the network")
        for _ in range(1 if before == _random_state() else _REPEATED):
            if not alike(_run(module, inputs, "the network"), first, 1e-5):
                raise NetworkError(
                    "the network's outputs for the same inputs differ between calls in evaluation mode (dropout that "
                    "ignores eval()?); make its randomness depend on self.training"
                )
        own = _run(module, fewer, "the network")
    if not alike(own, first[1:]):
        what = "batch normalisation without running statistics" if vocabulary is None else "padding that is not masked"
        raise NetworkError(
            f"the network's output for an input depends on its batch in evaluation mode ({what}?); give a network "
            "that reads each input on its own"
        )


_REPEATED = 50


def sample_inputs(input_shape: tuple[int, ...], vocabulary: int | None, *, n: int = 2) -> Tensor:
    """Draw inputs from torch's global generator: texts of full length for a network with a vocabulary."""
    return torch.randn(n, *input_shape) if vocabulary is None else sample_tokens(vocabulary, input_shape, n=n)


def _random_state() -> tuple[object, ...]:
    legacy = np.random.get_state()  # noqa: NPY002, the one that code of others draws from
    return torch.default_generator.get_state().tolist(), random.getstate(), str(legacy)


def alike(one: Tensor, other: Tensor, tolerance: float | None = None) -> bool:
    """Return whether outputs are equal up to rounding.

    Args:
        tolerance: Relative to the largest output; None for the effect of batch size: 1/1000, or 1/20 for two-byte
            types.
    """
    if one.shape != other.shape:
        return False
    if tolerance is None:
        tolerance = 1e-3 if other.dtype.itemsize > 2 else 5e-2
    largest = float(other.abs().nan_to_num().max()) if other.numel() else 0.0
    return torch.allclose(one, other, rtol=tolerance, atol=tolerance * largest, equal_nan=True)


class OneTensor(nn.Module):
    """A module that returns an object, wrapped to return one tensor (N, width).

    `logits` where there are any, or a projection's `image_embeds`, otherwise features: the pooled ones, or of a
    sequence of hidden states the first, where the module has a class token, and their mean where it has none; of a
    feature map the mean over its pixels. A text encoder is given its tokens as `texts.encoded` does.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the tensor."""
        if reads_texts(self.module):
            return encoded(self.module, inputs)
        outputs = self.module(inputs)
        tensor = first_tensor(outputs, _FIELDS)
        if tensor is None:
            shown = type(outputs).__name__
            raise NetworkError(
                f"the network returns {shown}; expected one tensor (N, width), or an object with logits, "
                "pooler_output or last_hidden_state: wrap it in a module that returns one"
            )
        if tensor.ndim == 3:
            tokens = any("cls_token" in n or "class_embedding" in n for n, _ in self.module.named_parameters())
            return tensor[:, 0] if tokens else tensor.mean(dim=1)
        return tensor.mean(dim=(2, 3)) if tensor.ndim == 4 else tensor

    def reset_parameters(self) -> None:
        """Initialise the weights again, as the configuration of a transformers model says.

        Raises:
            NetworkError: The module has no configuration.
        """
        config = getattr(self.module, "config", None)
        if config is None or not hasattr(self.module, "init_weights"):
            raise NetworkError(
                f"{type(self.module).__name__} has no configuration to initialise it again; leave scratch out, or "
                "name the network by a factory"
            )
        kept = self.module.state_dict()
        options = {} if any("pooler" in name for name in kept) else {"add_pooling_layer": False}
        try:
            fresh = type(self.module)(config, **options)
        except TypeError:  # a model without that option
            fresh = type(self.module)(config)
        of_text = {name: tensor for name, tensor in kept.items() if name.startswith(f"{AFTER}.")}  # drawn by themselves
        drawn = {**of_text, **fresh.state_dict()}
        lacking = [name for name in kept if name not in drawn or drawn[name].shape != kept[name].shape]
        if lacking:
            raise NetworkError(
                f"{type(self.module).__name__} was changed after it was built ({lacking[0]}), so it cannot be "
                "initialised again; leave scratch out, or name the network by a factory"
            )
        self.module.load_state_dict({name: drawn[name] for name in kept})


_FIELDS = ("logits", "image_embeds", "pooler_output", "last_hidden_state")


def find_blocks(features: nn.Module) -> tuple[str, ...]:
    """Return the names of the groups of a backbone: encoder layers, stages, or top-level children.

    The children that have parameters, in the order in which the module lists them. Taken apart further are lists of
    modules, a group that has such a list, one called "features", and one with more than nine tenths of the parameters.

    Returns:
        Names of submodules; () when it is one block.
    """
    total = n_weights(features)

    def groups(module: nn.Module, prefix: str) -> list[str]:
        names: list[str] = []
        for name, child in module.named_children():
            size = n_weights(child)
            inner = [one for one in child.children() if any(True for _ in one.parameters())]
            several = len(inner) > 1 or any(True for one in inner for _ in one.children())
            listed = any(isinstance(one, nn.ModuleList) for one in inner)
            if isinstance(child, nn.ModuleList):
                parts = {one: part for one, part in child.named_children() if any(True for _ in part.parameters())}
                names += [f"{prefix}{name}.{one}" for one in parts]
            elif several and (listed or name == "features" or size > _ALL_OF_IT * total):
                names += groups(child, f"{prefix}{name}.")
            elif size:
                names.append(f"{prefix}{name}")
        return names

    return tuple(groups(features, ""))


def _as_run(features: nn.Module, blocks: tuple[str, ...], inputs: Tensor) -> tuple[str, ...]:
    """Return the blocks in the order of their first calls, which may differ from the order of definition.

    A block that is not called, such as a list of modules, stays after its predecessor in the list.
    """
    called: list[str] = []
    with ExitStack() as hooks:
        for name in blocks:
            block = features.get_submodule(name)
            hooks.enter_context(block.register_forward_pre_hook(lambda *_, name=name: called.append(name)))
        _run(features, inputs, "the network without its head")
    places, place = [], -1
    for name in blocks:
        place = called.index(name) if name in called else place
        places.append(place)
    return tuple(name for _, name in sorted(zip(places, blocks, strict=True), key=lambda pair: pair[0]))


def _check_name(module: nn.Module, head: str) -> None:
    names = [name for name, _ in module.named_modules() if name]
    if head in names:
        return
    near = get_close_matches(head, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(repr(name) for name in near)}? " if near else ""
    last = ", ".join(names[-3:]) or "none: it has no submodules"
    raise NetworkError(f"the network has no submodule {head!r}: {hint}its last ones are {last}")


def _one_tensor(module: nn.Module, inputs: Tensor) -> nn.Module:
    """Return the module, wrapped if it does not return a tensor."""
    if reads_texts(module):
        return OneTensor(module)
    try:
        with evaluated(module):
            outputs = module(inputs)
    except Exception:  # said by the trial, in words
        return module
    is_object = not isinstance(outputs, Tensor) and first_tensor(outputs, _FIELDS) is not None
    return OneTensor(module) if is_object else module


def _last_linear(module: nn.Module, inputs: Tensor) -> str:
    """Return the linear layer that is called last, after checking that its outputs are those of the module."""
    called: list[tuple[str, Tensor]] = []
    with ExitStack() as hooks, evaluated(module):
        for name, layer in module.named_modules():
            if isinstance(layer, nn.Linear):
                hooks.enter_context(
                    layer.register_forward_hook(lambda _, __, output, name=name: called.append((name, output)))
                )
        outputs = _run(module, inputs, "the network")
    if called:
        name, last = called[-1]
        of_one_token = last.ndim == 3 and last.shape[::2] == outputs.shape  # as decoders read the last one
        if of_one_token and (last == outputs[:, None]).all(dim=2).any(dim=1).all():
            return name
        if last.shape == outputs.shape and torch.equal(last, outputs):
            return name
    names = [f"{name.removeprefix('module.')} ({output.shape[-1]} outputs)" for name, output in called[-_LISTED:]]
    listed = f"the linear layers that it calls are {', '.join(names)}" if names else "it calls no linear layer"
    raise NetworkError(
        f"the network's head is unknown: its outputs {tuple(outputs.shape)} are not those of its last linear layer "
        f'({listed}); name it, as in head = "classifier.1", or use head = "none" for features alone'
    )


def _try_out(module: nn.Module, features: nn.Module, head: nn.Module, inputs: Tensor) -> int:
    """Check that the split computes the same as the module, and return the width of the features."""
    _run(copy.deepcopy(module).train(), inputs, "the network in training mode")
    expected = _run(copy.deepcopy(module).eval(), inputs, "the network")
    seen = _run(copy.deepcopy(features).eval(), inputs, "the network without its head")
    outputs = _run(copy.deepcopy(head).eval(), seen, "the head")
    if outputs.shape != expected.shape or not torch.allclose(outputs, expected, rtol=_TOLERANCE, atol=_TOLERANCE):
        raise NetworkError(
            "the network's outputs are not those of its head (a softmax at the end?); wrap it in a module that ends "
            "in its head"
        )
    return int(seen.shape[1])


def _run(module: nn.Module, inputs: Tensor, what: str) -> Tensor:
    """Return the output (N, width) of a module; raises NetworkError for other outputs."""
    try:
        outputs = module(inputs)
    except NetworkError:
        raise
    except Exception as error:  # code of another package may raise anything
        images = (
            "; if it reads images of another size or with other channels, say so: input = { size = 224, channels = 3 } "
            "with the source, in a study file"
        )
        raise NetworkError(
            f"{what} fails on inputs of shape {tuple(inputs.shape)}: {first_line(error)}"
            f"{images if inputs.ndim == 4 else ''}"
        ) from error
    if not isinstance(outputs, Tensor):
        raise NetworkError(
            f"{what} returns {type(outputs).__name__}; expected one tensor (N, width): wrap it in a module that "
            "returns one"
        )
    if outputs.ndim != 2:
        raise NetworkError(
            f"{what} returns shape {tuple(outputs.shape)}; expected (N, width): flatten or pool it first"
        )
    return outputs
