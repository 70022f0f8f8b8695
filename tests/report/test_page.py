import pytest

from transferscope.report.page import typeset


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
