"""Gold: what experts said of items, and what was decided where they differ."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0006"
down_revision = "0005"

ID = sa.String(36)
MOMENT = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
PARTS = "part IN ('safety', 'degree', 'topics')"


def upgrade() -> None:
    """Change the tables."""
    op.create_table(
        "gold_label",
        sa.Column("id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("said", DOCUMENT, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.CheckConstraint(PARTS, name="ck_gold_label_part"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_gold_label_item_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_gold_label_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_gold_label"),
        sa.UniqueConstraint("item_id", "part", "place", "revision", name="uq_gold_label_item_id_part_place_revision"),
        sa.UniqueConstraint(
            "item_id", "part", "staff_id", "revision", name="uq_gold_label_item_id_part_staff_id_revision"
        ),
    )
    op.create_table(
        "gold_decision",
        sa.Column("id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("staff_id", ID, nullable=False),
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("said", DOCUMENT, nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.CheckConstraint(PARTS, name="ck_gold_decision_part"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_gold_decision_item_id"),
        sa.ForeignKeyConstraint(["staff_id"], ["staff.id"], name="fk_gold_decision_staff_id"),
        sa.PrimaryKeyConstraint("id", name="pk_gold_decision"),
        sa.UniqueConstraint("item_id", "part", "revision", name="uq_gold_decision_item_id_part_revision"),
    )
