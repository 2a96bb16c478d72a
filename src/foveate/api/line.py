"""The line: all requests to models go out on one event loop, however many chats are answered at once.

Connections to a provider are kept open and shared, and each belongs to the loop that it was made on: with a loop for
every chat, those that end at the same time would wait for each other for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from threading import Thread
from typing import Final

from foveate.agents.driver import Driver, DriverError, OnText, Reply, Schema
from foveate.chat.opening import Answering
from foveate.wire.format import Request

_PATIENCE: Final = 5.0


class Line:
    """An event loop in a thread of its own, on which models are asked."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="models", daemon=True)
        self._thread.start()

    def over(self, answering: Answering) -> Answering:
        """The same models, asked over this line from whatever thread."""
        writer, named = answering.writer, answering.named
        return replace(
            answering,
            driver=self._asked(answering.driver),
            writer=self._asked(writer) if writer is not None else None,
            named=(lambda name: self._asked(named(name))) if named is not None else None,
        )

    def close(self) -> None:
        """End it; what is not answered yet never will be."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_PATIENCE)

    def _asked(self, driver: Driver) -> Driver:
        return _Asked(driver=driver, loop=self._loop)

    def _run(self) -> None:
        loop = self._loop
        try:
            loop.run_forever()
            loop.run_until_complete(_cancelled(asyncio.all_tasks(loop)))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


async def _cancelled(tasks: Iterable[asyncio.Task[object]]) -> None:
    pending = list(tasks)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A model that is asked on another loop than the one that waits for its answer."""

    driver: Driver
    loop: asyncio.AbstractEventLoop

    @property
    def name(self) -> str:
        return self.driver.name

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: OnText | None = None) -> Reply:
        if not self.loop.is_running():
            raise DriverError(f"{self.name} was not asked: the server has ended; start it again")
        asked = self.driver.generate(messages, schema, on_text=on_text)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, self.loop))
