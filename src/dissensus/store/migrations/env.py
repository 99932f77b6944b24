"""What Alembic runs: the revisions, on the connection that it is given."""

from alembic import context

from dissensus.store.tables import Base

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    # SQLite changes few things of a table in place: it is copied then.
    render_as_batch=connection.dialect.name == "sqlite",
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
