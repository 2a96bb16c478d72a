"""Cache marks of a request to Anthropic: at most four, over system prompt, tools and messages together.

Those that a client set in its system prompt and tools stay, with their time to live. In the messages, a client's own
stand as long as nothing was reduced; then Foveate's take their place, since what they were set for has moved. Where
more are wanted than are left, the last ones are kept: they cover most. No mark may live longer than one before it, so
Foveate's in the system prompt live as long as any in the messages, and those in the messages no longer than any before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

MOST_MARKS: Final = 4
MARK: Final = "cache_control"
_OURS: Final = {"type": "ephemeral"}
_HOUR: Final = 3_600

Block = dict[str, Any]


def is_for_an_hour(mark: object) -> bool:
    """Whether a mark asks for the longer of the two times to live."""
    return isinstance(mark, Mapping) and mark.get("ttl") == "1h"


def chosen_mark(contents: Iterable[Iterable[Block]], seconds: int) -> Block:
    """The mark that Foveate sets: the client's in its messages that lives longest, or else one that lives so long."""
    given = [block[MARK] for blocks in contents for block in _with_inner(blocks) if isinstance(block.get(MARK), dict)]
    if given:
        return next((mark for mark in reversed(given) if is_for_an_hour(mark)), given[-1])
    return {**_OURS, "ttl": "1h"} if seconds >= _HOUR else _OURS


def mark_opening(system: list[Block], tools: list[Block], mark: Block | None) -> int:
    """Put a mark at the end of system prompt and tools if the client set none; gives the marks that are left.

    Tools stand before the system prompt, so a mark behind that covers them too.
    """
    opening = [*tools, *system]
    marked = [block for block in opening if MARK in block]
    _clear(marked[:-MOST_MARKS])
    if not marked and mark is not None and opening:
        opening[-1][MARK] = dict(mark)
        return MOST_MARKS - 1
    return max(0, MOST_MARKS - len(marked))


def is_marked(contents: Iterable[Iterable[Block]]) -> bool:
    """Whether a client set marks in its messages."""
    return any(MARK in block for blocks in contents for block in _with_inner(blocks))


def mark_messages(
    contents: list[list[Block]], ours: Iterable[list[Block]], left: int, mark: Block, *, rewritten: bool
) -> None:
    """Keep the client's marks in the messages, or set ours at the ends of stretches; no more than are left."""
    given = [block for blocks in contents for block in _with_inner(blocks) if MARK in block]
    if given and not rewritten:
        _clear(given[: max(0, len(given) - left)])
        return
    _clear(given)
    ends = [end for blocks in ours if (end := _markable(blocks)) is not None]
    for block in ends[max(0, len(ends) - left) :]:
        block[MARK] = dict(mark)


def no_longer_than(mark: Block, before: Iterable[Block]) -> Block:
    """A mark for behind others: the provider refuses one that lives longer than any of them."""
    short = any(MARK in block and not is_for_an_hour(block[MARK]) for block in before)
    return _OURS if short and is_for_an_hour(mark) else mark


def _with_inner(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks, each followed by those inside of it that may be marked too."""
    for block in blocks:
        yield block
        content = block.get("content")
        if block.get("type") == "tool_result" and isinstance(content, list):
            yield from (one for one in content if isinstance(one, dict))


def _clear(blocks: Iterable[Block]) -> None:
    for block in blocks:
        del block[MARK]


def _markable(blocks: list[Block]) -> Block | None:
    """The last block that may be marked: thinking may not be, and of what nobody knows nobody knows it."""
    return next((block for block in reversed(blocks) if block["type"] in MARKED), None)


MARKED: Final = frozenset({"text", "image", "document", "search_result", "tool_use", "tool_result"})
