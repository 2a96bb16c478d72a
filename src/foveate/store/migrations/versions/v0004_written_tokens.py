"""What calls wrote to the provider's cache; of those that are there nobody recorded it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns; neither engine rewrites the rows for them."""
    op.add_column("context_summaries", sa.Column("reported_written", sa.BigInteger(), nullable=True))
    op.add_column("context_summaries", sa.Column("reported_written_hour", sa.BigInteger(), nullable=True))
