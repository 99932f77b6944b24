"""Recruitment: whom a recruiter sent, how they did in checks, and what they were paid."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

ID = sa.String(36)
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Change the tables."""
    op.add_column("rater", sa.Column("worked_ms", sa.Integer(), nullable=True))
    op.add_column("rater", sa.Column("had_finished", sa.Boolean(), nullable=True))
    op.create_table(
        "recruit",
        sa.Column("submission", sa.String(), nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("study", sa.String(), nullable=False),
        sa.Column("rater_id", ID, nullable=True),
        sa.Column("status", sa.String(), nullable=True),
        sa.Column("again", sa.Integer(), nullable=False),
        sa.Column("return_asked_at", MOMENT, nullable=True),
        sa.Column("entered_at", MOMENT, nullable=False),
        sa.Column("changed_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_recruit_campaign_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_recruit_rater_id"),
        sa.PrimaryKeyConstraint("submission", name="pk_recruit"),
        sa.UniqueConstraint("campaign_id", "person", name="uq_recruit_campaign_id_person"),
        sa.UniqueConstraint("rater_id", name="uq_recruit_rater_id"),
    )
    op.create_table(
        "check_answer",
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_check_answer_rater_id"),
        sa.PrimaryKeyConstraint("rater_id", "name", "attempt", name="pk_check_answer"),
    )
    op.create_table(
        "payment",
        sa.Column("id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("amount", sa.Integer(), nullable=False),
        sa.Column("staff_id", ID, nullable=True),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_payment_rater_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_payment_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_payment"),
    )
    op.create_index("ix_payment_rater_id", "payment", ["rater_id"], unique=False)
