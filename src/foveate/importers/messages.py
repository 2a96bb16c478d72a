"""Plain messages: a JSON list, JSON lines, or whole requests, in any wire format.

A list is one session. So is a request (`messages`, `contents` or `input`) with its framing, and the `response` beside
it; of several, one per line, the first is called like the file, others `<file>/<number>`. A leading system message is
the system prompt.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from foveate.importers.completions import framed, messages_of, response_of, tools_in
from foveate.importers.decoding import name_in
from foveate.importers.entries import Entry, Opening, Spoken
from foveate.importers.importer import Head, Importer
from foveate.importers.reading import Record, Recorded, moment
from foveate.importers.shape import is_lines
from foveate.log.text import encodable
from foveate.wire.formats import FORMATS

NAME: Final = "messages"
_LISTS: Final = ("messages", "contents", "input")
_SYSTEMS: Final = ("system", "instructions", "systemInstruction", "system_instruction")
_LOOKED_AT: Final = 20


def recognises(head: Head) -> bool:
    """Whether a log holds messages, or requests made of them."""
    if isinstance(head.document, list):
        return all(_is_message(raw) for raw in head.document[:_LOOKED_AT])
    records = [head.document] if isinstance(head.document, dict) else list(head.records[:_LOOKED_AT])
    return bool(records) and (all(map(_is_message, records)) or all(map(_is_request, records)))


def read(log: Recorded) -> Iterator[Entry]:
    """The sessions of a log."""
    if is_lines(log):
        yield from _lines(log)
        return
    match log.document():
        case list() as raws:
            yield from _session(log, log.stem, {"messages": raws}, 0)
        case dict() as record if _is_request(record):
            yield from _session(log, log.stem, record, 0)
        case dict() as record:
            yield from _session(log, log.stem, {"messages": [record]}, 0)
        case other:
            log.fail(0, f"expected messages, or a request with {_known()}, got {other!r:.80}")


MESSAGES: Final = Importer(
    name=NAME, title="messages or requests of any provider (.json, .jsonl)", recognises=recognises, read=read
)


def _lines(log: Recorded) -> Iterator[Entry]:
    records = log.records()
    first = list(islice(records, 1))
    if not first or not _is_request(first[0][1]):
        yield from _stream(log, chain(first, records))
        return
    for number, (line, record) in enumerate(chain(first, records), start=1):
        if _is_request(record):
            # More may come later, so the first cannot be named by how many there are.
            yield from _session(log, log.stem if number == 1 else f"{log.stem}/{number}", record, line)
        else:
            log.skip(line, f"expected a request with {_known()}, got {record!r:.80}")


def _stream(log: Recorded, records: Iterator[tuple[int, Record]]) -> Iterator[Entry]:
    """Messages one per line; those that do not stand alone are decoded together."""
    run: list[Record] = []
    start = 0
    opened = False
    for line, record in records:
        if run and _stands_alone(run[-1]) and _stands_alone(record):
            yield from _said(log, run, start, opened=opened)
            run, opened = [], True
        if not run:
            start = line
        run.append(record)
    if run:
        yield from _said(log, run, start, opened=opened)


def _stands_alone(record: Record) -> bool:
    """Whether a message says all of itself, as those of OpenAI chat and Anthropic do."""
    return "role" in record and "type" not in record and ("content" in record or "tool_calls" in record)


def _said(log: Recorded, run: list[Record], line: int, *, opened: bool) -> Iterator[Entry]:
    messages = messages_of(log, run, line)
    if not opened:
        system, messages = framed(messages)
        yield Opening(session=log.stem, system=system)
    for message in messages:
        yield Spoken(session=log.stem, message=message, line=line)


def _session(log: Recorded, session: str, request: Record, line: int) -> Iterator[Entry]:
    raws = next((request[key] for key in _LISTS if isinstance(request.get(key), list)), request.get("input", []))
    messages = messages_of(log, [{"role": "user", "content": raws}] if isinstance(raws, str) else raws, line)
    system = next((text for key in _SYSTEMS if (text := _text(request.get(key)))), None)
    if system is None:
        system, messages = framed(messages)
    response = request.get("response")
    answer = response_of(log, response, line) if isinstance(response, dict) else None
    model = name_in(request, "model")
    tools = tools_in(log, request.get("tools"), line)
    yield Opening(session=session, system=system, tools=tools, model=model)
    for message in messages:
        yield Spoken(session=session, message=message, line=line)
    if answer is not None:
        time = moment(response.get("created")) if isinstance(response, dict) else None
        yield Spoken(session=session, message=answer, time=time, line=line)


def _is_request(record: object) -> bool:
    match record:
        case {"messages": list() as raws} | {"contents": list() as raws} | {"input": list() as raws}:
            return all(_is_message(raw) for raw in raws[:_LOOKED_AT])
        case {"input": str(), "model": str()}:
            return True
        case _:
            return False


def _is_message(raw: object) -> bool:
    match raw:
        case {"role": str(), "content": _} | {"role": str(), "parts": _} | {"role": "tool"}:
            # Also a role that nobody knows: the error should name it.
            return True
        case {"role": "assistant", "tool_calls": list()}:
            return True
        case dict():
            return any(format.recognises(raw) for format in FORMATS.values())
        case _:
            return False


def _text(value: object) -> str | None:
    """A system prompt as any provider writes it."""
    match value:
        case str():
            return encodable(value)
        case {"parts": list() as blocks} | (list() as blocks):
            texts = [
                block["text"] for block in blocks if isinstance(block, dict) and name_in(block, "text") is not None
            ]
            return encodable("\n".join(texts)) if texts else None
        case _:
            return None


def _known() -> str:
    return ", ".join(f"`{key}`" for key in _LISTS)
