"""Parts of Gemini contents as they came: what is noted beside a part of the log, and the part that it gives again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from foveate.log.messages import Media, Opaque, Part, ToolResult, fields_of, foreign
from foveate.wire.gemini_parts import NAME, camel, part_of, response_of, result_of, said_part, told_part
from foveate.wire.originals import NOTES, RAW, difference, rewritten

BEHIND: Final = "behind"
"""Notes media of a result that stood behind its response, not in it."""
Noted = TypeVar("Noted", bound=Part)


def noted(part: Noted, came: Any, *, failed: bool = False) -> Noted:
    """A part with what it takes to write it again as it came."""
    made = _response(part, None, failed=failed) if isinstance(part, ToolResult) else part_of(part)
    notes = difference(came, made)
    if not notes:
        return part
    return msgspec.structs.replace(
        part, extra={**part.extra, **foreign(NAME, {**fields_of(part.extra, NAME), **notes})}
    )


def part_as_it_came(part: Part, role: str) -> dict[str, Any] | None:
    """A part that is no result, as it came; None for what this format cannot say."""
    kept = fields_of(part.extra, NAME)
    if RAW in kept:
        raw = camel(kept[RAW], "original")
        call_id = getattr(part, "id", "")
        again = said_part(raw, call_id, "original") if role == "assistant" else told_part(raw, "original")
        if _plain(again) == _plain(part):
            return raw if isinstance(kept[RAW], str) else dict(kept[RAW])
    made = part_of(part)
    return None if made is None else rewritten(made, kept)


def behind(result: ToolResult, part: Media | Opaque) -> ToolResult:
    """A result with a part that stood behind its response: a picture that the tool read, or the response again."""
    if isinstance(part, Media):
        kept = {**fields_of(part.extra, NAME), BEHIND: True}
        part = msgspec.structs.replace(part, extra={**part.extra, **foreign(NAME, kept)})
    return msgspec.structs.replace(result, media=(*result.media, part))


def parts_behind(result: ToolResult) -> list[tuple[Media | Opaque, dict[str, Any]]]:
    """What stood behind a response, with each part as it came."""
    found = ((one, part_as_it_came(one, "user")) for one in result.media if _is_behind(one))
    return [(one, raw) for one, raw in found if raw is not None]


def response_as_it_came(result: ToolResult, name: str | None, *, failed: bool) -> dict[str, Any]:
    """The part of a result as it came; `name` is that of its tool, for one that came in another format."""
    kept = fields_of(result.extra, NAME)
    raw = kept.get(RAW)
    if isinstance(raw, Mapping):
        again, again_failed = result_of(camel(raw, "original"), result.call_id, "original")
        alone = msgspec.structs.replace(result, media=tuple(one for one in result.media if not _is_behind(one)))
        if (_plain(again), again_failed) == (_plain(alone), failed):
            return dict(raw)
    return rewritten(_response(result, name, failed=failed), kept)


def in_camel_case(part: dict[str, Any]) -> dict[str, Any]:
    """A part that came as libraries spell it, as the provider does; any other as it is."""
    if not any("_" in key for key in part):
        return part
    part = camel(part, "original")
    inner = part.get("functionResponse")
    if isinstance(inner, dict) and isinstance(inner.get("parts"), list):
        part["functionResponse"] = {**inner, "parts": [camel(one, "original") for one in inner["parts"]]}
    return part


def _response(result: ToolResult, name: str | None, *, failed: bool) -> dict[str, Any]:
    kept = fields_of(result.extra, NAME)
    answer: dict[str, Any] = {} if kept.get("minted") is True else {"id": result.call_id}
    answer |= {"name": kept.get("name") or name or "tool", "response": response_of(result, failed=failed)}
    if inner := [part_of(one) for one in result.media if not _is_behind(one)]:
        answer["parts"] = inner
    return {"functionResponse": {**answer, **kept.get("call", {})}, **kept.get("part", {})}


def _is_behind(part: Media | Opaque) -> bool:
    return isinstance(part, Opaque) or fields_of(part.extra, NAME).get(BEHIND) is True


def _plain(part: Part) -> Part:
    """A part without the notes on how it was written."""
    kept = {key: value for key, value in fields_of(part.extra, NAME).items() if key not in NOTES}
    extra = {key: value for key, value in part.extra.items() if key != f"@{NAME}"}
    return msgspec.structs.replace(part, extra={**extra, **foreign(NAME, kept)})
