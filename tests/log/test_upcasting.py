"""Events of 0.1 told by ids, names and texts what has fields of its own by now."""

from __future__ import annotations

import msgspec

from foveate import load_events
from foveate.compile.passes.compose import HEADING
from foveate.log.codec import decode_event, encode_event
from foveate.log.events import Body, CallRecorded, Event, MessageAppended, RecallRecorded, ReductionRecorded

_MESSAGE = {"id": "m3", "role": "tool", "parts": [{"type": "result", "call_id": "c", "text": "out"}]}
_ITEM = {"id": "m3", "message": _MESSAGE, "tokens": 3, "order": 2, "group": "m2"}


def read(**body: object) -> Body:
    """The body of an event as 0.1 wrote it."""
    return decode_event(msgspec.json.encode({"session": "s", "seq": 0, "body": body})).body


def reduction(*items: dict, passes: tuple[str, ...] = ()) -> ReductionRecorded:
    placed = [{"type": "placed", "item": item} for item in items]
    body = read(
        kind="reduction_recorded", number=1, trigger="must", reason="r", passes=passes, layout=placed, last="m3",
        before=9, after=3,
    )  # fmt: skip
    assert isinstance(body, ReductionRecorded)
    return body


def test_the_step_of_a_message_is_the_number_in_its_step_id() -> None:
    """And 0 where that names none."""
    for step_id, step in (("s12", 12), ("s0", 0), ("first", 0)):
        body = read(kind="message_appended", message={**_MESSAGE, "meta": {"step_id": step_id}})
        assert isinstance(body, MessageAppended)
        assert body.message.meta.step == step


def test_what_cap_left_is_capped_and_a_carried_summary_is_carried() -> None:
    """Both stood in names and texts."""
    lines = [{"kind": "ledger", "text": "earlier summary: of it"}, {"kind": "step", "text": "earlier summary: no"}]
    capped, digest, plain = (
        entry.item  # type: ignore[union-attr]
        for entry in reduction({**_ITEM, "by": "cap"}, {**_ITEM, "lines": lines}, _ITEM).layout
    )

    assert (capped.capped, digest.capped, plain.capped) == (True, False, False)
    assert [line.carried for line in digest.lines] == [True, False]


def test_recalled_passages_name_the_input_that_they_were_found_for() -> None:
    """It was in their id."""
    body = read(kind="recall_recorded", anchor="m9", item={**_ITEM, "id": "m9.recall"}, references=[])
    assert isinstance(body, RecallRecorded)
    assert body.item.anchor == "m9"


def test_calls_name_their_policy_and_their_template() -> None:
    """Both were in the name of the strategy."""
    call = {"number": 1, "budget": None, "tokens": 1, "predicted_cached": 0, "payload_sha256": ""}
    named = []
    for strategy in ("pipeline:lean", "endless:working", "pragmatic"):
        body = read(kind="call_recorded", strategy=strategy, **call)
        assert isinstance(body, CallRecorded)
        named.append((body.policy, body.template))
    assert named == [("lean", ""), ("endless:working", "working"), ("", "")]


def test_the_pass_that_dropped_items_is_known_though_not_which_they_were() -> None:
    """Of a reduction that dropped any."""
    assert reduction(passes=("repair", "drop")).dropped == {"drop": ()}
    assert reduction(passes=("repair", "truncate")).dropped == {}


def test_an_event_that_was_read_is_written_and_read_the_same() -> None:
    """Nothing is upcast twice."""
    event = Event(session="s", seq=0, body=reduction({**_ITEM, "by": "cap"}, passes=("drop",)))
    assert [event] == list(load_events(encode_event(event)))


def test_a_compiled_summary_names_its_heading() -> None:
    """Its words are known without looking for the heading in them."""
    message = {"id": "r1.summary", "role": "system", "parts": [{"type": "text", "text": f"{HEADING}\nTopic: the hull"}]}
    composed, plain = (
        entry.item  # type: ignore[union-attr]
        for entry in reduction({**_ITEM, "message": message, "fate": "summarised"}, _ITEM).layout
    )

    assert (composed.heading, composed.words) == (HEADING, "Topic: the hull")
    assert (plain.heading, plain.words) == ("", "out")
