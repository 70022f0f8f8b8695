"""The documents that an earlier version kept with the two studies of `tests/golden/studies.zip`."""

import json
import sqlite3
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ARCHIVE = Path(__file__).parents[1] / "golden" / "studies.zip"


def stored_document(study: str, name: str) -> dict[str, Any]:
    """A document of the study "classes" or "numbers", as it lies in its store."""
    with TemporaryDirectory() as folder, zipfile.ZipFile(ARCHIVE) as archive:
        store = sqlite3.connect(archive.extract(f"{study}.sqlite", folder))
        try:
            rows = store.execute("SELECT content FROM study_arrays WHERE name = ?", (f"document/{name}",)).fetchall()
        finally:
            store.close()
    ((content,),) = rows
    document: dict[str, Any] = json.loads(content)
    return document
