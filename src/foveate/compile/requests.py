"""Request passes: what is done to every message before any request shows it.

They are asked about messages as they were recorded, each pass once about each message. What one rewrote reads so from
there on, for digests, recalled passages and pins, too: the outcome is recorded, and no later compile needs the pass for
it. A pass that comes to a session later is asked about all that was said before, whether it was sent or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec

from foveate.compile.draft import Draft, PassContext
from foveate.compile.mending import Mender
from foveate.compile.pass_protocol import Pass, PlainPass, RequestPass, pass_name
from foveate.compile.projection import Projection
from foveate.compile.recipe import recipe_of
from foveate.compile.reduction import compared, is_needed, run_pass
from foveate.errors import ConfigError
from foveate.log.context import AgentContext
from foveate.log.events import Body, FramingSet, PassRecord
from foveate.log.items import Item
from foveate.log.messages import Message, MessageMeta, Opaque, Text, has_content, text_message
from foveate.log.quoting import flatten_text
from foveate.log.sections import ContextSection
from foveate.log.state import AgentState

Stage = Pass | PlainPass
WHY = "rewritten before any request showed it"
_PROMPT: Final = "system"
_SECTION_TEXTS: Final = ("name", "content", "source")
_BESIDE: Final = MessageMeta(origin="system")


class Requested(NamedTuple):
    """The items after the request passes, what these did, and the messages that they rewrote, by place in the log."""

    items: tuple[Item, ...]
    records: tuple[PassRecord, ...] = ()
    rewritten: Mapping[int, Message] = {}
    asked: tuple[str, ...] = ()


def ask(items: tuple[Item, ...], passes: Sequence[RequestPass], ctx: PassContext) -> Requested:
    """Ask request passes about every message that they have not seen."""
    if not passes:
        return Requested(items)
    timeline = ctx.timeline
    first = [
        timeline.asked.get(key_of(stage), 0) if reaches_back else timeline.sealed_messages
        for stage, reaches_back in passes
    ]
    return _Asking(items, passes, first, ctx).done()


@dataclass
class _Asking:
    items: tuple[Item, ...]
    passes: Sequence[RequestPass]
    # The place of the first message that each of them has not seen.
    first: Sequence[int]
    ctx: PassContext

    def done(self) -> Requested:
        timeline = self.ctx.timeline
        count = timeline.mender.sealed
        tail = self.items[count:]
        fresh, records = self._messages(tail)
        if not records and not any(reaches_back for _, reaches_back in self.passes):
            return Requested(self.items)
        changed = [item.order for item in fresh if item.fate != "verbatim"]
        rewritten = self.ctx.rewritten
        asked = tuple([key_of(one.stage) for one in self.passes if one.reaches_back])
        sealed = self._sent(count)
        if changed and changed[-1] >= timeline.sealed_messages:
            unsent = tuple(item for item in fresh if item.order >= timeline.sealed_messages)
            new = self._mended(sealed or self.items[:count], unsent, tail)
        else:
            new = self._looked_up(tail)
        if sealed is None and new is tail:
            return Requested(self.items, records, rewritten, asked)
        return Requested((*(sealed or self.items[:count]), *new), records, rewritten, asked)

    def _messages(self, tail: tuple[Item, ...]) -> tuple[tuple[Item, ...], tuple[PassRecord, ...]]:
        """The messages that some pass has not seen, as the passes leave them."""
        fresh = self._fresh(min(self.first), tail)
        records: list[PassRecord] = []
        for (stage, _), first in zip(self.passes, self.first, strict=True):
            seen = [item for item in fresh if item.order < first]
            draft = Draft(fresh[len(seen) :])
            if not is_needed(stage, draft, self.ctx, always=True):
                continue
            after = _asked(stage, draft, self.ctx)
            _refuse_late_rewriting(stage, draft, after)
            record = compared(pass_name(stage), draft, after)
            # As part of the whole request.
            beside = self.ctx.timeline.tokens_of(self.items) - sum([item.tokens for item in tail])
            before, left = record.tokens_before + beside, record.tokens_after + beside
            records.append(msgspec.structs.replace(record, tokens_before=before, tokens_after=left))
            fresh = (*seen, *after.items)
            # What one pass took out, the next one cannot bring back, whatever it leaves of the message.
            taken = {item.order: item.message for item in after.items if item.fate == "rewritten"}
            self.ctx = replace(self.ctx, rewritten={**self.ctx.rewritten, **taken})
        return fresh, tuple(records)

    def _fresh(self, first: int, tail: tuple[Item, ...]) -> tuple[Item, ...]:
        """The messages from a place on, as they were recorded."""
        known = {item.order: item for item in tail if item.fate == "verbatim"}
        timeline = self.ctx.timeline
        fresh: list[Item] = []
        if first < timeline.sealed_messages:
            timeline.prefetch(range(first, timeline.sealed_messages))
        for order in range(first, timeline.message_count):
            item = known.get(order)
            message = timeline.message(order) if item is None else item.message
            tokens = timeline.count(message) if item is None else item.tokens
            fresh.append(Item(id=message.id, message=message, tokens=tokens, order=order, group=message.id))
        return tuple(fresh)

    def _sent(self, count: int) -> tuple[Item, ...] | None:
        """What was sent, as passes leave it that had not seen it then; None if they change nothing of it."""
        newer = [
            stage
            for (stage, reaches_back), first in zip(self.passes, self.first, strict=True)
            if reaches_back and first < self.ctx.timeline.sealed_messages
        ]
        before = draft = Draft(self.items[:count] if newer else ())
        for stage in newer:
            draft = _asked(stage, draft, self.ctx)
        return None if draft is before else draft.items

    def _looked_up(self, tail: tuple[Item, ...]) -> tuple[Item, ...]:
        """The new items, those of them asked about that were made of other messages."""
        made = Draft(tuple([item for item in tail if item.fate == "recalled"]))
        if not made.items:
            return tail
        after = made
        for stage, reaches_back in self.passes:
            if reaches_back:
                after = _asked(stage, after, self.ctx)
        by_id = {item.id: item for item in after.items}
        return tail if after is made else tuple(by_id.get(item.id, item) for item in tail)

    def _mended(self, sealed: tuple[Item, ...], fresh: tuple[Item, ...], tail: tuple[Item, ...]) -> tuple[Item, ...]:
        """The new items, made of rewritten messages."""
        mender = Mender(self.ctx.count_message)
        mender.replace(list(sealed), claims=True)
        for item in fresh:
            mender.feed_item(item)
        items = mender.projected()[len(sealed) :]
        same = {item.id: item for item in tail}
        items = [same[item.id] if same.get(item.id) == item else item for item in items]
        for found in self._looked_up(tuple(item for item in tail if item.fate == "recalled")):
            at = next((index for index, item in enumerate(items) if item.id == found.anchor), len(items))
            items = [*items[:at], found, *items[at:]]
        return tuple(items)


def _refuse_late_rewriting(stage: Stage, before: Draft, after: Draft) -> None:
    """Refuse a rewriting of what an earlier pass shortened: half of what is to be taken out may be left there."""
    for old, new in zip(before.items, after.items, strict=True):
        if not old.is_whole and new is not old:
            raise ConfigError(
                f"pass `{pass_name(stage)}` changes {old.id}, of which `{old.by}` has left a part; put "
                f"`{pass_name(stage)}` before `{old.by}`"
            )


_STILL_OPEN: Final = "an error that is not settled"


def key_of(stage: Stage) -> str:
    """What a pass is known by in the records of calls: its name and its options."""
    return f"{pass_name(stage)}:{recipe_of(stage)[:16]}"


def _asked(stage: Stage, draft: Draft, ctx: PassContext) -> Draft:
    """The draft as a request pass leaves it: with the same items, some of them changed."""
    after = run_pass(stage, draft, ctx)
    if after is draft:
        return draft
    given, back = [item.id for item in draft.items], [item.id for item in after.items]
    if given != back:
        odd = next(iter(set(given) ^ set(back)), "in another order")
        raise ConfigError(
            f"pass `{pass_name(stage)}` runs on every request and gave back other items than it was given ({odd}); "
            "a request pass rewrites messages one for one: to leave one out, put a short text in its place, or do it "
            "in a reduction"
        )
    return draft.with_items(_changed(*pair, stage, ctx) for pair in zip(draft.items, after.items, strict=True))


def _changed(old: Item, new: Item, stage: Stage, ctx: PassContext) -> Item:
    if new.message == old.message and new.lines == old.lines:
        return old
    if any(map(has_content, old.message.parts)) and not any(map(has_content, new.message.parts)):
        raise ConfigError(
            f"pass `{pass_name(stage)}` left nothing of {old.id}, and providers refuse an empty message; put a word "
            "such as [redacted] in its place"
        )
    tokens = ctx.count_message(new.message)
    if new.fate != old.fate:
        # It shows less of a message that stays as it is.
        return msgspec.structs.replace(new, tokens=tokens)
    if old.is_digest and new.lines == old.lines:
        # Its lines would come back, as they were, in the digest that takes its place; errors stay open without words.
        errors = [msgspec.structs.replace(one, text=_STILL_OPEN, tokens=0) for one in new.lines if one.kind == "error"]
        new = msgspec.structs.replace(new, lines=tuple(errors), room=0)
    if not old.is_as_said:
        # What became of it before is what is told of it.
        return msgspec.structs.replace(new, tokens=tokens)
    return msgspec.structs.replace(new, tokens=tokens, fate="rewritten", by=pass_name(stage), why=WHY)


def ask_beside(state: AgentState, passes: Sequence[Stage], ctx: PassContext) -> tuple[AgentState, tuple[Body, ...]]:
    """The state with sections, override and system prompt as passes leave them, and an event for the latter."""
    timeline = ctx.timeline
    context = state.context
    sections, override = state.sections, state.override
    prompt = _prompt(context)
    if override is not None:
        override = _override(override, passes, ctx)
    else:
        beside = [message for index, section in enumerate(sections) for message in _section_texts(index, section)]
        # The last call showed it as they left it, and they are asked about each text once.
        seen = timeline.sent is not None and not timeline.reframed
        if prompt is not None and not (seen and all(key_of(stage) in timeline.asked for stage in passes)):
            beside.append(prompt)
        found = _beside(beside, passes, ctx)
        sections = tuple(_section(index, one, found) for index, one in enumerate(sections))
        prompt = found.get(_PROMPT, prompt)
    state = replace(state, sections=sections, override=override)
    if prompt is None or prompt == _prompt(context):
        return state, ()
    system, forms = _said_by(prompt, context)
    framed = FramingSet(
        system=system, forms=forms, tools=context.tools, response_format=context.response_format, model=context.model
    )
    return replace(state, context=replace(context, system=system, forms=forms)), (framed,)


def _prompt(context: AgentContext) -> Message | None:
    """The system prompt as a message: a part for each of the blocks that it was given in."""
    if not context.system:
        return None
    given = next(iter(context.forms.values()), None)
    if given is None:
        return text_message(_PROMPT, "system", context.system, _BESIDE)
    blocks = given["parts"] if isinstance(given, dict) else given
    parts = tuple(map(_block_part, blocks))
    fields = {name: value for name, value in given.items() if name != "parts"} if isinstance(given, dict) else {}
    return Message(id=_PROMPT, role="system", parts=parts, meta=_BESIDE, extra=fields)


def _block_part(block: dict[str, Any]) -> Text | Opaque:
    # A block of a type that nobody here knows may have no text.
    text = block.get("text")
    is_text = block.get("type", "text") == "text" and isinstance(text, str)
    return Text(text=str(text), extra=block) if is_text else Opaque(format="anthropic", raw=block)


def _said_by(prompt: Message, context: AgentContext) -> tuple[str, dict[str, Any]]:
    """What a message says as a system prompt: as a text, and in the form that the prompt of the context has."""
    said = [part for part in prompt.parts if isinstance(part, Text)]
    system = "\n\n".join(part.text for part in said)
    # The fields of a block stay in their order.
    blocks = [
        part.raw if isinstance(part, Opaque) else {**part.extra, "text": part.text}
        for part in prompt.parts
        if isinstance(part, Text | Opaque)
    ]
    forms: dict[str, Any] = {}
    for format, given in context.forms.items():
        if isinstance(given, dict):
            forms[format] = {name: blocks if name == "parts" else prompt.extra.get(name) for name in given}
        else:
            forms[format] = [block if "type" in block else {"type": "text", **block} for block in blocks]
    return system, forms


def _section_texts(index: int, section: ContextSection) -> Iterator[Message]:
    """What a section says, each text of it as a message: a request shows its name, too, and an account its source."""
    for field in _SECTION_TEXTS:
        text = getattr(section, field)
        if text:
            yield text_message(f"section {index} {field}", "system", text, _BESIDE)


def _section(index: int, section: ContextSection, found: Mapping[str, Message]) -> ContextSection:
    texts = {field: found.get(f"section {index} {field}") for field in _SECTION_TEXTS}
    changed = {
        field: flatten_text(message.text) if field == "name" else message.text
        for field, message in texts.items()
        if message is not None and message.text != getattr(section, field)
    }
    return msgspec.structs.replace(section, **changed) if changed else section


def _beside(messages: Iterable[Message], passes: Iterable[Stage], ctx: PassContext) -> dict[str, Message]:
    draft = _drafted(messages, ctx.timeline)
    for stage in passes:
        draft = _asked(stage, draft, ctx)
    return {item.id: item.message for item in draft.items}


def _override(messages: tuple[Message, ...], passes: Iterable[Stage], ctx: PassContext) -> tuple[Message, ...]:
    # Messages of a caller may lack an id.
    draft = before = _drafted(
        (msgspec.structs.replace(one, id=f"o{at}") for at, one in enumerate(messages)), ctx.timeline
    )
    for stage in passes:
        draft = _asked(stage, draft, ctx)
    if draft is before:
        return messages
    back = zip(messages, draft.items, strict=True)
    return tuple(msgspec.structs.replace(item.message, id=one.id) for one, item in back)


def _drafted(messages: Iterable[Message], timeline: Projection) -> Draft:
    return Draft(
        tuple(
            # Behind all that was said, as it is said now.
            Item(id=one.id, message=one, tokens=timeline.count(one), order=timeline.message_count + at, group=one.id)
            for at, one in enumerate(messages)
        )
    )
