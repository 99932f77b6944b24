"""Which version of a model line chose a response."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Change the tables."""
    op.add_column("chat_candidate", sa.Column("ranked_by", sa.String(), nullable=True))
