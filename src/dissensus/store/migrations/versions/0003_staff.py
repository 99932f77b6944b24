"""Staff: who belongs to which campaign in which role, passwords, tokens, and failures to sign in."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

ID, HASH = sa.String(36), sa.String(64)
MOMENT = sa.DateTime(timezone=True)
ROLE = "role IN ('owner', 'analyst', 'expert', 'reviewer')"


def upgrade() -> None:
    """Change the tables; who made a campaign is its first owner."""
    op.add_column("staff", sa.Column("password_hash", sa.String(), nullable=True))
    op.add_column("staff", sa.Column("email", sa.String(), nullable=True))
    op.add_column("staff", sa.Column("subject", sa.String(), nullable=True))
    op.create_index("uq_staff_email", "staff", ["email"], unique=True)
    op.create_index("uq_staff_subject", "staff", ["subject"], unique=True)
    op.create_table(
        "membership",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.CheckConstraint(ROLE, name="ck_membership_role"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_membership_campaign_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_membership_staff_id"),
        sa.PrimaryKeyConstraint("campaign_id", "staff_id", name="pk_membership"),
    )
    op.create_index("ix_membership_staff_id", "membership", ["staff_id"], unique=False)
    op.execute(
        "INSERT INTO membership (campaign_id, staff_id, role, created_at) "
        "SELECT id, staff_id, 'owner', created_at FROM campaign"
    )
    op.create_table(
        "staff_invitation",
        sa.Column("key_hash", HASH, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.CheckConstraint(ROLE, name="ck_staff_invitation_role"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_staff_invitation_campaign_id"),
        sa.PrimaryKeyConstraint("key_hash", name="pk_staff_invitation"),
    )
    op.create_index("ix_staff_invitation_campaign_id", "staff_invitation", ["campaign_id"], unique=False)
    op.create_table(
        "token",
        sa.Column("key_hash", HASH, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_token_staff_id"),
        sa.PrimaryKeyConstraint("key_hash", name="pk_token"),
        sa.UniqueConstraint("staff_id", "name", name="uq_token_staff_id_name"),
    )
    op.create_table(
        "failure",
        sa.Column("trace", HASH, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("last_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("trace", name="pk_failure"),
    )
