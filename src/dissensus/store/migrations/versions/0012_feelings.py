"""How raters feel, and who is there for them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0012"
down_revision = "0011"

DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
ROLE = "role IN ('owner', 'analyst', 'expert', 'reviewer', 'carer')"


def upgrade() -> None:
    """Change the tables."""
    op.create_table(
        "feeling",
        sa.Column("rater_id", sa.String(36), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("answers", DOCUMENT, nullable=False),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.Column("reach_text", sa.String(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_feeling_rater_id"),
        sa.PrimaryKeyConstraint("rater_id", "number", name="pk_feeling"),
    )
    op.add_column("rater", sa.Column("left_out", sa.String(), nullable=True))
    for table in ("membership", "staff_invitation"):
        with op.batch_alter_table(table) as change:
            change.drop_constraint(f"ck_{table}_role", type_="check")
            change.create_check_constraint(f"ck_{table}_role", ROLE)
