"""Partial reading: a few fields of a stored event, without decoding the rest of it.

Lists of calls and messages need some numbers of each record, and a record may hold pages of text. What is read is
derived from the events themselves: a field that an event no longer has is an error when the module that names it is
imported, and a record of an older schema version is upcast like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, Final, Generic, TypeVar, Union, cast, get_args, get_origin

import msgspec

from foveate.log.codec import decode_event
from foveate.log.events import SCHEMA_VERSION, Body

Fields = Mapping[type[msgspec.Struct], Sequence[str]]
"""For each struct of which not all is wanted, the names of the fields that are."""

AnyBody = TypeVar("AnyBody", bound=msgspec.Struct)
_encode: Final = msgspec.json.Encoder().encode


class PartialReader(Generic[AnyBody]):
    """Reads some fields of one kind of event; asking the result for another field is an `AttributeError`.

    Structs that `fields` does not name come whole, as the classes that they are.
    """

    def __init__(self, kind: type[AnyBody], fields: Fields) -> None:
        narrowed = _narrowed(kind, fields)
        self._decode: Callable[[str | bytes], Any] = msgspec.json.Decoder(narrowed).decode
        self._narrowed = narrowed

    def read(self, body: str | bytes, version: int = SCHEMA_VERSION) -> AnyBody:
        """The wanted fields of a stored body; raises what decoding raises."""
        if version == SCHEMA_VERSION:
            return cast("AnyBody", self._decode(body))
        return cast("AnyBody", msgspec.convert(msgspec.to_builtins(decode_stored_body(body, version)), self._narrowed))


def decode_stored_body(body: str | bytes, version: int) -> Body:
    """A stored body of any schema version as the event it is today."""
    stored = body.encode() if isinstance(body, str) else body
    # The envelope is of no interest; the upcasts want a whole event.
    return decode_event(_encode({"session": "", "seq": 0, "version": version, "body": msgspec.Raw(stored)})).body


def _narrowed(kind: type[msgspec.Struct], fields: Fields) -> type[msgspec.Struct]:
    """A struct with the wanted fields of another, and its tag."""
    known = {one.name: one for one in msgspec.structs.fields(kind)}
    missing = [name for name in fields[kind] if name not in known]
    if missing:
        raise TypeError(f"{kind.__name__} has no field {missing[0]!r}; it has {', '.join(known)}")
    config = kind.__struct_config__
    return msgspec.defstruct(
        f"Partial{kind.__name__}",
        [_field(known[name], fields) for name in fields[kind]],
        frozen=True,
        kw_only=True,
        tag=config.tag,
        tag_field=config.tag_field,
    )


def _field(field: msgspec.structs.FieldInfo, fields: Fields) -> tuple[str, Any] | tuple[str, Any, Any]:
    annotation = _annotation(field.type, fields)
    if field.required:
        return field.name, annotation
    if field.default_factory is not msgspec.NODEFAULT:
        return field.name, annotation, msgspec.field(default_factory=field.default_factory)
    return field.name, annotation, field.default


def _annotation(annotation: Any, fields: Fields) -> Any:
    """A type in which the structs that are not wanted whole are narrowed."""
    if isinstance(annotation, type) and annotation in fields:
        return _narrowed(annotation, fields)
    arguments = tuple(_annotation(one, fields) for one in get_args(annotation))
    if not arguments or arguments == get_args(annotation):
        return annotation
    origin = get_origin(annotation)
    return reduce(or_, arguments) if origin in (Union, UnionType) else cast("Any", origin)[arguments]
