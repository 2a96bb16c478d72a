"""A checksum for each event; events that are there have none until they are sealed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; neither engine rewrites the rows for it."""
    op.add_column("events", sa.Column("checksum", sa.BigInteger(), nullable=True))
