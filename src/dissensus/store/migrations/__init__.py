"""Revisions of the tables, oldest first; Alembic runs them."""
