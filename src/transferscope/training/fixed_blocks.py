"""Outputs of the frozen first blocks of a backbone for each training example, computed once per run.

The output of the last frozen block is computed before the first step, for each text of a pair read separately, and for
each image and its mirror image if images are flipped. A few examples are used to test whether the backbone can be cut
there; otherwise all blocks run in every step.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from transferscope.machine import memory_free
from transferscope.models.network import Network, computing
from transferscope.models.texts import are_pairs, halves
from transferscope.settings.training import TrainingSettings
from transferscope.training.evaluate import frozen_features
from transferscope.training.feature_cache import is_kept
from transferscope.training.learner import Learner
from transferscope.training.tensors import Batch, TensorSet, forked_random_states, random_states, sent

MOST_MEMORY = 0.25
"""Largest share of free memory for the outputs."""

TOLERANCE = 1e-5
"""Largest difference between two computations of the same features, relative to the largest of them."""

_TRIED = 8
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Part:
    """A module whose output is cached.

    Attributes:
        shape: Shape of its output for one example; None for the number of tokens.
        length: Length of the tuple that it returns, with None after its output; 0 if it returns a tensor.
    """

    module: nn.Module
    shape: tuple[int | None, ...]
    length: int

    def returned(self, output: Tensor) -> Any:
        """Return the output in the form of the module."""
        return (output, *[None] * (self.length - 1)) if self.length else output

    def shape_of(self, n: int, n_tokens: int) -> tuple[int, ...]:
        """Return the shape of its output for a number of examples with a number of tokens."""
        return (n, *[n_tokens if size is None else size for size in self.shape])


@dataclass
class FixedBlocks:
    """The outputs of the last fixed block for all training examples, and passes that start from them.

    Attributes:
        skipped: Parts before the last, from the input up.
        last: The part whose outputs are kept.
        in_line: Whether the parts follow each other directly, so that one may return its input. Otherwise they return
            zeros, for the code between them.
        apart: Whether the parts run twice in a pass: for the first text of a pair, and for the second.
        longest: Number of tokens of the longest text, in each of these runs.
        outputs: Cached outputs of each run, by example; empty before they are computed.
        is_channels_last: Whether they are maps in channels-last memory order.
        state: State of the frozen blocks at that time, from `state_now`: it must not change.
    """

    features: nn.Module
    skipped: list[_Part]
    last: _Part
    in_line: bool
    is_mixed: bool
    apart: bool
    longest: tuple[int, ...]
    outputs: list[Tensor] = field(default_factory=list, init=False)
    is_channels_last: bool = field(default=False, init=False)
    state: list[object] = field(default_factory=list, init=False)

    @torch.no_grad()
    def compute(self, data: TensorSet, order: Int[Tensor, " N"], batch_size: int) -> None:
        """Compute the outputs in batches as large as those of training, so that the arithmetic is the same.

        Args:
            order: All examples, in reading order.

        Raises:
            ValueError: In mixed precision, which keeps two or three digits, outputs depend on the batch.
        """
        if self.is_mixed and None in self.last.shape:
            raise ValueError("in mixed precision outputs depend on the longest text of a batch")
        for start in range(0, len(order), batch_size):
            index = torch.cat([order[start : start + batch_size], order])[:batch_size]  # the last one is filled up
            outputs = self._reached(data.batch(index).inputs)
            if not start:
                self.is_channels_last = outputs[0].ndim == 4 and not outputs[0].is_contiguous()
                for output, shape in zip(outputs, self.shapes(len(data)), strict=True):
                    self.outputs.append(self._laid(output.new_zeros(1).expand(shape)).contiguous())
            left = order[start:]
            if self.is_mixed and len(left) < batch_size:  # a smaller batch in training, rounded after other sums
                alone = self._reached(data.batch(left).inputs)
                if not all(torch.equal(*pair) for pair in zip(alone, (o[: len(left)] for o in outputs), strict=True)):
                    raise ValueError("in mixed precision a smaller batch gives other outputs")
            for kept, output in zip(self.outputs, map(self._laid, outputs), strict=True):
                if None in self.last.shape:
                    kept[index, : output.shape[1]] = output
                else:
                    kept[index] = output

    def shapes(self, n: int) -> list[tuple[int, ...]]:
        """Return the shapes of the cached outputs of a number of examples."""
        return [self.last.shape_of(n, n_tokens) for n_tokens in self.longest]

    def _reached(self, inputs: Tensor) -> list[Tensor]:
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=self.is_mixed):
            return [_reached(self.features, self.last.module, run) for run in _first_runs(inputs, self.apart)]

    def _laid(self, output: Tensor) -> Tensor:
        return output.movedim(1, -1) if self.is_channels_last else output

    @contextmanager
    def begun(self, batch: Batch, index: Int[Tensor, " n"]) -> Iterator[None]:
        """Start passes of the backbone over exactly the batch's inputs from their cached outputs.

        Args:
            batch: Batch of one training step, not blended, and augmented only by flips.
            index: Positions in the cached outputs; mirror images follow all examples.
        """
        plain = self.features.forward
        watched = [module for part in (*self.skipped, self.last) for module in part.module.modules()]

        def forward(*args: Any, **kwargs: Any) -> Any:
            usable = (
                len(args) == 1
                and not kwargs
                and args[0] is batch.inputs
                and torch.is_autocast_enabled(batch.inputs.device.type) == self.is_mixed
                and not any(module._forward_hooks or module._forward_pre_hooks for module in watched)
                and self.state_now() == self.state  # otherwise a method trains them after all
            )
            if not usable:
                return plain(*args, **kwargs)
            kept = []
            for outputs, n_tokens in zip(self.outputs, _lengths(batch.inputs, self.apart), strict=True):
                part = (outputs[:, :n_tokens] if None in self.last.shape else outputs)[sent(index, outputs.device)]
                kept.append(part.movedim(-1, 1) if self.is_channels_last else part)
            return self.replayed(plain, batch.inputs, kept)

        with computing(self.features, forward):
            yield

    def replayed(self, plain: Callable[..., Any], inputs: Tensor, kept: list[Tensor], *, filling: float = 0.0) -> Any:
        """Return the features of inputs from their cached outputs.

        Args:
            filling: Value that fills the outputs of the blocks before it.
        """
        lengths = _lengths(inputs, self.apart)

        def stand_in(part: _Part) -> Callable[..., Any]:
            shapes = iter([part.shape_of(len(inputs), n_tokens) for n_tokens in lengths])

            def returned(*args: Any, **kwargs: Any) -> Any:
                return part.returned(args[0] if self.in_line else kept[0].new_full(next(shapes), filling))

            return returned

        if self.last.module is self.features:
            return kept[0]
        remaining = iter(kept)
        with ExitStack() as replaced:
            for part in self.skipped:
                replaced.enter_context(computing(part.module, stand_in(part)))
            last = self.last
            replaced.enter_context(computing(last.module, lambda *args, **kwargs: last.returned(next(remaining))))
            return plain(inputs)

    def state_now(self) -> list[object]:
        """Return the weights of the fixed blocks, whether they are trained, and the modes of their modules."""
        state: list[object] = []
        for part in (*self.skipped, self.last):
            tensors = (*part.module.parameters(), *part.module.buffers())
            state += [(id(tensor), tensor._version, tensor.requires_grad) for tensor in tensors]
            state += [module.training for module in part.module.modules() if tensors]
        return state


def fixed_blocks(learner: Learner, settings: TrainingSettings, n_steps: int) -> FixedBlocks | None:
    """Return the fixed first blocks of the network that a learner trains, for steps that skip them.

    Args:
        learner: The learner, in training mode, which is kept.

    Returns:
        The blocks; None if all must run in every step: there are no frozen blocks, or batches come from several sets;
        inputs are augmented by more than flips, or blended; there is less than one pass over the examples; the outputs
        are too large; or the backbone cannot be cut: a block runs several times per input or returns more than one
        tensor, the part before the cut is random, trained, or changed by the pass, or the part after it reads other
        tensors.
    """
    network, draws = learner.network, list(learner.draws.values())
    if network is None or len(draws) != 1:
        return None
    data = draws[0].data
    batch_size = min(draws[0].batch_size or settings.batch_size, len(data))
    of_images = settings.augment if data.inputs.ndim == 4 else "none"
    if of_images == "flip":
        if 2 * data.inputs.nbytes > MOST_MEMORY * memory_free():
            return None
        data = _with_mirrors(data)
    if of_images not in ("none", "flip") or n_steps * batch_size <= len(data):
        return None
    modules, in_line = _fixed_modules(network)
    if not modules:
        return None
    order = torch.arange(len(data), device=data.device)
    if data.inputs.dtype == torch.int32:  # texts by length
        order = (data.inputs >= 0).any(dim=1).sum(dim=1).argsort(stable=True)
    is_mixed = settings.precision == "bfloat16"
    fixed: FixedBlocks | None = None
    with forked_random_states(data.device):
        try:
            fixed = _tried_out(network.features, modules, in_line, data, order, is_mixed, learner)
            learner.train_mode()
            numbers = sum(torch.Size(shape).numel() for shape in fixed.shapes(len(data)))
            needed = numbers * (2 if is_mixed else 4)
            free = torch.cuda.mem_get_info(data.device)[0] if data.device.type == "cuda" else memory_free()
            if needed > MOST_MEMORY * free:
                raise ValueError(f"the outputs of fixed blocks need {needed} bytes, but {free} are free")
            whole = in_line and modules[-1] in (network.features, *list(network.features.children())[-1:])
            if whole and not is_mixed and is_kept(network.features):
                fixed.outputs = [frozen_features(network, data)]
            else:
                fixed.compute(data, order, batch_size)
        except Exception as error:  # code of another package may raise anything
            fixed = None
            _log.debug("all blocks run in every step: %s", error)
    learner.train_mode()
    if fixed is not None:
        fixed.state = fixed.state_now()
    return fixed


def _with_mirrors(data: TensorSet) -> TensorSet:
    """Return the examples followed by their horizontal mirror images."""
    inputs = torch.cat([data.inputs, data.inputs.flip(3)])
    return replace(data, inputs=inputs, labels=torch.cat([data.labels, data.labels]), mapped=None)


def _fixed_modules(network: Network) -> tuple[list[nn.Module], bool]:
    """Return the modules up to the last fixed block, and whether each takes the output of the one before."""
    features, blocks = network.features, network.named_blocks()
    names = []
    for name, block in blocks.items():
        modules = [module for module in block.modules() if type(module) not in (nn.Module, nn.ParameterList)]
        if any(module.training for module in modules) or any(p.requires_grad for p in block.parameters()):
            break
        names.append(name)
    if not names:
        return [], True
    if isinstance(features, nn.Sequential) and not network.block_names:
        children = list(features.named_children())
        end = 1 + [name for name, _ in children].index(names[-1])
        for _, child in children[end:]:  # pooling, say, after which there is less to keep
            if any(True for _ in child.parameters()) or any(isinstance(part, _DropoutNd) for part in child.modules()):
                break
            end += 1
        return [child for _, child in children[:end]], type(features).forward is nn.Sequential.forward
    if len(names) == len(blocks):
        return [features], True
    return [features.get_submodule(name) for name in names], False


def _tried_out(
    features: nn.Module,
    modules: list[nn.Module],
    in_line: bool,
    data: TensorSet,
    order: Int[Tensor, " N"],
    is_mixed: bool,
    learner: Learner,
) -> FixedBlocks:
    """Check on a few examples that the backbone can be cut after the last module; raises ValueError if not."""
    few = order[torch.linspace(0, len(data) - 1, _TRIED, device=data.device).long()]
    one = [0, 0, 0]  # the shortest text, which is longer beside others
    whole, part = data.batch(few).inputs, data.batch(few[one]).inputs
    features.eval()
    with torch.no_grad():
        of_whole, _ = _outputs(features, modules, whole)
        of_part, expected = _outputs(features, modules, part)
        apart = len(of_whole) > 1
        lengths, of_shorter = _lengths(whole, apart), _lengths(part, apart)
        runs = list(zip((*of_whole, *of_part), (*lengths, *of_shorter), strict=True))
        parts = [_part(m, [(outputs[place], n) for outputs, n in runs], apart=apart) for place, m in enumerate(modules)]
        longest = _lengths(data.inputs, apart) if apart else lengths
        fixed = FixedBlocks(features, parts[:-1], parts[-1], in_line, is_mixed, apart, tuple(longest))
        kept = [_first(outputs[-1])[one] for outputs in of_whole]
        if None in parts[-1].shape:
            kept = [output[:, :n_tokens] for output, n_tokens in zip(kept, of_shorter, strict=True)]
        if not _same(fixed.replayed(features.forward, part, kept, filling=torch.nan), expected):
            raise ValueError("the features depend on more than what the last fixed block passes on for an example")
    learner.train_mode()
    buffers = {buffer: buffer.clone() for buffer in features.buffers()}
    state = _random_state(data.device)
    outputs = [_reached(features, modules[-1], run) for run in _first_runs(part, apart)]
    changed = [buffer for buffer, before in buffers.items() if not torch.equal(buffer, before)]
    for buffer in changed:
        buffer.copy_(buffers[buffer])
    alike = all(_same(output, _first(run[-1])) for output, run in zip(outputs, of_part, strict=True))
    if changed or not torch.equal(state, _random_state(data.device)) or not alike:
        raise ValueError("what leads to the last fixed block is random, or different in training")
    if any(output.requires_grad for output in outputs):
        raise ValueError("what leads to the last fixed block is trained")
    return fixed


def _lengths(inputs: Tensor, apart: bool) -> list[int]:
    """Return the number of tokens of the longest text in each run of the blocks during one pass."""
    return [run.shape[-1] for run in (halves(inputs) if apart else (inputs,))]


def _first_runs(inputs: Tensor, apart: bool) -> tuple[Tensor, ...]:
    """Return inputs whose first run reads what the runs over `inputs` do: the two texts of pairs are swapped."""
    return (inputs, inputs[:, [2, 3, 0, 1]]) if apart else (inputs,)


def _part(module: nn.Module, runs: list[tuple[Any, int]], *, apart: bool) -> _Part:
    """Return a module by its outputs in runs over texts with the given longest lengths."""
    shapes = [_first(output).shape[1:] for output, _ in runs]
    if len({len(shape) for shape in shapes}) > 1:
        raise ValueError(f"outputs of {shapes}")
    by_place = list(zip(*shapes, strict=True))
    are_tokens = [i == 0 and sizes == tuple(n for _, n in runs) for i, sizes in enumerate(by_place)]
    differ = [len(set(sizes)) > 1 for sizes in by_place]
    if any(other and not tokens for other, tokens in zip(differ, are_tokens, strict=True)):
        raise ValueError(f"outputs of {shapes}")
    if apart and len(by_place) > 1:  # texts as long as these by chance: others need not be
        differ = are_tokens
    shape = tuple(None if other else sizes[0] for other, sizes in zip(differ, by_place, strict=True))
    output = runs[0][0]
    return _Part(module, shape, len(output) if isinstance(output, tuple) else 0)


def _first(output: Any) -> Tensor:
    first, *others = output if isinstance(output, tuple) else (output,)
    if not isinstance(first, Tensor) or not first.is_floating_point() or any(other is not None for other in others):
        raise ValueError(f"a block passes on {type(output).__name__}")
    return first


def _outputs(features: nn.Module, modules: list[nn.Module], inputs: Tensor) -> tuple[list[list[Any]], Tensor]:
    """Return the outputs of each module in one pass, by run, and the features.

    In a run all are called once and in order; there is a second one only for pairs of texts.
    """
    called: list[tuple[int, Any]] = []
    with ExitStack() as hooks:
        for place, module in enumerate(modules):
            hooks.enter_context(
                module.register_forward_hook(lambda _, __, output, place=place: called.append((place, output)))
            )
        whole: Tensor = features(inputs)
    pairs = inputs.dtype == torch.int32 and are_pairs(inputs)
    n_runs = 2 if pairs and len(called) == 2 * len(modules) else 1
    if [place for place, _ in called] != n_runs * list(range(len(modules))):
        raise ValueError("blocks run several times, not at all, or in another order")
    outputs = [output for _, output in called]
    return [outputs[: len(modules)], outputs[len(modules) :]][:n_runs], whole


class _ReachedError(Exception):
    """Stops a pass that has reached the module."""


def _reached(features: nn.Module, last: nn.Module, inputs: Tensor) -> Tensor:
    """Return the output of a module in a pass that ends there."""
    reached: list[Any] = []

    def stop(module: nn.Module, args: object, output: Any) -> None:
        reached.append(output)
        raise _ReachedError

    with suppress(_ReachedError), last.register_forward_hook(stop):
        features(inputs)
    return _first(reached[0])


def _same(values: Tensor, expected: Tensor) -> bool:
    return bool((values - expected).abs().max() <= TOLERANCE * expected.abs().max())


def _random_state(device: torch.device) -> Tensor:
    return torch.cat([*random_states(device).values()])
