"""What `rank` returns, and its part of a study's page: words, tables and figures together."""

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.kept_document import change_in_words
from transferscope.analyses.rank.figures import draw_ranking
from transferscope.analyses.rank.ranking import DOCUMENT, KEPT, StudyRanking
from transferscope.analyses.rank.tables import choice_rows, choices_table, ranking_rows, scores_table, transferred_rows
from transferscope.analyses.rank.words import LIMITS, NOTHING_MEASURED, hindsight_in_words, in_words
from transferscope.analyses.result import AnalysisResult
from transferscope.errors import StoreError
from transferscope.report.blocks import Block, Figure, Folded, Section, Table, Text
from transferscope.report.page import Part, Verdict, unreadable_part
from transferscope.report.save import file_name


@dataclass(frozen=True)
class RankingResult(AnalysisResult):
    """What the scores say of pretrained networks.

    Attributes:
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
        headline, *sentences = (*in_words(self.ranking.rankings[-1]), *_hindsight(self.ranking))
        return Verdict({}, headline, tuple(sentences))

    def table(self) -> pd.DataFrame:
        """One row per network, score and number of labels; see `ranking_rows`."""
        return ranking_rows(self.ranking.rankings)

    def shown_tables(self) -> tuple[Table, ...]:
        """The scores at the largest number of labels, and how each would have chosen."""
        return _tables(self.ranking)

    def sections(self) -> list[Section]:
        """Figure, tables and limits."""
        return [Section("What it rests on", "ranking", _evidence(self.ranking))]

    def answer(self) -> tuple[Block, ...]:
        """What the command prints: the scores at each number of labels, how they would have chosen, and limits."""
        found, blocks = self.ranking, list[Block]()
        for ranking in found.rankings:
            blocks += [scores_table(ranking, found.hindsight), Text("\n".join(in_words(ranking)))]
        if found.hindsight is not None:
            blocks.append(choices_table(found.hindsight))
        elif self.kept and len(found.rankings[0].candidates) > 2:  # the random features are one of them
            blocks.append(Text(NOTHING_MEASURED))
        said = _hindsight(found)
        return (*blocks, *([Text("\n".join(said))] if said else []), Text(LIMITS))

    def figures(self) -> dict[str, Figure]:
        """The figures by the name of their files: one for each number of labels of a study."""
        if not self.kept:
            return {"ranking": draw_ranking(self.ranking.rankings[-1])}
        name = file_name(self.target)
        return {
            f"{name}-ranking-{one.n_target}": draw_ranking(one, self.ranking.hindsight) for one in self.ranking.rankings
        }

    def tables(self) -> dict[str, pd.DataFrame]:
        """Of a study, the tables beside the figures, by the name of their files."""
        name = file_name(self.target)
        return {f"{name}-{kind}": table for kind, table in _files(self.ranking).items()} if self.kept else {}


def study_part(summary: Summary) -> Part | None:
    """The part of a study's page; None for a study whose sources were not ranked by `transferscope rank`."""
    document = summary.frames.documents.get(DOCUMENT)
    if document is None:
        return None
    title, slug = "What to transfer from", "ranking"
    try:
        ranking = KEPT.from_document(document)
    except StoreError as error:  # of another version of the package
        return unreadable_part("which", title, slug, "The ranking that was kept", error)
    changed = change_in_words(summary.frames, ranking.runs, since="its sources were ranked", again="rank")
    said, judged = in_words(ranking.rankings[-1]), _hindsight(ranking)
    blocks: list[Block] = [
        *([Text(changed, "warning")] if changed else []),
        *([Text(" ".join(judged))] if judged else []),
        *_evidence(ranking),
    ]
    return Part("which", " ".join(said), (Section(title, slug, tuple(blocks), files=_files(ranking)),))


def _hindsight(ranking: StudyRanking) -> tuple[str, ...]:
    return () if ranking.hindsight is None else hindsight_in_words(ranking.hindsight)


def _evidence(ranking: StudyRanking) -> tuple[Block, ...]:
    return (
        draw_ranking(ranking.rankings[-1], ranking.hindsight),
        *_tables(ranking),
        *(
            Folded(
                f"With {one.n_target:,} labels", (Text(" ".join(in_words(one))), scores_table(one, ranking.hindsight))
            )
            for one in ranking.rankings[:-1]
        ),
        Text(LIMITS, "note"),
    )


def _tables(ranking: StudyRanking) -> tuple[Table, ...]:
    """The scores at the largest number of labels and, with hindsight, how each would have chosen."""
    scores = scores_table(ranking.rankings[-1], ranking.hindsight)
    return (scores,) if ranking.hindsight is None else (scores, choices_table(ranking.hindsight))


def _files(ranking: StudyRanking) -> dict[str, pd.DataFrame]:
    tables = {"ranking-scores": ranking_rows(ranking.rankings)}
    if ranking.hindsight is not None:
        tables["ranking-transfer"] = transferred_rows(ranking.hindsight.transferred)
        tables["ranking-choices"] = choice_rows(ranking.hindsight.choices)
    return tables
