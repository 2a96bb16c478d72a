"""The tables as they were first."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foveate.store.search import create_index_tables

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "artifacts",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("encoding", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_table(
        "embeddings",
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("passage", sa.BigInteger(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("model", "passage"),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("vault_name", sa.String(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("indexed", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_activity_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("session_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "artifact_uses",
        sa.Column("session", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["sha256"],
            ["artifacts.sha256"],
        ),
        sa.PrimaryKeyConstraint("session", "sha256"),
    )
    op.create_index("artifact_uses_sha256", "artifact_uses", ["sha256"], unique=False)
    op.create_table(
        "checkpoints",
        sa.Column("session", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session", "name", "seq"),
    )
    op.create_table(
        "context_summaries",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("session", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("vault_name", sa.String(), nullable=False),
        sa.Column("call", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("turn_index", sa.BigInteger(), nullable=False),
        sa.Column("template_name", sa.String(), nullable=False),
        sa.Column("template_source", sa.String(), nullable=False),
        sa.Column("template_hash", sa.String(), nullable=False),
        sa.Column("model_alias", sa.String(), nullable=False),
        sa.Column("budget_limit", sa.BigInteger(), nullable=True),
        sa.Column("budget_used", sa.BigInteger(), nullable=False),
        sa.Column("budget", sa.Text(), nullable=False),
        sa.Column("fates", sa.Text(), nullable=False),
        sa.Column("sections_included", sa.Text(), nullable=False),
        sa.Column("predicted_cached", sa.BigInteger(), nullable=False),
        sa.Column("reported_input", sa.BigInteger(), nullable=True),
        sa.Column("reported_cached", sa.BigInteger(), nullable=True),
        sa.Column("compiled_prompt", sa.Text(), nullable=False),
        sa.Column("input_payload", sa.Text(), nullable=False),
        sa.Column("payload_sha256", sa.String(), nullable=False),
        sa.Column("output_id", sa.String(), nullable=True),
        sa.Column("raw_output", sa.Text(), nullable=True),
        sa.Column("parsed_output", sa.Text(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("session", "call", name="context_summaries_call"),
    )
    op.create_table(
        "events",
        sa.Column("session", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=True),
        sa.Column("ref", sa.String(), nullable=True),
        sa.Column("role", sa.String(), nullable=True),
        sa.Column("tool", sa.String(), nullable=True),
        sa.Column("origin", sa.String(), nullable=True),
        sa.Column("time", sa.Float(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("writer", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("spilled", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session", "seq"),
    )
    op.create_index(
        "events_position",
        "events",
        ["session", "position"],
        unique=True,
        sqlite_where=sa.text("position IS NOT NULL"),
        postgresql_where=sa.text("position IS NOT NULL"),
    )
    op.create_index(
        "events_ref",
        "events",
        ["session", "ref"],
        unique=False,
        sqlite_where=sa.text("ref IS NOT NULL"),
        postgresql_where=sa.text("ref IS NOT NULL"),
    )
    create_index_tables(op.get_bind())
