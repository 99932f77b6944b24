"""Alembic environment that runs revisions on the connection of the caller."""

from alembic import context

from dissensus.store.core.metadata import METADATA

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=METADATA,
    # SQLite alters little in place: batch mode copies the table.
    render_as_batch=connection.dialect.name == "sqlite",
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
