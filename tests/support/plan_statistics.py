"""Statistics by which the database plans its statements."""

from sqlalchemy import inspect, text

from dissensus.store.core.database import Database


def count_planned_rows(database: Database, table: str) -> float | None:
    """The rows of a table by which the database plans its statements; None if it has not sampled them."""
    queries = {
        "sqlite": "SELECT CAST(stat AS INTEGER) FROM sqlite_stat1 WHERE tbl = :name LIMIT 1",
        "postgresql": "SELECT NULLIF(reltuples, -1) FROM pg_class WHERE relname = :name AND relkind = 'r'",
    }
    with database.reading() as tx:
        if tx.dialect.name == "sqlite" and not inspect(tx).has_table("sqlite_stat1"):
            return None
        n: float | None = tx.scalar(text(queries[tx.dialect.name]), {"name": table})
    return n
