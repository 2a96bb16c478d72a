"""Importing: a log that somebody sends comes into the store, whole or not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Header, HTTPException, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from foveate.api.asking import StoreHere
from foveate.api.failures import Failure, answers, failure_of, status_of
from foveate.api.shapes import ImportedShape
from foveate.errors import FoveateError, LogError, StoreError
from foveate.importers.reading import DEFAULT_LIMITS
from foveate.store import Store
from foveate.store.importing import Tell, import_upload

router = APIRouter(prefix="/sessions", tags=["Import"])

_IN_MEMORY: Final = 4_000_000
MOST: Final = DEFAULT_LIMITS.size
_EVENTS: Final = "text/event-stream"
_BODY: Final = {
    "requestBody": {
        "required": True,
        "description": "The bytes of the log, as they are in its file.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_EXAMPLE: Final = 'event: progress\ndata: {"what": "importing", "read": 65536, "size": 90210}\n\n'
_PARAMETERS: Final = {
    "`--format`": "`format`",
    "`--as`": "`as`",
    "delete it first": "delete it first with `foveate delete`",
}
_STREAMED: Final = {_EVENTS: {"example": _EXAMPLE}}


# Held on to: what only an event loop knows of may be gone before it is done.
_running: Final[set[asyncio.Future[ImportedShape]]] = set()


class _Order(NamedTuple):
    """What is to be done with a log."""

    name: str
    format: str
    as_session: str | None
    lenient: bool


@router.post(
    "/import",
    summary="Import a log",
    response_model=ImportedShape,
    openapi_extra=_BODY,
    responses={**answers(409, 413), 200: {"content": _STREAMED}},
)
async def import_log(
    request: Request,
    store: StoreHere,
    name: Annotated[
        str, Query(description="What its file is called, if it is one: the name of sessions that have none.")
    ] = "",
    format: Annotated[str, Query(description="The format; `foveate formats` lists them.")] = "auto",
    as_session: Annotated[str | None, Query(alias="as", description="Another name for the session.")] = None,
    lenient: Annotated[bool, Query(description="Leave out what is broken, instead of refusing the log.")] = False,
    accept: Annotated[str, Header(description=f"{_EVENTS} has progress told while it goes on.")] = "",
) -> Any:
    """Bring a log of any supported format into the store: send its bytes as the body.

    With `Accept: text/event-stream` the answer is a stream of events: `progress` with what is done and how much was
    read, then `done` with the result, or `failed` with what was wrong.
    """
    order = _Order(name, format, as_session, lenient)
    spool: IO[bytes] = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  it is closed by who reads it last
    try:
        size = await _received(request, spool)
    except BaseException:
        spool.close()
        raise
    if _EVENTS in accept:
        return StreamingResponse(_told(store, spool, order, size), media_type=_EVENTS)
    try:
        return await run_in_threadpool(_imported, store, spool, order)
    except FoveateError as error:
        said = _refused(error)
        # A log that cannot be read is the one that was sent, elsewhere one of the store.
        status = 422 if isinstance(error, LogError) else status_of(error)
        raise HTTPException(status, f"{said.error}; {said.remedy}") from error


async def _received(request: Request, spool: IO[bytes]) -> int:
    """Keep what is sent aside; a log that is too large is refused as soon as that is known."""
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > MOST:
                raise HTTPException(413, f"the log has more than {MOST:,} bytes; {DEFAULT_LIMITS.remedy}")
            await run_in_threadpool(spool.write, chunk)
    except OSError as error:
        raise StoreError(f"the log cannot be kept aside: {error}; free some space and send it again") from error
    return size


def _imported(store: Store, spool: IO[bytes], order: _Order, tell: Tell = lambda _what, _read: None) -> ImportedShape:
    with spool:
        report = import_upload(
            store,
            spool,
            order.name,
            order.format,
            as_session=order.as_session,
            lenient=order.lenient,
            tell=tell,
        )
    return ImportedShape.model_validate(report.facts)


async def _told(store: Store, spool: IO[bytes], order: _Order, size: int) -> AsyncIterator[str]:
    """The import as events, one after the other as they happen; it goes on even if nobody listens any more."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[str, int] | None] = asyncio.Queue()

    def tell(what: str, read: int) -> None:
        loop.call_soon_threadsafe(waiting.put_nowait, (what, read))

    async def work() -> ImportedShape:
        try:
            return await run_in_threadpool(_imported, store, spool, order, tell)
        finally:
            waiting.put_nowait(None)

    task = asyncio.ensure_future(work())
    _running.add(task)
    task.add_done_callback(_running.discard)
    while (told := await waiting.get()) is not None:
        yield _event("progress", {"what": told[0], "read": told[1], "size": size})
    try:
        yield _event("done", (await task).model_dump(mode="json"))
    except FoveateError as error:
        yield _event("failed", _refused(error).model_dump())


def _refused(error: FoveateError) -> Failure:
    """What was wrong, in the words of who asks here: by parameters, not by options of a command."""
    said = failure_of(error)
    for option, parameter in _PARAMETERS.items():
        said = Failure(error=said.error.replace(option, parameter), remedy=said.remedy.replace(option, parameter))
    return said if said.remedy else Failure(error=said.error, remedy="correct the log, or have it read as `lenient`")


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
