"""Answers: what the tools say, each in a few thousand bytes, with references to go deeper."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from foveate.errors import ConfigError, FoveateError
from foveate.inspect.fates import FatePeriod, fate_history
from foveate.log.messages import Message, MessageMeta, text_message
from foveate.log.text import counted
from foveate.lookup.history import Attempt, Touch, attempts_after, touches
from foveate.lookup.target import Target, find_target, parse_reference, project_of
from foveate.recall import excerpt
from foveate.recall.terms import Matcher, terms_of
from foveate.recall.tool import ANSWER_MARK
from foveate.store import SearchHit, SessionInfo, Store

MOST_BYTES: Final = 4_000
_HITS: Final = 8
_LOOKED_AT: Final = 60
_SHOWN_LINES: Final = 5
_LINE: Final = 160
_QUOTED: Final = 300
# Of the words of an error, by their weight: paths, numbers and names in it are others each time.
_ALIKE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Answers questions about the sessions of a store; `session` and `project` say which one is meant."""

    store: Store
    session: str | None = None
    project: Path | None = None

    def recall(
        self,
        reference: str,
        *,
        lines: tuple[int, int] | None = None,
        query: str | None = None,
        evidence: Collection[str] = (),
    ) -> str:
        """The content behind a reference, as it was recorded."""
        if reference.startswith("artifact://"):
            text = self.store.artifact(reference).text()
            message = text_message(reference, "tool", text, MessageMeta())
            return _whole(f"; {reference}", message, lines, query)
        target, position = self._located(reference, evidence)
        message = self.store.reader(target.info).message(position)
        return _whole(f"; {_place(target)}, {message.id}, {_kind(message)}", message, lines, query)

    def why(self, reference: str, *, evidence: Collection[str] = ()) -> str:
        """What became of a message in the requests after it, and why."""
        target, position = self._located(reference, evidence)
        message = self.store.reader(target.info).message(position)
        periods = fate_history(self.store, target.info, message.id, position)
        told = [_period(one) for one in periods] or ["no request was recorded after it"]
        return _answer(f"; {_place(target)}", [f"{message.id}, {_kind(message)}:", *told])

    def search(
        self, query: str, *, project: str | None = None, agent: str | None = None, since: datetime | None = None
    ) -> str:
        """The passages of all sessions that answer a query best."""
        if not query.strip():
            raise ConfigError("`query` is empty; give some words, a name or a path")
        names = None if project is None and agent is None else self._names(project, agent)
        hits = self.store.search(query, sessions=names, since=since, limit=_HITS) if names != set() else []
        if not hits:
            searched = self._searched if names is None else f"{counted(len(names), 'session')} searched"
            return _answer("", [f"nothing matches {query!r:.200}; {searched}"])
        # Of a store with thousands of sessions only those are read that have a hit.
        known = {name: self.store.session(name) for name in dict.fromkeys(hit.session_id for hit in hits)}
        blocks = [_hit(hit, known[hit.session_id], _SHOWN_LINES) for hit in hits]
        return _answer("; recall takes what stands before each passage", blocks)

    def touched(self, path: str) -> str:
        """The sessions that read or changed a file, and how that went."""
        if not path.strip():
            raise ConfigError("`path` is empty; give a file as agents name it, such as src/app.py")
        found: dict[str, list[Touch]] = {}
        for hit in self.store.search(path, limit=_LOOKED_AT):
            info = self.store.session(hit.session_id)
            for touch in touches(self.store, info, hit.message_id, path):
                if touch not in found.setdefault(info.session_id, []):
                    found[info.session_id].append(touch)
        told = [_touched(self.store.session(name), those) for name, those in found.items() if those]
        return _answer("", told or [f"no call on {path!r:.200} was found; {self._searched}"])

    def fixed(self, error: str) -> str:
        """What agents did after an error like this one, and whether it went away."""
        if not error.strip():
            raise ConfigError("`error` is empty; give the line that says what failed")
        told: list[str] = []
        is_like = _likeness(error[:2_000])
        seen: set[tuple[str, str]] = set()
        for hit in self.store.search(error[:2_000], kinds=("error",), limit=_LOOKED_AT):
            if (hit.session_id, hit.message_id) in seen or not is_like(hit.text):
                continue
            seen.add((hit.session_id, hit.message_id))
            info = self.store.session(hit.session_id)
            after = attempts_after(self.store, info, hit.message_id)
            told.append(_fixed(hit, info, after))
        # What went away says more than what nobody tried again.
        told.sort(key=lambda text: "passed again" not in text)
        return _answer("", told[:_HITS] or [f"no error like this was found; {self._searched}"])

    @property
    def _searched(self) -> str:
        return f"{counted(len(self.store.sessions()), 'session')} searched"

    def _located(self, reference: str, evidence: Collection[str]) -> tuple[Target, int]:
        asked = parse_reference(reference)
        target = find_target(self.store, session=asked.session or self.session, project=self.project, evidence=evidence)
        position = self.store.reader(target.info).position(asked.message)
        if position is None:
            raise FoveateError(
                f"no message {asked.message!r:.80} in {_place(target)}; references look like m17, and of another "
                "session like its-name#m17"
            )
        return target, position

    def _names(self, project: str | None, agent: str | None) -> set[str]:
        return {
            info.session_id
            for info in self.store.sessions()
            if (project is None or project.casefold() in f"{project_of(info)}\n{info.vault_name}".casefold())
            and (agent is None or _is_by(info, agent))
        }


# --- in words -----------------------------------------------------------------------------------------------------


def _answer(about: str, blocks: Iterable[str]) -> str:
    """Blocks of text below the line that says whose words they are, as many as there is room for."""
    written = f"{ANSWER_MARK}{about}]"
    blocks = list(blocks)
    for number, block in enumerate(blocks):
        left = len(blocks) - number
        rest = f"\n[… {left} more {'entry' if left == 1 else 'entries'}; ask more narrowly]"
        longer = f"{written}\n{block}"
        room = MOST_BYTES if number == len(blocks) - 1 else MOST_BYTES - len(rest.encode())
        if len(longer.encode()) > room:
            return written + rest if number else _cut(longer)
        written = longer
    return written


def _cut(text: str) -> str:
    return text.encode()[: MOST_BYTES - 8].decode(errors="ignore") + "\n[…]"


def _whole(about: str, message: Message, lines: tuple[int, int] | None, query: str | None) -> str:
    head = f"{ANSWER_MARK}{about}]\n"
    room = MOST_BYTES - len(head.encode())
    limit = room
    # A limit in characters is one in bytes only for plain letters.
    while len((text := excerpt(message, lines=lines, query=query, limit_chars=limit)).encode()) > room:
        limit = limit * room // len(text.encode()) - 40
        if limit < 1:
            return _cut(head + text)
    return head + text


def _place(target: Target) -> str:
    return f"session {target.info.session_id} ({target.how})"


def _kind(message: Message) -> str:
    tool = message.meta.tool_name or next((call.name for call in message.calls), "")
    named = f" {tool}" if tool else ""
    outcome = f", {message.meta.outcome}" if message.meta.outcome not in (None, "ok") else ""
    return f"{message.role}{named}{outcome}"


def _period(period: FatePeriod) -> str:
    calls = f"call {period.first}" if period.first == period.last else f"calls {period.first} to {period.last}"
    by = f" by {period.by}" if period.by else ""
    why = f": {period.why}" if period.why else ""
    return f"in {calls} {period.fate}{by}{why}"


def _hit(hit: SearchHit, info: SessionInfo, most: int) -> str:
    who = f"{hit.role} {hit.tool}" if hit.tool is not None else hit.role
    where = f", {project_of(info)}" if project_of(info) else ""
    head = f"{hit.session_id}#{hit.message_id} · {who} · {hit.time:%Y-%m-%d %H:%M}{where}"
    lines = [line.rstrip() for line in hit.text.splitlines() if line.strip()]
    shown = [f"    {line if len(line) <= _LINE else line[: _LINE - 1] + '…'}" for line in lines[:most]]
    more = [f"    … {counted(len(lines) - most, 'more line')}"] if len(lines) > most else []
    return "\n".join((head, *shown, *more))


def _touched(info: SessionInfo, found: list[Touch]) -> str:
    head = f"{info.session_id} · {info.last_activity_at:%Y-%m-%d} · {info.title[:80]}"
    newest = sorted(found, key=lambda touch: touch.position)[-6:]
    told = [
        f"    {touch.access} by {touch.tool}, {touch.outcome}: {info.session_id}#{touch.reference}" for touch in newest
    ]
    more = [f"    … {counted(len(found) - len(newest), 'earlier call')}"] if len(found) > len(newest) else []
    return "\n".join((head, *more, *told))


def _fixed(hit: SearchHit, info: SessionInfo, after: Attempt) -> str:
    error = " ".join(hit.text.split())[:_QUOTED]
    edits = [
        f"    then {edit.access} {edit.path} by {edit.tool}: {info.session_id}#{edit.reference}" for edit in after.edits
    ]
    if after.passed is not None:
        end = f"    passed again: {info.session_id}#{after.passed}"
    elif after.tries:
        end = f"    failed {counted(after.tries, 'more time')}, and did not pass in what follows"
    else:
        end = "    nobody tried the same again"
    return "\n".join((f"{info.session_id}#{hit.message_id} · {hit.time:%Y-%m-%d} · {error}", *edits, end))


def _likeness(error: str) -> Callable[[str], bool]:
    """Whether a text has most of the words of an error; that both have the word "error" says nothing."""
    terms = terms_of(error)
    matcher = Matcher(terms)
    enough = sum(term.weight for term in terms) * _ALIKE
    return lambda text: sum(term.weight for term in matcher(text)) >= enough


def _is_by(info: SessionInfo, agent: str) -> bool:
    known = "\n".join((info.session_id, info.vault_name, *info.tags.values(), str(info.metadata.get("model") or "")))
    return agent.casefold() in known.casefold()
