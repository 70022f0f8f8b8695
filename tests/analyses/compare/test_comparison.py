"""What is told of each arm beside the decision: means, transferability, what is kept of the source, costs."""

import numpy as np
import pytest
from scipy import stats

from fabricate import FORGOTTEN
from made_up import made_up
from transferscope.analyses.compare.comparison import Comparison
from transferscope.analyses.compare.summary import Summary, comparison_table, summarise_frames
from transferscope.analyses.compare.tables import methods_section
from transferscope.report.blocks import Table


def of(summary: Summary, method: str, source: str | None, n_target: int) -> Comparison:
    (found,) = [c for c in summary.comparisons if (c.method, c.source, c.n_target) == (method, source, n_target)]
    return found


def test_scores_and_transferability_are_those_of_scipy(summary: Summary) -> None:
    runs = summary.frames.runs
    for c in summary.comparisons:
        own = runs[
            (runs["method"] == c.method) & (runs["source"] == (c.source or "")) & (runs["n_target"] == c.n_target)
        ]
        values = own.set_index("seed")["value"]
        assert c.facts.adjusted == (len(values) < 5)
        assert c.facts.adjusted or c.score.value == pytest.approx(values.mean())
        assert 100 * c.score.value == pytest.approx(c.facts.mean)
        moved = c.score.value - values.mean()
        assert c.seeds == tuple(sorted(values.index))
        low, high = stats.t.interval(0.95, len(values) - 1, values.mean() + moved, stats.sem(values))
        assert (c.score.interval.low, c.score.interval.high) == pytest.approx((max(low, 0), min(high, 1)))
        if c.is_baseline:
            assert c.over_scratch is None
            continue
        scratch = runs[(runs["method"] == "scratch") & (runs["n_target"] == c.n_target)].set_index("seed")["value"]
        gains = (values - scratch).dropna()
        assert c.over_scratch.n == len(gains)
        interval = stats.ttest_1samp(gains, 0).confidence_interval()
        assert (c.over_scratch.interval.low, c.over_scratch.interval.high) == pytest.approx(interval)


def test_forgetting_is_what_the_source_lost(summary: Summary) -> None:
    """Of methods that start from pretraining; in the table beside what is kept, and with the sign of a change."""
    for c in summary.comparisons:
        if c.method in ("fine-tune", "l2-sp"):
            assert c.forgetting.value == pytest.approx(FORGOTTEN[c.method], abs=0.02)
        else:
            assert c.forgetting is None
    table = next(block for block in methods_section(summary).blocks if isinstance(block, Table))
    at = [column.title for column in table.columns].index("Source kept")
    shown = [(row[at].text, row[at].detail) for row in table.rows]
    expected = []
    for c in (one for one in summary.comparisons if one.n_target == 50):
        kept = "–" if c.source_kept is None else f"{100 * c.source_kept.value:.1f} %"
        expected.append((kept, "" if c.forgetting is None else f"−{100 * c.forgetting.value:.1f}"))
    assert sorted(shown) == sorted(expected)


def test_costs_are_means_with_pretraining_apart() -> None:
    arms = {(("scratch", ""), 50): np.array([0.7, 0.71]), (("fine-tune", "a"), 50): np.array([0.8, 0.81])}
    summary = summarise_frames(made_up(arms, seconds={("fine-tune", "a"): 40.0}))
    assert of(summary, "fine-tune", "a", 50).cost.total == 40.0
    assert of(summary, "scratch", None, 50).cost.total == 10.0
    table = comparison_table(summary.comparisons, summary.frames.metric)
    assert table["seconds"].tolist() == [10.0, 40.0]
    assert "micro_f1" not in table
