"""What is known of a request of OpenAI Responses while its items are written, and the ids these may have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from foveate.log.messages import Part, ToolResult, fields_of
from foveate.wire.format import Request
from foveate.wire.names import OPENAI_NAMES, RESPONSES_IDS, spelling
from foveate.wire.openai_responses import is_original, item_fields
from foveate.wire.responses_blocks import NAME
from foveate.wire.responses_items import LONGEST_ID, PROGRAM, answers
from foveate.wire.responses_reading import CUSTOM, FUNCTION

PREFIXES: Final = {"message": "msg_", "reasoning": "rs_", FUNCTION: "fc_", CUSTOM: "ctc_"}
"""How the ids of items begin; another beginning is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """What is known of the whole request, and of what was sent of it: ids of items, kinds of calls, open approvals."""

    results: Mapping[str, ToolResult]
    ids: Mapping[str, str]
    names: Mapping[str, str]
    reasons: bool
    # Results that are as they came.
    originals: frozenset[str]
    # What 0.1 recorded, which said the second of two items with one id in words.
    anew: bool
    seen: set[str] = field(default_factory=set)
    kinds: dict[str, str] = field(default_factory=dict)
    approvals: set[str] = field(default_factory=set)

    def answers(self, item: Mapping[str, Any]) -> bool:
        """Whether an output answers a call that was sent."""
        sent = self.ids.get(str(item.get("call_id")))
        return sent in self.kinds and answers(item.get("type"), self.kinds[sent])

    def misses_program(self, item: Mapping[str, Any]) -> bool:
        """Whether an item belongs to a program that was not sent: what came of it, or a call inside of it."""
        match item:
            case {"type": "program_output", "call_id": str() as program}:
                return self.kinds.get(program) != PROGRAM
            case {"caller": {"type": "program", "caller_id": str() as program}}:
                return self.kinds.get(program) != PROGRAM
            case _:
                return False

    def note(self, item: dict[str, Any]) -> None:
        """Note an item that is sent."""
        if isinstance(item.get("id"), str):
            self.seen.add(item["id"])
        kind = item.get("type", "message")
        if isinstance(item.get("call_id"), str):
            self.kinds[item["call_id"]] = kind
        if kind == "mcp_approval_request":
            self.approvals.add(str(item.get("id")))


def lowering_of(request: Request) -> Lowering:
    """What is known of a request before its first item is written."""
    spelt = spelling(request, names=OPENAI_NAMES, ids=RESPONSES_IDS)
    parts = [part for message in request.messages if message.role == "assistant" for part in message.parts]
    return Lowering(
        results={message.result.call_id: message.result for message in request.messages if message.result is not None},
        ids=spelt.ids,
        names=spelt.names,
        originals=frozenset(
            one.result.call_id for one in request.messages if one.result is not None and is_original(one)
        ),
        reasons=any(part.extra and is_of_reasoning(part) for part in parts),
        anew=request.wire == 1,
    )


def is_of_reasoning(part: Part) -> bool:
    """Whether a part is reasoning, or something that its provider wants back only behind its reasoning."""
    return item_fields(part.extra).get("type") == "reasoning" or fields_of(part.extra, NAME).get("led") is True


def with_valid_id(item: dict[str, Any]) -> dict[str, Any]:
    """An item without its id, if that would be refused."""
    if "id" not in item:
        return item
    named, prefix = item.get("id"), PREFIXES.get(item.get("type", "message"), "")
    fits = isinstance(named, str) and named.startswith(prefix) and len(prefix) < len(named) <= LONGEST_ID
    return item if fits else without_id(item)


def with_new_id(item: dict[str, Any], seen: set[str]) -> dict[str, Any]:
    """An item with its id, unless another was sent under it; notes the id."""
    named = item.get("id")
    if not isinstance(named, str):
        return item
    if named in seen:
        return without_id(item)
    seen.add(named)
    return item


def without_id(item: dict[str, Any]) -> dict[str, Any]:
    """An item as one that the provider does not know."""
    return {key: value for key, value in item.items() if key != "id"}


def without_caller(item: Mapping[str, Any]) -> dict[str, Any]:
    """A call, or its output, as if it were in no program."""
    return {key: value for key, value in item.items() if key != "caller"}
