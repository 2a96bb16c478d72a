"""The transcript: the whole conversation as Markdown for people, whatever requests showed of it.

What somebody said stands in a block quote, line by line. A quote ends where its lines end: a heading, a rule or a fence
that nobody closed stays in it, and what is not quoted was written by Foveate. Only a tag could reach out of a quote, so
`<` is escaped where it may begin one and is not code for certain. Tool traffic is folded, behind fences longer than any
in it.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from io import BufferedRandom
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from foveate.compile.ledger import error_line
from foveate.errors import ConfigError
from foveate.log.context import AgentContext
from foveate.log.events import Body, DiagnosticRecorded, Event, ExecutionStarted, FramingSet, MessageAppended
from foveate.log.messages import Media, Message, MessageMeta, Opaque, Text, Thinking, ToolCall, ToolResult
from foveate.log.semantics import parsed_arguments, recorded_semantics, understood
from foveate.log.text import encodable
from foveate.private_files import create_private_file, make_private_folder
from foveate.recall.readable import readable_call
from foveate.session.quoting import quoted
from foveate.wire.opaque import readable_opaque

# In characters: of a longer output the beginning and the end are shown.
_LONGEST: Final = 10_000
_HEAD: Final = 6_500
_TAIL: Final = 3_000
_SUMMARY: Final = 100
_PATH: Final = 70
# Calls that still may be answered; one that never is must not be kept for ever.
_OPEN_CALLS: Final = 1_000


def transcript_text(events: Iterable[Event]) -> str:
    """The conversation of a log, as a `TranscriptFile` writes it while it happens."""
    return "".join(map(Transcript().chunk, events))


class Transcript:
    """Turns events into Markdown, one after the other; what was said of the earlier ones never changes."""

    def __init__(self) -> None:
        self._begun = False
        self._said = False
        self._speaker = ""
        self._system: str | None = None
        self._calls: dict[str, str] = {}

    def chunk(self, event: Event) -> str:
        """What an event adds to the page; nothing for most that are no message."""
        blocks = list(self._blocks(event.body, event.time))
        if not self._begun:
            self._begun = True
            blocks.insert(0, _HEADER.format(session=_code(event.session)))
        return encodable("".join(f"{block}\n\n" for block in blocks)).replace("\0", "\ufffd")

    def _blocks(self, body: Body, time: float | None) -> Iterator[str]:
        match body:
            case MessageAppended(message=message):
                yield from self._message(message, time)
            case ExecutionStarted() if self._said:
                self._speaker = ""
                yield "---"
            case FramingSet(system=str() as system) if system != self._system:
                self._system = system
                yield _folded(f"System prompt ({_size(system)})", quoted(system))
            case _:
                return

    def _message(self, message: Message, time: float | None) -> Iterator[str]:
        if message.role == "system":
            yield _folded(f"System message ({_size(message.text)})", quoted(message.text))
            return
        self._said = True
        speaker = "You" if message.role == "user" else "Assistant"
        if speaker != self._speaker or speaker == "You":
            self._speaker = speaker
            yield f"## {speaker}{_moment(time)}"
        for part in message.parts:
            match part:
                case Text(text=text) if text.strip():
                    yield quoted(text)
                case Thinking(text=text) if text.strip():
                    yield _folded(f"Thinking ({_size(text)})", quoted(text))
                case Media() | Opaque():
                    yield _named(part)
                case ToolCall():
                    yield self._call(part, message)
                case ToolResult():
                    yield self._result(part, message)
                case _:
                    continue

    def _call(self, call: ToolCall, message: Message) -> str:
        label = self._calls[call.id] = _label(call, message.meta)
        if len(self._calls) > _OPEN_CALLS:
            del self._calls[next(iter(self._calls))]
        return _folded(f"→ {label}", _fenced(_cut(readable_call(call), message)))

    def _result(self, result: ToolResult, message: Message) -> str:
        label = self._calls.get(result.call_id) or message.meta.tool_name or "a call that is not in the log"
        outcome = message.meta.outcome or "ok"
        # What failed should be seen without unfolding it.
        problem = f": {error_line(result.text).strip('=- ')}" if outcome != "ok" and result.text.strip() else ""
        body = [_fenced(_cut(result.text, message))] if result.text.strip() else []
        body += [_named(media) for media in result.media]
        return _folded(f"← {label} ({outcome}, {_size(result.text)}){problem}", *body)


class Followed(Protocol):
    """What a transcript needs of a session."""

    @property
    def context(self) -> AgentContext:
        """An immutable snapshot of the log."""
        ...

    def subscribe(self, observer: Callable[[Event], None]) -> Callable[[], None]:
        """Call `observer` with every event from here on; returns a way to stop."""
        ...

    def note(self, *bodies: Body) -> None:
        """Append events, if they can be written."""
        ...


class _OtherError(ConfigError):
    """A file with something else in it."""


class TranscriptFile:
    """A Markdown file that follows a session: always the transcript of its log, never more, never changed.

    Every byte has one place, which follows from the log alone, and nothing is written where something else stands. So
    several processes may write the transcript of a session they share, and what failed once is made up for later. If
    somebody else writes in the file, it is left to them, and the transcript goes on beside it, whole: `talk-2.md`.
    """

    def __init__(self, path: str | Path) -> None:
        self._given = self.path = Path(path)
        self._session: Followed | None = None
        self._stop: Callable[[], None] | None = None
        # What was wrong when the file was last written to.
        self._problem: str | None = None
        self._begin()

    def __repr__(self) -> str:
        return f"TranscriptFile({str(self.path)!r})"

    def attach(self, session: Followed, *, beside: bool = False) -> None:
        """Bring the file up to date with the session's log, and keep it so.

        A file that is the beginning of the transcript is continued; any other is refused with a `ConfigError`. With
        `beside`, one that was a transcript until somebody else wrote in it is left to them, for one beside it.
        """
        if self._session is not None:
            raise ConfigError(f"{self!r} follows a session already; make another one for another session")
        self.path = self._given
        self._begin()
        self._follow(session, alone=True, beside=beside)
        self._session = session
        self._stop = session.subscribe(self._told)

    def close(self) -> None:
        """Write what is still missing, and follow no more."""
        if self._session is not None and self._stop is not None:
            self._stop()
            session, self._session, self._stop = self._session, None, None
            self._write(session.context)

    def _begin(self) -> None:
        self._page = Transcript()
        self._next = 0
        self._offset = 0
        # What comes next on the page and may not be in the file yet.
        self._pending = b""

    def _told(self, event: Event) -> None:
        if self._session is None or not isinstance(event.body, _SHOWN):
            return
        try:
            self._follow(self._session, beside=True)
        except ConfigError as error:
            # Said once: a disk that is full would otherwise be in the log after every event.
            if repr(error) != self._problem:
                self._problem = repr(error)
                self._session.note(_noted("transcript_failed", f"{error}", self.path))
        else:
            self._problem = None

    def _follow(self, session: Followed, *, alone: bool = False, beside: bool) -> None:
        before = self.path
        while True:
            try:
                is_new = not self.path.exists()
                self._write(session.context, alone=alone)
            except _OtherError:
                # What was a transcript is one at its beginning at least; any other file is not ours to leave.
                if not beside or not (self._offset or self.path != self._given):
                    raise
                self.path = next_to(self._given, self.path)
                self._begin()
            else:
                break
        if is_new and self.path != before:
            text = f"somebody else wrote in it, and it was left as it is; the transcript goes on in {str(self.path)!r}"
            session.note(_noted("transcript_moved", text, before))

    def _write(self, context: AgentContext, *, alone: bool = False) -> None:
        try:
            with self._opened() as file:
                self._continue(file, context)
                if alone and file.read(1):
                    raise self._other("longer than the transcript of this session")
        except OSError as error:
            raise ConfigError(f"the transcript {str(self.path)!r} cannot be written: {error}") from error

    def _continue(self, file: BufferedRandom, context: AgentContext) -> None:
        if file.seek(0, os.SEEK_END) < self._offset:
            # It was removed or emptied.
            self._begin()
        file.seek(self._offset)
        self._put(file)
        for event in context.log.events(self._next, context.length):
            self._pending = self._page.chunk(event).encode()
            self._next += 1
            self._put(file)

    def _put(self, file: BufferedRandom) -> None:
        if not self._pending:
            return
        there = file.read(len(self._pending))
        if not self._pending.startswith(there):
            raise self._other(f"something else from byte {self._offset} on")
        if len(there) < len(self._pending):
            file.seek(self._offset)
            file.write(self._pending)
            file.flush()
        self._offset += len(self._pending)
        self._pending = b""

    def _opened(self) -> BufferedRandom:
        try:
            return self.path.open("r+b")
        except FileNotFoundError:
            make_private_folder(self.path.parent)
            return create_private_file(self.path)

    def _other(self, what: str) -> ConfigError:
        return _OtherError(
            f"{str(self.path)!r} is not the transcript of this session: it is {what}; it was left as it is, "
            "move it away or give another path"
        )


def next_to(given: Path, path: Path) -> Path:
    """The file after `path` of those that a transcript may be in: talk.md, talk-2.md, talk-3.md and so on."""
    number = 2 if path == given else int(path.stem.rpartition("-")[2]) + 1
    return given.with_name(f"{given.stem}-{number}{given.suffix}")


def newest(given: Path, session_id: str) -> Path:
    """The file that the transcript of a session is in: the last one, if somebody else wrote in those before it."""
    title, found = f"# Session {_code(session_id)}\n".encode(), given
    path = given
    while (path := next_to(given, path)).exists():
        with path.open("rb") as file:
            # Another session may have this name.
            found = path if file.read(len(title)) == title else found
    return found


def _noted(code: str, text: str, path: Path) -> DiagnosticRecorded:
    return DiagnosticRecorded(code=code, phase="transcript", text=encodable(text), subject=encodable(str(path)))


_SHOWN: Final = (MessageAppended, ExecutionStarted, FramingSet)
_HEADER: Final = (
    "# Session {session}\n\n"
    "Everything that was said, in order. What is quoted was said, word for word. A click unfolds what was done in "
    "between: a tool call (→), its result (←), thinking."
)


def _moment(time: float | None) -> str:
    try:
        return f" · {datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC" if time is not None else ""
    except (ValueError, OverflowError, OSError):
        return ""


def _label(call: ToolCall, meta: MessageMeta) -> str:
    """A call in a few words: the tool, and what it is about."""
    safe = msgspec.structs.replace(call, name=encodable(call.name), arguments=encodable(call.arguments))
    arguments = parsed_arguments(safe)
    semantics = recorded_semantics(call.name, meta)
    # What its own declaration names says most of a tool.
    own = semantics.resource if semantics is not None and call.name in meta.declared else ()
    found = {name: _plain(arguments[name]) for name in (*own, *_TELLING) if arguments.get(name)}
    touched, _, access = understood(safe, {safe.name: semantics} if semantics is not None else {})
    if access == "patch" and touched.writes:
        about = ", ".join(touched.writes)
    elif "pattern" in found and "path" in found:
        about = f"{found['pattern']} in {found['path']}"
    else:
        small = (value for value in arguments.values() if isinstance(value, str | int | float))
        about = _plain(next(iter(found.values()), next(small, "")))
    if len(about) > _PATH and "/" in about[-_PATH:] and not re.search(r"\s", about):
        # The end of a path says more than its beginning.
        about = f"…{about[about.index('/', len(about) - _PATH) :]}"
    return _one_line(f"{safe.name} {about}", _SUMMARY)


_TELLING: Final = ("command", "cmd", "file_path", "path", "notebook_path", "url", "pattern", "query", "description")


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _named(media: Media | Opaque) -> str:
    """An image or a file by its name or address; one that is given as its bytes by their kind and size."""
    if isinstance(media, Opaque):
        return f"*opaque:* {_code(_one_line(readable_opaque(media.raw), 200))}"
    nested = media.extra.get(media.kind)
    name = nested.get("filename") if isinstance(nested, dict) else None
    match = re.match(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,100},", media.reference)
    if match is not None:
        name = name or f"{match.group(1) or 'data'}, {(len(media.reference) - match.end()) * 3 // 4 / 1e3:,.0f} KB"
    return f"*{media.kind}:* {_code(_one_line(str(name or media.reference), 200))}"


def _size(text: str) -> str:
    lines = text.count("\n") + (not text.endswith("\n"))
    if not text.strip():
        return "empty"
    return f"{lines:,} lines" if lines > 1 else "1 line" if len(text) < 1_000 else f"{len(text):,} characters"


def _cut(text: str, message: Message) -> str:
    if len(text) <= _LONGEST:
        return text
    head, tail = text[:_HEAD], text[-_TAIL:]
    # Between two lines, unless they are very long.
    head = head[: head.rfind("\n") + 1] if "\n" in head[-500:] else head + "\n"
    tail = tail[tail.find("\n") :] if "\n" in tail[:500] else "\n" + tail
    left_out = len(text) - len(head) - len(tail)
    return f"{head}[… {left_out:,} characters left out here; message {message.id} of the log has them …]{tail}"


def _folded(summary: str, *body: str) -> str:
    shown = html.escape(_one_line(summary, 2 * _SUMMARY), quote=False)
    inside = "".join(f"{block}\n\n" for block in body)
    return f"<details><summary>{shown}</summary>\n\n{inside}</details>"


def _fenced(text: str) -> str:
    longest = max(map(len, re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def _code(text: str) -> str:
    """A code span of one line."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    space = " " if longest else ""
    return f"{'`' * (longest + 1)}{space}{_one_line(text, 300)}{space}{'`' * (longest + 1)}"


def _one_line(text: str, longest: int) -> str:
    shown = " ".join("".join(char if char.isprintable() else " " for char in text[: longest * 4]).split())
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
