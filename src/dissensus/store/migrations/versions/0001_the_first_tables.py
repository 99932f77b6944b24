"""The first tables."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

ID, HASH = sa.String(36), sa.String(64)
MOMENT = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Change the tables."""
    op.create_table(
        "staff",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_staff"),
        sa.UniqueConstraint("name", name="uq_staff_name"),
    )
    op.create_table(
        "campaign",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("definition", DOCUMENT, nullable=False),
        sa.Column("digest", HASH, nullable=False),
        sa.Column("key", sa.String(), nullable=True),
        sa.Column("n_raters", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("changed_at", MOMENT, nullable=False),
        sa.CheckConstraint("state IN ('draft', 'open', 'paused', 'closed')", name="ck_campaign_state"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_campaign_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_campaign"),
        sa.UniqueConstraint("name", name="uq_campaign_name"),
    )
    op.create_index("ix_campaign_staff_id", "campaign", ["staff_id"], unique=False)

    op.create_table(
        "sign_in",
        sa.Column("key_hash", HASH, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_sign_in_staff_id"),
        sa.PrimaryKeyConstraint("key_hash", name="pk_sign_in"),
    )
    op.create_index("ix_sign_in_staff_id", "sign_in", ["staff_id"], unique=False)

    op.create_table(
        "consent_text",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("digest", HASH, nullable=False),
        sa.Column("content", DOCUMENT, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_consent_text_campaign_id"),
        sa.PrimaryKeyConstraint("id", name="pk_consent_text"),
        sa.UniqueConstraint("campaign_id", "version", name="uq_consent_text_campaign_id_version"),
    )
    op.create_table(
        "invitation",
        sa.Column("key_hash", HASH, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_invitation_campaign_id"),
        sa.PrimaryKeyConstraint("key_hash", name="pk_invitation"),
    )
    op.create_index("ix_invitation_campaign_id", "invitation", ["campaign_id"], unique=False)

    op.create_table(
        "item",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("content", DOCUMENT, nullable=False),
        sa.Column("load", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_item_campaign_id"),
        sa.PrimaryKeyConstraint("id", name="pk_item"),
        sa.UniqueConstraint("campaign_id", "name", name="uq_item_campaign_id_name"),
        sa.UniqueConstraint("campaign_id", "position", name="uq_item_campaign_id_position"),
    )
    op.create_table(
        "rater",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("invitation_hash", HASH, nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("rehearsal", sa.Boolean(), nullable=False),
        sa.Column("entered_at", MOMENT, nullable=False),
        sa.Column("seen_at", MOMENT, nullable=False),
        sa.Column("changed_at", MOMENT, nullable=False),
        sa.CheckConstraint("state IN ('rating', 'finished', 'stopped', 'withdrawn')", name="ck_rater_state"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_rater_campaign_id"),
        sa.ForeignKeyConstraint(["invitation_hash"], ["invitation.key_hash"], name="fk_rater_invitation_hash"),
        sa.PrimaryKeyConstraint("id", name="pk_rater"),
        sa.UniqueConstraint("campaign_id", "number", name="uq_rater_campaign_id_number"),
        sa.UniqueConstraint("invitation_hash", name="uq_rater_invitation_hash"),
    )
    op.create_table(
        "assignment",
        sa.Column("id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("planned_at", MOMENT, nullable=False),
        sa.Column("offered_at", MOMENT, nullable=True),
        sa.Column("closed_at", MOMENT, nullable=True),
        sa.CheckConstraint("state IN ('open', 'done', 'skipped', 'reclaimed')", name="ck_assignment_state"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_assignment_item_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_assignment_rater_id"),
        sa.PrimaryKeyConstraint("id", name="pk_assignment"),
    )
    op.create_index("ix_assignment_item_id", "assignment", ["item_id"], unique=False)
    op.create_index(
        "ix_assignment_open",
        "assignment",
        ["rater_id", "position"],
        unique=False,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index("ix_assignment_rater_id_position", "assignment", ["rater_id", "position"], unique=False)
    op.create_index(
        "uq_assignment_rater_id_item_id",
        "assignment",
        ["rater_id", "item_id"],
        unique=True,
        sqlite_where=sa.text("state <> 'reclaimed'"),
        postgresql_where=sa.text("state <> 'reclaimed'"),
    )

    op.create_table(
        "consent",
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("consent_text_id", ID, nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("given", sa.Boolean(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["consent_text_id"], ["consent_text.id"], name="fk_consent_consent_text_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_consent_rater_id"),
        sa.PrimaryKeyConstraint("rater_id", "consent_text_id", "purpose", name="pk_consent"),
    )
    op.create_table(
        "declaration",
        sa.Column("id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("content", DOCUMENT, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_declaration_rater_id"),
        sa.PrimaryKeyConstraint("id", name="pk_declaration"),
    )
    op.create_index("ix_declaration_rater_id", "declaration", ["rater_id"], unique=False)

    op.create_table(
        "session",
        sa.Column("key_hash", HASH, nullable=False),
        sa.Column("rater_id", ID, nullable=True),
        sa.Column("staff_id", ID, nullable=True),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.CheckConstraint("(rater_id IS NULL) <> (staff_id IS NULL)", name="ck_session_of_one"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_session_rater_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_session_staff_id"),
        sa.PrimaryKeyConstraint("key_hash", name="pk_session"),
    )
    op.create_index("ix_session_rater_id", "session", ["rater_id"], unique=False)
    op.create_index("ix_session_staff_id", "session", ["staff_id"], unique=False)

    op.create_table(
        "notice",
        sa.Column("id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("assignment_id", ID, nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("answered_at", MOMENT, nullable=True),
        sa.CheckConstraint("kind IN ('help', 'illegal')", name="ck_notice_kind"),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], name="fk_notice_assignment_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_notice_rater_id"),
        sa.PrimaryKeyConstraint("id", name="pk_notice"),
    )
    op.create_index("ix_notice_rater_id", "notice", ["rater_id"], unique=False)

    op.create_table(
        "save",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("key", ID, nullable=False),
        sa.Column("assignment_id", ID, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("final", sa.Boolean(), nullable=False),
        sa.Column("visit", ID, nullable=False),
        sa.Column("visible_ms", sa.Integer(), nullable=False),
        sa.Column("idle_ms", sa.Integer(), nullable=False),
        sa.Column("received_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], name="fk_save_assignment_id"),
        sa.PrimaryKeyConstraint("number", name="pk_save"),
        sa.UniqueConstraint("key", name="uq_save_key"),
    )
    op.create_index("ix_save_assignment_id", "save", ["assignment_id"], unique=False)

    op.create_table(
        "answer",
        sa.Column("save_number", NUMBER, nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("first_ms", sa.Integer(), nullable=False),
        sa.Column("last_ms", sa.Integer(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["save_number"], ["save.number"], name="fk_answer_save_number", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("save_number", "question", name="pk_answer"),
    )
