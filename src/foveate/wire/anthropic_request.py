"""A request by Anthropic's rules.

A message that came from Anthropic's format and was not reduced is sent as it came, up to what would be refused: blocks
that are empty, media and thinking that nobody can read. All else is written anew. Leading system messages join the
system prompt, later ones become user text in a frame that names the system; messages of one side in a row become one;
thinking is sent only if it is signed for Anthropic and its message begins with it. Ids and names that are not allowed
are replaced, the same way in calls, results and definitions. A request that would begin with the assistant gets a short
user text in front.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from foveate.log.messages import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from foveate.wire.anthropic_blocks import FORMAT, is_signed, note, result_pieces, wire_fields
from foveate.wire.anthropic_marks import chosen_mark, is_marked, mark_messages, mark_opening, no_longer_than
from foveate.wire.anthropic_originals import (
    blocks_as_they_came,
    came_together,
    in_form,
    is_acceptable,
    is_original,
    may_fail,
    sent_fields,
)
from foveate.wire.attachments import fetched, held, inline, left_out, shown_kind, words
from foveate.wire.data_uri import kind_of
from foveate.wire.fields import arguments_object, plainest
from foveate.wire.format import OPENING, Request, framed_as_system, opening_of_nothing
from foveate.wire.names import ANTHROPIC_IDS, ANTHROPIC_NAMES, Spelling, spelling
from foveate.wire.opaque import readable_opaque, without_alien
from foveate.wire.originals import reordered
from foveate.wire.tools import anthropic_tools

NO_OUTPUT: Final = "[no output]"

Block = dict[str, Any]


def lower(request: Request) -> dict[str, Any]:
    """The keywords of a call: `messages`, and `system` and `tools` where there are any."""
    said = without_alien(request.messages, FORMAT)
    leading = next((at for at, one in enumerate(said) if one.role != "system" or is_original(one)), len(said))
    spelled = spelling(request, names=ANTHROPIC_NAMES, ids=ANTHROPIC_IDS)
    tools = [dict(tool) for tool in anthropic_tools(request.tools, spelled.names, anew=request.wire == 1)]
    ends: dict[int, list[Block]] = {}
    rest = said[leading:]
    if request.wire > 1:
        rest = [one if is_original(one) else framed_as_system(one) for one in rest]
    turns = _led_by_the_user(_turns(rest, leading, ends, spelled), request)
    contents = [turn.blocks for turn in turns]
    # A client that marks its messages knows what it wants cached, until they are rewritten.
    ours = request.rewritten or not is_marked(contents)
    system = _system(request, said[:leading])
    wanted = request.mark_system or any(index < leading for index in request.marks)
    mark = chosen_mark(contents, request.mark_seconds)
    left = mark_opening(system, tools, mark if wanted and ours and FORMAT not in request.forms else None)
    marked = [ends[index] for index in sorted({*request.marks}) if index in ends]
    mark_messages(contents, marked, left, no_longer_than(mark, [*tools, *system]), rewritten=request.rewritten)
    sent: dict[str, Any] = {"messages": [turn.as_sent() for turn in turns]}
    if system:
        sent["system"] = system if FORMAT in request.forms else plainest(system)
    if tools:
        sent["tools"] = tools
    return sent


@dataclass(frozen=True, slots=True)
class _Turn:
    """A message to be sent: `form` is that of an original, and None where Foveate writes the message."""

    role: str
    blocks: list[Block]
    form: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keys: Any = None

    @property
    def is_answer(self) -> bool:
        """Whether the message is nothing but results."""
        return self.role == "user" and all(block["type"] == "tool_result" for block in self.blocks)

    def as_sent(self) -> dict[str, Any]:
        """The message with its content in its form."""
        content = in_form(self.blocks, self.form) if self.form is not None else self.blocks
        return dict(reordered({"role": self.role, "content": content, **self.fields}, self.keys))


def _system(request: Request, leading: Sequence[Message]) -> list[Block]:
    """The system prompt as blocks: as they were given, or all texts as one."""
    prompts = [_prompt(message) for message in leading]
    given = request.forms.get(FORMAT)
    if isinstance(given, list):
        more = "\n\n".join(text for text in prompts if text.strip())
        return [*map(dict, given), *([{"type": "text", "text": more}] if more else [])]
    system = "\n\n".join(text for text in (request.system or "", *prompts) if text.strip())
    return [{"type": "text", "text": system}] if system else []


def _prompt(message: Message) -> str:
    """What a message says as part of the system prompt, which is text alone."""
    shown = [part for part in message.parts if isinstance(part, Text | Media)]
    return "\n".join(left_out(part) if isinstance(part, Media) else part.text for part in shown)


def _turns(messages: Iterable[Message], first: int, ends: dict[int, list[Block]], spelled: Spelling) -> list[_Turn]:
    """The messages to be sent; `ends` gets the blocks of each message by its index."""
    turns: list[_Turn] = []
    before: Message | None = None
    for index, message in enumerate(messages, first):
        original = is_original(message)
        blocks = _original_blocks(message, spelled) if original else _blocks(message, spelled)
        turn = _turn_of(message, blocks) if original else _Turn(_role(message), blocks)
        ends[index] = blocks
        last = turns[-1] if turns else None
        if last is not None and last.role == turn.role and _goes_on(last, turn, before, message):
            turns[-1] = replace(last, blocks=[*last.blocks, *blocks], form="blocks" if last.form else None)
        elif blocks:
            turns.append(turn)
        before = message
    return _joined([turn if turn.form else replace(turn, blocks=_led_by_thinking(turn.blocks)) for turn in turns])


def _role(message: Message) -> str:
    return "assistant" if message.role == "assistant" else "user"


def _turn_of(message: Message, blocks: list[Block]) -> _Turn:
    role = "system" if message.role == "system" else _role(message)
    return _Turn(role, blocks, str(note(message.extra, "form")), sent_fields(message), note(message.extra, "keys"))


def _goes_on(last: _Turn, turn: _Turn, before: Message | None, message: Message) -> bool:
    """Whether a message is sent in one with the one before it: if it came so, or if one of them is not an original.

    What is not an original joins its like; beside an original, only results of one exchange are put together.
    """
    if turn.form is not None and before is not None and came_together(before, message):
        return True
    if turn.form is None and last.form is None:
        return True
    return not (turn.form and last.form) and last.is_answer and turn.is_answer


def _joined(turns: list[_Turn]) -> list[_Turn]:
    """The turns that say something; where one is gone, its neighbours are one."""
    joined: list[_Turn] = []
    for turn in turns:
        if joined and joined[-1].role == turn.role and not (joined[-1].form or turn.form):
            joined[-1] = replace(joined[-1], blocks=[*joined[-1].blocks, *turn.blocks])
        elif turn.blocks:
            joined.append(turn)
    return joined


def _led_by_the_user(turns: list[_Turn], request: Request) -> list[_Turn]:
    _trim(turns)
    if any(turn.role != "system" for turn in turns) and turns[0].role != "assistant":
        return turns
    opening = OPENING if turns else opening_of_nothing(request, "Anthropic")
    return [_Turn("user", [{"type": "text", "text": opening}]), *turns]


def _trim(turns: list[_Turn]) -> None:
    """Cut white space at the end of an assistant's words that end the request: Anthropic refuses it."""
    if turns and turns[-1].role == "assistant" and turns[-1].blocks[-1]["type"] == "text":
        turns[-1].blocks[-1]["text"] = turns[-1].blocks[-1]["text"].rstrip()


def _is_thinking(block: Block) -> bool:
    return block["type"] in ("thinking", "redacted_thinking")


def _led_by_thinking(blocks: list[Block]) -> list[Block]:
    """Blocks with their thinking if they begin with it, and without any that nothing follows."""
    said = [block for block in blocks if not _is_thinking(block)]
    return _without_last_thoughts(blocks) if blocks and _is_thinking(blocks[0]) else said


def _without_last_thoughts(blocks: list[Block]) -> list[Block]:
    said = [index for index, block in enumerate(blocks) if not _is_thinking(block)]
    return blocks[: said[-1] + 1] if said else []


def _original_blocks(message: Message, spelled: Spelling) -> list[Block]:
    """The blocks of an original as they came, but for those that would be refused."""
    blocks: list[Block] = []
    for part, block in zip(message.parts, blocks_as_they_came(message), strict=True):
        if not is_acceptable(block, message.role):
            blocks += _written(part, message, spelled)
        elif isinstance(part, ToolCall):
            blocks.append({**block, "id": spelled.ids[part.id], "name": spelled.names[part.name]})
        elif isinstance(part, ToolResult):
            blocks.append({**block, "tool_use_id": spelled.ids[part.call_id]})
        else:
            blocks.append(block)
    return _without_last_thoughts(blocks)


def _blocks(message: Message, spelled: Spelling) -> list[Block]:
    blocks = [block for part in message.parts for block in _written(part, message, spelled)]
    if message.role == "assistant" and blocks and blocks[-1]["type"] == "text":
        # Refused at the end of a request; cut wherever it stands, so that a message is sent the same way ever after.
        blocks[-1]["text"] = blocks[-1]["text"].rstrip()
    return blocks


def _written(part: Part, message: Message, spelled: Spelling) -> Iterator[Block]:
    """The blocks of a part as Foveate writes them."""
    if message.role == "assistant":
        return _said(part, spelled)
    return _shown(part, message.extra.get("is_error") is True, spelled)


def _said(part: Part, spelled: Spelling) -> Iterator[Block]:
    match part:
        case Thinking(text=text, signature=signature, extra=extra) if is_signed(part):
            if note(extra, "redacted"):
                yield {"type": "redacted_thinking", "data": signature}
            else:
                yield {"type": "thinking", "thinking": text, "signature": signature}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            given = arguments_object(arguments)
            yield {"type": "tool_use", "id": spelled.ids[call_id], "name": spelled.names[name], "input": given}
        case Media():
            yield {"type": "text", "text": left_out(part)}
        case Opaque(raw=raw):
            yield dict(raw)
        case Text(text=text):
            yield from _text(text)
        case _:
            return


def _shown(part: Part, error: bool, spelled: Spelling) -> Iterator[Block]:
    match part:
        case ToolResult():
            yield _result(part, error, spelled)
        case Text(text=text, extra=extra) if text.strip() and note(extra, "document") is not None:
            source = {"type": "text", "media_type": "text/plain", "data": text}
            yield {"type": "document", "source": source, **_titles(extra)}
        case Text(text=text):
            yield from _text(text)
        case Media():
            yield _media(part)
        case Opaque(raw=raw):
            # A block of a known type that is not what it should be is said in words.
            yield dict(raw) if is_acceptable(raw, "user") else {"type": "text", "text": readable_opaque(raw)}
        case _:
            return


def _text(text: str) -> Iterator[Block]:
    if text.strip():
        yield {"type": "text", "text": text}


def _result(result: ToolResult, error: bool, spelled: Spelling) -> Block:
    content = [block for piece in result_pieces(result) for block in _shown(piece, error, spelled)]
    block: Block = {"type": "tool_result", "tool_use_id": spelled.ids[result.call_id]}
    if error and not content:
        content = [{"type": "text", "text": NO_OUTPUT}]
    if content:
        block["content"] = content
    # An error may only say text; an image says more than the flag.
    return {**block, "is_error": True} if error and may_fail(content) else block


def _titles(extra: dict[str, Any]) -> dict[str, str]:
    fields = wire_fields(extra)
    return {
        key: fields[key] for key in ("title", "context") if isinstance(fields.get(key), str) and fields[key].strip()
    }


def _media(media: Media) -> Block:
    source = _source(media)
    if source is None:
        return {"type": "text", "text": left_out(media)}
    content = inline(media.reference)
    kind = shown_kind(media) if content is None else kind_of(content.media_type)
    if kind == "image":
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, **_titles(media.extra)}


def _source(media: Media) -> Block | None:
    taken = held(FORMAT, media)
    if taken is not None:
        return {"type": "base64", "media_type": taken.media_type, "data": taken.content}
    content = inline(media.reference)
    if content is None:
        return _fetched(media)
    text = words(content) if content.media_type == "text/plain" else None
    return {"type": "text", "media_type": "text/plain", "data": text} if text and text.strip() else None


def _fetched(media: Media) -> Block | None:
    """The source of what is not in the request itself: an address, or an id that Anthropic gave."""
    known = note(media.extra, "source")
    if isinstance(known, dict) and known.get("type") == "file" and media.reference:
        return {"type": "file", "file_id": media.reference}
    address = fetched(FORMAT, media)
    return None if address is None else {"type": "url", "url": address}
