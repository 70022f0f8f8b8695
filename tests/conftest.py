"""Shapes and types are checked at run time, in tests only.

TRANSFERSCOPE_UNCHECKED=1 leaves that out, which halves the time: `make test` does, `make test SHAPES=checked` checks
the tests of parts. TRANSFERSCOPE_UNDRAWN=1 leaves the documents of figures empty but for tests marked `drawn`, which
halves the time of a page. The package is imported by the tests that need it, not here, so that a process that only
hands out tests starts at once.
"""

import logging
import os

os.environ.pop("COLUMNS", None)  # which pytest-xdist sets: sentences would be wrapped to it

if not os.environ.get("TRANSFERSCOPE_UNCHECKED"):
    from jaxtyping import install_import_hook

    install_import_hook(["transferscope", "transferscope_papers"], "runtime_types.checked")

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fabricate import Fabrication
    from transferscope.analyses.compare.summary import Summary
    from transferscope.report.page import ReportFiles
    from transferscope.store import Store


_LONGEST = (
    *("test_contract.py", "test_devices.py", "test_blocks.py", "test_fuzz.py"),
    *("test_runners.py", "test_notebooks.py"),
)
"""Files that begin first, because a process takes whole files: one that begins last is waited for."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _LONGEST.index(item.path.name) if item.path.name in _LONGEST else len(_LONGEST))
    if os.environ.get("TRANSFERSCOPE_DATA"):
        return
    skip = pytest.mark.skip(reason="TRANSFERSCOPE_DATA names no folder with the real data sets")
    for item in items:
        if "real_data" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def _no_stray_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches and working files of a test go to its own folder."""
    monkeypatch.setenv("TRANSFERSCOPE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def _as_quiet_as_before() -> Iterator[None]:
    """`--verbose` of one test says nothing in the next: what a test logs goes from worker to runner, as UTF-8."""
    log = logging.getLogger("transferscope")
    level, handlers = log.level, list(log.handlers)
    yield
    log.setLevel(level)
    log.handlers[:] = handlers


@pytest.fixture(autouse=True)
def _no_drawing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made and their documents stay empty, where that was asked for and the test is not marked `drawn`."""
    if os.environ.get("TRANSFERSCOPE_UNDRAWN") and not request.node.get_closest_marker("drawn"):
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        monkeypatch.setattr(Figure, "savefig", _save_empty)
        monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda engine, figure: None)


def _save_empty(figure: "Figure", file: IO[str] | Path, *, format: str = "pdf", **options: object) -> None:
    width, height = 72 * figure.get_size_inches()
    if isinstance(file, Path):
        file.write_bytes(b"%PDF-1.4\n%%EOF\n")
    else:
        size = f'width="{width}pt" height="{height}pt" viewBox="0 0 {width} {height}"'
        file.write(f'<?xml version="1.0"?>\n<svg {size}>\n</svg>\n')


@pytest.fixture(scope="session")
def transformers() -> Any:
    """The package with its tokenizers; what asks for it is left out without."""
    from transferscope.errors import MissingExtraError
    from transferscope.models.hubs.huggingface import transformers_package

    pytest.importorskip("tokenizers")
    try:
        return transformers_package()
    except MissingExtraError:
        pytest.skip("transformers is not installed")


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Store]":
    """Five methods, two sources, three sizes, five seeds, ten classes, one failure."""
    from fabricate import CLASSES, FAILED, Fabrication, fabricate

    path = tmp_path_factory.mktemp("full") / "usps.sqlite"
    with fabricate(path, Fabrication(classes=CLASSES, failed=frozenset({FAILED}))) as store:
        yield store


@pytest.fixture(scope="session")
def summary(store: "Store") -> "Summary":
    from transferscope.analyses.compare.summary import summarise

    return summarise(store, "usps")


@pytest.fixture(scope="session")
def report(store: "Store", tmp_path_factory: pytest.TempPathFactory) -> "ReportFiles":
    from transferscope.analyses.compare.study_page import build_report

    return build_report(store, "usps", tmp_path_factory.mktemp("report") / "report.html", width="column")


@pytest.fixture(scope="session")
def page(report: "ReportFiles") -> str:
    return report.html.read_text(encoding="utf-8")


@pytest.fixture
def small() -> "Fabrication":
    """One source, two methods, one size, three seeds."""
    from fabricate import Fabrication

    return Fabrication(gains={"fashion": {"fine-tune": 0.08, "joint": -0.10}}, sizes=(600,), n_seeds=3, n_test=300)
