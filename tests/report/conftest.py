from collections.abc import Iterator
from pathlib import Path

import pytest

from report.fabricate import Fabrication, fabricate
from transferscope.report.build import ReportFiles, build_report
from transferscope.report.results import Summary, summarise
from transferscope.store import Store

HOSTILE = "<script>alert(1)</script>"
CLASSES = (*(f"digit {i}" for i in range(8)), HOSTILE, "nine $x$")
FAILED = ("mnist", "merlin", 50, 3)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Five methods, two sources, three sizes, five seeds, ten classes, one failure."""
    path = tmp_path_factory.mktemp("full") / "usps.sqlite"
    with fabricate(path, Fabrication(classes=CLASSES, failed=frozenset({FAILED}))) as store:
        yield store


@pytest.fixture(scope="session")
def summary(store: Store) -> Summary:
    return summarise(store, "usps")


@pytest.fixture(scope="session")
def report(store: Store, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    return build_report(store, "usps", tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="session")
def page(report: ReportFiles) -> str:
    return report.html.read_text(encoding="utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Fabrication:
    """One source, two methods, one size, three seeds."""
    return Fabrication(gains={"fashion": {"fine-tune": 0.08, "joint": -0.10}}, sizes=(600,), n_seeds=3, n_test=300)
