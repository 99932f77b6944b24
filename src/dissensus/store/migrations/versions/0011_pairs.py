"""Pairs of responses."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Change the tables."""
    op.add_column("assignment", sa.Column("shown_first", sa.String(), nullable=True))
