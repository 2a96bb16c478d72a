"""What a request to Anthropic must be, one function for each rule, over the whole of it.

Messages: there are some; roles are user, assistant and, with text alone, system; the first is not the assistant's; none
is empty; the last one of the assistant does not end in white space. Messages of one side in a row are one turn, as
Anthropic takes them.

Blocks: each has a type, and stands on the side that may say it; one of a type that is not known here is opaque, and
taken; text is not blank; images and documents have a source that can be read; thinking is signed and does not end its
turn.

Tools: ids and names of allowed characters; input is an object; no id twice; each call is answered in the very next
turn, each result has its call right before it, once, and results come first; a result has content, and one that is an
error has text and nothing else; definitions have an allowed name that no other has, and a schema.

Around them: the system prompt is text that is not blank; cache marks are well formed, at most four over system prompt,
tools and messages together, none that lives longer behind one that lives shorter, and never on thinking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final, NamedTuple

from foveate.wire.anthropic_marks import MARK, MOST_MARKS, is_for_an_hour
from foveate.wire.anthropic_originals import is_source, may_fail
from foveate.wire.names import ANTHROPIC_IDS, ANTHROPIC_NAMES

Block = Mapping[str, Any]


class Turn(NamedTuple):
    """A message of a request, its content as blocks."""

    place: str
    role: object
    content: object
    blocks: tuple[tuple[str, Block], ...]

    def of(self, *kinds: str) -> list[tuple[str, Block]]:
        """Where blocks of some types stand, and the blocks."""
        return [(place, block) for place, block in self.blocks if block.get("type") in kinds]


class Sent(NamedTuple):
    """A request, and its messages."""

    payload: Mapping[str, Any]
    turns: tuple[Turn, ...]


def problems(payload: object) -> list[str]:
    """Everything that would be refused; empty for a valid request."""
    if not isinstance(payload, Mapping):
        return [f"request: expected `messages` and what goes with them, got {type(payload).__name__}"]
    given = payload.get("messages")
    messages = [_turn(index, message) for index, message in enumerate(given if isinstance(given, list) else ())]
    turns = tuple(_as_taken(messages))
    return [problem for rule in RULES for problem in rule(Sent(payload, turns))]


def messages_exist(sent: Sent) -> Iterator[str]:
    if not isinstance(sent.payload.get("messages"), list) or not sent.turns:
        yield "no messages"


def roles_known(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        if turn.role not in _ROLES:
            yield f"{turn.place}: unknown role {turn.role!r:.80}"


def first_is_user(sent: Sent) -> Iterator[str]:
    if sent.turns and sent.turns[0].role == "assistant":
        yield "message 0: first message is not the user's"


def system_is_text(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        for place, block in turn.blocks if turn.role == "system" else ():
            if block.get("type") in _SIDES and block["type"] != "text":
                yield f"{place}: {block['type']} in a message of the role 'system'"


def content_present(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        if not isinstance(turn.content, str | list) or not turn.content:
            yield f"{turn.place}: no content"


def end_is_trimmed(sent: Sent) -> Iterator[str]:
    if sent.turns and sent.turns[-1].role == "assistant":
        for place, block in sent.turns[-1].blocks[-1:]:
            text = block.get("text")
            if block.get("type") == "text" and isinstance(text, str) and text != text.rstrip():
                yield f"{place}: last assistant message ends in white space"


def blocks_typed(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        for place, block in turn.blocks:
            kind = block.get("type")
            if not isinstance(kind, str) or not kind:
                yield f"{place}: block type {kind!r:.80}"


def blocks_on_their_side(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        for place, block in turn.of(*_SIDES):
            if turn.role in ("user", "assistant") and turn.role not in _SIDES[block["type"]]:
                yield f"{place}: {block['type']} in a message of the role {turn.role!r:.80}"


def text_not_blank(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        inner = [one for place, block in turn.of("tool_result") for one in _inner(place, block)]
        for place, block in (*turn.of("text"), *(one for one in inner if one[1].get("type") == "text")):
            if not _says(block.get("text")):
                yield f"{place}: blank text"


def media_readable(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        inner = [one for place, block in turn.of("tool_result") for one in _inner(place, block)]
        for place, block in (*turn.blocks, *inner):
            if block.get("type") in ("image", "document") and not is_source(block["type"], block.get("source")):
                yield f"{place}: {block['type']} with an unreadable source"


def thinking_signed(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        for place, block in turn.of("thinking", "redacted_thinking"):
            redacted = block["type"] == "redacted_thinking"
            if not _says(block.get("data" if redacted else "signature")):
                yield f"{place}: thinking without a signature"
            elif not redacted and not isinstance(block.get("thinking"), str):
                yield f"{place}: thinking without its text"


def thinking_not_last(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        thoughts = turn.of("thinking", "redacted_thinking")
        if thoughts and turn.blocks[-1] == thoughts[-1]:
            yield f"{thoughts[-1][0]}: thinking ends the message"


def call_ids_allowed(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        for place, block in turn.of("tool_use", "tool_result"):
            call_id = block.get("id" if block["type"] == "tool_use" else "tool_use_id")
            if call_id not in ANTHROPIC_IDS:
                yield f"{place}: call id {call_id!r:.80} is not allowed"


def call_names_allowed(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        for place, block in turn.of("tool_use"):
            name = block.get("name")
            if name not in ANTHROPIC_NAMES:
                yield f"{place}: tool name {name!r:.80} is not allowed"


def call_inputs_are_objects(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        for place, block in turn.of("tool_use"):
            if not isinstance(block.get("input"), Mapping):
                yield f"{place}: input is not an object"


def call_ids_unique(sent: Sent) -> Iterator[str]:
    calls = Counter(str(block.get("id")) for turn in sent.turns for _, block in turn.of("tool_use"))
    for call_id, times in calls.items():
        if times > 1:
            yield f"call id {call_id!r:.80} occurs {times} times"


def calls_answered(sent: Sent) -> Iterator[str]:
    for turn, after in zip(sent.turns, (*sent.turns[1:], None), strict=False):
        answered = {str(block.get("tool_use_id")) for _, block in (after.of("tool_result") if after else ())}
        for place, block in turn.of("tool_use"):
            if str(block.get("id")) not in answered:
                yield f"{place}: call {block.get('id')!r:.80} is not answered in the next message"


def results_called(sent: Sent) -> Iterator[str]:
    for before, turn in zip((None, *sent.turns), sent.turns, strict=False):
        called = {str(block.get("id")) for _, block in (before.of("tool_use") if before else ())}
        for place, block in turn.of("tool_result"):
            if str(block.get("tool_use_id")) not in called:
                yield f"{place}: result for {block.get('tool_use_id')!r:.80}, which the message before does not call"


def results_single(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        results = Counter(str(block.get("tool_use_id")) for _, block in turn.of("tool_result"))
        for call_id, times in results.items():
            if times > 1:
                yield f"{turn.place}: {times} results for {call_id!r:.80}"


def results_first(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        results = turn.of("tool_result")
        if results and turn.blocks[len(results) - 1] != results[-1]:
            yield f"{results[-1][0]}: result after other content"


def results_have_content(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        for place, block in turn.of("tool_result"):
            if not isinstance(block.get("content"), str | list | None):
                yield f"{place}: result content is neither text nor blocks"
            for inner, one in _inner(place, block):
                if not isinstance(one.get("type"), str) or one["type"] in _NEVER_INSIDE:
                    yield f"{inner}: block type {one.get('type')!r:.80} in a result"


def errors_say_text(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        for place, block in turn.of("tool_result"):
            content = _inner(place, block)
            if block.get("is_error") and not may_fail([one for _, one in content]):
                yield f"{place}: an error must have text and nothing else"


def system_says_something(sent: Sent) -> Iterator[str]:
    if "system" in sent.payload:
        blocks = _blocks("system", sent.payload["system"])
        if not blocks or not all(_may_instruct(block) for _, block in blocks):
            yield "system: must be text that is not blank"


def _may_instruct(block: Block) -> bool:
    """Whether a block may stand in the system prompt."""
    return _says(block.get("text")) if block.get("type") == "text" else is_of_unknown_type(block)


def is_of_unknown_type(block: object) -> bool:
    """Whether a block is of a type that nobody here knows: it is opaque, and taken."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    return isinstance(kind, str) and bool(kind) and kind not in _SIDES


def tools_defined(sent: Sent) -> Iterator[str]:
    for place, tool in _tools(sent):
        schema = tool.get("input_schema")
        # A tool of the provider's own has a type and no schema.
        is_own = isinstance(tool.get("type"), str) and tool["type"] != "custom"
        if tool.get("name") not in ANTHROPIC_NAMES and not (is_own and "name" not in tool):
            yield f"{place}: tool name {tool.get('name')!r:.80} is not allowed"
        if not is_own and not (isinstance(schema, Mapping) and schema.get("type") == "object"):
            yield f"{place}: `input_schema` is not the schema of an object"


def tools_unique(sent: Sent) -> Iterator[str]:
    names = Counter(str(tool["name"]) for _, tool in _tools(sent) if "name" in tool)
    for name, times in names.items():
        if times > 1:
            yield f"tool name {name!r:.80} occurs {times} times"


def marks_few(sent: Sent) -> Iterator[str]:
    marks = sum("cache_control" in block for _, block in _markable(sent))
    if marks > MOST_MARKS:
        yield f"{marks} cache marks, of which {MOST_MARKS} are allowed"


def marks_formed(sent: Sent) -> Iterator[str]:
    for place, block in _markable(sent):
        mark = block.get("cache_control", {"type": "ephemeral"})
        if (
            not isinstance(mark, Mapping)
            or mark.get("type") != "ephemeral"
            or mark.get("ttl", "5m") not in ("5m", "1h")
        ):
            yield f"{place}: cache mark {mark!r:.80} is not known"


def marks_ordered(sent: Sent) -> Iterator[str]:
    short = ""
    for place, block in _markable(sent):
        if MARK in block and is_for_an_hour(block[MARK]) and short:
            yield f"{place}: cache mark of an hour behind a shorter one ({short})"
        elif MARK in block and not is_for_an_hour(block[MARK]):
            short = place


def marks_beside_thinking(sent: Sent) -> Iterator[str]:
    for turn in sent.turns:
        for place, block in turn.of("thinking", "redacted_thinking"):
            if "cache_control" in block:
                yield f"{place}: cache mark on thinking"


Rule = Callable[[Sent], Iterator[str]]

RULES: Final[tuple[Rule, ...]] = (
    messages_exist,
    roles_known,
    first_is_user,
    system_is_text,
    content_present,
    end_is_trimmed,
    blocks_typed,
    blocks_on_their_side,
    text_not_blank,
    media_readable,
    thinking_signed,
    thinking_not_last,
    call_ids_allowed,
    call_names_allowed,
    call_inputs_are_objects,
    call_ids_unique,
    calls_answered,
    results_called,
    results_single,
    results_first,
    results_have_content,
    errors_say_text,
    system_says_something,
    tools_defined,
    tools_unique,
    marks_few,
    marks_formed,
    marks_ordered,
    marks_beside_thinking,
)

_ROLES: Final = ("user", "assistant", "system")
_NEVER_INSIDE: Final = ("tool_use", "tool_result", "thinking", "redacted_thinking")
_SIDES: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("user", "assistant"),
    "image": ("user",),
    "document": ("user",),
    "search_result": ("user",),
    "tool_result": ("user",),
    "tool_use": ("assistant",),
    "thinking": ("assistant",),
    "redacted_thinking": ("assistant",),
}


def _as_taken(messages: Iterable[Turn]) -> Iterator[Turn]:
    """The turns that Anthropic makes of messages: those of one side in a row are one."""
    for role, run in groupby(messages, key=lambda turn: turn.role if isinstance(turn.role, str) else None):
        together = tuple(run)
        if role not in ("user", "assistant") or not all(isinstance(one.content, str | list) for one in together):
            yield from together
            continue
        blocks = tuple(block for one in together for block in one.blocks)
        yield Turn(together[0].place, role, [block for _, block in blocks], blocks)


def _turn(index: int, message: object) -> Turn:
    place = f"message {index}"
    if not isinstance(message, Mapping):
        return Turn(place, None, None, ())
    content = message.get("content")
    return Turn(place, message.get("role"), content, _blocks(place, content))


def _blocks(place: str, content: object) -> tuple[tuple[str, Block], ...]:
    """Content as blocks; what is no object becomes a block without a type, which no rule accepts."""
    if isinstance(content, str):
        return ((place, {"type": "text", "text": content}),) if content else ()
    return tuple((f"{place}, block {index}", block) for index, block in enumerate(_objects(content)))


def _inner(place: str, result: Block) -> tuple[tuple[str, Block], ...]:
    content = result.get("content")
    # A result may well be the empty text, or white space alone, as long as it is no block.
    return _blocks(place, content) if not isinstance(content, str) or content.strip() else ()


def _says(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _tools(sent: Sent) -> list[tuple[str, Block]]:
    return [(f"tool {index}", tool) for index, tool in enumerate(_objects(sent.payload.get("tools")))]


def _objects(value: object) -> list[Block]:
    found: list[Any] = value if isinstance(value, list) else []
    return [one if isinstance(one, Mapping) else {} for one in found]


def _markable(sent: Sent) -> Iterator[tuple[str, Block]]:
    """Whatever may have a cache mark, in the order in which the provider caches it."""
    yield from _tools(sent)
    yield from _blocks("system", sent.payload.get("system"))
    for turn in sent.turns:
        for place, block in turn.blocks:
            yield place, block
            if block.get("type") == "tool_result":
                yield from _inner(place, block)
