"""What to transfer from, in a finished study: what scores say of its pretrained networks, and what transfer gave."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64

from transferscope.data.splits import few_shot
from transferscope.data.task import LabelledSet
from transferscope.errors import DataError
from transferscope.records import FinishedRuns
from transferscope.scores import SCORES
from transferscope.scores.ranking import DOCUMENT, RANDOM, StudyRanking, to_document
from transferscope.store import Store, StoredCell
from transferscope.study.candidate import (
    CandidateNetwork,
    labelled_target,
    least_labels,
    open_candidate,
    random_candidate,
)
from transferscope.study.context import no_progress
from transferscope.study.facts import read_data
from transferscope.study.finished_cells import finished_cells
from transferscope.study.hindsight import SizeCases, look_back
from transferscope.study.pretrained_sources import Origin, Pretrained, Results, pretrained_of, results_of
from transferscope.study.ranking_words import LIMITS, hindsight_in_words
from transferscope.study.score_candidates import Design, Ranked, Subset, choose_scores, rank_subsets
from transferscope.training import choose_device, stream_seed


def rank_study(
    store: Store,
    study: str,
    *,
    scores: Sequence[str] = (),
    against: str | None = None,
    device: str = "auto",
    keep: bool = True,
    on_progress: Callable[[int, int], None] = no_progress,
) -> StudyRanking:
    """Rank the pretrained networks of a finished study, and see how the scores would have chosen.

    Scores look at the few-shot subsets that the study's cells trained on. One network alone is held against random
    features, without hindsight. What transfer gave is the study's own, so
    that nothing is trained. All of it is kept with the study, where the report finds it; it replaces what was kept
    before.

    Args:
        store: The store of the study, with its folder of networks.
        study: Name of the study.
        scores: By name; empty for all.
        against: The method whose results count; None for the first of fine-tune, l2-sp, merlin and linear-probe that
            has results for all candidates.
        device: "auto", "cpu", "cuda" or "mps".
        keep: Whether to keep the ranking in the store; off for a store that cannot be written.
        on_progress: Called with (values of scores done, values in all).

    Returns:
        Rankings by number of labels, and hindsight.

    Raises:
        UnknownNameError: There is no such study, score or method.
        StoreError: The study is not finished, or the store cannot be written.
        DataError: It has no pretrained network, one is gone, or it has too few labels.
        SettingsError: The method lacks results for a candidate.
    """
    cells = finished_cells(store, study, before="its sources are ranked")
    pretrained = pretrained_of(study, cells, store.files)
    results = results_of(cells, store.records(study), pretrained, against=against)
    train = read_data(pretrained.recipe.target).train
    chosen = choose_scores(scores, SCORES, of_classes=train.classes is not None)
    places = _places(study, cells, pretrained, train)
    work = _Work(pretrained, train, _sources_of_classes(store, study, pretrained), choose_device(device))
    n_values = sum(map(len, places.values())) * (1 + len(pretrained.names)) * len(chosen.scores)
    n_done = 0

    def on_score() -> None:
        nonlocal n_done
        n_done += 1
        on_progress(n_done, n_values)

    on_progress(0, n_values)
    ranked = []
    for n_target, seeds in places.items():
        design = Design(n_target, len(train), len(seeds), networks_vary=True)
        subsets = _subsets(work, n_target, seeds)
        ranked.append(rank_subsets(work.names, subsets, chosen, design, on_score=on_score))
    found = _together(ranked, pretrained, results, cells)
    if keep:
        keep_ranking(store, study, found)
    return found


def keep_ranking(store: Store, study: str, ranking: StudyRanking) -> None:
    """Keep a ranking with its study, where the report finds it; it replaces that of an earlier time.

    Raises:
        StoreError: The store cannot be written.
        UnknownNameError: There is no such study.
    """
    store.put_study_document(study, DOCUMENT, to_document(ranking))


@dataclass(frozen=True)
class _Work:
    """What every subset needs.

    Attributes:
        pretrained: The candidates.
        train: Training part of the target.
        of_classes: Names of the sources whose heads are of classes.
        device: Where networks are run.
    """

    pretrained: Pretrained
    train: LabelledSet
    of_classes: frozenset[str]
    device: torch.device

    @property
    def names(self) -> tuple[str, ...]:
        """The candidates, the random features last."""
        return (*self.pretrained.names.values(), RANDOM)


def _places(
    study: str, cells: Sequence[StoredCell], pretrained: Pretrained, train: LabelledSet
) -> dict[int, list[int]]:
    """The seeds of each number of labels that is not too small, ascending; without seeds whose pre-training failed."""
    complete = set.intersection(*(set(files) for files in pretrained.files.values()))
    if not complete:
        names = ", ".join(pretrained.names.values())
        raise DataError(f"no seed of {study} has a network of every candidate ({names}); run its failed cells again")
    found: dict[int, set[int]] = {}
    for stored in cells:
        labels = stored.cell.labels
        if stored.cell.role == "method" and labels["seed"] in complete:
            found.setdefault(int(str(labels["n_target"])), set()).add(int(str(labels["seed"])))
    least = least_labels(train)
    if max(found) < least:
        raise DataError(f"{study} has {max(found)} labels at most, too few to rank with; give it {least} or more")
    return {n: sorted(found[n]) for n in sorted(found) if n >= least}


def _sources_of_classes(store: Store, study: str, pretrained: Pretrained) -> frozenset[str]:
    """Sources whose heads are of classes, as the facts of the study say; a network from a file counts as one."""
    facts = store.study(study).facts.get("sources", {})
    sources = {origin.source for origin in pretrained.names}
    return frozenset(name for name in sources if facts.get(name, {}).get("kind", "classification") == "classification")


def _subsets(work: _Work, n_target: int, seeds: Sequence[int]) -> Iterator[Subset]:
    settings, shape = work.pretrained.recipe.network, work.train.input_shape
    for seed in seeds:
        opened = tuple(_open(work, origin, name, seed) for origin, name in work.pretrained.names.items())
        classes = [one.n_source_classes for one in opened if one.n_source_classes is not None]
        untrained = random_candidate(
            RANDOM,
            settings,
            shape,
            n_classes=max(classes, default=None),
            seed=stream_seed(seed, "network"),
            device=work.device,
        )
        subset = few_shot(work.train, n_target, seed=stream_seed(seed, "subset"))
        yield Subset(seed, labelled_target(subset, work.device), (*opened, untrained))


def _open(work: _Work, origin: Origin, name: str, seed: int) -> CandidateNetwork:
    files = work.pretrained.files[origin]
    if not files[seed].is_file():
        raise DataError(
            f"the network pretrained on {name} with seed {seed} ({files[seed]}) is gone; put the folder of networks "
            "back beside the store, or run the study again in a new store"
        )
    return open_candidate(
        name,
        files[seed],
        work.pretrained.recipe.network,
        work.train.input_shape,
        of_classes=origin.source in work.of_classes,
        device=work.device,
    )


def _together(
    ranked: Sequence[Ranked], pretrained: Pretrained, results: Results | None, cells: Sequence[StoredCell]
) -> StudyRanking:
    hindsight = None
    if results is not None and len(pretrained.names) > 1:
        sizes = [_cases(one, pretrained, results) for one in ranked]
        hindsight = look_back(results.method, results.measure, tuple(pretrained.names.values()), sizes)
    runs = FinishedRuns.of(one.cell.key for one in cells if one.cell.role == "method")
    said = () if hindsight is None else hindsight_in_words(hindsight)
    rankings = tuple(one.ranking for one in ranked)
    return StudyRanking(rankings, hindsight, said, LIMITS, runs)


def _cases(ranked: Ranked, pretrained: Pretrained, results: Results) -> SizeCases:
    n, seeds = ranked.ranking.n_target, ranked.ranking.seeds

    def row(seed: int) -> list[float]:
        return [results.values.get((origin, n, seed), np.nan) for origin in pretrained.names]

    measured: Float64[np.ndarray, "S C"] = np.array([row(seed) for seed in seeds], dtype=np.float64)
    own = len(pretrained.names)  # the random features come last, and are no choice
    return SizeCases(n, seeds, measured, {name: values[:, :own] for name, values in ranked.values.items()})
