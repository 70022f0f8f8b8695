import pytest

from transferscope.report.blocks import Cell, Column, Table, Text
from transferscope.report.page import render_blocks, typeset


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("94.1 % with 600 labels", "94.1\u00a0% with 600\u00a0labels"),
        ("p < 0.001", "p &lt;\u00a00.001"),
        ("> 99 %", "&gt;\u00a099\u00a0%"),
        ("run `transferscope run`", "run <code>transferscope run</code>"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ("<script>alert('1')</script>", "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"),
    ],
)
def test_text_is_escaped_and_numbers_keep_their_unit(text: str, html: str) -> None:
    assert typeset(text) == html


def test_signs_that_turn_words_around_are_shown() -> None:
    html = render_blocks([Text("arm\x1b[31m \u202egnp.exe\x07")])
    assert not {"\x1b", "\u202e", "\x07"} & set(html)
    assert "arm\\u001b[31m \\u202egnp.exe\\u0007" in html


@pytest.mark.parametrize(
    ("firsts", "sortable"),
    [
        ([Cell("a"), Cell("b"), Cell("c")], True),
        ([Cell("a"), Cell("b")], False),
        ([Cell("a"), Cell(""), Cell("c")], False),  # the second row belongs to the first
        ([Cell("Baselines", tone="group"), Cell("b"), Cell("c")], False),
    ],
)
def test_three_rows_that_stand_alone_can_be_sorted(firsts: list[Cell], sortable: bool) -> None:
    table = Table((Column("name", numeric=False), Column("n")), tuple((first, Cell("1")) for first in firsts))
    assert table.sortable == sortable
    assert ('class="sortable' in render_blocks([table])) == sortable
