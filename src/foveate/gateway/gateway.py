"""The gateway: takes a request, sends what is to be sent for it, and passes the answer back as it comes.

It never knows better than the agent: whatever goes wrong here, the request goes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx

from foveate.budget.tokens import counter_for
from foveate.errors import FoveateError
from foveate.gateway.conversations import Conversations
from foveate.gateway.evidence import DIES_OF_OVERFLOW
from foveate.gateway.forwarding import (
    Headers,
    Reply,
    forwarded_headers,
    returned_headers,
    upstream_client,
)
from foveate.gateway.incoming import Incoming, Prepared, understood
from foveate.gateway.layout import emitted, is_whole
from foveate.gateway.matching import ItemKeys
from foveate.gateway.overflow import is_opening, is_overflow, shorter
from foveate.gateway.protocols import provider_of
from foveate.gateway.settings import OPENING, GatewaySettings, Mode
from foveate.gateway.usage import UsageReader
from foveate.session.observing import log_failure
from foveate.store import Store

Result = TypeVar("Result")
_THREADS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it came over HTTP; `agent` is what the launcher of the agent said."""

    method: str
    path: str
    query: str
    headers: Headers
    body: bytes
    agent: str = ""

    @property
    def by_name(self) -> dict[str, str]:
        """The headers by their names in lower case."""
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.headers}


@dataclass(slots=True, kw_only=True)
class Answer:
    """An answer on its way back."""

    status: int
    headers: Headers
    chunks: AsyncGenerator[bytes]


@dataclass(slots=True, kw_only=True)
class _Exchange:
    """What is known of a request while it is answered."""

    asked: Asked
    incoming: Incoming | None = None
    prepared: Prepared | None = None
    # Its body as it goes out, and why that is not what was compiled for it.
    body: bytes = b""
    fallback: str = ""
    recording: asyncio.Task[Prepared] | None = None
    is_compiled: bool = False
    # Set once the provider has it, or cannot be reached.
    sent: asyncio.Event = field(default_factory=asyncio.Event)


class Gateway:
    """Passes requests on, records them, and sends compiled views in their place where it is told to.

    Args:
        settings: what it was asked to be.
        store: where sessions are kept; without one they are kept in memory.
        secret: what the keys of items are made with.

    """

    def __init__(self, settings: GatewaySettings, store: Store | None, secret: bytes) -> None:
        self.settings = settings
        # Sessions that somebody switched off or on by name.
        self.switched: dict[str, Mode] = {}
        self.seen: dict[str, int] = {"requests": 0, "recorded": 0, "fell back": 0, "retried shorter": 0}
        self._keys = ItemKeys(secret)
        self.conversations = Conversations(store, self._keys, budget=settings.budget, mode_of=self.mode_of)
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="gateway")
        self._locks: dict[str, asyncio.Lock] = {}
        self._beside: set[asyncio.Task[Any]] = set()
        self._client: httpx.AsyncClient | None = None

    def mode_of(self, session: str, _agent: str = "") -> Mode:
        """What is done with the requests of a session."""
        return self.switched.get(session, self.settings.mode)

    def warm_up(self) -> None:
        """Load what the first compile would have to wait for."""
        counter_for(None).count("ready")

    async def aclose(self) -> None:
        """End what is under way, and let go of all sessions."""
        while self._beside:
            await asyncio.wait(set(self._beside))
        await self._run(self.conversations.close)
        if self._client is not None:
            await self._client.aclose()
        self._pool.shutdown()

    # --- a request ------------------------------------------------------------------------------------------------

    async def answer(self, asked: Asked) -> Answer:
        """The answer to a request; `httpx.HTTPError` if its provider cannot be reached."""
        exchange = _Exchange(asked=asked, body=asked.body)
        self.seen["requests"] += 1
        try:
            await self._prepare(exchange)
        except Exception as error:  # noqa: BLE001  whatever it is, the agent gets its answer
            exchange.fallback = "failed"
            log_failure(asked.path, error)
        try:
            reply = await self._send(asked, exchange.body)
        finally:
            exchange.sent.set()
        if self._may_die(exchange):
            reply = await self._sent_shorter(exchange, reply)
        headers = returned_headers(reply.response.headers.raw) + self._told(exchange)
        return Answer(status=reply.response.status_code, headers=headers, chunks=self._chunks(exchange, reply))

    def _told(self, exchange: _Exchange) -> Headers:
        incoming = exchange.incoming
        return _told(exchange, self.mode_of(incoming.key)) if incoming is not None else []

    async def settle(self, timeout: float = 5.0) -> None:
        """Wait until what was asked so far is recorded."""
        if self._beside:
            await asyncio.wait(set(self._beside), timeout=timeout)

    async def _prepare(self, exchange: _Exchange) -> None:
        asked = exchange.asked
        incoming = understood(asked.method, asked.path, asked.by_name, asked.body, self._keys, asked.agent)
        if incoming is None:
            return
        exchange.incoming = incoming
        if incoming.protocol.counts:
            exchange.body = self._counted_body(incoming)
            return
        if self.mode_of(incoming.key) == "off":
            return
        self.seen["recorded"] += 1
        if self.mode_of(incoming.key) != "compile":
            exchange.recording = self._start(self._recorded(exchange.sent, incoming))
            return
        exchange.recording = task = self._start(self._in_turn(incoming.key, self.conversations.prepare, incoming))
        patience = self.settings.patience if self.conversations.knows(incoming.key) else OPENING
        await asyncio.wait({task}, timeout=max(patience, self.settings.patience))
        if task.done() and task.exception() is None:
            exchange.prepared = prepared = task.result()
            exchange.is_compiled = True
            exchange.body = emitted(prepared.layout, incoming.protocol, incoming.body)
            return
        exchange.fallback = "late" if not task.done() else "failed"
        self._fall_back(exchange, incoming, task)

    async def _recorded(self, sent: asyncio.Event, incoming: Incoming) -> Prepared:
        """Record a request that goes out as it came, once its provider has it: the agent waits for nothing here."""
        await sent.wait()
        return await self._in_turn(incoming.key, self.conversations.prepare, incoming)

    def _fall_back(self, exchange: _Exchange, incoming: Incoming, task: asyncio.Task[Prepared]) -> None:
        """Send what was sent last, with what is new behind it: all of it would be too much, and cached nowhere."""
        self.seen["fell back"] += 1
        layout = self.conversations.known_layout(incoming)
        exchange.body = emitted(layout, incoming.protocol, incoming.body)
        error = task.exception() if task.done() else None
        why = f"{error!r}" if error is not None else f"no view within {self.settings.patience:g} s"
        what = "as it came" if is_whole(layout, len(incoming.keys)) else "as it was sent last, with what is new"
        log_failure(incoming.key, FoveateError(f"the request went out {what}: {why}"))
        text = f"a request of {len(incoming.keys)} items went out {what}: {why}"
        self._start(
            self._in_turn(incoming.key, self.conversations.diagnose, incoming.key, incoming.key, "failed_open", text)
        )

    def _counted_body(self, incoming: Incoming) -> bytes:
        """What is counted is what would be sent; an agent that compacts by the count must not see another size."""
        if self.mode_of(incoming.key) != "compile":
            return incoming.body.raw
        return emitted(self.conversations.known_layout(incoming), incoming.protocol, incoming.body)

    # --- its provider ---------------------------------------------------------------------------------------------

    async def _send(self, asked: Asked, body: bytes) -> Reply:
        if self._client is None:
            self._client = upstream_client()
        provider = provider_of(asked.path, asked.by_name)
        url = self.settings.upstreams.url(provider, asked.path, asked.query)
        has_body = bool(body) or asked.method in ("POST", "PUT", "PATCH")
        request = httpx.Request(
            asked.method, url, headers=forwarded_headers(asked.headers), content=body if has_body else None
        )
        return Reply(await self._client.send(request, stream=True))

    def _may_die(self, exchange: _Exchange) -> bool:
        """Whether an overflow would end the agent, and the gateway may do something about it."""
        incoming = exchange.incoming
        return exchange.is_compiled and incoming is not None and incoming.sender.agent in DIES_OF_OVERFLOW

    async def _sent_shorter(self, exchange: _Exchange, reply: Reply) -> Reply:
        """The answer, or that to a shorter request if the provider takes no more.

        Nothing is held back but the beginning of a stream, until it says something or fails.
        """
        if reply.response.status_code >= 400 and reply.is_readable:
            await reply.hold(lambda _held: False)
        elif reply.is_events:
            await reply.hold(lambda held: not is_opening(held))
        prepared, incoming = exchange.prepared, exchange.incoming
        if prepared is None or incoming is None or not is_overflow(reply.held):
            return reply
        most = shorter(prepared.tokens, reply.held)
        try:
            again = await self._in_turn(incoming.key, self.conversations.shorten, incoming, prepared.session, *most)
        except Exception as error:  # noqa: BLE001  the agent gets the provider's own answer
            log_failure(incoming.key, error)
            return reply
        self.seen["retried shorter"] += 1
        await reply.response.aclose()
        exchange.prepared = again
        exchange.body = emitted(again.layout, incoming.protocol, incoming.body)
        return await self._send(exchange.asked, exchange.body)

    async def _chunks(self, exchange: _Exchange, reply: Reply) -> AsyncGenerator[bytes]:
        headers = reply.response.headers
        reader = UsageReader(headers.get("content-type", ""), headers.get("content-encoding", ""))
        try:
            async for chunk in reply.chunks(self.settings.silence):
                reader.feed(chunk)
                yield chunk
        finally:
            await reply.response.aclose()
            self._report(exchange, reader.finish())

    def _report(self, exchange: _Exchange, usage: dict[str, Any] | None) -> None:
        """Record what the provider counted, if it counted what was recorded."""
        incoming, recording = exchange.incoming, exchange.recording
        if usage is None or incoming is None or recording is None or exchange.fallback:
            return
        self._start(self._reported(exchange, incoming, recording, usage))

    async def _reported(
        self, exchange: _Exchange, incoming: Incoming, recording: asyncio.Task[Prepared], usage: dict[str, Any]
    ) -> None:
        prepared = exchange.prepared or await recording
        if prepared.call:
            await self._in_turn(
                incoming.key, self.conversations.report, incoming.key, prepared.session, prepared.call, usage
            )

    # --- threads --------------------------------------------------------------------------------------------------

    async def _in_turn(self, key: str, work: Callable[..., Result], *given: Any) -> Result:
        """Do something of a conversation in a thread, behind what was asked of it before."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            return await self._run(work, *given)

    async def _run(self, work: Callable[..., Result], *given: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *given)

    def _start(self, work: Any) -> asyncio.Task[Any]:
        """Do something beside the request; its failure is said, and is nobody else's."""
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._beside.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log_failure("gateway", error if isinstance(error, Exception) else FoveateError(repr(error)))


def secret_folder(store: str | Path) -> Path | None:
    """The folder of a store that is a file; None for one on a server."""
    text = str(store).removeprefix("sqlite:///")
    return None if "://" in text else Path(text).expanduser().absolute().parent


def _told(exchange: _Exchange, mode: Mode) -> Headers:
    """What the answer says of what became of the request; of one that is still recorded, where."""
    prepared, recording, incoming = exchange.prepared, exchange.recording, exchange.incoming
    if incoming is None:
        return []
    if prepared is None and recording is not None and recording.done() and recording.exception() is None:
        prepared = recording.result()
    told: dict[str, object] = {"session": incoming.key, "mode": mode, "fallback": exchange.fallback}
    if prepared is not None:
        told |= {
            "session": prepared.session,
            "call": prepared.call,
            "raw-tokens": prepared.raw_tokens,
            "sent-tokens": prepared.tokens if exchange.is_compiled else prepared.raw_tokens,
            "compiled-tokens": prepared.compiled_tokens,
            "trigger": prepared.trigger,
        }
    return [(f"x-foveate-{name}".encode(), str(value).encode()) for name, value in told.items() if value]
