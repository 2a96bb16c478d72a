"""Threads: the histories that an agent sends, each found again in the session that recorded it."""

from foveate.threads.naming import thread
from foveate.threads.request import HistoryRequest
from foveate.threads.threads import Compiled, Threads

__all__ = ["Compiled", "HistoryRequest", "Threads", "thread"]
