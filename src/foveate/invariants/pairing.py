"""Every call has its result and every result its call, adjacent; parallel calls are one batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from foveate.log.items import Item

if TYPE_CHECKING:
    from foveate.invariants.rules import Facts


class Pairing:
    """Providers refuse a request in which a call or a result stands alone."""

    name = "pairing"

    def cuts(self, items: Sequence[Item]) -> set[int]:
        """Anywhere but inside a batch."""
        return {
            index for index in range(len(items) + 1) if index in (0, len(items)) or items[index].message.role != "tool"
        }

    def check(self, items: Sequence[Item], facts: Facts, start: int) -> Iterator[str]:
        """Follow the batches from `start`, which is never inside one."""
        waiting: dict[str, None] = {}
        for index in range(start, len(items)):
            message = items[index].message
            result = message.result
            if message.role == "tool":
                if result is None:
                    yield f"{items[index].id} is a tool message without a result"
                elif result.call_id not in waiting:
                    yield f"{items[index].id} answers {result.call_id!r}, which is not waiting"
                else:
                    del waiting[result.call_id]
                continue
            if waiting:
                yield f"{', '.join(waiting)} unanswered before {items[index].id}"
            waiting = dict.fromkeys(call.id for call in message.calls)
        if waiting:
            yield f"{', '.join(waiting)} unanswered at the end"
