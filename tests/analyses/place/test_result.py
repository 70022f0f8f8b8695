import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analyses.place.placed import NOT_MEASURED, keep, point, ranged
from fabricate import Fabrication, fabricate
from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.analyses.place import study_part
from transferscope.analyses.place.placement import Placement
from transferscope.analyses.place.words import LIMITS, in_words
from transferscope.analyses.study_page import build_report
from transferscope.estimate import Estimate
from transferscope.report.blocks import Block, Figure, Folded, Section, Table, Text

HOSTILE = "<script>alert(1)</script> $x$"
POINTS = (
    point(modelled=ranged(-0.11, -0.15, -0.02), measured=ranged(0.18, 0.04, 0.32), gap=ranged(0.29, 0.12, 0.42)),
    point(n_target=600, modelled=ranged(-math.inf, -math.inf, 0.1), measured=ranged(0.004, -0.1, 123.4)),
)


def section_of(folder: Path, points: tuple[Placement, ...] = POINTS, **options: object) -> Section:
    return the_section(summary_of(folder, points, **options))


def the_section(summary: Summary) -> Section:
    part = study_part(summary)
    assert part is not None
    assert part.question == "why"
    (section,) = part.sections
    return section


def summary_of(folder: Path, points: tuple[Placement, ...] = POINTS, **options: object) -> Summary:
    small = Fabrication(gains={"fashion": {"fine-tune": 0.08, "joint": -0.10}}, n_seeds=3, n_test=300)
    with fabricate(folder / "s.sqlite", small) as store:
        keep(store, "usps", points, **options)  # type: ignore[arg-type]
        return summarise(store, "usps")


def texts(section: Section, tone: str = "plain") -> list[str]:
    return [block.text for block in section.blocks if isinstance(block, Text) and block.tone == tone]


def only(section: Section, kind: type[Block]) -> Block:
    (found,) = (block for block in section.blocks if isinstance(block, kind))
    return found


def test_a_study_that_was_not_placed_has_no_part(tmp_path: Path) -> None:
    with fabricate(tmp_path / "s.sqlite", Fabrication(n_seeds=2, n_test=300)) as store:
        assert study_part(summarise(store, "usps")) is None


def test_it_begins_with_signs_and_ends_with_limits(tmp_path: Path) -> None:
    part = study_part(summary_of(tmp_path, input_dimension=256.0))
    assert part is not None
    (section,) = part.sections
    assert (section.title, section.slug) == ("What the linear model says", "placements")
    assert part.sentence == (
        "Whether the linear-transfer model describes these pairs cannot be told: that takes two seeds of training from "
        "scratch to compare with."
    )
    assert texts(section) == [
        "The linear-transfer model and the measurement have the same sign in 0 of 2 cases and opposite signs in 1; in "
        "1 it cannot be told, because an interval holds 0.",
        "A case is a source with a number of labels. The model is of what a linear head on the pretrained features "
        "gains over a linear learner from scratch, as estimated from 1,797 labelled target examples; measured is what "
        "it did gain (linear probe, paired by seed). Gains are risk from scratch minus risk after transfer, in units "
        "of the variance of the labels: positive is good. The number of directions of the inputs, 256, was given by "
        "hand.",
    ]
    assert texts(section, "warning") == []
    (note,) = texts(section, "note")
    assert note.startswith(LIMITS)
    folded = only(section, Folded)
    assert isinstance(folded, Folded)
    assert folded.blocks == tuple(Text(in_words(one)) for one in POINTS)


def test_the_table_shows_every_number_with_its_interval(tmp_path: Path) -> None:
    table = only(section_of(tmp_path), Table)
    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == [
        *("From", "Labels", "Outside the features", "Noise", "Labels per direction"),
        *("Scratch by the model", "Scratch", "Model", "Measured", "Difference", "Signs"),
    ]
    first, second = table.rows
    assert [(cell.text, cell.detail) for cell in first] == [
        ("fashion", ""),
        ("50", ""),
        ("10 %", "3.0 to 13"),
        ("0.1", "0 to 0.3"),
        ("2.5", "2.4 to 2.6"),
        ("0.4", "0.3 to 0.5"),
        ("–", ""),
        ("−0.11", "−0.15 to −0.02"),
        ("+0.18", "+0.04 to +0.32"),
        ("+0.29", "+0.12 to +0.42"),
        ("opposite", ""),
    ]
    assert [(cell.text, cell.detail) for cell in second[7:]] == [
        ("−∞", "−∞ to +0.10"),
        ("0.00", "−0.10 to +123"),
        ("–", ""),
        ("cannot be told", ""),
    ]
    assert [row[-1].tone for row in table.rows] == ["negative", "undecided"]


@pytest.mark.drawn
def test_several_linear_probes_are_named(tmp_path: Path) -> None:
    points = tuple(replace(one, method=m) for m in ("linear-probe", "wide") for one in POINTS)
    section = section_of(tmp_path, points)
    table, figure = only(section, Table), only(section, Figure)
    assert isinstance(table, Table)
    assert isinstance(figure, Figure)
    assert [row[0].detail for row in table.rows] == ["Linear probe", "Linear probe", "Wide", "Wide"]
    assert "A case is a source with a number of labels and one of the linear probes." in texts(section)[1]
    assert "Measured: Wide" in figure.svg


def test_the_figure_shows_both_on_one_axis_and_says_what_lies_beyond(tmp_path: Path) -> None:
    figure = only(section_of(tmp_path), Figure)
    assert isinstance(figure, Figure)
    (axes,) = figure.canvas.axes
    low, high = axes.get_ylim()
    assert -0.3 < low < -0.15
    assert 0.32 < high < 0.5
    drawn = [line.get_ydata() for line in axes.lines]
    assert [ys for ys in drawn if np.allclose(ys, [-0.15, -0.02])]
    assert [ys for ys in drawn if np.allclose(ys, 0.18)]
    assert all(low <= np.min(ys) <= np.max(ys) <= high for ys in drawn)
    assert figure.caption.endswith(
        "What ends at the edge goes on beyond it; a triangle there is a value of the model beyond."
    )
    assert set(figure.data["name"]) >= {"modelled", "measured", "gap", "outside_share"}


def test_what_was_measured_is_never_cut_off(tmp_path: Path) -> None:
    points = (point(modelled=ranged(-37.0, -120.0, -2.0), measured=ranged(-1.8, -2.5, -1.1)),)
    figure = only(section_of(tmp_path, points), Figure)
    assert isinstance(figure, Figure)
    low, high = figure.canvas.axes[0].get_ylim()
    assert -2.1 < low < -1.8
    assert 0 < high < 0.2


@pytest.mark.drawn
@pytest.mark.parametrize("measured", [NOT_MEASURED, Estimate(0.1, None, 1, "too_few")])
def test_a_point_without_interval_or_measurement_is_drawn(tmp_path: Path, measured: Estimate) -> None:
    method = "" if measured is NOT_MEASURED else "linear-probe"
    section = section_of(tmp_path, (point(modelled=ranged(0.2, 0.1, 0.3), measured=measured, method=method),))
    figure = only(section, Figure)
    assert isinstance(figure, Figure)
    assert "Linear model" in figure.svg
    assert ("Measured: Linear probe" in figure.svg) == bool(method)


def test_many_sources_are_chosen_from_and_counted(tmp_path: Path) -> None:
    points = tuple(replace(POINTS[0], name=f"source {i} with a name that is far too long") for i in range(8))
    figure = only(section_of(tmp_path, points), Figure)
    assert isinstance(figure, Figure)
    assert len([axes for axes in figure.canvas.axes if axes.get_visible()]) == 6
    assert "Shown are 6 of 8 sources" in figure.caption
    assert figure.data["source"].nunique() == 8


def test_a_study_that_has_changed_is_warned_of(tmp_path: Path) -> None:
    summary = summary_of(tmp_path)
    cells = summary.frames.cells
    section = the_section(replace(summary, frames=replace(summary.frames, cells=cells[cells["seed"] < 2])))
    assert texts(section, "warning") == [
        "The study has changed since it was placed: it had 27 finished runs then and has 18 now. What follows is of "
        "then; run `transferscope theory place STUDY.toml` again."
    ]


def test_placements_of_another_version_leave_the_report_whole(tmp_path: Path) -> None:
    summary = summary_of(tmp_path)
    section = the_section(replace(summary, frames=replace(summary.frames, documents={"placements": {"format": 2}})))
    assert section.blocks == (
        Text(
            "The placements of the study are kept in format 2, and this version of transferscope reads format 1; "
            "run `transferscope theory place` again.",
            "warning",
        ),
    )


@pytest.mark.long
def test_the_page_has_the_section_with_its_files_and_everything_escaped(tmp_path: Path) -> None:
    points = tuple(replace(one, name=HOSTILE, source=HOSTILE) for one in POINTS)
    with fabricate(tmp_path / "s.sqlite", Fabrication(n_seeds=2, n_test=300)) as store:
        keep(store, "usps", points)
        written = build_report(store, "usps", tmp_path / "r.html")
    page = written.html.read_text(encoding="utf-8")
    part = page.split('<section id="placements">')[1]
    assert "What the linear model says" in part.split("</summary>")[0]
    assert page.count("<script") == 1  # that of the page itself
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; $x$") >= 4
    names = {path.name for path in written.files}
    assert {f"placements.{ending}" for ending in ("svg", "csv")} <= names
    assert not any(name.endswith(".pdf") for name in names)
    table = pd.read_csv(tmp_path / "r.files" / "placements.csv")
    modelled = table[table["name"] == "modelled"]
    assert modelled["value"].tolist() == [-0.11, -math.inf]
