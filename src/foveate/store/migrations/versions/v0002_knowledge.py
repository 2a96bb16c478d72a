"""Tables for what projects know."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables; those that are there stay as they are."""
    op.create_table(
        "knowledge_projects",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("nodes", sa.BigInteger(), nullable=False),
        sa.Column("numbers", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "knowledge_nodes",
        sa.Column("project", _KEY, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=True),
        sa.Column("severity", sa.String(), nullable=True),
        sa.Column("rationale", sa.Text(), nullable=True),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("connections", sa.Text(), nullable=False),
        sa.Column("retired", sa.Boolean(), nullable=False),
        sa.Column("tag_terms", sa.Text(), nullable=False),
        sa.Column("word_terms", sa.Text(), nullable=False),
        sa.Column("says", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["knowledge_projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project", "number"),
        sa.UniqueConstraint("project", "node", name="knowledge_nodes_node"),
    )
    op.create_index("knowledge_nodes_says", "knowledge_nodes", ["project", "type", "says"], unique=False)
    op.create_table(
        "knowledge_links",
        sa.Column("project", _KEY, autoincrement=False, nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("project", "target", "source"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "knowledge_postings",
        sa.Column("project", _KEY, autoincrement=False, nullable=False),
        sa.Column("term", sa.String(), nullable=False),
        sa.Column("field", sa.String(), nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("project", "term", "field", "place"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "knowledge_terms",
        sa.Column("project", _KEY, autoincrement=False, nullable=False),
        sa.Column("term", sa.String(), nullable=False),
        sa.Column("field", sa.String(), nullable=False),
        sa.Column("postings", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "term", "field"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "map_entries",
        sa.Column("project", _KEY, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("location", sa.String(), nullable=False),
        sa.Column("component", sa.Text(), nullable=False),
        sa.Column("notes", sa.Text(), nullable=False),
        sa.Column("word_terms", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["knowledge_projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project", "number"),
        sa.UniqueConstraint("project", "location", name="map_entries_location"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "journal_tasks",
        sa.Column("project", _KEY, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("dependencies", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("handoff", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["project"], ["knowledge_projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project", "number"),
        sa.UniqueConstraint("project", "task", name="journal_tasks_task"),
    )
    op.create_table(
        "journal_blockers",
        sa.Column("project", _KEY, nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("blocker", sa.Text(), nullable=False),
        sa.Column("impact", sa.Text(), nullable=False),
        sa.Column("suggested_resolution", sa.Text(), nullable=False),
        sa.Column("blocking_tasks", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["knowledge_projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project", "task", "place"),
    )
    op.create_table(
        "handoffs",
        sa.Column("project", _KEY, nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["knowledge_projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project", "task", "sha256"),
    )
