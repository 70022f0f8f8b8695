"""Shapes and types are checked at run time, in tests only."""

from jaxtyping import install_import_hook

install_import_hook(["transferscope", "transferscope_papers"], "runtime_types.checked")

import os  # noqa: E402
from pathlib import Path  # noqa: E402

import pytest  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
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
