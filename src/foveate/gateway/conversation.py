"""A conversation: one branch of what an agent sends, and the session that it is recorded in."""

from __future__ import annotations

from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from msgspec import UNSET

from foveate.budget.profiles import ModelProfile, known_profile
from foveate.errors import FoveateError
from foveate.gateway.bodies import decode
from foveate.gateway.evidence import working_directory
from foveate.gateway.incoming import Incoming, Prepared
from foveate.gateway.layout import Layout, continued, is_reduced, laid_out, whole
from foveate.gateway.matching import ItemKeys
from foveate.gateway.privacy import redact_item
from foveate.gateway.settings import Mode
from foveate.gateway.twin import Twin
from foveate.log.events import Body, DiagnosticRecorded, MessageAppended, ReductionRecorded, RequestReceived
from foveate.session.session import Session

AGENTS_OWN = "agent"
"""The pass that a reduction names which an agent made of its own history."""


class _Boundary(NamedTuple):
    """Where a request ended: how many items the agent had, how many messages the log, and how many events."""

    items: int
    messages: int
    events: int


class Conversation:
    """One branch: a session, and the keys of the items that its agent has in its requests now."""

    def __init__(self, session: Session, mode: Mode, keys: ItemKeys) -> None:
        self.session = session
        self.mode: Mode = mode
        self.keys: tuple[str, ...] = ()
        self.kin = ""
        self.window = ""
        self.used = 0.0
        self.twin: Twin | None = None
        # What was sent last, and for how many items.
        self.layout: Layout | None = None
        self.covered = 0
        self.last: Prepared | None = None
        self._item_keys = keys
        self._framing = ""
        self._boundaries: list[_Boundary] = []
        self._read = 0
        self._messages = 0
        # Tokens of the log that the agent's requests no longer have.
        self._left = 0

    def follow(self) -> None:
        """Take in what the log has by now, whoever wrote it."""
        context = self.session.context
        for event in context.log.events(self._read, context.length):
            match event.body:
                case MessageAppended():
                    self._messages += 1
                case RequestReceived() as body:
                    self.keys = (*self.keys[: body.first], *body.keys)
                    self._framing, self.kin, self.window = body.framing, body.kin, body.window
                    self._boundaries = [one for one in self._boundaries if one.items <= body.first]
                    self._boundaries.append(_Boundary(len(self.keys), self._messages, event.seq + 1))
                case ReductionRecorded(passes=passes, before=before, after=after) if AGENTS_OWN in passes:
                    self._left += before - after
                case _:
                    pass
        self._read = context.length

    # --- what comes -----------------------------------------------------------------------------------------------

    def take(self, incoming: Incoming) -> None:
        """Append what a request says that the log does not have yet; its items begin with those that it has."""
        first = len(self.keys)
        self._reframe(incoming)
        received = RequestReceived(
            first=first,
            keys=incoming.keys[first:],
            protocol=incoming.protocol.name,
            agent=incoming.sender.agent,
            their_session=incoming.sender.session,
            their_agent=incoming.sender.subagent,
            window=incoming.sender.window,
            framing=_framing_of(incoming),
            kin=incoming.frame.kin,
        )
        raws = [redact_item(decode(raw)).value for raw in incoming.body.items[first:]]
        self.session.extend(raws, format=incoming.protocol.format, time=incoming.now, hold=True, with_event=received)
        if not first and (folder := working_directory(incoming.body.raw)):
            self.session.tag(cwd=folder)
        self.follow()

    def _reframe(self, incoming: Incoming) -> None:
        if self._framing == _framing_of(incoming) and self._boundaries:
            return
        system = redact_item(incoming.frame.system).value if incoming.frame.system is not None else None
        model = profile_of(incoming.model)
        self.session.reframe(system=system, tools=incoming.frame.tools, model=model or UNSET, hold=True)

    def drop(self, common: int, incoming: Incoming) -> None:
        """Take leave of the items behind the first `common`: the agent dropped them, so no request has them again.

        The log keeps them. Where a request ended is known, and where its single items stand is not: what the agent
        kept of the request in which it begins to differ comes again.
        """
        # Each instruction that stands first is one message.
        leading = _Boundary(incoming.frame.leading, incoming.frame.leading, 0)
        known = [one for one in (leading, *self._boundaries) if 0 < one.items <= common]
        kept = max(known, default=None)
        items = self.session.items
        behind = ""
        if kept is not None:
            before = [item for item in items if item.order < kept.messages and not item.is_digest]
            is_plain = len(before) == sum(item.order < kept.messages for item in items)
            behind = before[-1].id if before and is_plain else ""
        place = next((at for at, item in enumerate(items) if item.id == behind), -1) + 1
        gone = items[place:]
        self.keys = self.keys[: kept.items] if kept is not None and behind else ()
        self._boundaries = [one for one in self._boundaries if one.items <= len(self.keys)]
        self._boundaries += [leading] if kept is leading and behind else []
        self.layout, self.covered, self.last = None, 0, None
        if not gone:
            return
        before_tokens = sum(item.tokens for item in items)
        reduction = ReductionRecorded(
            number=self.session.reductions + 1,
            trigger="asked",
            reason=f"the agent replaced {len(gone)} messages of its own history",
            passes=(AGENTS_OWN,),
            layout=(),
            last=items[-1].id,
            before=before_tokens,
            after=before_tokens - sum(item.tokens for item in gone),
            claims=True,
            behind=behind,
            dropped={AGENTS_OWN: tuple(item.id for item in gone)},
        )
        self.session.note(reduction, time=incoming.now)
        self.follow()

    def history_until(self, common: int) -> list[Body]:
        """The events of a branch that shares the first `common` items, as far as a request ended there."""
        kept = max((one for one in self._boundaries if one.items <= common), default=None)
        if kept is None:
            return []
        log = self.session.context.log
        # With its call: what was reduced and recalled for it is what its provider has in the cache.
        of_its_call = takewhile(
            lambda event: not isinstance(event.body, MessageAppended), log.events(kept.events, self._read)
        )
        return [event.body for event in (*log.events(0, kept.events), *of_its_call)]

    # --- what goes ------------------------------------------------------------------------------------------------

    def send(self, incoming: Incoming) -> Prepared:
        """Record the call for a request whose items the log has, and lay it out."""
        view = self.session.compile(now=incoming.now)
        reduced = is_reduced(view)
        count = len(incoming.body.items)
        layout = laid_out(view, incoming.protocol, incoming.body.items, self._item_keys) if reduced else whole(count)
        self.layout, self.covered = layout, count
        compiled: int | None = view.tokens if self.mode == "compile" else None
        if self.twin is not None:
            compiled = self.twin.follow(self.session.context)
        self.last = Prepared(
            session=self.session.id,
            mode=self.mode,
            layout=layout,
            call=view.number,
            raw_tokens=view.framing.tokens + view.logged - self._left,
            tokens=view.tokens,
            compiled_tokens=compiled,
            trigger=(view.decision.trigger if view.decision is not None else "") or "",
        )
        return self.last

    def send_again(self, incoming: Incoming) -> Prepared:
        """The same again, for a request that says nothing new."""
        layout = self._sent_layout(incoming)
        if self.last is None:
            self.last = Prepared(session=self.session.id, mode=self.mode, layout=layout, call=self.session.calls)
        return self.last

    def _sent_layout(self, incoming: Incoming) -> Layout:
        """What was sent last; rebuilt from the log, if this process did not send it."""
        if self.layout is None:
            items = incoming.body.items[: len(self.keys)]
            calls = self.session.calls
            view = self.session.call(calls) if calls else None
            is_other = view is not None and is_reduced(view)
            self.layout = (
                laid_out(view, incoming.protocol, items, self._item_keys) if is_other and view else whole(len(items))
            )
            self.covered = len(items)
        return continued(self.layout, self.covered, len(self.keys))

    def shorten(self, incoming: Incoming, most: int, later: int) -> Prepared:
        """The request once more with at most so many tokens, since its provider takes no more.

        Later ones may have a few more: what was refused is known, and how much would have been taken is not.
        """
        self.session.narrow(most)
        prepared = self.send(incoming)
        self.session.narrow(later)
        return prepared

    def report(self, call: int, usage: object) -> None:
        """Record what the provider counted for a call; what it reports wrongly is none of the agent's concern."""
        try:
            self.session.report_usage(usage, call=call)
        except FoveateError as error:
            self.session.note(
                DiagnosticRecorded(code="usage_unread", phase="usage", text=str(error), subject=str(call))
            )


def _framing_of(incoming: Incoming) -> str:
    return f"{incoming.frame.key} {incoming.model or ''}"


@lru_cache(maxsize=256)
def profile_of(model: str | None) -> ModelProfile | None:
    """What is known of the model that a request names."""
    return None if model is None else known_profile(model)
