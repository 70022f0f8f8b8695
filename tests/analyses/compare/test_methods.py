import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fabricate import Fabrication, fabricate
from transferscope.analyses.compare.figures import draw_differences
from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.analyses.compare.tables import calls_table, methods_section
from transferscope.report.blocks import Table, Text


def test_one_table_for_each_size_with_the_best_first(summary: Summary) -> None:
    tables = [block for block in methods_section(summary).blocks if isinstance(block, Table)]
    assert [table.caption for table in tables] == [
        "50 labels, best first over all numbers of labels",
        "200 labels, best first over all numbers of labels",
        "600 labels, best first over all numbers of labels",
    ]
    first = tables[0].rows[0]
    assert (first[0].text, first[0].detail) == ("MeRLin", "from mnist")
    assert (first[4].text, first[4].tone) == ("positive", "positive")
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)


@pytest.mark.long
def test_of_very_many_ways_the_page_shows_the_best_and_says_where_all_are(tmp_path: Path) -> None:
    gains = {f"source {i}": {"joint": 0.002 * i} for i in range(40)}
    with fabricate(tmp_path / "s.sqlite", Fabrication(gains=gains, sizes=(50,), n_seeds=2, n_test=20)) as store:
        summary = summarise(store, "usps")
    assert len(summary.arms) == 41
    section = methods_section(summary)
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    shown = {(row[0].text, row[0].detail.removeprefix("from ")) for row in table.rows}
    best = {("Joint training", source) for source, _ in summary.arms[:20] if source}
    assert best < shown
    assert ("From scratch", "") in shown
    assert len(shown) <= 22
    assert "the first 20 of 41" in table.caption
    assert "all are in methods-table.csv" in table.caption
    assert len(section.files["methods-table"]) == 41
    calls = calls_table(summary)
    assert calls is not None
    named = [cell.text for row in calls.rows for cell in row[1:]]
    assert sum(text.count(" from source ") for text in named) <= 12 * len(named)
    assert (
        sum(int(more) for text in named for more in re.findall(r"(\d+) more", text))
        + sum(text.count(" from source ") for text in named)
        == 40
    )
    assert calls.caption.endswith("; all are in methods-table.csv")
    differences = draw_differences(summary)
    assert differences is not None
    assert len(differences.canvas.axes[0].get_yticks()) == 12
    assert "Shown are the best 12 of 40 ways; all are in the CSV." in differences.caption
    assert len(differences.data) == 80
    assert summary.in_short.startswith("Transfer from 40 sources to usps with 50 labels: 2 methods, 2 seeds.")
    assert re.search(r"By source, of 40: [a-z ]+: \d+", " ".join(summary.verdict.sentences))


def test_missing_seeds_are_said(summary: Summary) -> None:
    notes = [block.text for block in methods_section(summary).blocks if isinstance(block, Text)]
    assert notes[0] == (
        "Fewer seeds than the study's 5: MeRLin from mnist (4). Differences use the seeds that a method shares with "
        "scratch."
    )


def test_the_table_is_kept_as_a_file(summary: Summary) -> None:
    assert methods_section(summary).files["methods-table"] is summary.table


def test_a_study_without_source_accuracy_has_no_column_for_it(summary: Summary) -> None:
    bare = replace(summary, comparisons=tuple(replace(c, source_kept=None) for c in summary.comparisons))
    table = next(block for block in methods_section(bare).blocks if isinstance(block, Table))
    assert "Source kept" not in [column.title for column in table.columns]


def test_tables_and_verdict_have_one_order_of_labels(summary: Summary) -> None:
    captions = [block.caption for block in methods_section(summary).blocks if isinstance(block, Table)]
    told = [sentence for sentence in summary.verdict.sentences if sentence.startswith("With ")]
    assert [caption.split()[0] for caption in captions] == [sentence.split()[1] for sentence in told]
    assert list(summary.verdict.outcomes) == sorted(summary.verdict.outcomes)


def test_time_has_the_pretraining_that_a_run_starts_from(summary: Summary) -> None:
    """Fabricated: a pre-training takes 160 s, fine-tuning from it 20.9 s, joint training, which needs none, 43 s."""
    assert _time_of(summary, "fine-tune", 160.0) == ("3.0 min", "pre-training 2.7 min")
    assert _time_of(summary, "joint", 0.0) == ("43 s", "")
    assert _time_of(summary, "fine-tune", math.nan) == ("20.9 s", "pre-training unknown")


def _time_of(summary: Summary, method: str, pretraining: float) -> tuple[str, str]:
    found = next(c for c in summary.comparisons if c.method == method)
    if not math.isnan(pretraining):
        assert found.cost.pretraining_seconds == pretraining
    cost = replace(found.cost, pretraining_seconds=pretraining)
    alone = replace(summary, comparisons=(replace(found, cost=cost),))
    table = next(block for block in methods_section(alone).blocks if isinstance(block, Table))
    cell = table.rows[0][[column.title for column in table.columns].index("Time")]
    return cell.text, cell.detail
