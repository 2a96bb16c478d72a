"""The store: logs that survive their process, in SQLite or PostgreSQL."""

from foveate.store.artifacts import Artifact
from foveate.store.find import SearchHit
from foveate.store.info import SessionInfo
from foveate.store.store import Store

__all__ = ["Artifact", "SearchHit", "SessionInfo", "Store"]
