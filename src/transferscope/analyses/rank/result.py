"""The result of `rank`, and its part of a study's report."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from transferscope.analyses.kept_document import RANKING, change_in_words
from transferscope.analyses.rank.figures import draw_ranking
from transferscope.analyses.rank.ranking import KEPT, StudyRanking
from transferscope.analyses.rank.statements import WORDS, answer, notes
from transferscope.analyses.rank.tables import hindsight_rows, network_rows, networks_table, ranking_rows
from transferscope.analyses.result import AnalysisResult, json_rows
from transferscope.errors import StoreError
from transferscope.report.blocks import Block, Figure, Folded, Points, Section, Table, Text
from transferscope.report.page import Part, Verdict, unreadable_part
from transferscope.report.save import file_name
from transferscope.statements import state
from transferscope.study.frames import StudyFrames


@dataclass(frozen=True, repr=False)
class RankingResult(AnalysisResult):
    """The scores of pretrained networks.

    Attributes:
        target: Name of the target, or of the study.
        kept: Sentence on whether the report of the study shows the ranking; empty for files.
    """

    kind: ClassVar[str] = "rank"

    ranking: StudyRanking
    target: str
    kept: str = ""

    @property
    def title(self) -> str:
        """The target of the ranking."""
        return f"Ranking of sources: {self.target}"

    @property
    def verdict(self) -> Verdict:
        """The recommended network, or the candidates if it is undecided; then notes."""
        return Verdict({}, WORDS.say(answer(self.ranking.rankings[-1])), WORDS.all_of(notes(self.ranking)))

    def table(self) -> pd.DataFrame:
        """Return one row per network, score and number of labels; see `ranking_rows`."""
        return ranking_rows(self.ranking.rankings)

    def networks(self) -> pd.DataFrame:
        """Return one row per network and number of labels, the recommended one first; see `network_rows`."""
        return network_rows(self.ranking.rankings)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of every analysis, and "networks" with an object for each row of `networks`."""
        return {**super().to_dict(), "networks": json_rows(self.networks())}

    def shown_tables(self) -> tuple[Table, ...]:
        """Return the networks in their order with the largest number of labels."""
        return (networks_table(self.ranking.rankings[-1], self.ranking.hindsight),)

    def sections(self) -> list[Section]:
        """Return table, figure and limitations."""
        *fewer, most = self.ranking.rankings
        hindsight = self.ranking.hindsight
        folded = [
            Folded(
                f"With {one.n_target:,} labels",
                (Text(WORDS.say(answer(one))), networks_table(one, hindsight)),
            )
            for one in fewer
        ]
        limits = Text(WORDS.say(state("limits")), "note")
        blocks: tuple[Block, ...] = (networks_table(most, hindsight), draw_ranking(most, hindsight), *folded, limits)
        return [Section("Evidence", "ranking", blocks)]

    def answer(self) -> tuple[Block, ...]:
        """Return the output of the command: the answer per number of labels, the networks with the most, and notes."""
        answers = "\n".join(WORDS.all_of(answer(one) for one in self.ranking.rankings))
        sentences = "\n".join((*self.verdict.sentences, WORDS.say(state("limits"))))
        return (Text(answers), *self.shown_tables(), Text(sentences))

    def figures(self) -> dict[str, Figure]:
        """Return the figures by file name: one for each number of labels of a study."""
        if not self.ranking.runs.count:
            return {"ranking": draw_ranking(self.ranking.rankings[-1])}
        name = file_name(self.target)
        return {
            f"{name}-ranking-{one.n_target}": draw_ranking(one, self.ranking.hindsight) for one in self.ranking.rankings
        }

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables for the figures, by file name."""
        before = f"{file_name(self.target)}-" if self.ranking.runs.count else ""
        return {f"{before}{kind}": table for kind, table in _files(self.ranking).items()}


def study_part(frames: StudyFrames) -> Part | None:
    """Return the part of a study's report; None if its sources were not ranked by `transferscope rank`."""
    document = frames.documents.get(RANKING)
    if document is None:
        return None
    title, slug = "Ranking of sources", "ranking"
    try:
        ranking = KEPT.from_document(document)
    except StoreError as error:  # of another version of the package
        return unreadable_part("which", title, slug, "The ranking that was kept", error)
    changed = change_in_words(frames, ranking.runs, since="its sources were ranked", again="rank")
    result = RankingResult(ranking, frames.study.name)
    verdict, (evidence,) = result.verdict, result.sections()
    blocks: list[Block] = [
        *([Text(changed, "warning")] if changed else []),
        *([Points(verdict.sentences)] if verdict.sentences else []),
        *evidence.blocks,
    ]
    return Part("which", verdict.headline, (Section(title, slug, tuple(blocks), files=_files(ranking)),))


def _files(ranking: StudyRanking) -> dict[str, pd.DataFrame]:
    tables = {
        "ranking-networks": network_rows(ranking.rankings),
        "ranking-scores": ranking_rows(ranking.rankings),
    }
    if ranking.hindsight is not None:
        tables |= {f"ranking-{name}": rows for name, rows in hindsight_rows(ranking.hindsight).items()}
    return tables
