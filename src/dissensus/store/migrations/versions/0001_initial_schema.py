"""Initial schema: all tables."""

from contextlib import suppress

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
    """Create all tables."""
    op.create_table(
        "event",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject_id", sa.String(length=32), nullable=True),
        sa.Column("at", MOMENT, nullable=True),
        sa.Column("rater_id", ID, nullable=True),
        sa.Column("staff_id", ID, nullable=True),
        sa.Column("content", DOCUMENT, nullable=True),
        sa.Column("salt", sa.String(length=32), nullable=True),
        sa.Column("digest", HASH, nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=True),
        sa.Column("chain_digest", HASH, nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_event"),
        sa.UniqueConstraint("campaign_id", "sequence", name="uq_event_campaign_id_sequence"),
    )
    op.create_index("ix_event_rater_id", "event", ["rater_id"], unique=False)
    op.create_index(
        "ix_event_of_staff",
        "event",
        ["campaign_id", "number"],
        unique=False,
        sqlite_where=sa.text("staff_id IS NOT NULL"),
        postgresql_where=sa.text("staff_id IS NOT NULL"),
    )
    op.create_index(
        "ix_event_unchained",
        "event",
        ["campaign_id", "number"],
        unique=False,
        sqlite_where=sa.text("sequence IS NULL"),
        postgresql_where=sa.text("sequence IS NULL"),
    )
    op.create_table(
        "lease",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_lease"),
    )
    op.create_table(
        "sign_in_failure",
        sa.Column("fingerprint", HASH, nullable=False),
        sa.Column("n_failures", sa.Integer(), nullable=False),
        sa.Column("last_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_sign_in_failure"),
    )
    op.create_table(
        "rate_limit",
        sa.Column("fingerprint", HASH, nullable=False),
        sa.Column("full_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_rate_limit"),
    )
    op.create_index("ix_rate_limit_full_at_ms", "rate_limit", ["full_at_ms"], unique=False)
    op.create_table(
        "staff",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=True),
        sa.Column("email", sa.String(), nullable=True),
        sa.Column("subject", sa.String(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("operator", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("disabled_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_staff"),
        sa.UniqueConstraint("name", name="uq_staff_name"),
    )
    op.create_index("uq_staff_email", "staff", ["email"], unique=True)
    op.create_index("uq_staff_subject", "staff", ["subject"], unique=True)
    op.create_table(
        "api_token",
        sa.Column("key_hash", HASH, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_api_token_staff_id"),
        sa.PrimaryKeyConstraint("key_hash", name="pk_api_token"),
        sa.UniqueConstraint("staff_id", "name", name="uq_api_token_staff_id_name"),
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
        sa.Column("archived_at", MOMENT, nullable=True),
        sa.Column("judge_url", sa.String(), nullable=True),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.CheckConstraint("state IN ('draft', 'open', 'paused', 'closed')", name=op.f("ck_campaign_state")),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_campaign_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_campaign"),
        sa.UniqueConstraint("name", name="uq_campaign_name"),
    )
    op.create_index("ix_campaign_staff_id", "campaign", ["staff_id"], unique=False)
    op.create_table(
        "sign_in_link",
        sa.Column("key_hash", HASH, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_sign_in_link_staff_id"),
        sa.PrimaryKeyConstraint("key_hash", name="pk_sign_in_link"),
    )
    op.create_index("ix_sign_in_link_staff_id", "sign_in_link", ["staff_id"], unique=False)
    op.create_table(
        "totp",
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("confirmed_at", MOMENT, nullable=True),
        sa.Column("last_step", NUMBER, nullable=True),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_totp_staff_id"),
        sa.PrimaryKeyConstraint("staff_id", name="pk_totp"),
    )
    op.create_table(
        "recovery_code",
        sa.Column("code_hash", HASH, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_recovery_code_staff_id"),
        sa.PrimaryKeyConstraint("code_hash", name="pk_recovery_code"),
    )
    op.create_index("ix_recovery_code_staff_id", "recovery_code", ["staff_id"], unique=False)
    op.create_table(
        "passkey",
        sa.Column("id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("credential_id", sa.String(), nullable=False),
        sa.Column("public_key", sa.String(), nullable=False),
        sa.Column("sign_count", NUMBER, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_passkey_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_passkey"),
        sa.UniqueConstraint("credential_id", name="uq_passkey_credential_id"),
    )
    op.create_index("ix_passkey_staff_id", "passkey", ["staff_id"], unique=False)
    op.create_table(
        "passkey_challenge",
        sa.Column("session_hash", HASH, nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("challenge", sa.String(), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("session_hash", name="pk_passkey_challenge"),
    )
    op.create_index("ix_passkey_challenge_expires_at", "passkey_challenge", ["expires_at"], unique=False)
    op.create_table(
        "security_event",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("staff_id", ID, nullable=True),
        sa.Column("network", sa.String(), nullable=True),
        sa.Column("content", DOCUMENT, nullable=False),
        sa.CheckConstraint(
            "kind IN ('signed_in', 'sign_in_failed', 'second_factor_failed', 'identity_confirmed', 'session_ended', "
            "'password_changed', 'second_factor_added', 'second_factor_removed', 'passkey_added', 'passkey_removed', "
            "'recovery_codes_created', 'recovery_code_used', 'token_created', 'token_first_used', 'token_revoked', "
            "'invitation_created', 'sign_in_link_created', 'sign_in_link_mailed', 'email_changed', 'role_given', "
            "'role_changed', 'role_lost', 'account_disabled', 'account_enabled', "
            "'operator_added', 'operator_removed')",
            name=op.f("ck_security_event_kind"),
        ),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_security_event_staff_id"),
        sa.PrimaryKeyConstraint("number", name="pk_security_event"),
    )
    op.create_index("ix_security_event_at", "security_event", ["at"], unique=False)
    op.create_index("ix_security_event_staff_id", "security_event", ["staff_id"], unique=False)
    op.create_table(
        "mail",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("staff_id", ID, nullable=True),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("network", sa.String(), nullable=True),
        sa.Column("content", DOCUMENT, nullable=False),
        sa.Column("due_at", MOMENT, nullable=False),
        sa.Column("n_failures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_mail_staff_id"),
        sa.PrimaryKeyConstraint("number", name="pk_mail"),
    )
    op.create_index("ix_mail_due_at", "mail", ["due_at"], unique=False)
    op.create_index("ix_mail_staff_id", "mail", ["staff_id"], unique=False)
    op.create_table(
        "consent_text",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("digest", HASH, nullable=False),
        sa.Column("content", DOCUMENT, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_consent_text_campaign_id"),
        sa.PrimaryKeyConstraint("id", name="pk_consent_text"),
        sa.UniqueConstraint("campaign_id", "version", name="uq_consent_text_campaign_id_version"),
    )
    op.create_table(
        "event_chain",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("n_events", sa.Integer(), nullable=False),
        sa.Column("head_digest", HASH, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_event_chain_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", name="pk_event_chain"),
    )
    op.create_table(
        "idempotency",
        sa.Column("token_hash", HASH, nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("digest", HASH, nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("encrypted_body", sa.String(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["token_hash"], ["api_token.key_hash"], name="fk_idempotency_token_hash", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_hash", "key", name="pk_idempotency"),
    )
    op.create_index("ix_idempotency_created_at", "idempotency", ["created_at"], unique=False)
    op.create_table(
        "invitation",
        sa.Column("key_hash", HASH, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("cell", sa.String(), nullable=True),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_invitation_campaign_id"),
        sa.PrimaryKeyConstraint("key_hash", name="pk_invitation"),
    )
    op.create_index("ix_invitation_campaign_id", "invitation", ["campaign_id"], unique=False)
    op.create_table(
        "image",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", HASH, nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("n_bytes", sa.Integer(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_image_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", "name", name="pk_image"),
    )
    op.create_table(
        "item",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("content", DOCUMENT, nullable=False),
        sa.Column("salt", sa.String(length=32), nullable=True),
        sa.Column("digest", HASH, nullable=False),
        sa.Column("load", sa.Integer(), nullable=False),
        sa.Column("withheld", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("shown_by_decision", sa.Boolean(), nullable=True),
        sa.Column("gold_of_file", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("in_gold_sample", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("search_text", sa.String(), nullable=False),
        sa.Column("safety_gold", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_item_campaign_id"),
        sa.PrimaryKeyConstraint("id", name="pk_item"),
        sa.UniqueConstraint("campaign_id", "name", name="uq_item_campaign_id_name"),
        sa.UniqueConstraint("campaign_id", "position", name="uq_item_campaign_id_position"),
    )
    op.create_index("ix_item_campaign_id_load", "item", ["campaign_id", "load"])
    op.create_index(
        "ix_item_campaign_id_withheld", "item", ["campaign_id", "withheld", "gold_of_file", "in_gold_sample"]
    )
    op.create_index("ix_item_campaign_id_safety_gold", "item", ["campaign_id", "safety_gold"])
    _create_search_index()
    op.create_table(
        "member",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("added_by", ID, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.CheckConstraint(
            "role IN ('owner', 'analyst', 'observer', 'expert', 'reviewer', 'carer')", name=op.f("ck_member_role")
        ),
        sa.ForeignKeyConstraint(["added_by"], ["staff.id"], name="fk_member_added_by"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_member_campaign_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_member_staff_id"),
        sa.PrimaryKeyConstraint("campaign_id", "staff_id", name="pk_member"),
    )
    op.create_index("ix_member_staff_id", "member", ["staff_id"], unique=False)
    op.create_table(
        "campaign_report",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("request", sa.String(), nullable=False),
        sa.Column("with_raters", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("claimed_until", MOMENT, nullable=True),
        sa.Column("n_claims", sa.Integer(), nullable=False),
        sa.Column("fault", sa.String(), nullable=True),
        sa.Column("content", sa.String(), nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'working', 'done', 'failed')", name=op.f("ck_campaign_report_state")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_campaign_report_campaign_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_campaign_report_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_campaign_report"),
    )
    op.create_index("ix_campaign_report_campaign_id", "campaign_report", ["campaign_id"], unique=False)
    op.create_table(
        "campaign_plan",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=True),
        sa.Column("adopted_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_campaign_plan_campaign_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_campaign_plan_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_campaign_plan"),
    )
    op.create_index("ix_campaign_plan_campaign_id", "campaign_plan", ["campaign_id"], unique=False)
    op.create_table(
        "release_plan",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_release_plan_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", name="pk_release_plan"),
    )
    op.create_table(
        "report_section",
        sa.Column("report_id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["report_id"], ["campaign_report.id"], name="fk_report_section_report_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("report_id", "name", name="pk_report_section"),
    )
    op.create_table(
        "report_figure",
        sa.Column("report_id", ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("wide", sa.String(), nullable=False),
        sa.Column("narrow", sa.String(), nullable=False),
        sa.Column("numbers", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["report_id"], ["campaign_report.id"], name="fk_report_figure_report_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("report_id", "name", name="pk_report_figure"),
    )
    op.create_table(
        "item_summary",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("axis", sa.String(), nullable=False),
        sa.Column("counts", DOCUMENT, nullable=False),
        sa.Column("disagreement", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_item_summary_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", "position", "question", "axis", name="pk_item_summary"),
    )
    op.create_index(
        "ix_item_summary_disagreement",
        "item_summary",
        ["campaign_id", "question", "axis", sa.text("disagreement DESC"), "position"],
        unique=False,
    )
    op.create_table(
        "monitoring_progress",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("version", ID, nullable=False),
        sa.Column("layout", sa.String(), nullable=False),
        sa.Column("through", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_monitoring_progress_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", name="pk_monitoring_progress"),
    )
    op.create_table(
        "monitoring_snapshot",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("through", NUMBER, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("read_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_monitoring_snapshot_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", name="pk_monitoring_snapshot"),
    )
    op.create_table(
        "published_figures",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_published_figures_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", name="pk_published_figures"),
    )
    op.create_table(
        "screen_out",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("cell", sa.String(), nullable=False),
        sa.Column("n_raters", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_screen_out_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", "cell", name="pk_screen_out"),
    )
    op.create_table(
        "staff_invitation",
        sa.Column("key_hash", HASH, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("token_id", HASH, nullable=True),
        sa.Column("address", sa.String(), nullable=True),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.CheckConstraint(
            "role IN ('owner', 'analyst', 'observer', 'expert', 'reviewer', 'carer')",
            name=op.f("ck_staff_invitation_role"),
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_staff_invitation_campaign_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_staff_invitation_staff_id"),
        sa.ForeignKeyConstraint(
            ["token_id"], ["api_token.key_hash"], name="fk_staff_invitation_token_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key_hash", name="pk_staff_invitation"),
    )
    op.create_index("ix_staff_invitation_campaign_id", "staff_invitation", ["campaign_id"], unique=False)
    op.create_table(
        "api_token_exclusion",
        sa.Column("token_id", HASH, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_api_token_exclusion_campaign_id"),
        sa.ForeignKeyConstraint(
            ["token_id"], ["api_token.key_hash"], name="fk_api_token_exclusion_token_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_id", "campaign_id", name="pk_api_token_exclusion"),
    )
    op.create_table(
        "webhook",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("kinds", sa.String(), nullable=False),
        sa.Column("secret_hash", HASH, nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("retry_through", sa.Integer(), nullable=True),
        sa.Column("due_at", MOMENT, nullable=False),
        sa.Column("n_failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", MOMENT, nullable=True),
        sa.Column("failure_reason", sa.String(), nullable=False),
        sa.Column("pause_reason", sa.String(), nullable=False),
        sa.Column("delivered_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_webhook_campaign_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_webhook_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_webhook"),
    )
    op.create_index("ix_webhook_campaign_id", "webhook", ["campaign_id"], unique=False)
    op.create_table(
        "gold_decision",
        sa.Column("id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("answers", DOCUMENT, nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.CheckConstraint("part IN ('safety', 'degree', 'topics')", name=op.f("ck_gold_decision_part")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_gold_decision_item_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_gold_decision_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_gold_decision"),
        sa.UniqueConstraint("item_id", "part", "revision", name="uq_gold_decision_item_id_part_revision"),
    )
    op.create_table(
        "gold_progress",
        sa.Column("item_id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("safety", sa.String(), nullable=True),
        sa.Column("n_safety", sa.Integer(), nullable=False),
        sa.Column("n_degree", sa.Integer(), nullable=False),
        sa.Column("n_topics", sa.Integer(), nullable=False),
        sa.Column("labellers", DOCUMENT, nullable=False),
        sa.CheckConstraint(
            "state IN ('unlabelled', 'in_progress', 'disputed', 'settled')", name=op.f("ck_gold_progress_state")
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_gold_progress_campaign_id"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_gold_progress_item_id"),
        sa.PrimaryKeyConstraint("item_id", name="pk_gold_progress"),
    )
    op.create_index("ix_gold_progress_campaign_id_safety", "gold_progress", ["campaign_id", "safety"])
    op.create_index("ix_gold_progress_campaign_id_state", "gold_progress", ["campaign_id", "state", "position"])
    op.create_table(
        "gold_label",
        sa.Column("id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("answers", DOCUMENT, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.CheckConstraint("part IN ('safety', 'degree', 'topics')", name=op.f("ck_gold_label_part")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_gold_label_item_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_gold_label_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_gold_label"),
        sa.UniqueConstraint(
            "item_id", "part", "position", "revision", name="uq_gold_label_item_id_part_position_revision"
        ),
        sa.UniqueConstraint(
            "item_id", "part", "staff_id", "revision", name="uq_gold_label_item_id_part_staff_id_revision"
        ),
    )
    op.create_table(
        "rater",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.String(length=32), nullable=True),
        sa.Column("invitation_hash", HASH, nullable=True),
        sa.Column("cell", sa.String(), nullable=True),
        sa.Column("excluded_topics", sa.String(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("rehearsal", sa.Boolean(), nullable=False),
        sa.Column("worked_ms", sa.Integer(), nullable=True),
        sa.Column("rating_end", sa.String(), nullable=True),
        sa.Column("entered_at", MOMENT, nullable=False),
        sa.Column("last_seen_at", MOMENT, nullable=False),
        sa.Column("changed_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT, nullable=True),
        sa.Column("full_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('rating', 'finished', 'stopped', 'withdrawn')", name=op.f("ck_rater_state")),
        sa.CheckConstraint("rating_end IN ('finished', 'screened_out', 'left')", name=op.f("ck_rater_rating_end")),
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
        sa.Column("showing", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("planned_at", MOMENT, nullable=False),
        sa.Column("offered_at", MOMENT, nullable=True),
        sa.Column("closed_at", MOMENT, nullable=True),
        sa.Column("shown_first", sa.String(), nullable=True),
        sa.CheckConstraint("state IN ('open', 'done', 'skipped', 'reclaimed')", name=op.f("ck_assignment_state")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_assignment_item_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_assignment_rater_id"),
        sa.PrimaryKeyConstraint("id", name="pk_assignment"),
    )
    op.create_index("ix_assignment_item_id", "assignment", ["item_id"], unique=False)
    op.create_index(
        "ix_assignment_open",
        "assignment",
        ["rater_id", "showing"],
        unique=False,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index(
        "ix_assignment_skipped",
        "assignment",
        ["rater_id", "showing"],
        unique=False,
        sqlite_where=sa.text("state = 'skipped'"),
        postgresql_where=sa.text("state = 'skipped'"),
    )
    op.create_index("ix_assignment_rater_id_position", "assignment", ["rater_id", "position"], unique=False)
    op.create_index(
        "uq_assignment_rater_id_item_id_showing",
        "assignment",
        ["rater_id", "item_id", "showing"],
        unique=True,
        sqlite_where=sa.text("state <> 'reclaimed'"),
        postgresql_where=sa.text("state <> 'reclaimed'"),
    )
    op.create_table(
        "care_survey",
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("answers", DOCUMENT, nullable=False),
        sa.Column("notify_contact", sa.Boolean(), nullable=False),
        sa.Column("contact_info", sa.String(), nullable=True),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("settled_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_care_survey_rater_id"),
        sa.PrimaryKeyConstraint("rater_id", "number", name="pk_care_survey"),
    )
    op.create_table(
        "chat",
        sa.Column("id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("intent_text", sa.String(), nullable=True),
        sa.Column("success", sa.Integer(), nullable=True),
        sa.Column("comment_text", sa.String(), nullable=True),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT, nullable=True),
        sa.CheckConstraint("state IN ('open', 'done')", name=op.f("ck_chat_state")),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_chat_rater_id"),
        sa.PrimaryKeyConstraint("id", name="pk_chat"),
        sa.UniqueConstraint("rater_id", "number", name="uq_chat_rater_id_number"),
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
        "consent",
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("consent_text_id", ID, nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("agreed", sa.Boolean(), nullable=False),
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
        "flag_decision",
        sa.Column("id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("evidence", sa.String(), nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.CheckConstraint("verdict IN ('keep', 'exclude')", name=op.f("ck_flag_decision_verdict")),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_flag_decision_rater_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_flag_decision_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_flag_decision"),
    )
    op.create_index("ix_flag_decision_rater_id", "flag_decision", ["rater_id"], unique=False)
    op.create_table(
        "flag_notice",
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_flag_notice_rater_id"),
        sa.PrimaryKeyConstraint("rater_id", name="pk_flag_notice"),
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
    op.create_table(
        "rater_figures",
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("n_ratings", sa.Integer(), nullable=False),
        sa.Column("median_ms", sa.Double(), nullable=True),
        sa.Column("agreement", sa.Double(), nullable=True),
        sa.Column("group_agreement", DOCUMENT, nullable=False),
        sa.Column("answers", DOCUMENT, nullable=False),
        sa.Column("reasons", DOCUMENT, nullable=False),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_rater_figures_campaign_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_rater_figures_rater_id"),
        sa.PrimaryKeyConstraint("rater_id", name="pk_rater_figures"),
    )
    op.create_index("ix_rater_figures_campaign_id", "rater_figures", ["campaign_id"], unique=False)
    op.create_table(
        "rating_codes",
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("showing", sa.Integer(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_rating_codes_rater_id"),
        sa.PrimaryKeyConstraint("rater_id", "showing", name="pk_rating_codes"),
    )
    op.create_table(
        "recruit",
        sa.Column("submission", sa.String(), nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("rater_id", ID, nullable=True),
        sa.Column("status", sa.String(), nullable=True),
        sa.Column("n_repeat_visits", sa.Integer(), nullable=False),
        sa.Column("return_requested_at", MOMENT, nullable=True),
        sa.Column("entered_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_recruit_campaign_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_recruit_rater_id"),
        sa.PrimaryKeyConstraint("submission", name="pk_recruit"),
        sa.UniqueConstraint("campaign_id", "person", name="uq_recruit_campaign_id_person"),
        sa.UniqueConstraint("rater_id", name="uq_recruit_rater_id"),
    )
    op.create_table(
        "seat",
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("cell", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("rater_id", ID, nullable=True),
        sa.CheckConstraint("(state = 'free') = (rater_id IS NULL)", name=op.f("ck_seat_of_somebody")),
        sa.CheckConstraint("state IN ('free', 'held', 'taken')", name=op.f("ck_seat_state")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_seat_campaign_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_seat_rater_id"),
        sa.PrimaryKeyConstraint("id", name="pk_seat"),
        sa.UniqueConstraint("rater_id", name="uq_seat_rater_id"),
    )
    op.create_index("ix_seat_campaign_id_cell_state", "seat", ["campaign_id", "cell", "state"], unique=False)
    op.create_table(
        "session",
        sa.Column("key_hash", HASH, nullable=False),
        sa.Column("rater_id", ID, nullable=True),
        sa.Column("staff_id", ID, nullable=True),
        sa.Column("seen_at", MOMENT, nullable=True),
        sa.Column("confirmed_at", MOMENT, nullable=True),
        sa.Column("pending", sa.Boolean(), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.CheckConstraint("(rater_id IS NULL) <> (staff_id IS NULL)", name=op.f("ck_session_of_one")),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_session_rater_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_session_staff_id"),
        sa.PrimaryKeyConstraint("key_hash", name="pk_session"),
    )
    op.create_index("ix_session_rater_id", "session", ["rater_id"], unique=False)
    op.create_index("ix_session_staff_id", "session", ["staff_id"], unique=False)
    op.create_table(
        "chat_exchange",
        sa.Column("id", ID, nullable=False),
        sa.Column("chat_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("message_text", sa.String(), nullable=False),
        sa.Column("worked_ms", sa.Integer(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("claimed_until", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["chat_id"], ["chat.id"], name="fk_chat_exchange_chat_id"),
        sa.PrimaryKeyConstraint("id", name="pk_chat_exchange"),
        sa.UniqueConstraint("chat_id", "number", name="uq_chat_exchange_chat_id_number"),
    )
    op.create_table(
        "notice",
        sa.Column("id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("assignment_id", ID, nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("reporter", sa.String(), nullable=True),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("settled_at", MOMENT, nullable=True),
        sa.Column("settled_by", ID, nullable=True),
        sa.Column("shown_again", sa.Boolean(), nullable=True),
        sa.CheckConstraint("kind IN ('help', 'illegal')", name=op.f("ck_notice_kind")),
        sa.ForeignKeyConstraint(["assignment_id"], ["assignment.id"], name="fk_notice_assignment_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_notice_rater_id"),
        sa.ForeignKeyConstraint(["settled_by"], ["staff.id"], name="fk_notice_settled_by"),
        sa.PrimaryKeyConstraint("id", name="pk_notice"),
    )
    op.create_index("ix_notice_rater_id", "notice", ["rater_id"], unique=False)
    op.create_table(
        "working_copy",
        sa.Column("id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=True),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("changed_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_working_copy_campaign_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_working_copy_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_working_copy"),
        sa.UniqueConstraint("campaign_id", name="uq_working_copy_campaign_id"),
    )
    op.create_index("ix_working_copy_staff_id", "working_copy", ["staff_id"], unique=False)
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
        sa.Column("open_ms", sa.Integer(), nullable=True),
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
        sa.Column("bulk", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["save_number"], ["save.number"], name="fk_answer_save_number", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("save_number", "question", name="pk_answer"),
    )
    op.create_table(
        "chat_candidate",
        sa.Column("exchange_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("chatbot", sa.String(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("response", sa.String(), nullable=True),
        sa.Column("failure", sa.String(), nullable=True),
        sa.Column("n_failures", sa.Integer(), nullable=False),
        sa.Column("ranked_by", sa.String(), nullable=True),
        sa.CheckConstraint("failure IN ('refused by provider', 'failed')", name=op.f("ck_chat_candidate_failure")),
        sa.ForeignKeyConstraint(
            ["exchange_id"], ["chat_exchange.id"], name="fk_chat_candidate_exchange_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("exchange_id", "position", name="pk_chat_candidate"),
    )
    op.create_table(
        "chat_pick",
        sa.Column("exchange_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("criterion", sa.String(), nullable=True),
        sa.Column("strength", sa.Integer(), nullable=True),
        sa.Column("edit_text", sa.String(), nullable=True),
        sa.Column("continues", sa.Integer(), nullable=False),
        sa.Column("worked_ms", sa.Integer(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["exchange_id"], ["chat_exchange.id"], name="fk_chat_pick_exchange_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("exchange_id", "number", name="pk_chat_pick"),
    )


def _create_search_index() -> None:
    """Index the searched text of items by trigrams; where the server refuses, a search reads the text of all items."""
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    with suppress(sa.exc.DBAPIError), connection.begin_nested():
        connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
        connection.execute(sa.text("CREATE INDEX ix_item_search_text ON item USING gin (search_text gin_trgm_ops)"))
