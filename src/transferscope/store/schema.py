"""The tables of a store. Numbers used for grouping are columns; data only for workers are JSON text."""

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    inspect,
    select,
)

from transferscope.errors import StoreError

SCHEMA_VERSION = 2

_VERSION_ROW = "format"
"""Row of the table meta with the version."""

metadata = MetaData()


def _parent(table: str, *, primary_key: bool = False) -> Column[int]:
    reference = ForeignKey(f"{table}.id", ondelete="CASCADE")
    name = {"studies": "study_id", "cells": "cell_id", "payloads": "payload_id"}[table]
    return Column(name, Integer, reference, primary_key=primary_key, nullable=False)


meta = Table("meta", metadata, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

studies = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("spec", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("plan", Text, nullable=False),  # digest of the cells, so that planning the same again costs nothing
)

payloads = Table(
    "payloads",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("content", Text, nullable=False),
)

cells = Table(
    "cells",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("state", Text, nullable=False),  # planned, running, done or failed
    Column("owner", Text),  # of a running cell
    Column("heartbeat", Float),  # seconds since the epoch, by the database's clock, when the owner last said it lives
    Column("attempt", Integer, nullable=False, server_default="0"),  # how often it was claimed
)

outcomes = Table(
    "outcomes",
    metadata,
    _parent("cells", primary_key=True),
    Column("seconds", Float, nullable=False),
    Column("peak_memory", BigInteger, nullable=False),
    Column("trained_parameters", BigInteger, nullable=False),
    Column("examples_seen", BigInteger, nullable=False),
    Column("steps", BigInteger, nullable=False),
    Column("notes", Text, nullable=False),
    Column("checksum", Text, nullable=False),  # of the columns before it
    Column("records", Text, nullable=False),  # the checksum of all records of the cell
)

failures = Table(
    "failures",
    metadata,
    _parent("cells", primary_key=True),
    Column("kind", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("details", Text, nullable=False),
)

study_cells = Table(
    "study_cells",
    metadata,
    _parent("studies", primary_key=True),
    _parent("cells", primary_key=True),
    _parent("payloads"),
    Column("position", Integer, nullable=False),
    Column("labels", Text, nullable=False),
    sqlite_with_rowid=False,
)

needs = Table(
    "needs",
    metadata,
    _parent("cells", primary_key=True),
    Column("need_id", Integer, ForeignKey("cells.id"), primary_key=True),
    sqlite_with_rowid=False,
)

records = Table(
    "records",
    metadata,
    _parent("cells", primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("part", Text, nullable=False),
    Column("step", BigInteger),
    Column("value", Float),  # NULL for NaN
    Column("stderr", Float),
    Column("n", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    sqlite_with_rowid=False,
)

arrays = Table(
    "arrays",
    metadata,
    _parent("cells", primary_key=True),
    Column("name", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("checksum", Text, nullable=False),
)

study_arrays = Table(
    "study_arrays",
    metadata,
    _parent("studies", primary_key=True),
    Column("name", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("checksum", Text, nullable=False),
)

Index("cells_by_state", cells.c.state)
Index("needs_by_need", needs.c.need_id)


def create(connection: Connection) -> None:
    """Create the tables of an empty database and write their version."""
    metadata.create_all(connection)
    connection.execute(meta.insert().values(name=_VERSION_ROW, value=str(SCHEMA_VERSION)))


def is_empty(connection: Connection) -> bool:
    """Return whether the database has no tables."""
    return not inspect(connection).get_table_names()


def check(connection: Connection, place: str) -> None:
    """Check that a non-empty database is a store of this version; raises StoreError otherwise."""
    if not {"meta", "studies", "cells"} <= set(inspect(connection).get_table_names()):
        raise StoreError(f"{place} is not a transferscope store; give the path of a store or of a new file")
    version = connection.execute(select(meta.c.value).where(meta.c.name == _VERSION_ROW)).scalar()
    if version != str(SCHEMA_VERSION):
        raise StoreError(
            f"the store {place} has format {str(version)[:20]!r}; expected {SCHEMA_VERSION}: export it with "
            "`transferscope table --format csv` of the version that made it, or give another store"
        )
