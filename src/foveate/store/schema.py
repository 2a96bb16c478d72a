"""The schema: the tables of a store, the same on every engine.

`sessions` and `context_summaries` are for people with an SQL prompt; `events` is the log itself, and all else can be
made from it again. What projects know stands beside it: `knowledge_…`, `map_entries`, `journal_…` and `handoffs`.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
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
    # Of the session's name and all columns above; null in rows that version 0.1 wrote, until they are sealed.
    Column("checksum", BigInteger),
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
    # What was written to the cache, and what of it stays there for an hour; null where the provider did not say.
    Column("reported_written", BigInteger),
    Column("reported_written_hour", BigInteger),
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

# --- what projects know -------------------------------------------------------------------------------------------

# Who changes a project locks its row, so that numbers and counts are nobody else's at that moment.
knowledge_projects: Final = Table(
    "knowledge_projects",
    metadata,
    Column("id", _Key, primary_key=True, autoincrement=True),
    Column("name", String, nullable=False, unique=True),
    # Nodes that are not retired.
    Column("nodes", BigInteger, nullable=False),
    # The last number of each kind that was given away, as JSON.
    Column("numbers", Text, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
)


def _project() -> Column[Any]:
    return Column("project", _Key, ForeignKey("knowledge_projects.id", ondelete="CASCADE"), primary_key=True)


def _unchecked_project() -> Column[Any]:
    # Of an index: whoever writes it holds the project's row already, and PostgreSQL would look for it at every row.
    return Column("project", _Key, primary_key=True, autoincrement=False)


knowledge_nodes: Final = Table(
    "knowledge_nodes",
    metadata,
    _project(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("node", String, nullable=False),
    Column("type", String, nullable=False),
    Column("summary", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("file", Text),
    Column("severity", String),
    Column("rationale", Text),
    Column("created", String, nullable=False),
    Column("connections", Text, nullable=False),
    Column("retired", Boolean, nullable=False),
    # What it is found by: the stems of its tags, and those of its words, with spaces around each; and a hash of those
    # of its summary.
    Column("tag_terms", Text, nullable=False),
    Column("word_terms", Text, nullable=False),
    Column("says", String, nullable=False),
    UniqueConstraint("project", "node", name="knowledge_nodes_node"),
)
Index("knowledge_nodes_says", knowledge_nodes.c.project, knowledge_nodes.c.type, knowledge_nodes.c.says)

# A connection as the node sees it that is pointed at; from the other end it stands with the node itself.
knowledge_links: Final = Table(
    "knowledge_links",
    metadata,
    _unchecked_project(),
    Column("target", String, primary_key=True),
    Column("source", String, primary_key=True),
    sqlite_with_rowid=False,
)

# In the order they are read in: of a term the newest first, without a look at any node. A place has the day and the
# number of what has the term in one, so that the newer is the greater.
knowledge_postings: Final = Table(
    "knowledge_postings",
    metadata,
    _unchecked_project(),
    Column("term", String, primary_key=True),
    Column("field", String, primary_key=True),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

knowledge_terms: Final = Table(
    "knowledge_terms",
    metadata,
    _unchecked_project(),
    Column("term", String, primary_key=True),
    Column("field", String, primary_key=True),
    Column("postings", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

map_entries: Final = Table(
    "map_entries",
    metadata,
    _project(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("location", String, nullable=False),
    Column("component", Text, nullable=False),
    Column("notes", Text, nullable=False),
    Column("word_terms", Text, nullable=False),
    UniqueConstraint("project", "location", name="map_entries_location"),
    sqlite_with_rowid=False,
)

journal_tasks: Final = Table(
    "journal_tasks",
    metadata,
    _project(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("task", String, nullable=False),
    Column("name", Text, nullable=False),
    Column("status", String, nullable=False),
    Column("summary", Text, nullable=False),
    Column("dependencies", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("handoff", Text),
    UniqueConstraint("project", "task", name="journal_tasks_task"),
)

journal_blockers: Final = Table(
    "journal_blockers",
    metadata,
    _project(),
    Column("task", String, primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("blocker", Text, nullable=False),
    Column("impact", Text, nullable=False),
    Column("suggested_resolution", Text, nullable=False),
    Column("blocking_tasks", Text, nullable=False),
)

# Every handoff that was ever taken in: a later one takes its place in the journal, not here.
handoffs: Final = Table(
    "handoffs",
    metadata,
    _project(),
    Column("task", String, primary_key=True),
    Column("sha256", String, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("day", String, nullable=False),
    Column("body", Text, nullable=False),
)
