"""aider: the Markdown that it keeps of its chats (`.aider.chat.history.md`).

- Each chat is a session `<folder>/<number>`, or `<file>/<number>` if the file has another name, unless nothing was said
  in it; what stands before the first heading is number 0.
- The user's lines begin with `####`, what aider said with `>`; both end with two spaces, which tells them from
  headings and quotes of the model. Output of several lines has these marks at its beginning and end only.
- What aider said is a user message with `program` in its meta. So is plain text before the user's first words, unless
  tokens are reported for it: several aiders may write to one file at once.
- The tokens that aider reports after a response are its usage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from foveate.importers.completions import program_message
from foveate.importers.entries import Entry, Opening, Spoken, Usage, answered, usage_of
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Recorded, moment
from foveate.log.messages import Message, Text
from foveate.log.text import encodable

NAME: Final = "aider"
_HEADING: Final = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_MODEL: Final = re.compile(r"> (?:Main model|Models?): (\S+) with ")
_TOKENS: Final = re.compile(
    r"> Tokens: (?P<sent>[\d.,]+k?) sent"
    r"(?:, (?P<written>[\d.,]+k?) cache write)?(?:, (?P<cached>[\d.,]+k?) cache hit)?"
    r"(?:, (?P<received>[\d.,]+k?) received)?"
)
_BREAK: Final = "  "

Side = Literal["user", "program", "assistant"]


def recognises(head: Head) -> bool:
    """Whether a log is a chat history of aider."""
    return not head.records and any(_HEADING.fullmatch(line) for line in head.text.split("\n"))


def read(log: Recorded) -> Iterator[Entry]:
    """The chats of a history."""
    chat = _Chat(session=f"{log.stem}/0")
    chats = 0
    for number, line in log.lines():
        heading = _HEADING.fullmatch(line) if line.startswith("# aider") else None
        if heading is None:
            yield from chat.take(number, line)
            continue
        yield from chat.close()
        chats += 1
        chat = _Chat(session=f"{log.stem}/{chats}", marked=chat.marked, started=heading[1])
    yield from chat.close()


AIDER: Final = Importer(
    name=NAME, title="aider chat history (.aider.chat.history.md)", recognises=recognises, read=read
)


@dataclass(slots=True)
class _Chat:
    """One chat as its lines come by."""

    session: str
    # Whether lines still end as aider wrote them: editors take spaces away.
    marked: bool = False
    started: str | None = None
    side: Side = "program"
    lines: list[str] = field(default_factory=list)
    start: int = 0
    opened: bool = False
    said: bool = False
    # Whether the user has spoken, and whether aider has not come to the end of what it says.
    asked: bool = False
    unfinished: bool = False
    # A response waits for the usage that may follow it.
    response: Spoken | None = None

    def take(self, number: int, line: str) -> Iterator[Entry]:
        continued = self.unfinished
        side = self._side(line)
        if side == "program" and not continued:
            model, tokens = _MODEL.match(line), _TOKENS.match(line)
            if model is not None:
                if self.side != "program":
                    yield from self._turn(side)
                yield from self._waited()
                yield from self._open()
                yield Opening(session=self.session, model=encodable(model[1]))
            if tokens is not None and self.side == "assistant":
                self.asked = True
                yield from self._turn(side)
            if tokens is not None and self.side == "program":
                self._count(tokens)
        # A blank line ends what a user says: commands stand one after the other.
        ended = self.side == "user" and not line.strip()
        if side != self.side or ended:
            yield from self._turn(side)
        if not self.lines:
            self.start = number
        if line.strip() or self.lines:
            self.lines.append(_continued(line) if continued and side == "program" else _stripped(line, side))

    def close(self) -> Iterator[Entry]:
        """What was said last."""
        yield from self._turn("program")
        yield from self._waited()

    def _waited(self) -> Iterator[Entry]:
        if self.response is not None:
            yield self.response
            self.response = None

    def _side(self, line: str) -> Side:
        """Who says a line."""
        self.marked = self.marked or (line.startswith(("#### ", "> ")) and line.endswith(_BREAK))
        finished = line.endswith(_BREAK) or not self.marked
        if line.startswith("#### ") and finished:
            self.unfinished = False
            return "user"
        if self.unfinished:
            # Lines of nothing but spaces are of the output; none of them is its end.
            self.unfinished = not (line.endswith(_BREAK) and line.strip())
            return "program"
        if line.startswith("> ") or line == ">":
            if finished:
                return "program"
            if self.side != "assistant" or not any(map(str.strip, self.lines)):
                self.unfinished = True
                return "program"
        if not line.strip():
            return self.side
        return "assistant"

    def _open(self) -> Iterator[Entry]:
        if not self.opened:
            self.opened = True
            yield Opening(session=self.session, tags={"started": self.started} if self.started is not None else {})

    def _turn(self, side: Side) -> Iterator[Entry]:
        """Say what has been collected; the next lines are of another side."""
        text = "\n".join(self.lines).strip("\n")
        said = self.side if self.asked or self.side == "user" else "program"
        if text.strip():
            yield from self._open()
            # Only when a chat began is known.
            time = moment(self.started) if not self.said else None
            self.said = True
            spoken = Spoken(session=self.session, message=_message(said, text), time=time, line=self.start)
            yield from self._waited()
            if said == "assistant":
                self.response = spoken
            else:
                yield spoken
        self.asked = self.asked or side == "user"
        self.side, self.lines = side, []

    def _count(self, tokens: re.Match[str]) -> None:
        sent = _number(tokens["sent"])
        if self.response is not None and sent is not None and usage_of(self.response.message) is None:
            cached, written = _number(tokens["cached"]), _number(tokens["written"])
            usage = Usage(
                input_tokens=max(sent, cached or 0),
                cached_tokens=cached,
                written_tokens=written,
                output_tokens=_number(tokens["received"]),
            )
            self.response = Spoken(
                session=self.session,
                message=answered(self.response.message, usage=usage),
                time=self.response.time,
                line=self.response.line,
            )


def _continued(line: str) -> str:
    """A line of output behind its first, which is as it was put out."""
    return line.removesuffix(_BREAK) if line.strip() else line


def _stripped(line: str, side: Side) -> str:
    match side:
        case "user":
            return line.removesuffix(_BREAK).removeprefix("####").removeprefix(" ")
        case "program":
            said = line.removesuffix(_BREAK)
            return said[1:].removeprefix(" ") if said.startswith(">") else said
        case "assistant":
            return line


def _message(side: Side, text: str) -> Message:
    if side == "program":
        return program_message(text)
    return Message(id="", role=side, parts=(Text(text=encodable(text)),))


def _number(text: str | None) -> int | None:
    """A count as aider writes it: 5,244 or 12k."""
    if text is None:
        return None
    digits = text.replace(",", "")
    try:
        return int(float(digits.removesuffix("k")) * (1000 if digits.endswith("k") else 1))
    except (ValueError, OverflowError):
        return None
