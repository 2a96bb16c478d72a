"""Kept outputs: what a step gave when it was carried out last, and whether that is still good."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

import msgspec

from foveate.log.events import Event, WorkRecorded
from foveate.log.sections import ContextSection
from foveate.scripts.dates import day_of, week_of
from foveate.scripts.script import Cache, Script
from foveate.store import SessionInfo, Store

_CHUNK: Final = 100
_OUTPUT: Final = "Output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An output of a step: what it was made from, by a hash, when, and the files it was written to."""

    text: str
    key: str
    made: float | None
    files: tuple[str, ...] = ()

    def is_good(self, key: str, cache: Cache | None, now: float, week_start: int = 0) -> bool:
        """Whether it may be used again for what has this key."""
        if cache is None or key != self.key:
            return False
        if cache == "session":
            return True
        if self.made is None or self.made > now:
            # Made in the future: a clock was wrong, and nobody knows which.
            return False
        match cache:
            case "daily":
                return day_of(self.made) == day_of(now)
            case "weekly":
                return week_of(day_of(self.made), week_start) == week_of(day_of(now), week_start)
            case int():
                return now - self.made < cache
            case _:
                assert_never(cache)


def key_of(*made_from: Any) -> str:
    """A hash of what an output is made from."""
    return hashlib.sha256(msgspec.json.encode(made_from)).hexdigest()


def executed(step: str, text: str, key: str) -> WorkRecorded:
    """The event of an answer."""
    output = ContextSection(name=_OUTPUT, content=text)
    return WorkRecorded(step="executed", task_id=step, payload={"key": key}, texts=(output,))


def finished(step: str, files: Sequence[str], *, reason: str | None = None) -> WorkRecorded:
    """The event of a step whose outputs are where they belong; with a `reason`, of one that failed."""
    payload: dict[str, Any] = {"files": list(files)}
    if reason is None:
        return WorkRecorded(step="finished", task_id=step, payload=payload)
    return WorkRecorded(step="failed", task_id=step, payload={**payload, "reason": reason})


def kept_output(store: Store, session_id: str) -> Kept | None:
    """The newest output in a session."""
    info = store.find(session_id)
    files: list[str] = []
    for event in _backwards(store, info) if info is not None else ():
        body = event.body
        if not isinstance(body, WorkRecorded):
            continue
        if body.step != "executed":
            files += [one for one in body.payload.get("files", ()) if isinstance(one, str)]
            continue
        text = next((one.content for one in body.texts if one.name == _OUTPUT), "")
        key = str(body.payload.get("key", ""))
        return Kept(text=text, key=key, made=event.time, files=tuple(dict.fromkeys(files))) if text else None
    return None


def lasting_variables(store: Store, script: Script) -> dict[str, str]:
    """What a run begins with: the variables that last, each as it was given most recently."""
    newest: dict[str, Kept] = {}
    for step in script.steps:
        names = {one.name for one in step.outputs if one.kind == "variable"} & script.lasting
        kept = kept_output(store, script.session_of(step)) if names else None
        if kept is None:
            continue
        newest |= {name: kept for name in names if name not in newest or _moment(newest[name]) <= _moment(kept)}
    return {name: kept.text for name, kept in newest.items()}


def _moment(kept: Kept) -> float:
    return kept.made if kept.made is not None else 0.0


def _backwards(store: Store, info: SessionInfo) -> Iterator[Event]:
    reader, end = store.reader(info), info.events
    while end > 0:
        first = max(0, end - _CHUNK)
        yield from reversed(list(reader.events(first, end)))
        end = first
