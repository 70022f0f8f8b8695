"""The store of studies: plans, outcomes and failures in a SQL database, networks in a folder.

Input and output are frozen rows of `rows`. Only this package uses SQL, and nothing here imports torch: a copied store
can be read on any machine.
"""

from transferscope.store.claims import Owner
from transferscope.store.database import sqlite_path, without_password
from transferscope.store.outcomes import check_outcome
from transferscope.store.rows import (
    Claim,
    Outcome,
    PlannedCell,
    RecordColumns,
    Standing,
    StoredCell,
    StudyCounts,
    StudyRow,
    gc_paused,
)
from transferscope.store.store import Store

__all__ = [
    "Claim",
    "Outcome",
    "Owner",
    "PlannedCell",
    "RecordColumns",
    "Standing",
    "Store",
    "StoredCell",
    "StudyCounts",
    "StudyRow",
    "check_outcome",
    "gc_paused",
    "sqlite_path",
    "without_password",
]
