"""That the report knows the diagnostics; its numbers are checked in e2e/test_why.py."""

from transferscope.diagnostics import DIAGNOSTICS
from transferscope.report.diagnosis import TITLES


def test_every_headline_has_words() -> None:
    assert {diagnostic.headline for diagnostic in DIAGNOSTICS.values()} == set(TITLES)
