"""Addresses that are told what happens in a campaign."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

ID, HASH = sa.String(36), sa.String(64)
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Change the tables."""
    op.create_table(
        "webhook",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("kinds", sa.String(), nullable=False),
        sa.Column("secret_hash", HASH, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("through", sa.Integer(), nullable=True),
        sa.Column("due_at", MOMENT, nullable=False),
        sa.Column("n_failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", MOMENT, nullable=True),
        sa.Column("trouble", sa.String(), nullable=False),
        sa.Column("paused", sa.String(), nullable=False),
        sa.Column("delivered_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_webhook_campaign_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_webhook_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_webhook"),
    )
    op.create_index("ix_webhook_campaign_id", "webhook", ["campaign_id"], unique=False)
