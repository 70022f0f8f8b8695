"""A finished study on the linear-transfer diagram: what the model says of its pairs, and what was measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from transferscope.data.load import load
from transferscope.data.task import Dataset
from transferscope.diagnostics.features import features_of
from transferscope.errors import DataError, SettingsError
from transferscope.estimate import Estimate
from transferscope.models import build_network, open_network
from transferscope.store import Store, StoredCell
from transferscope.study.cell import MethodRecipe
from transferscope.study.context import WorkContext, no_progress
from transferscope.study.finished_cells import finished_cells
from transferscope.study.fitting import network_file
from transferscope.study.keep_placements import keep_placements
from transferscope.study.measured_transfer import Measured, measured_transfer, minus_model, over_seeds
from transferscope.study.pair_estimates import (
    PairEstimate,
    Unexplained,
    estimate_pair,
    ranged,
    unexplainable,
    unexplained,
)
from transferscope.study.placed_source import PlacedSource
from transferscope.study.squared_errors import best_trained, squared_errors
from transferscope.study.target_examples import LEAST_EXAMPLES, TargetExamples, look_at
from transferscope.theory.effective_dimension import DimensionBand, dimension_band, given_dimension
from transferscope.theory.parameters import at_least
from transferscope.theory.placement import (
    Placement,
    critical_share,
    modelled_transferability,
    risk_draws,
    scratch_risk,
)


def place_study(
    store: Store,
    study: str,
    *,
    examples: int = 2000,
    input_dimension: float | None = None,
    keep: bool = True,
    on_progress: Callable[[int, int], None] = no_progress,
) -> tuple[PlacedSource, ...]:
    """Put every source of a finished study on the linear-transfer diagram.

    What lies outside the pretrained features, the noise and the dimensions are estimated from labelled target examples
    (training and test part together; the pretraining saw none of them), each with an interval that is carried through
    to what the model says, together with the error of the model. Measured is what the study's linear probes gained over
    training from scratch; whether the model describes the pair is told from the error of training from scratch.

    All of it is kept with the study, where the report finds it; it replaces what was kept before.

    Args:
        store: The store of the study, with its folder of networks.
        study: Name of the study.
        examples: Target examples to estimate from, at least `LEAST_EXAMPLES`; all if there are fewer.
        input_dimension: d, at least 1; None to estimate it from the inputs.
        keep: Whether to keep the placements in the store; off for a store that cannot be written.
        on_progress: Called with (parts done, parts in all): the noise, then each pretrained network.

    Returns:
        One for each source and number of source examples, in the order of the study.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The study is not finished, or the store cannot be written.
        DataError: It has no pretrained networks, a network file is gone, or the data say too little.
        SettingsError: `examples` or `input_dimension` is too small.
    """
    if input_dimension is not None:
        at_least("input_dimension", input_dimension, 1)
    if examples < LEAST_EXAMPLES:
        raise SettingsError(f"examples = {examples}; expected at least {LEAST_EXAMPLES} to estimate from")
    cells = finished_cells(store, study, before="it is placed")
    starts = _starts(store, study, cells)
    n_parts = 1 + len(starts)
    on_progress(0, n_parts)
    target = _target(cells)
    looked_at = look_at(target, at_most=examples)
    errors = squared_errors(store, study)
    noise = _least(unexplainable(looked_at.flat_inputs, looked_at.codes), best_trained(cells, errors))
    directions = _directions(looked_at, input_dimension)
    on_progress(done := 1, n_parts)
    placed = []
    for group in _groups(starts):
        pair = _estimate(group, looked_at, noise, directions)
        on_progress(done := done + len(group), n_parts)
        measured = measured_transfer(cells, errors, source=group[0].source, n_source=group[0].n_source)
        points = tuple(_place(group[0], pair, one, target.train.kind) for one in measured)
        placed.append(PlacedSource(_group_name(group[0], starts), pair, points))
    if keep:
        keep_placements(store, study, placed, input_dimension=input_dimension)
    return tuple(placed)


@dataclass(frozen=True)
class _Start:
    """A pretrained network that some cell of the study starts from."""

    source: str
    n_source: int | None
    seed: int
    recipe: MethodRecipe
    file: Path


def _starts(store: Store, study: str, cells: Sequence[StoredCell]) -> list[_Start]:
    """The distinct networks that methods of the study start from, pretrained to the end, in the order of its plan."""
    context = WorkContext(store.files)
    found: dict[tuple[Path, int], _Start] = {}
    for stored in cells:
        cell = stored.cell
        if cell.role != "method" or cell.labels.get("pretrain_step") is not None:
            continue
        recipe = MethodRecipe.from_payload(cell.payload)
        if recipe.method.start != "pretrained" or recipe.source is None:
            continue
        source, n_source = str(cell.labels["source"]), cell.labels["n_source"] if cell.needs else None
        if cell.needs:
            file = context.network(cell.needs[0])
        elif any(start.source == source for start in found.values()):
            continue  # one network for all seeds
        else:
            file = network_file(recipe)
        start = _Start(source, _whole(n_source), _whole(cell.labels["seed"]) or 0, recipe, file)
        found.setdefault((file, start.seed), start)
    if not found:
        raise DataError(
            f"no method of {study} starts from a pretrained network, so there are no features to place; add "
            "[methods.linear-probe] to its file and run it again"
        )
    return list(found.values())


def _groups(starts: Sequence[_Start]) -> list[list[_Start]]:
    groups: dict[tuple[str, int | None], list[_Start]] = {}
    for start in starts:
        groups.setdefault((start.source, start.n_source), []).append(start)
    return list(groups.values())


def _group_name(start: _Start, starts: Sequence[_Start]) -> str:
    sizes = {other.n_source for other in starts if other.source == start.source}
    return start.source if len(sizes) == 1 else f"{start.source} ({start.n_source:,} examples)"


def _target(cells: Sequence[StoredCell]) -> Dataset:
    recipe = next(MethodRecipe.from_payload(stored.cell.payload) for stored in cells if stored.cell.role == "method")
    data = recipe.target
    return load(data.data, transforms=data.transforms, limit=data.limit, test_limit=data.test_limit)


def _least(noise: Unexplained, trained: Unexplained | None) -> Unexplained:
    return noise if trained is None or noise.limit <= trained.limit else trained


def _estimate(
    group: Sequence[_Start], looked_at: TargetExamples, noise: Unexplained, input_dimension: DimensionBand
) -> PairEstimate:
    missed, dimensions = [], []
    for start in group:
        features, name = _features(start, looked_at), f"the features pretrained on {start.source}"
        missed.append(unexplained(features, looked_at.codes, what=name))
        dimensions.append(_dimension(features, name))
    return estimate_pair(missed, noise, dimensions, input_dimension, n_examples=len(looked_at.codes))


def _features(start: _Start, looked_at: TargetExamples) -> np.ndarray:
    if not start.file.is_file():
        raise DataError(
            f"the pretrained network {start.file} is gone; put the folder of networks back beside the store, or run "
            "the study again in a new store"
        )
    shape, n_outputs = looked_at.input_shape, looked_at.codes.shape[1]
    frame = build_network(start.recipe.network, shape, n_outputs, seed=0)
    network = open_network(frame, start.file, head="either", read_as=start.recipe.network.read_as(shape)).network
    features: np.ndarray = features_of(network, looked_at.examples).numpy()
    return features


def _directions(looked_at: TargetExamples, given: float | None) -> DimensionBand:
    return _dimension(looked_at.flat_inputs, "the inputs") if given is None else given_dimension(given)


def _dimension(vectors: np.ndarray, what: str) -> DimensionBand:
    found = dimension_band(vectors)
    if found.low.status != "ok":
        raise DataError(
            f"{what} do not vary over the target examples, so nothing can be learnt from them; check the data and the "
            "pretraining"
        )
    return found


def _place(start: _Start, pair: PairEstimate, measured: Measured, kind: str) -> Placement:
    n, best, draws = measured.n_target, pair.best, pair.draws
    modelled, risks = float(modelled_transferability(best, n)), risk_draws(draws, n)
    from_scratch, its_draws = float(scratch_risk(best, n) + best.noise), risks.scratch + draws.noise

    def own(value: np.ndarray | float, possible: np.ndarray | float) -> Estimate:
        return ranged(float(value), np.asarray(possible, dtype=np.float64), n=pair.n_examples)

    return Placement(
        source=start.source,
        n_source=start.n_source,
        n_target=n,
        method=measured.method,
        n_examples=pair.n_examples,
        kind=kind,
        outside_share=own(best.outside_share, draws.outside_share),
        noise_level=own(best.noise_level, draws.noise_level),
        input_dimension=own(best.input_dimension, draws.input_dimension),
        feature_dimension=own(best.feature_dimension, draws.feature_dimension),
        examples_per_dimension=own(n / best.input_dimension, n / draws.input_dimension),
        critical_share=own(critical_share(best, n), critical_share(draws, n)),
        modelled=own(modelled, risks.transferability),
        chance_negative=float((risks.transferability < 0).mean()),
        scratch_modelled=own(from_scratch, its_draws),
        scratch_measured=over_seeds(measured.scratch),
        scratch_gap=minus_model(measured.scratch, from_scratch, its_draws),
        measured=measured.gain,
        gap=minus_model(measured.differences, modelled, risks.transferability),
    )


def _whole(label: object) -> int | None:
    return label if isinstance(label, int) else None
