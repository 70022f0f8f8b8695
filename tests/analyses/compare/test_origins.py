from dataclasses import replace

from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.tables import origins_section
from transferscope.report.blocks import Folded, Table, Text


def test_data_come_with_counts_licence_and_checksum(summary: Summary) -> None:
    table = next(block for block in origins_section(summary).blocks if isinstance(block, Table))
    assert [cell.text for cell in table.rows[0]] == [
        "usps", "7,291", "2,007", "none stated", "https://example.org/usps.bz2", "0123456789abcdef",
    ]  # fmt: skip
    assert [row[0].detail for row in table.rows] == ["target", "source fashion", "source mnist"]


def test_all_facts_are_there_whatever_they_are(summary: Summary) -> None:
    study = replace(summary.frames.study, facts={"versions": {"torch": "2.13"}, "strange": [1, 2], "none": None})
    section = origins_section(replace(summary, frames=replace(summary.frames, study=study)))
    folded = [block for block in section.blocks if isinstance(block, Folded)][-1].blocks[0]
    assert isinstance(folded, Table)
    assert [(row[0].text, row[1].text) for row in folded.rows] == [
        ("versions.torch", "2.13"), ("strange", "1, 2"), ("none", "None"),
    ]  # fmt: skip


def test_seeds_and_settings_are_told(summary: Summary) -> None:
    blocks = origins_section(summary).blocks
    assert isinstance(blocks[0], Text)
    assert blocks[0].text == "Study usps, first planned 2026-11-21T09:00:00+00:00; seeds 0, 1, 2, 3 and 4."
