"""Events to bytes and back."""

import pytest
from tests.dialogue import exchange, session_of, user, work

from foveate import LogError, load_events
from foveate.log.codec import decode_event, dump_events, encode_event
from foveate.log.events import Event, Pinned, UsageReported
from foveate.log.messages import Media, Message, MessageMeta, Text, Thinking


def test_everything_a_session_records_survives_the_round_trip() -> None:
    """Messages, reductions, calls, pins and diagnostics come back as they were."""
    session = session_of(work(8), budget=4_000)
    session.compile(now=1.0)
    session.report_usage(3_000, 0)
    session.pin("m4")
    session.extend([user("看看这个文件"), *exchange("zh", "Read", "错误：文件不存在", file_path="a.py")])
    session.compile(now=2.0)

    assert tuple(load_events(session.dump())) == session.events


def test_every_kind_of_part_survives_the_round_trip() -> None:
    """Thinking with its signature and media by reference are kept."""
    session = session_of(
        [
            Message(
                id="",
                role="assistant",
                parts=(
                    Thinking(text="let me see", signature="sig"),
                    Text(text="Look:"),
                    Media(kind="image", reference="data:image/png;base64,AAAA", width=10, height=20),
                ),
                meta=MessageMeta(extra={"note": [1, None]}),
            )
        ]
    )

    assert tuple(load_events(session.dump())) == session.events


def test_events_of_an_older_schema_are_upcast_step_by_step() -> None:
    """A payload of version -1 passes through 0 to the current version."""
    line = b'{"session":"s","number":0,"body":{"type":"pinned","message_id":"m1"},"version":-1}'

    event = decode_event(
        line,
        upcasts={
            -1: lambda raw: {**{k: v for k, v in raw.items() if k != "number"}, "seq": raw["number"]},
            0: lambda raw: {**raw, "body": {"kind": raw["body"]["type"], "message_id": raw["body"]["message_id"]}},
        },
    )

    assert event == Event(session="s", seq=0, body=Pinned(message_id="m1"))


def test_a_version_from_the_future_is_refused_with_the_remedy() -> None:
    """The error says which version and what to do."""
    line = encode_event(Event(session="s", seq=0, body=Pinned(message_id="m1"), version=99))

    with pytest.raises(LogError, match=r"schema version 99.*reads up to 1.*newer Foveate"):
        decode_event(line)


def test_a_version_without_an_upcast_is_refused() -> None:
    """Nothing is guessed."""
    with pytest.raises(LogError, match="no upcast from schema version 0"):
        decode_event(b'{"session":"s","seq":0,"version":0}')


@pytest.mark.parametrize(
    "line", [b"not json", b"[1]", b'{"session":"s","seq":0,"body":{"kind":"nonsense"}}', b'{"version":"one"}', b"{}"]
)
def test_a_broken_line_is_an_error_with_its_number(line: bytes) -> None:
    """Whoever reads a damaged file is told where."""
    good = encode_event(Event(session="s", seq=0, body=UsageReported(call=1, input_tokens=5)))

    with pytest.raises(LogError, match=r"^line 3: "):
        list(load_events(b"\n".join([good, b"", line])))


def test_bytes_that_are_no_text_are_a_log_error() -> None:
    """Every damaged line is a LogError, whatever is wrong with it."""
    with pytest.raises(LogError, match=r"^line 1: "):
        list(load_events(b'{"session":"\xff","seq":0,"body":{"kind":"pinned","message_id":"m1"}}'))


def test_dumped_events_are_one_line_each() -> None:
    """Newlines inside a message do not break the format."""
    session = session_of([user("one\ntwo\r\nthree\u2028four")])

    assert len(dump_events(session.events).splitlines()) == len(session.events)
    assert tuple(load_events(session.dump())) == session.events


def test_a_lone_surrogate_can_be_stored() -> None:
    """Tools cut text in the middle of a character; that must not cost the log."""
    session = session_of([user("cut \ud83d here")])

    assert len(list(load_events(session.dump()))) == len(session.events)
