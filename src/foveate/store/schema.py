"""The schema: the tables of a store, the same on every engine.

`sessions` and `context_summaries` are for people with an SQL prompt; `events` is the log itself, and all else can be
made from it again.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata: Final = MetaData()

_Key: Final = BigInteger().with_variant(Integer, "sqlite")


sessions: Final = Table(
    "sessions",
    metadata,
    Column("id", _Key, primary_key=True, autoincrement=True),
    Column("session_id", String, nullable=False, unique=True),
    Column("vault_name", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("messages", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("calls", BigInteger, nullable=False),
    # Messages that search knows of; the others are indexed when somebody searches.
    Column("indexed", BigInteger, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("last_activity_at", DateTime(timezone=True), nullable=False),
    # A number that was a deleted session's must not become another's: somebody may still hold it.
    sqlite_autoincrement=True,
)

events: Final = Table(
    "events",
    metadata,
    Column("session", _Key, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String, nullable=False),
    # Of a message its place among the messages, its id unless it is named after that place (m17 is the seventeenth),
    # its role, its tool and its origin; of a call its number, as the reference.
    Column("position", BigInteger),
    Column("ref", String),
    Column("role", String),
    Column("tool", String),
    Column("origin", String),
    Column("time", Float),
    Column("recorded_at", DateTime(timezone=True), nullable=False),
    Column("version", Integer, nullable=False),
    # Whose append it was: after a broken connection only this tells whether a commit came through.
    Column("writer", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    # Which texts of the body are kept as artifacts, as JSON from a place in the body to a hash.
    Column("spilled", Text),
)


def _index(name: str, *columns: Column[Any], unique: bool = False) -> None:
    """An index of the rows that have a value in the last of these columns."""
    filled = columns[-1].is_not(None)
    Index(name, *columns, unique=unique, sqlite_where=filled, postgresql_where=filled)


_index("events_position", events.c.session, events.c.position, unique=True)
_index("events_ref", events.c.session, events.c.ref)

context_summaries: Final = Table(
    "context_summaries",
    metadata,
    Column("id", _Key, primary_key=True, autoincrement=True),
    Column("session", _Key, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("session_id", String, nullable=False),
    Column("vault_name", String, nullable=False),
    Column("call", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("turn_index", BigInteger, nullable=False),
    Column("template_name", String, nullable=False),
    Column("template_source", String, nullable=False),
    Column("template_hash", String, nullable=False),
    Column("model_alias", String, nullable=False),
    Column("budget_limit", BigInteger),
    Column("budget_used", BigInteger, nullable=False),
    Column("budget", Text, nullable=False),
    Column("fates", Text, nullable=False),
    Column("sections_included", Text, nullable=False),
    Column("predicted_cached", BigInteger, nullable=False),
    Column("reported_input", BigInteger),
    Column("reported_cached", BigInteger),
    Column("compiled_prompt", Text, nullable=False),
    Column("input_payload", Text, nullable=False),
    Column("payload_sha256", String, nullable=False),
    Column("output_id", String),
    Column("raw_output", Text),
    Column("parsed_output", Text),
    Column("tags", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint("session", "call", name="context_summaries_call"),
)

artifacts: Final = Table(
    "artifacts",
    metadata,
    Column("sha256", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("description", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("lines", BigInteger, nullable=False),
    Column("encoding", String, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
)

artifact_uses: Final = Table(
    "artifact_uses",
    metadata,
    Column("session", _Key, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("sha256", String, ForeignKey("artifacts.sha256"), primary_key=True),
    Column("ref", String, nullable=False),
)
Index("artifact_uses_sha256", artifact_uses.c.sha256)

checkpoints: Final = Table(
    "checkpoints",
    metadata,
    Column("session", _Key, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

embeddings: Final = Table(
    "embeddings",
    metadata,
    Column("model", String, primary_key=True),
    Column("passage", BigInteger, primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)
