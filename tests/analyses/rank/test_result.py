from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from analyses.rank.ranked import study_ranking
from fabricate import Fabrication, fabricate
from transferscope.analyses.rank import study_part
from transferscope.analyses.rank.ranking import KEPT, RANDOM, StudyRanking
from transferscope.analyses.rank.statements import WORDS, answer, notes
from transferscope.records import FinishedRuns
from transferscope.report.blocks import Block, Figure, Folded, Points, Section, Table, Text
from transferscope.report.figures.style import NARROW
from transferscope.report.page import Part
from transferscope.statements import state
from transferscope.study.frames import read_study

B = TypeVar("B", bound=Block)

SMALL = Fabrication(gains={"fashion": {"fine-tune": 0.08}, "mnist": {"fine-tune": 0.10}}, n_seeds=3, n_test=300)


def part_of(folder: Path, found: StudyRanking | None = None) -> Part:
    with fabricate(folder / "s.sqlite", SMALL) as store:
        done = [one.cell.key for one in store.cells("usps") if one.state == "done" and one.cell.role == "method"]
        ranking = found or study_ranking(FinishedRuns.of(done))
        store.put_study_document("usps", "ranking", KEPT.to_document(ranking))
        part = study_part(read_study(store, "usps"))
    assert part.question == "which"
    return part


def section_of(folder: Path, found: StudyRanking | None = None) -> Section:
    (section,) = part_of(folder, found).sections
    return section


def texts(section: Section, tone: str = "plain") -> list[str]:
    return [block.text for block in section.blocks if isinstance(block, Text) and block.tone == tone]


def every(section: Section, kind: type[B]) -> list[B]:
    return [block for block in section.blocks if isinstance(block, kind)]


def test_a_study_that_was_not_ranked_has_no_part(tmp_path: Path) -> None:
    with fabricate(tmp_path / "s.sqlite", SMALL) as store:
        assert study_part(read_study(store, "usps")) is None


def test_it_begins_with_the_answer_and_ends_with_limits(tmp_path: Path) -> None:
    part = part_of(tmp_path)
    (section,) = part.sections
    assert (section.title, section.slug) == ("Ranking of sources", "ranking")
    assert part.sentence == WORDS.say(answer(study_ranking().rankings[-1]))
    assert section.blocks[0] == Points(WORDS.all_of(notes(study_ranking())))
    assert texts(section, "warning") == []
    assert section.blocks[-1] == Text(WORDS.say(state("limits")), "note")
    assert list(section.files) == ["ranking-networks", "ranking-scores", "ranking-transfer", "ranking-choices"]


def test_a_row_for_each_network_in_order_with_what_transfer_gave(tmp_path: Path) -> None:
    section = section_of(tmp_path)
    (table,) = every(section, Table)
    assert [[(cell.text, cell.detail) for cell in row] for row in table.rows] == [
        [("mnist", ""), ("90 %", ""), ("1", ""), ("by 2 of 2 scores", ""), ("90.0", "88.0 to 92.0")],
        [("fashion", ""), ("5 %", ""), ("2", ""), ("by 1 of 1 score", ""), ("80.0", "70.0 to 90.0")],
        [(RANDOM, ""), ("5 %", ""), ("2 to 3", ""), ("–", ""), ("–", "")],
    ]
    (folded,) = every(section, Folded)
    assert folded.title == "With 50 labels"
    assert folded.blocks[0] == Text(WORDS.say(answer(study_ranking().rankings[0])))


def test_the_figure_has_a_panel_for_transfer_and_for_every_score(tmp_path: Path) -> None:
    (figure,) = every(section_of(tmp_path), Figure)
    drawn = [axes for axes in figure.canvas.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in drawn] == ["Fine-tuning", "logme", "leep"]
    marks = [[line for line in axes.lines if line.get_marker() in ("o", "D")] for axes in drawn]
    shown = [sorted(round(float(np.asarray(line.get_xdata())[0]), 6) for line in panel) for panel in marks]
    assert shown == [[-10.0, 0.0], [-0.8, -0.4, 0.0], [-1.0, 0.0]]  # minus what each is behind the best
    assert len(figure.data) == 2 * 3


def test_on_a_telephone_the_same_panels_stand_below_each_other(tmp_path: Path) -> None:
    (figure,) = every(section_of(tmp_path), Figure)
    narrow = figure.narrow_canvas
    assert narrow.get_figwidth() == NARROW
    below = [axes for axes in narrow.axes if axes.get_visible()]
    assert len({round(axes.get_position().x0, 6) for axes in below}) == 1
    for wide, own in zip(figure.canvas.axes, below, strict=False):
        assert own.get_title(loc="left") == wide.get_title(loc="left")
        for line, same in zip(wide.lines, own.lines, strict=True):
            np.testing.assert_array_equal(np.asarray(same.get_xydata()), np.asarray(line.get_xydata()))


def test_without_hindsight_only_the_scores_are_shown(tmp_path: Path) -> None:
    section = section_of(tmp_path, replace(study_ranking(), hindsight=None))
    assert not every(section, Points)
    (table,) = every(section, Table)
    assert len(table.columns) == 4


@pytest.mark.long
def test_a_study_that_changed_since_says_so(tmp_path: Path) -> None:
    section = section_of(tmp_path, study_ranking(FinishedRuns(3, "then")))
    (warning,) = texts(section, "warning")
    assert "it had 3 finished runs then and has 27 now" in warning
    (tmp_path / "other").mkdir()
    other = section_of(tmp_path / "other", study_ranking(FinishedRuns(27, "then")))
    assert "other runs are finished now than then" in texts(other, "warning")[0]


def test_a_ranking_of_another_version_leaves_the_report_standing(tmp_path: Path) -> None:
    with fabricate(tmp_path / "s.sqlite", SMALL) as store:
        store.put_study_document("usps", "ranking", {"format": 99})
        part = study_part(read_study(store, "usps"))
    (section,) = part.sections
    (warning,) = texts(section, "warning")
    assert "cannot be shown" in part.sentence
    assert "format 99" in warning
