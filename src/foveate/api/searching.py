"""Searching: what was ever said, in all sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from foveate.api.asking import Kinds, Roles, StoreHere
from foveate.api.failures import answers
from foveate.api.shapes import HitShape, HitsShape
from foveate.errors import ConfigError

router = APIRouter(tags=["Search"])


@router.get("/search", summary="Find what was said", responses=answers(404))
def search(
    store: StoreHere,
    q: Annotated[str, Query(description="Words, names, file paths; as you would ask.", examples=["flaky refund test"])],
    session: Annotated[str | None, Query(description="Only in this session.")] = None,
    role: Roles = None,
    tool: Annotated[list[str] | None, Query(description="Only calls and results of these tools.")] = None,
    kind: Kinds = None,
    since: Annotated[datetime | None, Query(description="Not before this moment.")] = None,
    until: Annotated[datetime | None, Query(description="Before this moment.")] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="The most passages.")] = 20,
) -> HitsShape:
    """The passages that answer a query best, from all sessions of the store or one."""
    if not q.strip():
        raise ConfigError("`q` is empty; give some words, a name or a path")
    hits = store.search(q, session=session, roles=role, tools=tool, kinds=kind, since=since, until=until, limit=limit)
    return HitsShape(
        hits=[
            HitShape(
                session_id=hit.session_id,
                message_id=hit.message_id,
                role=hit.role,
                tool=hit.tool,
                time=hit.time,
                score=round(hit.score, 3),
                text=hit.text,
            )
            for hit in hits
        ]
    )
