"""The training loop of pretraining and of every method."""

import inspect
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, cast

import psutil
import torch

from transferscope.estimate import Status
from transferscope.models.network import preserved_mode, recurrent_backward
from transferscope.records import Cost, Record
from transferscope.settings.training import TrainingSettings, lr_factor
from transferscope.training.checkpoint import CheckpointFile, RunState
from transferscope.training.curve import CURVE_POINTS
from transferscope.training.fixed_blocks import FixedBlocks, fixed_blocks
from transferscope.training.learner import Learner
from transferscope.training.losses import weights_in
from transferscope.training.stream import AUGMENTATIONS, BatchStream, flipped, stream_seed
from transferscope.training.tensors import Batch, choose_precision, forked_random_states, sent

Curve = Callable[[int], tuple[Record, ...]]
"""Measures the learner at a step (counted from 0 = before training) and returns records with that step."""

HeldOut = Callable[[], tuple[float, ...]]
"""Returns the risk of the learner on held-out examples, lower is better; ties of the first number are broken by the
next."""

Watch = Callable[[int], None]
"""Called with the learner unchanged after a step (counted from 0 = before training), to keep a copy of it."""

_Optimiser = TypeVar("_Optimiser", bound=torch.optim.Optimizer)

CHECK_EVERY = 50
"""Steps between two checks that the loss is finite; each check waits for the device."""
_TELL_SECONDS = 0.5
"""Longest time between two progress reports, so that a run can be stopped."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Execution options of one run; only the seed can change its result.

    Attributes:
        seed: Seed of heads, data order, augmentation and dropout, at least 0.
        checkpoint: Checkpoint file; None for none.
        checkpoint_seconds: Time between two checkpoints; multiplied by the seconds that one takes if more than one.
        on_progress: Called with (steps done, total steps).
    """

    seed: int = 0
    checkpoint: Path | None = None
    checkpoint_seconds: float = 20.0
    on_progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True)
class TrainingRun:
    """The result of training; the trained values are in the learner's module.

    Attributes:
        status: "max_steps" after the full budget, "non_finite" when the loss stopped being a number, "converged"
            without trainable parameters, or after early stopping.
        best_step: The step whose weights were selected by the held-out risk; None for the last step.
    """

    history: tuple[Record, ...]
    cost: Cost
    status: Status
    best_step: int | None = None


def train(
    learner: Learner,
    settings: TrainingSettings,
    options: RunOptions,
    *,
    n_steps: int,
    curve: Curve | None = None,
    watch: Watch | None = None,
    held_out: HeldOut | None = None,
) -> TrainingRun:
    """Train a learner in place.

    The result is a function of the learner, the settings, `n_steps` and the seed: interruption and resumption do not
    change it (bit for bit on a CPU). The global random state is left as it was.

    Args:
        n_steps: Length of the run, at least 1.
        curve: Called at step 0, every `eval_every` steps and at the end.
        watch: Called at step 0 and after every step; it must not change the learner. A step that was checkpointed
            before an interruption is not watched again.
        held_out: Held-out risk, called like the curve; training ends after `early_stopping` calls without improvement,
            and restores the best weights. None to train to the end.

    Returns:
        Curve, cost and status. A learner without parameters, such as a linear network whose head has a closed form, is
        measured at step 0 alone and has converged.

    Raises:
        SettingsError: Images are augmented whose labels lie on a grid over them.
    """
    settings.check_labels(on_grid=any(draw.data.labels.ndim > 2 for draw in learner.draws.values()))
    device = next(iter(learner.draws.values())).data.device
    settings = replace(settings, precision=choose_precision(settings.precision, device))
    if not learner.trained_parameters():
        started = time.perf_counter()
        with preserved_mode(learner.module):
            history = () if curve is None else curve(0)
        if watch is not None:
            watch(0)
        n_examples = len(next(iter(learner.draws.values())).data)
        cost = Cost(time.perf_counter() - started, memory_in_use(device), examples_seen=n_examples)
        return TrainingRun(history, cost, "converged")
    with forked_random_states(device), recurrent_backward(*learner.frozen):
        torch.manual_seed(stream_seed(options.seed, "dropout"))
        return _Loop(learner, settings, options, n_steps, curve, watch, held_out).run()


@dataclass
class _Loop:
    learner: Learner
    settings: TrainingSettings
    options: RunOptions
    n_steps: int
    curve: Curve | None
    watch: Watch | None
    held_out: HeldOut | None

    def __post_init__(self) -> None:
        learner, settings, options, n_steps = self.learner, self.settings, self.options, self.n_steps
        self.device = next(iter(learner.draws.values())).data.device
        self.optimiser = make_optimiser(learner, settings)
        self.initial_lrs = [group["lr"] for group in self.optimiser.param_groups]
        self.streams = {
            name: BatchStream(
                len(draw.data), draw.batch_size or settings.batch_size, stream_seed(options.seed, name, "order")
            )
            for name, draw in learner.draws.items()
        }
        self.weights = {name: weights_in(settings, draw.data) for name, draw in learner.draws.items()}
        self.state = RunState()
        self.fixed: FixedBlocks | None = None
        self.eval_every = settings.eval_every or max(1, n_steps // CURVE_POINTS)
        tag = f"{settings} seed={options.seed} n_steps={n_steps}"
        self.file = CheckpointFile(options.checkpoint, tag) if options.checkpoint else None

    def run(self) -> TrainingRun:
        """Take the remaining steps."""
        if self.file is not None:
            self.state = self.file.load(self.learner.module, self.optimiser, self.device) or self.state
        if self.state.step == 0:
            self._measure(0)
            self._watch(0)
        self.learner.train_mode()
        started = time.perf_counter()
        self.fixed = fixed_blocks(self.learner, self.settings, self.n_steps)
        self.state.seconds += time.perf_counter() - started
        status, best_step = self._steps(), None
        if self.state.best and status != "non_finite":
            self.learner.module.load_state_dict(self.state.best)
            best_step = self.state.best_step
        cost = Cost(
            seconds=self.state.seconds,
            peak_memory=self.state.peak_memory,
            trained_parameters=sum(p.numel() for p in self.learner.trained_parameters()),
            examples_seen=self.state.examples_seen,
            steps=self.state.step,
        )
        return TrainingRun(tuple(self.state.history), cost, status, best_step)

    def _steps(self) -> Status:
        started = saved = told = time.perf_counter()
        took, before = 0.0, self.state.seconds
        for step in range(self.state.step, self.n_steps):
            loss = self._step(step)
            done = self.state.step = step + 1
            at_end = done == self.n_steps
            if done % self.eval_every == 0 or at_end:
                self._measure(done)
            self._watch(done)
            self.state.seconds = before + time.perf_counter() - started
            if done % CHECK_EVERY == 0 or at_end:
                self.state.peak_memory = max(self.state.peak_memory, memory_in_use(self.device))
                if not bool(torch.isfinite(loss)):
                    return "non_finite"
            if self.state.best and self.state.worse >= (self.settings.early_stopping or self.n_steps):
                return "converged"
            is_due = done % CHECK_EVERY == 0 or at_end or time.perf_counter() - told > _TELL_SECONDS
            if is_due and self.options.on_progress is not None:
                told = time.perf_counter()
                try:
                    self.options.on_progress(done, self.n_steps)
                except KeyboardInterrupt:  # its time is over
                    if self.file is not None:
                        self.file.save(self.state, self.learner.module, self.optimiser, self.device)
                    raise
            began = time.perf_counter()
            if self.file is not None and began - saved > self.options.checkpoint_seconds * max(1.0, took):
                self.file.save(self.state, self.learner.module, self.optimiser, self.device)
                saved = time.perf_counter()
                took = saved - began
        return "max_steps"

    def _step(self, step: int) -> torch.Tensor:
        factor = lr_factor(self.settings, step, self.n_steps)
        for group, initial in zip(self.optimiser.param_groups, self.initial_lrs, strict=True):
            group["lr"] = initial * factor
        batches = {name: self._batch(name, step) for name in self.streams}
        with ExitStack() as within:
            within.enter_context(
                torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.precision == "bfloat16")
            )
            if self.fixed is not None:
                ((name, batch),) = batches.items()
                within.enter_context(self.fixed.begun(batch, self._kept(name, step)))
            loss = self.learner.objective(batches, step)
        self.optimiser.zero_grad()
        torch.autograd.backward(loss)
        self.optimiser.step()
        return loss.detach()

    def _kept(self, name: str, step: int) -> torch.Tensor:
        """Return the cached outputs of a batch; those of mirror images follow those of all examples."""
        index, data = self.streams[name].indices(step), self.learner.draws[name].data
        if self.settings.augment != "flip" or data.inputs.ndim != 4:
            return index
        seed = stream_seed(self.options.seed, name, "augment")
        return index + len(data) * flipped(len(index), seed=seed, step=step)

    def _batch(self, name: str, step: int) -> Batch:
        data = self.learner.draws[name].data
        index = sent(self.streams[name].indices(step), self.device)
        self.state.examples_seen += len(index)
        batch = replace(data.batch(index), weights=self.weights[name])
        if self.settings.augment != "none" and batch.inputs.ndim == 4:
            seed = stream_seed(self.options.seed, name, "augment")
            batch = replace(batch, inputs=AUGMENTATIONS[self.settings.augment](batch.inputs, seed=seed, step=step))
        return batch

    def _measure(self, step: int) -> None:
        if self.curve is None and self.held_out is None:
            return
        state, module = self.state, self.learner.module
        with preserved_mode(module):
            if self.curve is not None:
                state.history.extend(self.curve(step))
            risk = None if self.held_out is None else self.held_out()
        self.learner.train_mode()
        if risk is None:
            return
        if state.best and not risk < state.best_risk:
            state.worse += 1
        else:
            state.best_risk, state.best_step, state.worse = risk, step, 0
            state.best = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}

    def _watch(self, step: int) -> None:
        if self.watch is not None:
            self.watch(step)


def make_optimiser(learner: Learner, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Return the optimiser of the settings for the learner's groups."""
    groups = [
        {
            "params": list(group.parameters),
            "lr": settings.lr * group.lr_scale,
            "weight_decay": settings.weight_decay if group.weight_decay is None else group.weight_decay,
        }
        for group in learner.groups
        if len(group.parameters) > 0
    ]
    fused = all(p.device.type in ("cpu", "cuda") for p in learner.trained_parameters())
    if settings.optimiser == "sgd":
        sgd = _Sgd(groups, lr=settings.lr, momentum=settings.momentum, fused=fused)
        if settings.momentum:  # the fused step wants buffers of all or of none; some blocks are trained later
            for parameter in learner.trained_parameters():
                sgd.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        return sgd
    return _AdamW(groups, lr=settings.lr, betas=(settings.momentum, 0.999), fused=fused)


def _without_compiler(kind: type[_Optimiser]) -> type[_Optimiser]:
    """Return the optimiser without torch's compiler wrappers, whose import takes a second."""
    names = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    plain = {name: inspect.unwrap(getattr(kind, name)) for name in names}
    step = torch.no_grad()(inspect.unwrap(kind.step))
    return cast(type[_Optimiser], type(kind.__name__, (kind,), {**plain, "step": step}))


_Sgd, _AdamW = _without_compiler(torch.optim.SGD), _without_compiler(torch.optim.AdamW)


def memory_in_use(device: torch.device) -> int:
    """Return the memory in use in bytes: resident memory of this process, or the peak allocated on a CUDA device."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return int(psutil.Process().memory_info().rss)
