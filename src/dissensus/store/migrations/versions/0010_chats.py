"""Conversations with chatbots."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

ID, WORDS = sa.String(36), sa.String()
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Change the tables."""
    op.create_table(
        "chat",
        sa.Column("id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("mode", WORDS, nullable=False),
        sa.Column("state", WORDS, nullable=False),
        sa.Column("intent_text", WORDS, nullable=True),
        sa.Column("success", sa.Integer(), nullable=True),
        sa.Column("comment_text", WORDS, nullable=True),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT, nullable=True),
        sa.CheckConstraint("state IN ('open', 'done')", name="ck_chat_state"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_chat_rater_id"),
        sa.PrimaryKeyConstraint("id", name="pk_chat"),
        sa.UniqueConstraint("rater_id", "number", name="uq_chat_rater_id_number"),
    )
    op.create_table(
        "chat_exchange",
        sa.Column("id", ID, nullable=False),
        sa.Column("chat_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("mode", WORDS, nullable=False),
        sa.Column("said_text", WORDS, nullable=False),
        sa.Column("worked_ms", sa.Integer(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("claimed_until", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["chat_id"], ["chat.id"], name="fk_chat_exchange_chat_id"),
        sa.PrimaryKeyConstraint("id", name="pk_chat_exchange"),
        sa.UniqueConstraint("chat_id", "number", name="uq_chat_exchange_chat_id_number"),
    )
    exchange = "fk_chat_{}_exchange_id"
    op.create_table(
        "chat_candidate",
        sa.Column("exchange_id", ID, nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("chatbot", WORDS, nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("response", WORDS, nullable=True),
        sa.Column("finish", WORDS, nullable=True),
        sa.Column("first_ms", sa.Integer(), nullable=True),
        sa.Column("total_ms", sa.Integer(), nullable=True),
        sa.Column("n_failures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["exchange_id"], ["chat_exchange.id"], name=exchange.format("candidate"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("exchange_id", "place", name="pk_chat_candidate"),
    )
    op.create_table(
        "chat_pick",
        sa.Column("exchange_id", ID, nullable=False),
        sa.Column("compared", WORDS, nullable=True),
        sa.Column("strength", sa.Integer(), nullable=True),
        sa.Column("edit_text", WORDS, nullable=True),
        sa.Column("continues", sa.Integer(), nullable=False),
        sa.Column("worked_ms", sa.Integer(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["exchange_id"], ["chat_exchange.id"], name=exchange.format("pick"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("exchange_id", name="pk_chat_pick"),
    )
