"""Every kind of statement has words, and all words have a kind that something states or other words share."""

import re
from pathlib import Path

import pytest

import transferscope.analyses as analyses
from transferscope.statements import Words

MADE_UP_OF_PARTS = {
    "compare": {"ask which", "ask how much", "ask why"},
    "diagnose": set[str](),
    "history": set[str](),
    "plan": set[str](),
    "rank": set[str](),
    "scaling": set[str](),
}
"""Kinds that no literal of the package names."""


@pytest.mark.parametrize("package", MADE_UP_OF_PARTS)
def test_every_kind_has_words_and_every_word_a_kind(package: str) -> None:
    folder = Path(analyses.__path__[0]) / package
    text = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    kinds = Words(f"transferscope.analyses.{package}").kinds
    assert set(re.findall(r'state\(\s*"([^"]+)"', text)) <= kinds
    shared = set(re.findall(r'include "([^"]+)"', (folder / "words.j2").read_text(encoding="utf-8")))
    unnamed = {kind for kind in kinds if f'"{kind}"' not in text} - shared
    assert unnamed == MADE_UP_OF_PARTS[package]
