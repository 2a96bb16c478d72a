"""Partial reading: some fields of stored events, derived from the events themselves."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec
import pytest

import foveate
from foveate.log import codec
from foveate.log.events import Body, CallRecorded, Kept, MessageAppended, Placed, ReductionRecorded
from foveate.log.items import Item, Line
from foveate.log.messages import Message, MessageMeta, Text
from foveate.log.partial import PartialReader, decode_stored_body

encode = msgspec.json.encode
LAYOUT = PartialReader(
    ReductionRecorded,
    {ReductionRecorded: ("layout", "last"), Placed: ("item",), Item: ("id", "fate", "lines"), Line: ("source",)},
)


def reduction() -> ReductionRecorded:
    message = Message(id="d1", role="user", parts=(Text(text="a long digest"),))
    line = Line(kind="user", text="what was asked", source="m1")
    item = Item(id="d1", message=message, tokens=9, order=0, group="d1", fate="folded", lines=(line,))
    return ReductionRecorded(
        number=1, trigger="must", reason="full", passes=("fold",), layout=(Placed(item=item), Kept(id="m7")),
        last="m7", before=90, after=9,
    )  # fmt: skip


def test_only_what_is_named_is_read() -> None:
    """Nested structs are narrowed, others are the classes that they are, and what was not asked for is not there."""
    found = LAYOUT.read(encode(reduction()))
    placed, kept = found.layout

    assert (found.last, kept) == ("m7", Kept(id="m7"))
    assert isinstance(placed, Placed) is False
    assert placed.item.id == "d1"  # type: ignore[union-attr]
    assert placed.item.fate == "folded"  # type: ignore[union-attr]
    assert [line.source for line in placed.item.lines] == ["m1"]  # type: ignore[union-attr]
    with pytest.raises(AttributeError):
        _ = found.reason
    with pytest.raises(AttributeError):
        _ = placed.item.message  # type: ignore[union-attr]


def test_defaults_are_those_of_the_event() -> None:
    reader = PartialReader(MessageAppended, {MessageAppended: ("message",), Message: ("id", "meta")})
    found = reader.read(encode(MessageAppended(message=Message(id="m1", role="user"))))

    assert (found.message.id, found.message.meta) == ("m1", MessageMeta())


def test_a_field_that_an_event_does_not_have_is_an_error_at_once() -> None:
    """A reader is made when its module is imported: a field that was renamed is found by the first test."""
    with pytest.raises(TypeError, match=r"CallRecorded has no field 'tokens_sent'; it has number, strategy"):
        PartialReader(CallRecorded, {CallRecorded: ("number", "tokens_sent")})


def test_a_record_of_another_kind_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        LAYOUT.read(encode(MessageAppended(message=Message(id="m1", role="user"))))


def test_a_record_of_an_older_version_is_upcast(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a later version renamed is read by its new name, as everywhere."""

    def renamed(event: dict[str, object]) -> dict[str, object]:
        body = dict(event["body"])  # type: ignore[call-overload]
        body["last"] = body.pop("end")
        return {**event, "body": body}

    monkeypatch.setitem(codec.UPCASTS, 0, renamed)
    old = {**msgspec.to_builtins(reduction()), "end": "m9"}
    del old["last"]
    found = LAYOUT.read(encode(old), 0)

    assert (found.last, [one.source for one in found.layout[0].item.lines]) == ("m9", ["m1"])  # type: ignore[union-attr]
    assert decode_stored_body(encode(old), 0) == msgspec.structs.replace(reduction(), last="m9")


def test_no_event_is_declared_twice() -> None:
    """A struct with the tag of an event, outside of the log, would be read without upcasts."""
    tags = {str(kind.__struct_config__.tag) for kind in (*Body.__args__, Kept, Placed)}
    root = Path(foveate.__file__).parent
    twice = [
        f"{path.relative_to(root)}: {node.name}"
        for path in root.rglob("*.py")
        if path.parent.name != "log"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        for keyword in node.keywords
        if keyword.arg == "tag" and isinstance(keyword.value, ast.Constant) and keyword.value.value in tags
    ]

    assert twice == []
