"""The words of a comparison are the field's: a list of those that may not appear on its page and in a terminal."""

import re

import pytest

from made_up import drawn
from transferscope.analyses.compare.study_page import study_sections
from transferscope.analyses.compare.summary import summarise_frames
from transferscope.report.page import render_blocks
from vocabulary import NOT_ALLOWED

ELSEWHERE = ("open", "told", "leans?", "cells?", "hardly", "owed", "cannot tell")
AVOIDED = (*NOT_ALLOWED, *(rf"\b{word}\b" for word in ELSEWHERE))
"""The words that nothing may use, and some that have another meaning elsewhere, as in cells of a table."""


def avoided(text: str) -> list[str]:
    """The words of the list that a text has, tags and what is escaped aside."""
    plain = re.sub(r"<style.*?</style>|<svg.*?</svg>|<[^>]+>", " ", text, flags=re.DOTALL)
    return [match[0] for words in AVOIDED for match in re.finditer(words, plain, re.IGNORECASE)]


@pytest.mark.parametrize("seed", [*range(12), 34, 39])
def test_terminal_and_page_avoid_everyday_words(seed: int) -> None:
    summary = summarise_frames(drawn(seed))
    assert avoided(f"{summary.verdict.shown}\n{summary.verdict}\n{summary.in_short}") == []
    if seed % 6 == 0:
        sections = [one for section in study_sections(summary) for one in (section, *section.sections)]
        assert avoided(render_blocks([block for section in sections for block in section.blocks])) == []


def test_the_templates_avoid_them_too() -> None:
    from importlib.resources import files

    text = (files("transferscope.analyses.compare") / "words.j2").read_text(encoding="utf-8")
    prose = re.sub(r"\{[%{].*?[%}]\}|^#.*$|^\[.*?\]$", " ", text, flags=re.DOTALL | re.MULTILINE)
    assert avoided(prose) == []
