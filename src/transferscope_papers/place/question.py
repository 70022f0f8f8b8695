"""What an exactly solvable model says of the pairs of a finished study, beside what was measured."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from transferscope.analyses.finished_study import (
    Origin,
    StudyNetworks,
    finished_cells,
    pretrained_of,
    target_data,
)
from transferscope.consent import reads_code
from transferscope.data.task import Dataset
from transferscope.diagnostics.features import features_of
from transferscope.errors import DataError, SettingsError
from transferscope.estimate import Estimate
from transferscope.store import Store, StoredCell
from transferscope.study.cell import code_as_planned, code_of
from transferscope.study.context import no_progress
from transferscope.study.facts import as_read
from transferscope.study.places import one_study, open_existing
from transferscope_papers.parameters import at_least
from transferscope_papers.place.estimates import (
    LEAST_EXAMPLES,
    PairEstimate,
    TargetExamples,
    Unexplained,
    estimate_pair,
    ranged,
    target_examples,
    unexplainable,
    unexplained,
)
from transferscope_papers.place.measured import (
    Measured,
    best_trained,
    measured_transfer,
    over_seeds,
    squared_errors,
)
from transferscope_papers.place.placement import Placement
from transferscope_papers.place.result import PlacementResult
from transferscope_papers.theory.effective_dimension import DimensionBand, dimension_band, given_dimension
from transferscope_papers.theory.placement import (
    Pair,
    critical_share,
    modelled_transferability,
    risk_draws,
    scratch_risk,
)


@reads_code
def place(
    finished: str | Path,
    *,
    examples: int = 2000,
    input_dimension: float | None = None,
    study: str | None = None,
    trust_code: bool = False,
    on_progress: Callable[[int, int], None] = no_progress,
) -> PlacementResult:
    """Put every source of a finished study on the linear-transfer diagram.

    What lies outside the pretrained features, the noise and the dimensions are estimated from labelled target examples
    (training and test part together; the pretraining saw none of them), each with an interval that is carried through
    to what the model says, together with the error of the model. Measured is what the study's linear probes gained over
    training from scratch, beside the error of training from scratch itself.

    Args:
        finished: A finished study: its file, or the path or URL of its store, with its folder of networks.
        examples: Labelled target examples to estimate from, at least `LEAST_EXAMPLES`; all if there are fewer.
        input_dimension: Directions of the inputs d, at least 1; None to estimate it.
        study: Which study, when a store holds several.
        trust_code: Whether code that the store names is run, beside what a study file of yours names.
        on_progress: Called with (parts done, parts in all): the noise, then each pretrained network.

    Returns:
        The placements: one for each source, number of source examples and number of labels, in the order of the study.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The study is not finished.
        DataError: It has no pretrained networks, a network file is gone, or the data say too little.
        SettingsError: `examples` or `input_dimension` is too small.

    Example:
        >>> print(place("usps.toml").verdict)  # doctest: +SKIP
    """
    if input_dimension is not None:
        at_least("input_dimension", input_dimension, 1)
    if examples < LEAST_EXAMPLES:
        raise SettingsError(f"examples = {examples}; expected at least {LEAST_EXAMPLES} to estimate from")
    address = str(finished)
    with open_existing(address) as store:
        name = one_study(store, address, study)
        cells = finished_cells(store, name, before="it is placed")
        with code_as_planned(code_of((stored.cell for stored in cells), "network")):
            return _place_study(
                store, name, cells, examples=examples, input_dimension=input_dimension, on_progress=on_progress
            )


def _place_study(
    store: Store,
    name: str,
    cells: Sequence[StoredCell],
    *,
    examples: int,
    input_dimension: float | None,
    on_progress: Callable[[int, int], None],
) -> PlacementResult:
    pretrained = pretrained_of(
        [stored for stored in cells if stored.cell.labels.get("pretrain_step") is None],
        store.files,
        none=f"no method of {name} starts from a pretrained network, so there are no features to place; add "
        "[methods.linear-probe] to its file and run it again",
    )
    n_parts, n_done = 1 + sum(len(set(files.values())) for files in pretrained.files.values()), 0

    def on_part() -> None:
        nonlocal n_done
        n_done += 1
        on_progress(n_done, n_parts)

    on_progress(0, n_parts)
    data = target_data(pretrained.recipe)
    if data.train.is_tokens:
        raise DataError(
            f"the target of {name} is texts, and the linear model is one of numbers: the distances between tokens "
            "that it would take mean nothing; `transferscope compare` and `rank` answer for texts"
        )
    if data.train.kind == "multi-label":
        raise DataError(
            f"the inputs of {name} have several labels each, and the linear model is one of classes or numbers; "
            "`transferscope compare` and `rank` answer for several labels"
        )
    if data.train.grid is not None:
        raise DataError(
            f"the labels of {name} lie on a grid over each image, and the linear model is one of whole inputs; "
            "`transferscope compare` answers for labels on a grid"
        )
    target = target_examples(data, at_most=examples)
    errors = squared_errors(store, name)
    noise = unexplainable(target.flat_inputs, target.codes)
    trained = best_trained(cells, errors)
    if trained is not None and trained.limit < noise.limit:
        noise = trained
    given = input_dimension
    directions = _dimension(target.flat_inputs, "the inputs") if given is None else given_dimension(given)
    on_part()
    pairs: dict[str, Pair] = {}
    points: list[Placement] = []
    for origin, title in pretrained.names.items():
        pair = _estimate(pretrained, origin, data, target, noise, directions, on_part)
        pairs[title] = pair.best
        gains = measured_transfer(cells, errors, source=origin.source, n_source=origin.n_source)
        points += [_placement(title, origin, pair, measured, data.train.kind) for measured in gains]
    return PlacementResult(name, tuple(points), pairs)


def _estimate(
    pretrained: StudyNetworks,
    origin: Origin,
    data: Dataset,
    target: TargetExamples,
    noise: Unexplained,
    directions: DimensionBand,
    on_network: Callable[[], None],
) -> PairEstimate:
    """The parameters of the pair of one source with the target, from all its pretrained networks."""
    what, missed, dimensions = f"the features pretrained on {origin.source}", [], []
    own, recipe = pretrained.files[origin], pretrained.recipes[origin]
    for file in dict.fromkeys(own.values()):  # a network from a file is that of every seed
        seed = next(seed for seed in own if own[seed] == file)
        network, read = pretrained.open(origin, seed, data).network, target
        if network.input is not None:
            seen = as_read(data, recipe.target, recipe.network)
            read = target_examples(seen, at_most=len(target.codes), network=network)
        features: np.ndarray = features_of(network, read.examples).numpy()
        missed.append(unexplained(features, target.codes, what=what))
        dimensions.append(_dimension(features, what))
        on_network()
    return estimate_pair(missed, noise, dimensions, directions, n_examples=len(target.codes))


def _dimension(vectors: np.ndarray, what: str) -> DimensionBand:
    found = dimension_band(vectors)
    if found.low.status != "ok":
        raise DataError(
            f"{what} do not vary over the target examples, so nothing can be learnt from them; check the data and the "
            "pretraining"
        )
    return found


def _placement(name: str, origin: Origin, pair: PairEstimate, measured: Measured, kind: str) -> Placement:
    n, best, draws = measured.n_target, pair.best, pair.draws
    modelled, risks = float(modelled_transferability(best, n)), risk_draws(draws, n)
    from_scratch, its_draws = float(scratch_risk(best, n) + best.noise), risks.scratch + draws.noise

    def own(value: np.ndarray | float, possible: np.ndarray | float) -> Estimate:
        return ranged(float(value), np.asarray(possible, dtype=np.float64), n=pair.n_examples)

    return Placement(
        name=name,
        source=origin.source,
        n_source=origin.n_source,
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
        measured=over_seeds(measured.differences),
    )
