"""Watching: campaigns in figures, and what was decided about flagged raters."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

ID = sa.String(36)
MOMENT = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Change the tables."""
    op.create_table(
        "snapshot",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("through", NUMBER, nullable=False),
        sa.Column("made_at", MOMENT, nullable=False),
        sa.Column("read_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_snapshot_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", name="pk_snapshot"),
    )
    op.create_table(
        "flag_decision",
        sa.Column("id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("evidence", sa.String(), nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.CheckConstraint("verdict IN ('keep', 'exclude')", name="ck_flag_decision_verdict"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_flag_decision_rater_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_flag_decision_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_flag_decision"),
    )
    op.create_index("ix_flag_decision_rater_id", "flag_decision", ["rater_id"], unique=False)
