"""Requests of programs that made something, and what was answered."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

HASH = sa.String(64)


def upgrade() -> None:
    """Change the tables."""
    op.create_table(
        "idempotency",
        sa.Column("token_hash", HASH, nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("digest", HASH, nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("salt", sa.String(32), nullable=False),
        sa.Column("sealed", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["token_hash"], ["token.key_hash"], name="fk_idempotency_token_hash", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_hash", "key", name="pk_idempotency"),
    )
    op.create_index("ix_idempotency_created_at", "idempotency", ["created_at"], unique=False)
