"""What to transfer from: rate pretrained networks on a few labelled target examples, without training."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pandas as pd

from transferscope.analyses.result import AnalysisResult
from transferscope.errors import SettingsError
from transferscope.models import NetworkSettings
from transferscope.records import FinishedRuns
from transferscope.report.blocks import Section, Table
from transferscope.report.page import Verdict
from transferscope.report.ranking import ranking_rows
from transferscope.report.sections.ranking import ranking_evidence, ranking_tables
from transferscope.scores.ranking import StudyRanking
from transferscope.study.context import no_progress
from transferscope.study.places import keep_for_report, one_study, open_existing
from transferscope.study.rank_files import RankQuestion, rank_checkpoints
from transferscope.study.rank_study import keep_ranking, rank_study
from transferscope.study.ranking_words import LIMITS
from transferscope.study.settings import DataSettings


@dataclass(frozen=True)
class RankingResult(AnalysisResult):
    """What the scores say of pretrained networks.

    Attributes:
        ranking: One ranking for each number of labels and, of a study, how each score would have chosen.
        target: What was ranked for: the name of the target, or of the study.
        kept: Whether the report of the study shows this, in a sentence; empty for files.
    """

    kind: ClassVar[str] = "rank"

    ranking: StudyRanking
    target: str
    kept: str = ""

    @property
    def title(self) -> str:
        """What was ranked for."""
        return f"What to transfer from: {self.target}"

    @property
    def verdict(self) -> Verdict:
        """Who is first by how many scores, whom they cannot tell from it, and how the scores would have chosen."""
        headline, *sentences = (*self.ranking.rankings[-1].words, *self.ranking.words)
        return Verdict({}, headline, tuple(sentences))

    def table(self) -> pd.DataFrame:
        """One row per network, score and number of labels; see `report.ranking.ranking_rows`."""
        return ranking_rows(self.ranking.rankings)

    def shown_tables(self) -> tuple[Table, ...]:
        """The scores at the largest number of labels, and how each would have chosen."""
        return ranking_tables(self.ranking)

    def sections(self) -> list[Section]:
        """Figure, tables and limits."""
        return [Section("What it rests on", "ranking", ranking_evidence(self.ranking))]


def rank(
    networks: str | Path | Sequence[str | Path],
    target: str | DataSettings | None = None,
    *,
    network: str | NetworkSettings = "lenet",
    labels: int | None = 100,
    seeds: int = 3,
    scores: Sequence[str] = (),
    against: str | None = None,
    study: str | None = None,
    device: str = "auto",
    on_progress: Callable[[int, int], None] = no_progress,
) -> RankingResult:
    """Rate pretrained networks as what to transfer from, before any training on the target.

    With files and a target, all networks see the same labelled training examples, and random features are rated beside
    them. With a finished study, its own networks and few-shot subsets are used, and it also says how each score would
    have chosen, given what transfer gave; the ranking is kept with the study, whose report shows it from then on.

    Args:
        networks: Files of weights (safetensors, or state dicts of torch) of one architecture; without a target, a
            finished study: its file, or the path or URL of its store.
        target: The target by name, such as "usps" or "npz:PATH", or with its transformations as a `DataSettings`. Only
            its training part is read.
        network: Architecture of the files.
        labels: Labelled training examples to look at, with files: at least 2 for each class; None for all.
        seeds: Draws of so many labels, with files; at least 1.
        scores: By name; empty for all.
        against: With a study: the method whose results count; None for the first of fine-tune, l2-sp, merlin and
            linear-probe that has results for all networks.
        study: Which study, when a store holds several.
        device: "auto", "cpu", "cuda" or "mps".
        on_progress: Called with (values of scores done, values in all).

    Returns:
        The ranking.

    Raises:
        TransferscopeError: Files, data, names or settings that cannot be used, or a study that is not finished.

    Example:
        >>> result = rank(["mnist.safetensors", "fashion.safetensors"], "digits", labels=100)  # doctest: +SKIP
        >>> print(result.verdict)  # doctest: +SKIP
    """
    if target is None:
        if not isinstance(networks, str | Path):
            raise SettingsError(
                "files of networks were given without a target; give it as the second argument, as in "
                "rank(files, 'usps')"
            )
        address = str(networks)
        with open_existing(address) as store:
            name = one_study(store, address, study)
            found = rank_study(
                store, name, scores=scores, against=against, device=device, keep=False, on_progress=on_progress
            )
            kept = keep_for_report(store, address, lambda: keep_ranking(store, name, found))
        return RankingResult(found, name, kept)
    if against is not None or study is not None:
        raise SettingsError("`against` and `study` are about a finished study, and a target was given; leave them out")
    files = [networks] if isinstance(networks, str | Path) else networks
    data = target if isinstance(target, DataSettings) else DataSettings(target)
    question = RankQuestion(
        checkpoints=tuple(Path(file) for file in files),
        data=data,
        network=network if isinstance(network, NetworkSettings) else NetworkSettings(network),
        labels=labels,
        seeds=seeds,
        scores=tuple(scores),
        device=device,
    )
    ranking = rank_checkpoints(question, on_progress=on_progress)
    return RankingResult(StudyRanking((ranking,), None, (), LIMITS, FinishedRuns.of(())), data.data)
