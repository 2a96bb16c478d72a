"""Events: a body with its place, frozen."""

import msgspec
import pytest
from tests.dialogue import exchange, session_of, user

from foveate.log.codec import encode_event
from foveate.log.events import Event, MessageAppended, Pinned
from foveate.log.messages import MessageMeta, text_message


def test_every_event_has_session_sequence_number_and_schema_version() -> None:
    """Sequence numbers count up from 0 without gaps, whatever happened."""
    session = session_of([user("hi"), *exchange("a", "Read", "x", file_path="a.py")], session_id="task-42")
    session.pin("m1")
    session.compile(now=5.0)

    assert [event.seq for event in session.events] == list(range(len(session.events)))
    assert {event.session for event in session.events} == {"task-42"}
    assert {event.version for event in session.events} == {1}


def test_the_time_of_an_event_is_the_one_the_caller_gave() -> None:
    """There is no clock inside."""
    session = session_of([])
    session.append(user("hi"), time=12.5)
    session.append(user("again"))

    times = [event.time for event in session.events if isinstance(event.body, MessageAppended)]
    assert times == [12.5, None]


def test_events_cannot_be_changed() -> None:
    """What happened stays as it was."""
    event = Event(session="s", seq=0, body=Pinned(message_id="m1"))

    with pytest.raises(AttributeError):
        event.seq = 1  # type: ignore[misc]


def test_a_body_names_its_kind_on_the_wire() -> None:
    """Stored events are readable without the code that wrote them."""
    event = Event(
        session="s", seq=3, body=MessageAppended(message=text_message("m1", "user", "hi", MessageMeta())), time=1.0
    )

    assert msgspec.json.decode(encode_event(event)) == {
        "session": "s",
        "seq": 3,
        "body": {
            "kind": "message_appended",
            "message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}], "meta": {}},
        },
        "time": 1.0,
    }
