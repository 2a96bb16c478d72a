"""Names and ids as a provider allows them, each from the one that was recorded, and the way back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec

from foveate.log.messages import Message, Part, ToolCall
from foveate.wire.format import Request
from foveate.wire.tools import tool_names

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


class Allowed(NamedTuple):
    """Which names or ids a provider allows."""

    pattern: re.Pattern[str]
    longest: int

    def __contains__(self, name: object) -> bool:
        """Whether a name is allowed."""
        return isinstance(name, str) and self.pattern.fullmatch(name) is not None


OPENAI_NAMES: Final = Allowed(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
"""Of tools, in chat and in Responses; chat allows them for speakers too."""
OPENAI_IDS: Final = Allowed(re.compile(r"[^\x00-\x1f]{1,40}"), 40)
RESPONSES_IDS: Final = Allowed(re.compile(r"[^\x00-\x1f]{1,64}"), 64)
ANTHROPIC_NAMES: Final = Allowed(re.compile(r"[a-zA-Z0-9_-]{1,128}"), 128)
ANTHROPIC_IDS: Final = Allowed(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
GEMINI_NAMES: Final = Allowed(re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"), 64)
ANY: Final = Allowed(re.compile(r"(?s).*"), 64)
"""For providers that do not look at ids."""


class Spelling(NamedTuple):
    """How the ids of calls and the names of tools are written in a request."""

    ids: Mapping[str, str]
    names: Mapping[str, str]


def spelling(request: Request, *, names: Allowed, ids: Allowed) -> Spelling:
    """The ids and names to send for those in the calls, results and tool definitions of a request."""
    calls = [call for message in request.messages for call in message.calls]
    results = [message.result.call_id for message in request.messages if message.result is not None]
    return Spelling(
        ids=fitting([*(call.id for call in calls), *results], ids.pattern, longest=ids.longest),
        names=fitting(
            [*tool_names(request.tools), *(call.name for call in calls)], names.pattern, longest=names.longest
        ),
    )


def fitting(names: Iterable[str], allowed: re.Pattern[str], *, longest: int) -> dict[str, str]:
    """For each name the one to send: itself if it is allowed, else one made from it that no other name has.

    >>> fitting(["a", "b.c"], OPENAI_NAMES.pattern, longest=64)["a"]
    'a'
    """
    known = dict.fromkeys(names)
    sent = {name: name for name in known if allowed.fullmatch(name)}
    taken = set(sent)
    for name in known:
        if name not in sent:
            sent[name] = next(one for number in count() if (one := _made(name, number, longest)) not in taken)
            taken.add(sent[name])
    return sent


def originals_of(tools: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The names of tools by all that may have been sent for them; what every provider allows is sent as it is."""
    defined = tool_names(tools)
    odd = [name for name in defined if not all(name in allowed for allowed in _ALL_NAMES)]
    longest = {allowed.longest for allowed in _ALL_NAMES}
    # A name that was taken already has the next number; nobody takes many.
    made = {_made(name, number, most): name for name in odd for most in longest for number in range(2)}
    return {sent: name for sent, name in made.items() if sent not in defined}


def restored(messages: Sequence[Message], originals: Mapping[str, str]) -> Sequence[Message]:
    """Messages whose calls have the names of the tools as they were defined, whatever name was sent for them."""
    if not originals:
        return messages

    def renamed(part: Part) -> Part:
        if not isinstance(part, ToolCall) or part.name not in originals:
            return part
        return msgspec.structs.replace(part, name=originals[part.name])

    return [
        msgspec.structs.replace(message, parts=tuple(map(renamed, message.parts))) if message.calls else message
        for message in messages
    ]


_ALL_NAMES: Final = (OPENAI_NAMES, ANTHROPIC_NAMES, GEMINI_NAMES)


def _made(name: str, number: int, longest: int) -> str:
    # The sign of a name depends on nothing else, so that the same name is sent the same way in every request.
    sign = hashlib.sha256(f"{number}:{name}".encode()).hexdigest()[:12]
    readable = _ODD.sub("_", name[: longest - 13]).lstrip("-0123456789") or "x"
    return f"{readable}_{sign}"
