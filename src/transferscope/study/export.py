"""Export of the network of a finished run to a folder: choice of the run, retraining if needed, and a check."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from transferscope.arguments import checks_arguments
from transferscope.data.task import Dataset
from transferscope.errors import SettingsError, StoreError, unknown_name
from transferscope.estimate import Estimate
from transferscope.methods import Control, Method
from transferscope.models import Network
from transferscope.models.adapt import NO_HEAD
from transferscope.models.build import frame_network
from transferscope.models.hubs.huggingface import HuggingFace
from transferscope.models.weights import is_whole, open_network
from transferscope.numerics.calibration import fit_temperature
from transferscope.store import PlannedCell, Store, StoredCell
from transferscope.study.backends.backend import thread_limit
from transferscope.study.cell import MethodRecipe, code_as_planned, code_of
from transferscope.study.context import WorkContext, no_progress
from transferscope.study.decisions import arms_by_key, decisions
from transferscope.study.fitting import fit_method, number, task_of, with_chosen
from transferscope.study.frames import StudyFrames, read_study
from transferscope.study.kept import card_of
from transferscope.study.places import one_study, open_existing
from transferscope.study.work import measure_on
from transferscope.trained import TrainedModel, load_model, save_model
from transferscope.training import choose_device, outputs_of, scale_of, to_tensors


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run of a method.

    Attributes:
        source: Name of the source as in tables, with its size if it has several; None for a baseline.
        metric: One of `HEADLINES`.
        score: Score on the test examples.
        stderr: Standard error over the test examples; None without one.
    """

    cell: StoredCell
    method: str
    source: str | None
    n_labels: int
    seed: int
    metric: str
    score: float
    stderr: float | None


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export.

    Attributes:
        n_equal: Number of test examples with the prediction stored by the study: the same class, or numbers within
            1e-5.
        trained_again: Whether the run was trained again, because its network was not kept.
    """

    model: TrainedModel
    folder: Path
    n_test: int
    n_equal: int
    trained_again: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """The run to export.

    Attributes:
        run: The run, with the lowest seed unless one was named; choosing it by its test score would bias that score.
        alike: All runs of its arm with the same number of labels.
        chance: Probability that the arm is within the margin of the best; None for a named arm.
        mean: Score of the arm as in the decision, adjusted for seeds that it lacks.
        instead_of: The recommended arm, if it cannot be exported and this one is within its margin.
    """

    run: Run
    alike: tuple[Run, ...]
    chance: float | None
    mean: float
    instead_of: str | None = None


def chosen_run(
    store: Store,
    study: str,
    *,
    method: str | None = None,
    source: str | None = None,
    labels: int | None = None,
    seed: int | None = None,
) -> Choice:
    """Return the run to export: of the recommended arm, or of the named one.

    Args:
        method: Name of the method; None, without a source too, for the recommended arm.
        source: Name of the source, with or without its size if it has several; None for the best of the method.
        labels: Number of labels; None for the largest with a decided recommendation, or else the largest.
        seed: The seed; None for the lowest.

    Raises:
        UnknownNameError: The method, source, number of labels or seed does not exist.
        StoreError: No run is finished.
        SettingsError: The arm has no network that can be exported.
    """
    stored, frames = store.cells(study), read_study(store, study)
    runs = finished_runs(stored, frames)
    written = [WorkContext(store.files).run_folder(one.cell.key) for one in stored if one.cell.role == "command"]
    folders = [str(folder) for folder in written if folder.is_dir()]
    if not runs:
        if folders:
            raise StoreError(f"the runs of {study} are commands; what they have written is in {', '.join(folders)}")
        raise StoreError(f"the study {study} has no finished run; run it with `transferscope run` first")
    named = method is not None or source is not None
    decided = decisions(frames)
    runs = _of(runs, "method", method, lambda run: run.method)
    of_any_size = [run for run in runs if source is not None and run.cell.cell.labels["source"] == source]
    runs = of_any_size or _of(runs, "source", source, lambda run: run.source or "")
    there = {run.n_labels for run in runs}
    settled = [n for n, decision in decided.items() if decision.decided and n in there] if not named else []
    wanted = str(labels if labels is not None else max(settled or there))
    runs = _of(runs, "number of labels", wanted, lambda run: str(run.n_labels))
    arms, decision = arms_by_key(frames), decided[int(wanted)]
    means = {arm.name: arm.mean for arm in decision.arms if arm.mean is not None}
    kept = [run for run in runs if _can_be_written(run)]
    best = max(kept or (runs if named else []), key=lambda run: means[arms[run.cell.cell.key]], default=None)
    name = decision.recommended if best is None or not named else arms[best.cell.cell.key]
    assert name is not None
    instead_of = None
    if not named and best is not None and not any(arms[run.cell.cell.key] == name for run in kept):
        nearest = arms[best.cell.cell.key]
        if means[nearest] >= means[name] - decision.margin:
            name, instead_of = nearest, name
    alike = [run for run in runs if arms[run.cell.cell.key] == name]
    if not alike:
        raise StoreError(
            f"the study recommends {name} with {wanted} labels, whose runs are commands; what those have written is in "
            f"{', '.join(folders) or 'no folder, as keep in [engine] has it'}: name a method, as in --method fine-tune"
        )
    if not _can_be_written(alike[0]):
        subject = f"{name} is" if named else f"the study recommends {name} with {wanted} labels, which is"
        how = _method(alike[0])
        without = isinstance(how, Control) and not how.keeps_network
        why = "fitted without a network" if without else "no network of its architecture"
        if named or best is None:
            raise SettingsError(f"{subject} {why}: no file of weights holds it; name another arm that was run")
        command = f"--method {best.method}{f' --from {best.source}' if best.source else ''}"
        raise SettingsError(f"{subject} {why}: no file of weights holds it; of what was run, export {command}")
    chosen = _of(alike, "seed", None if seed is None else str(seed), lambda run: str(run.seed))
    chance = next(arm.chance for arm in decision.arms if arm.name == name)
    return Choice(
        min(chosen, key=lambda run: run.seed),
        tuple(alike),
        None if named or seed is not None else chance,
        frames.metric.from_points(means[name]),
        instead_of,
    )


def finished_runs(cells: Sequence[StoredCell], frames: StudyFrames) -> list[Run]:
    """Return the finished runs of methods, from networks at the end of pretraining."""
    stored = {one.cell.key: one for one in cells if one.cell.role == "method"}
    metric, runs = frames.metric.judged.record, []
    final = frames.final(metric)
    final = final[(final["role"] == "method") & final["key"].isin(stored)]
    for key, source, score, stderr in zip(final["key"], final["source"], final["value"], final["stderr"], strict=True):
        cell, error = stored[key].cell, None if np.isnan(stderr) else float(stderr)
        runs.append(
            Run(
                stored[key],
                str(cell.labels["method"]),
                str(source) or None,
                number(cell, "n_target"),
                number(cell, "seed"),
                metric,
                float(score),
                error,
            )
        )
    return runs


@checks_arguments
def export(
    place: str | Path,
    out: str | Path,
    *,
    study: str | None = None,
    method: str | None = None,
    source: str | None = None,
    labels: int | None = None,
    seed: int | None = None,
    trust_code: bool = False,
    on_start: Callable[[Choice, bool], None] = lambda choice, again: None,
    on_progress: Callable[[int, int], None] = no_progress,
) -> Exported:
    """Write the network of a finished run to a folder that `load_model` and `transferscope predict` open.

    Runs are reproducible bit for bit on the same machine, so a network that was not kept is trained again. Its
    predictions on the test examples are compared with the stored ones.

    Args:
        place: A study file, or the path or URL of a store.
        out: Output folder; created if missing.
        study: Name of the study if the store holds several.
        method: See `chosen_run`, also for `source`, `labels` and `seed`.
        trust_code: Whether to run code that only the store names, not your study file.
        on_start: Called at the start with the choice and whether it is trained again.
        on_progress: Called with (steps done, total steps).

    Raises:
        TransferscopeError: The study or run does not exist, its data or pretrained network are missing, or the folder
        cannot be written.
    """
    with open_existing(str(place)) as store:
        name = one_study(store, str(place), study)
        choice = chosen_run(store, name, method=method, source=source, labels=labels, seed=seed)
        run, alike = choice.run, choice.alike
        cell, key = run.cell.cell, run.cell.cell.key
        context = WorkContext(
            store.files, cell.payload.get("device", "cpu"), cell.payload.get("threads", 1), on_progress
        )
        again = not is_whole(context.network(key))
        on_start(choice, again)
        with code_as_planned(code_of([cell])):
            recipe = MethodRecipe.from_payload(cell.payload)
            with thread_limit(context.threads):
                task = task_of(cell, recipe)
                if again:
                    network = _trained(with_chosen(cell, store), recipe, context)
                else:
                    train = task.target.train
                    frame = frame_network(recipe.network, train.input_shape, train.n_outputs)
                    network = open_network(frame, context.network(key)).network
            stored = store.arrays(name, "predictions").get(key)
            score = Estimate(run.score, run.stderr, len(task.target.test))
            card = replace(
                card_of(cell, recipe, task.target, study=name, metric=run.metric, score=score),
                mean_score=choice.mean,
                n_runs=len(alike),
                temperature=_temperature(network, task.target),
            )
            trained = TrainedModel(network.cpu().eval(), scale_of(network, task.target.train), card)
            save_model(trained, Path(out))
        model = load_model(out)  # what was written is what is compared
        with thread_limit(context.threads):
            network = model.network.copy().to(choose_device(context.device))
            predictions = measure_on(network, task.target, part="target_test").predictions.numpy()
    return Exported(model, Path(out), len(predictions), _n_equal(predictions, stored), again)


def _temperature(network: Network, target: Dataset) -> float:
    if target.test.kind == "regression":
        return 1.0
    device = next(network.parameters()).device
    test = to_tensors(target.test, scale_of(network, target.train), device)
    return fit_temperature(outputs_of(network.eval(), test).cpu().numpy(), target.test.labels)


def _method(run: Run) -> Method:
    return MethodRecipe.from_payload(run.cell.cell.payload).method


def _can_be_written(run: Run) -> bool:
    """Return whether a folder can hold the network of a run; transformers supports only linear heads."""
    method, named = _method(run), MethodRecipe.from_payload(run.cell.cell.payload).network.module
    in_place = isinstance(named, HuggingFace) and named.head != NO_HEAD
    return method.keeps_network and (method.is_diagnosed or not in_place)


def _of(runs: Sequence[Run], what: str, wanted: str | None, name: Callable[[Run], str]) -> list[Run]:
    matching = [run for run in runs if wanted is None or name(run) == wanted]
    if not matching:
        raise unknown_name(f"{what} of a finished run", str(wanted), sorted({name(run) for run in runs} - {""}))
    return matching


def _trained(cell: PlannedCell, recipe: MethodRecipe, context: WorkContext) -> Network:
    """Train the network of a run again, with a checkpoint that is deleted at the end."""
    fit = fit_method(cell, replace(recipe, snapshots=None), context, key=cell.key)
    context.checkpoint(cell.key).unlink(missing_ok=True)
    return fit.fitted.network


def _n_equal(predictions: np.ndarray, stored: np.ndarray | None) -> int:
    if stored is None or stored.shape != predictions.shape:
        return 0
    if predictions.ndim == 1:
        return int((predictions == stored).sum())
    return int(np.isclose(predictions, stored, rtol=1e-5, atol=1e-5).all(axis=1).sum())
