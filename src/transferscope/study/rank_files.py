"""What to transfer from, from files: networks that are pretrained already, on a few labelled target examples."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from transferscope.data.splits import few_shot
from transferscope.data.task import LabelledSet
from transferscope.errors import DataError, SettingsError
from transferscope.models import NetworkSettings
from transferscope.scores import SCORES
from transferscope.scores.ranking import RANDOM, Ranking
from transferscope.study.candidate import (
    CandidateNetwork,
    labelled_target,
    least_labels,
    open_candidate,
    random_candidate,
)
from transferscope.study.context import no_progress
from transferscope.study.facts import read_data
from transferscope.study.score_candidates import Design, Subset, choose_scores, rank_subsets
from transferscope.study.settings import DataSettings
from transferscope.training import choose_device, stream_seed


@dataclass(frozen=True, slots=True)
class RankQuestion:
    """Which networks to rank, for which target.

    Attributes:
        checkpoints: Weights of pretrained networks: safetensors, or state dicts written by `torch.save`. One alone is
            held against random features.
        data: The target; only its training part is read.
        network: The architecture that all weights belong to.
        labels: Labelled training examples to look at, at least 2 for each class; None for all.
        seeds: Subsets of so many labels to look at, at least 1: those that a study draws by seeds 0, 1, ...
        scores: By name; empty for all.
        device: "auto", "cpu", "cuda" or "mps".

    Raises:
        SettingsError: There is no file, one is given twice, or a number is out of range.
    """

    checkpoints: tuple[Path, ...]
    data: DataSettings
    network: NetworkSettings = field(default_factory=NetworkSettings)
    labels: int | None = 100
    seeds: int = 3
    scores: tuple[str, ...] = ()
    device: str = "auto"

    def __post_init__(self) -> None:
        """Check the files and the ranges."""
        twice = [path for path in self.checkpoints if self.checkpoints.count(path) > 1]
        if twice:
            raise SettingsError(f"{twice[0]} is given twice; give each file once")
        if not self.checkpoints:
            raise SettingsError("no pretrained network was given; give at least one to rank")
        if self.seeds < 1 or (self.labels is not None and self.labels < 1):
            raise SettingsError(f"labels = {self.labels} and seeds = {self.seeds}; expected at least 1 of each")

    @property
    def names(self) -> tuple[str, ...]:
        """What the candidates are called: file names, or paths where these are not distinct."""
        short = [path.name for path in self.checkpoints]
        return tuple(short if len(set(short)) == len(short) else map(str, self.checkpoints))


def rank_checkpoints(question: RankQuestion, *, on_progress: Callable[[int, int], None] = no_progress) -> Ranking:
    """Rank pretrained networks as what to transfer from, before any training on the target.

    All see the same labelled training examples; none of the test part is read. A network as it is initialised is rated
    beside them. Several subsets tell how much depends on the draw.

    Args:
        question: Which networks, which target.
        on_progress: Called with (values of scores done, values in all).

    Returns:
        The ranking, with what it comes to in words.

    Raises:
        DataError: The data or a file cannot be read, there are too few labels, or no score has anything to say.
        NetworkError: Weights do not belong to the architecture, or are not finite.
        UnknownNameError: There is no such score, data set or transformation.
        SettingsError: The machine has no such device.
    """
    train = read_data(question.data).train
    chosen = choose_scores(question.scores, SCORES, of_classes=train.classes is not None)
    labels, device = _labels(question, train), choose_device(question.device)
    opened = [
        open_candidate(name, path, question.network, train.input_shape, of_classes=True, device=device)
        for name, path in zip(question.names, question.checkpoints, strict=True)
    ]
    names = (*question.names, RANDOM)
    seeds = range(1 if labels == len(train) else question.seeds)
    design = Design(labels, len(train), len(seeds), networks_vary=False)
    n_values, n_done = len(seeds) * len(names) * len(chosen.scores), 0

    def on_score() -> None:
        nonlocal n_done
        n_done += 1
        on_progress(n_done, n_values)

    on_progress(0, n_values)
    subsets = _subsets(question, train, labels, seeds, opened, device)
    return rank_subsets(names, subsets, chosen, design, on_score=on_score).ranking


def _labels(question: RankQuestion, train: LabelledSet) -> int:
    labels, least = question.labels or len(train), least_labels(train)
    if labels > len(train):
        raise DataError(
            f"{labels} labels were asked for and {question.data.data} has {len(train)} training examples; ask for "
            f"{len(train)} or fewer"
        )
    if labels < least:
        why = "2 for each class" if train.classes is not None else "that many numbers"
        raise DataError(f"{labels} labels are too few to rank with; give at least {least} ({why})")
    return labels


def _subsets(
    question: RankQuestion,
    train: LabelledSet,
    labels: int,
    seeds: Sequence[int],
    opened: Sequence[CandidateNetwork],
    device: torch.device,
) -> Iterator[Subset]:
    classes = [one.n_source_classes for one in opened if one.n_source_classes is not None]
    for seed in seeds:
        subset = few_shot(train, labels, seed=stream_seed(seed, "subset"))
        untrained = random_candidate(
            RANDOM,
            question.network,
            train.input_shape,
            n_classes=max(classes, default=None),
            seed=stream_seed(seed, "network"),
            device=device,
        )
        yield Subset(seed, labelled_target(subset, device), (*opened, untrained))
