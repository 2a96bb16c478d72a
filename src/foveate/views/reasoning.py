"""The reasoning view: what a model needs to go on, mended and complete, before any budget."""

from __future__ import annotations

from collections.abc import Iterable

from foveate.budget.accounting import message_tokens
from foveate.budget.tokens import TokenCounter
from foveate.log.items import Item
from foveate.log.messages import Message
from foveate.views.mending import Mender


def reasoning_view(messages: Iterable[Message], counter: TokenCounter) -> tuple[Item, ...]:
    """Every message in a form that providers accept; errors, denials and retries stay where they happened.

    What finished turns leave of it, and which attempts of a retry are retired, is decided by isolation and by the
    passes, because that rewrites the cached prefix and must wait for its moment.
    """
    mender = Mender(lambda message: message_tokens(message, counter))
    for order, message in enumerate(messages):
        mender.feed(message, order)
    return tuple(mender.projected())
