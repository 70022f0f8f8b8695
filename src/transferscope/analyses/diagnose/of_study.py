"""The network of a finished study for diagnostics: that of its best transfer arm, and its initial weights."""

from dataclasses import replace
from pathlib import Path

from transferscope.analyses.diagnose.subject import FileQuestion, FileSubject, looked_at_in
from transferscope.errors import StoreError
from transferscope.models.build import frame_network
from transferscope.models.weights import is_whole, open_network
from transferscope.store import Store
from transferscope.study.cell import MethodRecipe, code_as_planned, code_of
from transferscope.study.context import WorkContext
from transferscope.study.export import Run, finished_runs
from transferscope.study.fitting import spread_examples, starting_network, task_of
from transferscope.study.frames import read_study
from transferscope.study.places import one_study, open_existing
from transferscope.training import exact_device, scale_of


def study_subject(
    place: str | Path, question: FileQuestion, *, study: str | None = None
) -> tuple[FileQuestion, FileSubject]:
    """Return the best transfer arm of a finished study whose network was kept, and the network that it started from.

    Args:
        question: The question, whose file and data are taken from the study; `labels` selects the number of labels,
            None for the largest.
        study: Name of the study if the store holds several.

    Returns:
        The question with the file and data of the run, and the opened subject.
    """
    with open_existing(str(place)) as store:
        name = one_study(store, str(place), study)
        run = _best(store, name, question.labels)
        cell, context = run.cell.cell, WorkContext(store.files, str(exact_device(question.device)))
        with code_as_planned(code_of([cell])):
            recipe = MethodRecipe.from_payload(cell.payload)
            task = task_of(cell, recipe)
            shape, n_outputs = task.target.train.input_shape, task.target.train.n_outputs
            file = context.network(cell.key)
            network = open_network(frame_network(recipe.network, shape, n_outputs), file).network
            start = starting_network(cell, recipe, task, context)
    device = exact_device(question.device)
    network, start = network.to(device), start.with_head(network.copy().head).to(device)
    asked = replace(
        question,
        checkpoint=file,
        data=recipe.target,
        network=recipe.network,
        labels=run.n_labels,
        seed=int(str(cell.labels["seed"])),
    )
    names = {"end": f"{run.method} from {run.source} with {run.n_labels:,} labels", "start": str(run.source)}
    scale, source = scale_of(network, task.target.train), None
    if task.source is not None and task.source.train.input_shape == shape:
        own = task.source.train
        source = spread_examples(own, scale=scale_of(network, own), at_most=question.examples, device=device)
    return asked, looked_at_in(
        asked, task.target, network, start, scale=(scale, "file"), names=names, source=source, backbone_only=True
    )


def _best(store: Store, study: str, labels: int | None) -> Run:
    """Return the transfer run with the best score among those whose network was kept."""
    frames, context = read_study(store, study), WorkContext(store.files)
    runs = [
        run
        for run in finished_runs(store.cells(study), frames)
        if run.source and is_whole(context.network(run.cell.cell.key))
    ]
    if labels is not None:
        runs = [run for run in runs if run.n_labels == labels]
    if not runs:
        raise StoreError(
            f"the study {study} has kept no network of a transfer arm{f' with {labels} labels' if labels else ''}; "
            'keep them with keep = "all" in [engine], or measure a network of yours with `transferscope diagnose '
            "NETWORK --data DATA`"
        )
    largest = max(run.n_labels for run in runs)
    sign = 1 if frames.metric.higher_is_better else -1
    return max((run for run in runs if run.n_labels == largest), key=lambda run: sign * run.score)
