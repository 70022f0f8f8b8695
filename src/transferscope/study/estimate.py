"""What a study will take, said before anything of it is done: time, memory and space on the disk."""

import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import TransferscopeError
from transferscope.machine import memory_free
from transferscope.methods import FitOptions, Snapshots, pretrain
from transferscope.methods.large_ridge import large_ridge, ridge_work
from transferscope.methods.probe_head import RidgeSolve, watched_solves
from transferscope.methods.tuning import combinations, runs_of_a_search, search_grid
from transferscope.models import Network, build_network, input_of
from transferscope.store import PlannedCell, Store
from transferscope.study.backends import default_workers
from transferscope.study.backends.backend import thread_limit
from transferscope.study.cell import DiagnoseRecipe, MethodRecipe, PretrainRecipe
from transferscope.study.facts import examples_as_read, kept_data
from transferscope.study.fitting import fresh_network, number, open_source, spread_examples
from transferscope.study.kept import keys_to_keep
from transferscope.study.settings import DataSettings, EngineSettings
from transferscope.study.status import Kind
from transferscope.training import TrainingSettings, choose_device, exact_device, outputs_of, scale_of, to_tensors
from transferscope.training.curve import curve_plan
from transferscope.training.feature_cache import LEAST_PARAMETERS, is_kept
from transferscope.training.loop import memory_in_use
from transferscope.training.tensors import TensorSet, pixel_scale

PATIENCE = 3.0
"""Seconds that measuring may take of a short study."""

SHARE = 0.01
"""Of what a study takes, the share that measuring may take of a long one. Kinds of cells whose turn does not come are
taken as slow as the slowest of those that were measured."""

_EXAMPLES, _TEST = 64, 16  # that steps are timed on
_SECONDS_PER_CELL = 0.1  # for data, files and the store, beside training
_BYTES_PER_CELL = 4096.0  # of records and notes in the store, beside predictions


@dataclass(frozen=True, slots=True)
class StudyEstimate:
    """What the rest of a study will take, roughly.

    Attributes:
        n_cells: Cells that are left.
        seconds: Until all are done; None where nothing could be measured.
        each: Seconds of one cell of each kind that is left, on average over its sources and sizes.
        by_method: Seconds of these by method, most first; what belongs to none (pre-training, diagnostics) by its role.
        searching: Share of the seconds that goes into choosing settings.
        memory: Bytes of all processes together while they train; None likewise.
        memory_free: Bytes that are free now.
        disk: Bytes of networks and results at most, those that are deleted at the end included.
        disk_free: Bytes that are free where they go.
        workers: Processes that it reckons with.
    """

    n_cells: int
    seconds: float | None
    each: Mapping[Kind, float]
    by_method: Mapping[str, float]
    searching: float
    memory: float | None
    memory_free: float
    disk: float
    disk_free: float
    workers: int


@dataclass(frozen=True, slots=True)
class _Alike:
    """Cells that take about as long: the same work with the same network."""

    role: str
    method: str
    source: str | None
    diagnostic: str | None


@dataclass(frozen=True, slots=True)
class _Pace:
    """What one kind of cell takes: its steps, the examples that are only read, and ridge regressions."""

    fixed: float
    per_step: float
    per_example: float
    memory: float
    network: float  # bytes
    kept: bool = False  # whether features of the test examples are computed in the first cell and kept
    solves: tuple[RidgeSolve, ...] = ()
    n_timed: int = 0  # training examples of the fit that solved them

    def seconds(self, *, n_steps: int, n_read: int) -> float:
        return self.fixed + self.per_step * n_steps + self.per_example * n_read

    def solved(self, recipe: MethodRecipe, n_train: int) -> list[RidgeSolve]:
        """The ridge regressions of a cell with so many labels."""
        if not self.solves:
            return []
        width = None
        if not recipe.method.uses_network:  # it reads the inputs as they are, and of many texts more tokens
            train = kept_data(recipe.target).train
            width = recipe.method.solved_width(train.take(np.arange(n_train)) if train.is_tokens else train, n_train)
        found, most = [], recipe.method.most_in_folds or n_train
        for solve in self.solves:
            n = round(solve.n / self.n_timed * n_train)
            found.append(solve._replace(n=min(n, most) if solve.n < self.n_timed else n, width=width or solve.width))
        return found


def estimate_study(cells: Sequence[PlannedCell], store: Store, name: str, engine: EngineSettings) -> StudyEstimate:
    """What is left of a study, by two steps of every kind of cell, or by those of the kind that are done.

    Args:
        cells: The cells of the study; its data are loaded.
        store: Its store, which need not hold it yet.
        name: Name of the study.
        engine: How many processes, with how many threads, on which device.
    """
    done = store.done(cell.key for cell in cells)
    left = [cell for cell in cells if cell.key not in done]
    free = shutil.disk_usage(_existing(store.files)).free
    if not left:
        return StudyEstimate(0, 0.0, {}, {}, 0.0, None, memory_free(), 0.0, free, 1)
    known = any(row.name == name for row in store.studies())
    seconds = {s.key: s.seconds for s in store.standings(name) if s.seconds is not None} if known else {}
    workers = engine.workers if engine.workers is not None else default_workers(engine.device)
    workers = max(1, min(workers, len(left)))
    by_kind: dict[_Alike, list[PlannedCell]] = defaultdict(list)
    finished: dict[_Alike, list[float]] = defaultdict(list)
    for cell in cells:
        if cell.key in done:
            finished[_alike(cell)] += [seconds[cell.key]] if cell.key in seconds else []
        else:
            by_kind[_alike(cell)].append(cell)
    paces = _paces(by_kind, finished, engine, workers)
    kept = keys_to_keep(cells, engine.keep)
    sizes = [pace.network for pace in paces.values()]
    if not sizes:
        sizes = [float(file.stat().st_size) for file in store.files.glob("*.safetensors")]
    size = float(np.mean(sizes)) if sizes else 0.0  # of a network that was not measured
    disk = sum(
        _disk(of_kind, paces[kind].network if kind in paces else size, kept) for kind, of_kind in by_kind.items()
    )
    each = _each(by_kind, finished, paces)
    total = None if each is None else sum(taken.seconds for taken in each.values())
    by_method: dict[str, float] = defaultdict(float)
    for kind, taken in (each or {}).items():
        by_method[kind.method if kind.role == "method" else kind.role] += taken.seconds / workers
    searching = sum(taken.searching for taken in (each or {}).values())
    memory = max((_memory(by_kind[kind], pace) for kind, pace in paces.items()), default=0.0) * workers
    return StudyEstimate(
        n_cells=len(left),
        seconds=None if total is None else total / workers,
        each=_by_kind(each or {}, by_kind),
        by_method=dict(sorted(by_method.items(), key=lambda entry: -entry[1])),
        searching=searching / total if total else 0.0,
        memory=memory or None,
        memory_free=float(memory_free()),
        disk=disk,
        disk_free=float(free),
        workers=workers,
    )


def _paces(
    by_kind: Mapping[_Alike, Sequence[PlannedCell]],
    finished: Mapping[_Alike, Sequence[float]],
    engine: EngineSettings,
    workers: int,
) -> dict[_Alike, _Pace]:
    """The pace of each kind of which no cell is finished, what trains first, as far as the time for measuring goes."""
    paces: dict[_Alike, _Pace] = {}
    began = time.monotonic()
    with thread_limit(engine.threads):
        for kind, cells in sorted(by_kind.items(), key=lambda entry: not _trains(entry[1][0])):
            if finished.get(kind):
                continue
            spent = time.monotonic() - began
            if spent > PATIENCE:
                found = _each(by_kind, finished, paces)
                if found and spent > SHARE * sum(taken.seconds for taken in found.values()) / workers:
                    break
            with suppress(TransferscopeError, RuntimeError):  # what is wrong with a cell is said when it is done
                paces[kind] = _measured(cells[0], engine)
    return paces


@dataclass(frozen=True, slots=True)
class _Taken:
    """Seconds of the cells of a kind, and those of them that choose settings."""

    seconds: float
    searching: float = 0.0


def _each(
    by_kind: Mapping[_Alike, Sequence[PlannedCell]],
    finished: Mapping[_Alike, Sequence[float]],
    paces: Mapping[_Alike, _Pace],
) -> dict[_Alike, _Taken] | None:
    """What each kind takes; one without a measurement is as slow as the slowest of its role, or of all.

    A method that trains takes as long for a step as the slowest that was measured; one that does not takes its reading.
    """
    each: dict[_Alike, _Taken] = {}
    for kind, cells in by_kind.items():
        if finished.get(kind):
            each[kind] = _Taken(len(cells) * float(np.mean(finished[kind])))
        elif kind in paces:
            each[kind] = _seconds(cells, paces[kind])
    if not each and by_kind:
        return None
    slowest = {kind: taken.seconds / len(by_kind[kind]) for kind, taken in each.items()}
    measured = [pace for kind, pace in paces.items() if kind.role == "method"]
    for kind, cells in by_kind.items():
        if kind in each:
            continue
        pace = max(measured, key=lambda one: one.per_step, default=None) if kind.role == "method" else None
        if pace is not None and not _trains(cells[0]):
            each[kind] = _seconds(cells, replace(pace, fixed=_SECONDS_PER_CELL, per_step=0.0))
        elif pace is not None and pace.per_step:
            each[kind] = _seconds(cells, pace)
        else:
            alike = [one for other, one in slowest.items() if other.role == kind.role] or list(slowest.values())
            each[kind] = _Taken(len(cells) * max(alike))
    return each


def _by_kind(each: Mapping[_Alike, _Taken], cells: Mapping[_Alike, Sequence[PlannedCell]]) -> dict[Kind, float]:
    """Seconds of one cell of each kind, whatever its source."""
    seconds: dict[Kind, float] = defaultdict(float)
    counts: Counter[Kind] = Counter()
    for alike, taken in each.items():
        kind = Kind.of(cells[alike][0])
        seconds[kind] += taken.seconds
        counts[kind] += len(cells[alike])
    return {kind: seconds[kind] / counts[kind] for kind in seconds}


def _trains(cell: PlannedCell) -> bool:
    """Whether a cell takes steps of training."""
    if cell.role != "method":
        return cell.role == "pretrain"
    recipe = MethodRecipe.from_payload(cell.payload)
    return bool(search_grid(recipe.method, recipe.training))


def _alike(cell: PlannedCell) -> _Alike:
    labels = {name: cell.labels.get(name) for name in ("method", "source", "diagnostic")}
    method, source, diagnostic = (None if value is None else str(value) for value in labels.values())
    return _Alike(cell.role, method or "", source, diagnostic)


def _seconds(cells: Sequence[PlannedCell], pace: _Pace) -> _Taken:
    """What cells of a kind take, with their searches for settings."""
    first = cells[0]  # whose payload is that of all
    if first.role == "diagnose":
        return _Taken(len(cells) * pace.fixed)
    if first.role == "pretrain":
        made = PretrainRecipe.from_payload(first.payload)
        n_test = len(kept_data(made.source).test)
        sizes = [number(cell, "n_source") for cell in cells]
        return _Taken(
            sum(
                pace.seconds(
                    n_steps=made.pretraining.n_steps(n), n_read=n_test + _on_curve(made.pretraining, n, n_test, pace)
                )
                for n in sizes
            )
        )
    recipe = MethodRecipe.from_payload(first.payload)
    n_test, searched, total, searching = len(kept_data(recipe.target).test), 0.0, 0.0, 0.0
    if recipe.tuning is not None:
        n_settings = min(recipe.tuning.trials, len(combinations(recipe.tuning.grid, recipe.method, recipe.training)))
        searched = runs_of_a_search(n_settings, recipe.tuning.folds, recipe.tuning.search)
    for i, n_train in enumerate(number(cell, "n_target") for cell in cells):
        n_steps = recipe.training.n_steps(n_train) * recipe.method.most_runs if pace.per_step else 0
        n_curve = _on_curve(recipe.training, n_train, n_test, pace) if n_steps else 0
        n_tested = 0 if pace.kept and i else n_test
        solves = pace.solved(recipe, n_train)
        solving = sum(solve.work for solve in solves) * _per_product() if solves else 0.0
        total += pace.seconds(n_steps=n_steps, n_read=n_train + n_tested + n_curve) + solving
        searching += searched * (pace.seconds(n_steps=n_steps, n_read=n_train) + solving)
    return _Taken(total + searching, searching)


@lru_cache(maxsize=1)
def _per_product() -> float:
    """Seconds of one multiplication of a ridge regression on this machine, in processor time."""
    n, width = 300, 400
    features, targets = torch.randn(n, width), np.zeros((n, 1))
    penalties = np.array([1.0])
    large_ridge(features, targets, penalties)
    began = time.thread_time()
    large_ridge(features, targets, penalties)
    return (time.thread_time() - began) / ridge_work(n, width, 1, 1)


def _on_curve(training: TrainingSettings, n_train: int, n_test: int, pace: _Pace) -> int:
    """Examples that the training curve is measured on, all points together, beside those of the run's own measure."""
    n_steps = training.n_steps(n_train)
    plan = curve_plan(
        training,
        n_steps=n_steps,
        n_train=n_train,
        n_test=n_test,
        n_parameters=int(pace.network / 4),
        examples=FitOptions(training).curve_examples,
    )
    parts = (n_train, n_test)
    remembered = pace.network / 4 >= LEAST_PARAMETERS  # the end of the curve, where it has all examples
    twice = sum(n for n in parts if remembered and n <= plan.examples)
    return (1 + n_steps // plan.every) * sum(min(plan.examples, n) for n in parts) - twice


def _measured(cell: PlannedCell, engine: EngineSettings) -> _Pace:
    """The pace of a cell, by the first steps of its training on a few examples."""
    if cell.role == "diagnose":
        return _of_diagnostic(cell, engine)
    seed = number(cell, "seed")
    if cell.role == "pretrain":
        made = PretrainRecipe.from_payload(cell.payload)
        source = _few(made.source, made)
        network = fresh_network(made, source, seed)
        return _pace(lambda options: pretrain(source, network, options), made.pretraining, source, network, engine)
    recipe = MethodRecipe.from_payload(cell.payload)
    task, network = _few_of_task(recipe, seed)
    fit = partial(recipe.method.fit, task, network)
    return _pace(fit, recipe.training, task.target, network if recipe.method.uses_network else None, engine)


class _EnoughError(Exception):
    """The steps that are timed have been taken."""


def _pace(
    fit: Callable[[FitOptions], object],
    training: TrainingSettings,
    data: Dataset,
    network: Network | None,
    engine: EngineSettings,
) -> _Pace:
    """The pace of a fit: two warm steps of it, or where it takes none, all of it; None stands for no network."""
    device, times = choose_device(engine.device), []

    def watch(step: int, now: Network) -> None:
        times.append(time.perf_counter())
        if step == 3 or (step > 1 and times[-1] - times[0] > PATIENCE / 2):
            raise _EnoughError

    def timed() -> float:
        start = time.perf_counter()
        with suppress(_EnoughError):
            short = replace(training, steps=5, epochs=None, eval_every=None)
            options = FitOptions(short, device=engine.device, curve_examples=0, snapshots=Snapshots(watch, every=(1,)))
            fit(options)
        return time.perf_counter() - start

    began = time.perf_counter()
    with watched_solves() as solves:
        fixed = timed()
    per_step = float(np.mean(np.diff(times)[1:])) if len(times) > 2 else 0.0
    if per_step:
        before = times[0] - began
        fixed = before if before > PATIENCE else _SECONDS_PER_CELL  # less may be what is imported the first time
    elif fixed < 2 * PATIENCE:
        fixed = timed()  # the first time it has imported what it needs
    if network is None:
        flat = torch.nn.Flatten()
        per_example = 0.0 if data.test.is_tokens else _reading(flat, to_tensors(data.test, pixel_scale(data.train)))
        return _Pace(fixed, 0.0, per_example, float(memory_in_use(device)), 0.0, False, tuple(solves), len(data.train))
    network = network.to(device)
    per_example = _reading(network, to_tensors(data.test, scale_of(network, data.train), device))
    kept = not per_step and is_kept(network.features)
    return _Pace(
        fixed,
        per_step,
        per_example,
        float(memory_in_use(device)),
        _size_of(network),
        kept,
        tuple(solves),
        len(data.train),
    )


def _reading(network: torch.nn.Module, test: TensorSet) -> float:
    """Seconds that an example takes once the network is warm; features that the disk may hold are computed."""
    outputs_of(network, test, keep=False)
    began = time.perf_counter()
    outputs_of(network, test, keep=False)
    return (time.perf_counter() - began) / len(test)


def _memory(cells: Sequence[PlannedCell], pace: _Pace) -> float:
    """Bytes that one cell of a kind takes: those of training, and those of ridge regressions."""
    if cells[0].role != "method":
        return pace.memory
    recipe, n_train = MethodRecipe.from_payload(cells[0].payload), max(number(cell, "n_target") for cell in cells)
    return pace.memory + max((solve.memory for solve in pace.solved(recipe, n_train)), default=0.0)


def _size_of(network: Network) -> float:
    return float(sum(tensor.numel() * tensor.element_size() for tensor in network.state_dict().values()))


def _of_diagnostic(cell: PlannedCell, engine: EngineSettings) -> _Pace:
    from transferscope.diagnostics import Subject

    recipe = DiagnoseRecipe.from_payload(cell.payload)
    task, network = _few_of_task(recipe.fit, number(cell, "seed"))
    if recipe.fit.method.start == "pretrained":
        network = network.with_head(torch.nn.Linear(network.n_features, task.target.train.n_outputs))
    asked, device = recipe.diagnostic.scope, exact_device(engine.device)
    network = network.to(device)
    shown = spread_examples(
        task.target.train, scale=scale_of(network, task.target.train), at_most=asked.examples, device=device
    )
    of_source = None
    if task.source is not None:
        of_source = spread_examples(
            task.source.train, scale=scale_of(network, task.source.train), at_most=asked.examples, device=device
        )
    subject = Subject(network, shown, start=network.copy(), source=of_source, n_train=len(shown))
    cost = recipe.diagnostic.diagnostic.estimate_cost(subject)
    n_steps = recipe.fit.training.n_steps(number(cell, "n_target"))
    moments = len(asked.at) if asked.every is None else 1 + n_steps // asked.every
    n_examples = min(asked.examples, number(cell, "n_target"))
    seconds = cost.seconds * moments * max(1.0, n_examples / len(shown))
    return _Pace(seconds, 0.0, 0.0, memory_in_use(device) + cost.memory, _size_of(network))


def _few_of_task(recipe: MethodRecipe, seed: int) -> tuple[TransferTask, Network]:
    """A few examples of what a method learns, and a network of the shape that it starts from."""
    target = _few(recipe.target, recipe)
    data = None if recipe.source is None else recipe.source.as_data
    source = None if data is None else _few(data, recipe)
    task = TransferTask(target, source)
    if not recipe.method.uses_network:
        return task, build_network("linear", target.train.input_shape, target.train.n_outputs, seed=0)
    if recipe.method.start == "random" or recipe.source is None:
        return task, fresh_network(recipe, target, seed)
    if source is not None:
        return task, fresh_network(recipe, source, seed)
    return task, open_source(recipe, target.train.input_shape, n_outputs=target.train.n_outputs).network


def _few(data: DataSettings, recipe: PretrainRecipe | MethodRecipe) -> Dataset:
    """A few examples as the network reads them."""
    whole = kept_data(data)
    known = None
    if isinstance(recipe, PretrainRecipe) or recipe.method.uses_network:
        known = input_of(recipe.network)

    def few(part: LabelledSet, index: Int[np.ndarray, " n"]) -> LabelledSet:
        return examples_as_read(part.take(index), known, whole.name)

    trained = np.arange(min(_EXAMPLES, len(whole.train)))
    return replace(whole, train=few(whole.train, trained), test=few(whole.test, _usual(whole.test, _TEST)))


def _usual(part: LabelledSet, n: int) -> Int[np.ndarray, " n"]:
    """Which examples stand for what reading takes: texts, read by length, of about the mean length; else the first."""
    if not part.is_tokens:
        return np.arange(min(n, len(part)))
    lengths = (part.inputs >= 0).any(axis=1).sum(axis=1)
    return np.sort(np.argsort(np.abs(lengths - lengths.mean()), kind="stable")[:n])


def _disk(cells: Sequence[PlannedCell], network: float, kept: set[str]) -> float:
    """Bytes that cells of a kind leave on the disk, for a while at least, with networks of that size."""
    first, own = cells[0], len(cells) * _BYTES_PER_CELL
    if first.role == "pretrain":
        return own + len(cells) * network * (1 + len(PretrainRecipe.from_payload(first.payload).checkpoints))
    if first.role == "diagnose":
        return own
    recipe = MethodRecipe.from_payload(first.payload)
    own += 4.0 * len(cells) * len(kept_data(recipe.target).test)
    if not recipe.method.keeps_network:
        return own
    for cell in cells:
        n_steps = recipe.training.n_steps(number(cell, "n_target"))
        on_the_way = sum(1 + n_steps // every for every in recipe.snapshots or ())
        own += network * (on_the_way + int(cell.key in kept or recipe.snapshots is not None))
    return own


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that there is."""
    path = path.absolute()
    return path if path.exists() else _existing(path.parent)
