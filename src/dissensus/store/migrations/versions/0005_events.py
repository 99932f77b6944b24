"""The log of what happened, and leases of what one process alone does."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0005"
down_revision = "0004"

ID, HASH = sa.String(36), sa.String(64)
MOMENT = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LOOSE = sa.text("place IS NULL")


def upgrade() -> None:
    """Change the tables; the chain of a campaign that is there begins now."""
    op.create_table(
        "event",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=True),
        sa.Column("rater_id", ID, nullable=True),
        sa.Column("staff_id", ID, nullable=True),
        sa.Column("content", DOCUMENT, nullable=True),
        sa.Column("salt", sa.String(32), nullable=True),
        sa.Column("digest", HASH, nullable=False),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.Column("link", HASH, nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_event"),
        sa.UniqueConstraint("campaign_id", "place", name="uq_event_campaign_id_place"),
    )
    op.create_index("ix_event_rater_id", "event", ["rater_id"], unique=False)
    op.create_index("ix_event_loose", "event", ["campaign_id", "number"], sqlite_where=LOOSE, postgresql_where=LOOSE)
    op.create_table(
        "chain",
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("head", HASH, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_chain_campaign_id"),
        sa.PrimaryKeyConstraint("campaign_id", name="pk_chain"),
    )
    start = "0" * 64
    op.execute(
        sa.text("INSERT INTO chain (campaign_id, n, head) SELECT id, 0, :start FROM campaign").bindparams(start=start)
    )
    op.create_table(
        "lease",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_lease"),
    )
