"""Views: a request with the account of how it came about, as the API answers with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from foveate.api.shapes import CallShape, ItemShape, SectionShape, WaitingShape
from foveate.compile.compiled import CompiledContext
from foveate.compile.explain import Explanation, FateRecord, ItemRecord
from foveate.inspect.calls import Call
from foveate.inspect.costs import SessionCosts
from foveate.inspect.messages import event_numbers
from foveate.log.items import Item
from foveate.store import SessionInfo, Store
from foveate.store.waiting import waiting_events

# A digest may stand for a whole log.
_SOURCES: Final = 100


def waiting_shape(store: Store, session_id: str) -> WaitingShape | None:
    """What of a session waits; asked before the store, so that nothing is missed that is just being written."""
    found = waiting_events(store.held.of(session_id))
    return None if found is None else WaitingShape.model_validate(found._asdict())


def call_shapes(calls: Iterable[Call], costs: SessionCosts) -> list[CallShape]:
    """Calls in numbers, with what each cost."""
    dollars = costs.dollars
    return [CallShape.model_validate(call.as_dict(dollars.get(call.number))) for call in calls]


def view_facts(store: Store, info: SessionInfo, view: CompiledContext, account: Explanation) -> dict[str, Any]:
    """The fields of a `ViewShape`."""
    framing, budget, override = view.framing, view.budget, view.state.override
    return {
        "call": view.number,
        "strategy": view.strategy,
        "agent": account.agent,
        "context_strategy": account.context_strategy,
        "tokens": view.tokens,
        "budget": budget.limit if budget is not None else None,
        "window": budget.window if budget is not None else None,
        "framing_tokens": framing.tokens,
        "system": framing.system,
        "tools": list(framing.tools),
        "response_format": framing.response_format,
        "sections": _sections(view),
        "items": _items(store, info, view, account),
        "override": None if override is None else msgspec.to_builtins(override),
        # What is shared with the last request is of no use where the cache is cold.
        "cached_items": view.shared if view.predicted_cached else 0,
        "predicted_cached": view.predicted_cached,
        "corrected": account.corrected,
        "cache_marks": list(account.cache_marks),
        "unrecorded": list(account.unrecorded),
        "trigger": account.trigger,
        "reason": account.reason,
        "declined": account.declined,
        "stages": list(account.stages),
        "counts": account.counts(),
        "diagnostics": list(account.diagnostics),
        "accesses": [msgspec.to_builtins(one) for one in account.accesses],
        "payload_sha256": view.payload_sha256,
    }


def _sections(view: CompiledContext) -> list[SectionShape]:
    return [
        SectionShape(
            name=one.name, source=one.source, tier=one.tier, tokens=view.count_text(one.content), content=one.content
        )
        for one in view.sections
    ]


def _items(store: Store, info: SessionInfo, view: CompiledContext, account: Explanation) -> list[ItemShape]:
    items = view.items
    standing: defaultdict[str | None, list[FateRecord]] = defaultdict(list)
    for record in account.fates:
        standing[record.shown_in].append(record)
    events = event_numbers(store, info, [item.order for item in items if not item.is_digest and not item.lines])
    cached = view.shared if view.predicted_cached else 0
    return [
        _item(item, record, standing[item.id], events.get(item.order), is_cached=index < cached)
        for index, (item, record) in enumerate(zip(items, account.items, strict=True))
    ]


def _item(
    item: Item, record: ItemRecord, standing: list[FateRecord], event: int | None, *, is_cached: bool
) -> ItemShape:
    return ItemShape(
        id=item.id,
        role=item.message.role,
        fate=item.fate,
        by=item.by,
        why=item.why,
        call=next((one.call for one in standing if one.call is not None), None),
        tokens_before=sum(one.tokens_before for one in standing) if standing else item.tokens,
        tokens_after=item.tokens,
        cached=is_cached,
        event=None if item.is_digest or item.lines else event,
        sources=list(record.sources[:_SOURCES]),
        source_count=len(record.sources),
        parts=msgspec.to_builtins(item.message.parts),
    )
