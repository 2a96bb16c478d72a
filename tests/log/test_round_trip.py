"""Whatever is recorded is read back as it was."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from foveate.log.codec import decode_event, dump_events, encode_event, load_events
from foveate.log.events import (
    SCHEMA_VERSION,
    CallRecorded,
    DiagnosticRecorded,
    Event,
    FramingSet,
    HandoffIngested,
    Kept,
    MessageAppended,
    Pinned,
    Placed,
    RecallRecorded,
    ReductionRecorded,
    SummaryRecorded,
    UsageReported,
)
from foveate.log.items import Item, Line
from foveate.log.messages import Media, Message, MessageMeta, Text, Thinking, ToolCall, ToolResult
from foveate.log.sections import ContextSection

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
counts = st.integers(0, 2**40)
data = st.dictionaries(words, st.none() | st.booleans() | counts | words | st.lists(words, max_size=3), max_size=3)
media = st.builds(Media, kind=st.sampled_from(["image", "file", "audio"]), reference=words, extra=data)
parts = st.one_of(
    st.builds(Text, text=words, extra=data),
    st.builds(ToolCall, id=words, name=words, arguments=words, extra=data),
    st.builds(ToolResult, call_id=words, text=words, media=st.tuples(media) | st.just(())),
    st.builds(Thinking, text=words, signature=st.none() | words),
    media,
)
metas = st.builds(
    MessageMeta,
    origin=st.sampled_from(["user", "assistant", "tool_call", "tool_result", "summary", "system", "error"]),
    turn=counts,
    tool_name=st.none() | words,
    pinned=st.booleans(),
    outcome=st.sampled_from([None, "ok", "error", "denied", "interrupted"]),
    reads=st.lists(words, max_size=2).map(tuple),
    extra=data,
)
messages = st.builds(
    Message,
    id=words,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    parts=st.lists(parts, max_size=3).map(tuple),
    meta=metas,
    extra=data,
)
lines = st.builds(Line, kind=st.sampled_from(["user", "step", "evidence", "ledger"]), text=words, source=words)
items = st.builds(
    Item,
    id=words,
    message=messages,
    tokens=counts,
    order=counts,
    group=words,
    covers=st.lists(st.tuples(counts, counts), max_size=2).map(tuple),
    lines=st.lists(lines, max_size=2).map(tuple),
)
bodies = st.one_of(
    st.builds(MessageAppended, message=messages),
    st.builds(FramingSet, system=st.none() | words, tools=st.lists(data, max_size=2).map(tuple)),
    st.builds(Pinned, message_id=words),
    st.builds(UsageReported, call=counts, input_tokens=counts, cached_tokens=st.none() | counts),
    st.builds(SummaryRecorded, text=words, through=counts, summarizer=words, tokens=counts),
    st.builds(
        SummaryRecorded,
        text=words,
        through=counts,
        summarizer=words,
        tokens=counts,
        raw=words,
        by_rules=st.booleans(),
        turn=counts,
        call=counts,
        budget=counts,
        prompt=words,
        inputs=st.dictionaries(words, counts, max_size=2),
    ),
    st.builds(
        RecallRecorded,
        anchor=words,
        item=items.map(lambda item: msgspec.structs.replace(item, anchor="m1")),
        references=st.lists(words, max_size=2).map(tuple),
    ),
    st.builds(HandoffIngested, payload=data),
    st.builds(DiagnosticRecorded, code=words, phase=words, text=words),
    st.builds(
        CallRecorded,
        number=counts,
        strategy=words,
        budget=st.none() | counts,
        tokens=counts,
        predicted_cached=counts,
        payload_sha256=words,
        now=st.none() | st.floats(allow_nan=False, allow_infinity=False),
        sections=st.lists(st.builds(ContextSection, name=words, content=words), max_size=2).map(tuple),
    ),
    st.builds(
        ReductionRecorded,
        number=counts,
        trigger=st.sampled_from(["must", "free", "pays", "asked", "capped"]),
        reason=words,
        passes=st.lists(words, max_size=2).map(tuple),
        layout=st.lists(st.builds(Kept, id=words) | st.builds(Placed, item=items), max_size=3).map(tuple),
        last=words,
        before=counts,
        after=counts,
    ),
)
events = st.builds(Event, session=words, seq=counts, body=bodies, time=st.none() | st.integers(0, 2**31).map(float))


@given(events)
def test_every_event_survives_the_round_trip(event: Event) -> None:
    """Encoded and decoded it is equal, and its bytes are the same again."""
    line = encode_event(event)
    assert decode_event(line) == event
    assert encode_event(decode_event(line)) == line


@given(st.lists(events, max_size=5))
def test_a_log_survives_as_lines(log: list[Event]) -> None:
    """One event a line, in order."""
    assert list(load_events(dump_events(log))) == log


@given(messages)
def test_an_older_payload_is_brought_up_to_date(message: Message) -> None:
    """An upcast for each version in between is applied, oldest first."""
    current = encode_event(Event(session="s", seq=0, body=MessageAppended(message=message)))
    older = current.replace(b'"session":"s"', b'"sitting":"s","version":%d' % (SCHEMA_VERSION - 1), 1)

    def renamed(raw: dict[str, object]) -> dict[str, object]:
        return {"session" if key == "sitting" else key: value for key, value in raw.items()}

    event = decode_event(older, upcasts={SCHEMA_VERSION - 1: renamed})
    assert event.session == "s"
    assert event.version == SCHEMA_VERSION
    assert event.body == MessageAppended(message=message)
