"""Quotas: seats, the cell of each rater, and how many were turned away; and items that nobody is shown."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ID = sa.String(36)
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Change the tables."""
    op.add_column("item", sa.Column("withheld", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("invitation", sa.Column("cell", sa.String(), nullable=True))
    op.add_column("rater", sa.Column("cell", sa.String(), nullable=True))
    op.create_table(
        "seat",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("cell", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("rater_id", ID, nullable=True),
        sa.Column("changed_at", MOMENT, nullable=False),
        sa.CheckConstraint("state IN ('free', 'held', 'taken')", name="ck_seat_state"),
        sa.CheckConstraint("(state = 'free') = (rater_id IS NULL)", name="ck_seat_of_somebody"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_seat_campaign_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_seat_rater_id"),
        sa.PrimaryKeyConstraint("id", name="pk_seat"),
        sa.UniqueConstraint("rater_id", name="uq_seat_rater_id"),
    )
    op.create_index("ix_seat_campaign_id_cell_state", "seat", ["campaign_id", "cell", "state"], unique=False)
    op.create_table(
        "screened",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("cell", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_screened_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", "cell", name="pk_screened"),
    )
