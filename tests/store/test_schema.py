import pytest
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from transferscope.store.schema import metadata


@pytest.mark.parametrize("dialect", [postgresql.dialect(), mysql.dialect()])  # type: ignore[no-untyped-call]
def test_the_tables_can_be_written_down_for_other_databases(dialect: object) -> None:
    for table in metadata.sorted_tables:
        assert table.name in str(CreateTable(table).compile(dialect=dialect))  # type: ignore[arg-type]
        for index in table.indexes:
            assert "CREATE INDEX" in str(CreateIndex(index).compile(dialect=dialect))  # type: ignore[arg-type]
