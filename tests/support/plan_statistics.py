"""Statistics by which the database plans its statements."""

from sqlalchemy import inspect, text

from dissensus.store.core.database import Database


def count_planned_items(database: Database) -> float | None:
    """The number of items by which the database plans its statements; None if it has not sampled them."""
    queries = {
        "sqlite": "SELECT CAST(stat AS INTEGER) FROM sqlite_stat1 WHERE tbl = 'item' LIMIT 1",
        "postgresql": "SELECT NULLIF(reltuples, -1) FROM pg_class WHERE relname = 'item' AND relkind = 'r'",
    }
    with database.reading() as tx:
        if tx.dialect.name == "sqlite" and not inspect(tx).has_table("sqlite_stat1"):
            return None
        n: float | None = tx.scalar(text(queries[tx.dialect.name]))
    return n
