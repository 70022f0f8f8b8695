from dataclasses import replace

from transferscope.report.blocks import Table, Text
from transferscope.report.results import Summary
from transferscope.report.sections.methods import methods_section


def test_one_table_for_each_size_with_the_best_first(summary: Summary) -> None:
    tables = [block for block in methods_section(summary).blocks if isinstance(block, Table)]
    assert [table.caption for table in tables] == [
        "600 labels, best mean first",
        "200 labels, best mean first",
        "50 labels, best mean first",
    ]
    first = tables[-1].rows[0]
    assert (first[0].text, first[0].detail) == ("MeRLin", "from mnist")
    assert (first[4].text, first[4].tone, first[5].text) == ("positive", "positive", "> 99 %")
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)


def test_missing_seeds_are_said(summary: Summary) -> None:
    notes = [block.text for block in methods_section(summary).blocks if isinstance(block, Text)]
    assert notes[0] == (
        "Fewer seeds than the study's 5: MeRLin from mnist (4). Differences use the seeds that a method shares with "
        "scratch, and P(best) the seeds that all methods share."
    )


def test_the_table_is_kept_as_a_file(summary: Summary) -> None:
    assert methods_section(summary).files["methods-table"] is summary.table


def test_a_study_without_source_accuracy_has_no_column_for_it(summary: Summary) -> None:
    bare = replace(summary, comparisons=tuple(replace(c, source_kept=None) for c in summary.comparisons))
    table = next(block for block in methods_section(bare).blocks if isinstance(block, Table))
    assert "Source kept" not in [column.title for column in table.columns]
