"""A PostgreSQL database for tests, where there is one."""

import os

from sqlalchemy import create_engine, text

URL = os.environ.get("TRANSFERSCOPE_TEST_POSTGRESQL", "")
"""URL of a PostgreSQL database that the tests may empty, as in "postgresql+psycopg://user@host/scratch"."""


def emptied(url: str) -> str:
    """A database without tables."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("drop schema public cascade"))
        connection.execute(text("create schema public"))
    engine.dispose()
    return url
