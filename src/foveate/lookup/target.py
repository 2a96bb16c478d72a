"""The target: which session an agent means that names none, by what it is known of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from foveate.errors import UnknownReferenceError
from foveate.store import SessionInfo, Store

# Clients start a session's agents within this time of each other, and all of them ask the same server.
_TOGETHER: Final = timedelta(minutes=30)
_NEWEST_MESSAGES: Final = 40
_MOST_TRIED: Final = 12
# In characters: of an id, and of the part of one that is hardly another's.
_ID: Final = 16
_LONG_ENOUGH: Final = 8


class Reference(NamedTuple):
    """A reference as an agent gives it: `m17`, or `my-session#m17` for one of another session."""

    session: str | None
    message: str


class Target(NamedTuple):
    """A session, and how it was found."""

    info: SessionInfo
    how: str


def parse_reference(given: str) -> Reference:
    """A reference in its parts; names of sessions may have a # in them, names of messages have none."""
    session, mark, message = given.strip().rpartition("#")
    return Reference(session or None, message) if mark else Reference(None, given.strip())


def find_target(store: Store, *, session: str | None, project: Path | None, evidence: Collection[str] = ()) -> Target:
    """The session that is meant: the one named, the one that made the call, else the newest of the project.

    `evidence` are ids that the client sent with its question: of its session, or of the call in the model's response.
    """
    if session is not None:
        return Target(_newest_branch(store, session), "as told")
    known = store.sessions()
    if not known:
        raise UnknownReferenceError(f"store {store} has no session yet; ask again when something was recorded")
    of_project = [info for info in known if project is not None and _is_of(info, project)]
    candidates = of_project or known
    newest = candidates[0].last_activity_at
    live = [info for info in candidates if newest - info.last_activity_at <= _TOGETHER][:_MOST_TRIED]
    asking = next((info for info in live if _asks(store, info, evidence)), None) if evidence else None
    if asking is not None:
        return Target(asking, "it asked")
    return Target(candidates[0], "the newest of this project" if of_project else "the newest of all")


def project_of(info: SessionInfo) -> str:
    """The folder that a session was in, if it is known."""
    return info.tags.get("cwd") or info.tags.get("project") or ""


def _newest_branch(store: Store, session: str) -> SessionInfo:
    """A session by its id, or the branch of it that was used last."""
    branches = [info for info in store.sessions() if info.session_id.startswith(f"{session}~")]
    found = store.find(session)
    if found is None and not branches:
        # The error names those that are spelt alike.
        return store.session(session)
    return max([*branches, *([found] if found is not None else [])], key=lambda info: info.last_activity_at)


def _is_of(info: SessionInfo, project: Path) -> bool:
    folder = project_of(info)
    return bool(folder) and (Path(folder) == project or project in Path(folder).parents)


def _asks(store: Store, info: SessionInfo, evidence: Collection[str]) -> bool:
    """Whether a session is one that the client names, or made the call that asks."""
    # A gateway names a session after the beginning of the agent's own id.
    named = [part for part in re.split(r"[-~]", info.session_id) if len(part) >= _LONG_ENOUGH]
    if any(one in info.tags.values() or one.startswith(tuple(named)) for one in evidence if len(one) >= _ID):
        return True
    return any(id in evidence for id in _newest_calls(store, info))


def _newest_calls(store: Store, info: SessionInfo) -> Iterator[str]:
    first = max(0, info.messages - _NEWEST_MESSAGES)
    for message in store.reader(info).readable(range(first, info.messages)).values():
        yield from (call.id for call in message.calls)
