"""Conversations: which branch a request goes on from, and where a new one begins.

The requests of one agent are a tree: most go on from the one before, some replace its last items, and an agent that
compacts begins anew. Each branch is a session of its own in the store. What an agent drops of its own history leaves
the requests but not the log, so that recall reaches back.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from foveate.budget.profiles import DEFAULT_RULES
from foveate.budget.tokens import counter_for
from foveate.compile.compilers import PragmaticCompiler
from foveate.errors import FoveateError
from foveate.gateway.conversation import Conversation, profile_of
from foveate.gateway.incoming import Incoming, Prepared
from foveate.gateway.layout import Layout, continued, whole
from foveate.gateway.matching import ItemKeys
from foveate.gateway.settings import Mode
from foveate.gateway.twin import Twin
from foveate.log.events import DiagnosticRecorded
from foveate.session.observing import log_failure
from foveate.session.session import Session
from foveate.store import Store
from foveate.threads.matching import shared_length

VAULT: Final = "gateway"
# An agent that replaces so few of its last items asks something on the side; one that drops more has compacted.
_ASIDE: Final = 3
_MOST_OPEN: Final = 200

ModeOf = Callable[[str, str], Mode]
"""The mode of a session, by its name and its agent."""


class _Sent(NamedTuple):
    """What is known of a branch without waiting for it: its items, and what was sent for them."""

    keys: tuple[str, ...]
    layout: Layout
    session: str


class Conversations:
    """The conversations that a gateway has seen; each waits for nobody but its own requests.

    Args:
        store: where sessions are kept; without one they are kept in memory.
        keys: makes the keys of items.
        budget: the most input tokens of a compiled request.
        mode_of: says what is done with a session.

    """

    def __init__(self, store: Store | None, keys: ItemKeys, *, budget: int | None, mode_of: ModeOf) -> None:
        self._store = store
        self._keys = keys
        self._budget = budget
        self._mode_of = mode_of
        # Every session that a request was recorded in.
        self.names: dict[str, None] = {}
        self._branches: OrderedDict[str, list[Conversation]] = OrderedDict()
        self._sent: dict[str, tuple[_Sent, ...]] = {}
        self._locks: dict[str, threading.RLock] = {}
        self._guard = threading.Lock()

    # --- in a thread of its own -----------------------------------------------------------------------------------

    def prepare(self, incoming: Incoming) -> Prepared:
        """Record a request and lay out what is sent for it."""
        with self._of(incoming.key) as branches:
            one = self._branch_for(incoming, branches)
            one.used = incoming.now
            has_news = len(one.keys) < len(incoming.keys)
            if has_news:
                one.take(incoming)
            prepared = one.send(incoming) if has_news else one.send_again(incoming)
            self._note_sent(incoming.key, branches)
        self._close_idle()
        return prepared

    def shorten(self, incoming: Incoming, session: str, most: int, later: int) -> Prepared:
        """Lay out a request once more, with at most so many tokens."""
        with self._of(incoming.key) as branches:
            one = next(one for one in branches if one.session.id == session)
            prepared = one.shorten(incoming, most, later)
            self._note_sent(incoming.key, branches)
            return prepared

    def report(self, key: str, session: str, call: int, usage: Any) -> None:
        """Record what the provider counted for a call."""
        with self._of(key) as branches:
            for one in branches:
                if one.session.id == session:
                    one.report(call, usage)

    def diagnose(self, key: str, session: str, code: str, text: str) -> None:
        """Leave a diagnostic in a session's log."""
        with self._of(key) as branches:
            one = next((one for one in branches if one.session.id == session), branches[0] if branches else None)
            if one is not None:
                one.session.note(DiagnosticRecorded(code=code, phase="gateway", text=text))

    def forget(self, session: str) -> None:
        """Let go of a session, so that it can be deleted or opened by others alone."""
        for key in list(self._branches):
            with self._of(key) as branches:
                if any(one.session.id == session for one in branches):
                    self._close(key)

    def close(self) -> None:
        """Let go of all sessions."""
        for key in list(self._branches):
            with self._of(key):
                self._close(key)

    # --- at once --------------------------------------------------------------------------------------------------

    def knows(self, key: str) -> bool:
        """Whether it is known what was sent of a conversation."""
        return key in self._sent

    def known_layout(self, incoming: Incoming) -> Layout:
        """What goes out without a compile: what was sent last, with what is new behind it; else all as it came."""
        found = [one for one in self._sent.get(incoming.key, ()) if one.keys == incoming.keys[: len(one.keys)]]
        if not found:
            return whole(len(incoming.keys))
        best = max(found, key=lambda one: len(one.keys))
        return continued(best.layout, len(best.keys), len(incoming.keys))

    @property
    def branches(self) -> tuple[tuple[Conversation, ...], ...]:
        """The branches of each conversation that is open."""
        return tuple(map(tuple, list(self._branches.values())))

    @property
    def newest(self) -> tuple[Prepared, ...]:
        """The newest request of each branch that is open."""
        branches = [one for branches in list(self._branches.values()) for one in branches]
        return tuple(one.last for one in sorted(branches, key=lambda one: one.used) if one.last is not None)

    # --- inside ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _of(self, key: str) -> Generator[list[Conversation]]:
        with self._guard:
            lock = self._locks.setdefault(key, threading.RLock())
        with lock:
            yield self._branches.get(key, [])

    def _branch_for(self, incoming: Incoming, branches: list[Conversation]) -> Conversation:
        if not branches:
            branches = self._opened(incoming)
        for at, one in enumerate(branches):
            branches[at] = one = self._in_its_mode(one, incoming)
            one.session.refresh()
            one.follow()
        best, common = _nearest(branches, incoming)
        if common == len(best.keys):
            return best
        dropped = len(best.keys) - common
        is_new_list = common <= incoming.frame.leading and dropped > 1
        has_compacted = dropped > _ASIDE or is_new_list or incoming.sender.window != best.window
        # Instructions that stand first are in every request of a session: with others it is another one.
        if has_compacted and best.kin == incoming.frame.kin and common >= incoming.frame.leading:
            best.drop(common, incoming)
            return best
        return self._begun_beside(best, common, incoming, branches)

    def _opened(self, incoming: Incoming) -> list[Conversation]:
        """The branches of a conversation that the store has, or a first one."""
        mode = self._mode_of(incoming.key, incoming.sender.agent)
        branches = [self._open(incoming.key, incoming, mode)]
        while self._store is not None and self._store.find(name := f"{incoming.key}~{len(branches) + 1}"):
            branches.append(self._open(name, incoming, mode))
        with self._guard:
            self._branches[incoming.key] = branches
        return branches

    def _begun_beside(
        self, best: Conversation, common: int, incoming: Incoming, branches: list[Conversation]
    ) -> Conversation:
        """A new branch, which begins with what it has in common with one that is there."""
        name = f"{incoming.key}~{len(branches) + 1}"
        one = self._open(name, incoming, self._mode_of(name, incoming.sender.agent))
        # What stands first in every request of an agent is no common history.
        if common > incoming.frame.leading and not one.keys:
            history = best.history_until(common)
            if history:
                one.session.note(*history[1:])
        one.session.tag(gateway_branch_of=best.session.id)
        one.follow()
        branches.append(one)
        return one

    def _in_its_mode(self, one: Conversation, incoming: Incoming) -> Conversation:
        mode = self._mode_of(one.session.id, incoming.sender.agent)
        if mode == one.mode:
            return one
        one.session.close()
        return self._open(one.session.id, incoming, mode, before=one.session)

    def _open(self, name: str, incoming: Incoming, mode: Mode, *, before: Session | None = None) -> Conversation:
        profile = profile_of(incoming.model)
        can_reduce = self._budget is not None or (profile is not None and profile.window is not None)
        options: dict[str, Any] = {"model": profile} if profile is not None else {}
        if mode == "compile" and can_reduce:
            options["budget"] = self._budget
        else:
            counter = counter_for(profile.name if profile is not None else None)
            cache = profile.cache if profile is not None else DEFAULT_RULES
            options["compiler"] = PragmaticCompiler(counter=counter, cache=cache)
        if self._store is not None:
            session = Session.open(self._store, name, vault=VAULT, **options)
        elif before is not None:
            session = Session.from_events(before.events, **options)
        else:
            session = Session(session_id=name, **options)
        self.names[name] = None
        one = Conversation(session, mode, self._keys)
        if mode == "shadow" and can_reduce:
            one.twin = Twin(self._budget, profile)
        if mode == "compile" and not can_reduce:
            text = f"no window is known for model {incoming.model!r}: requests pass as they are; give `--budget`"
            session.note(DiagnosticRecorded(code="no_window", phase="gateway", text=text))
        one.follow()
        return one

    def _note_sent(self, key: str, branches: list[Conversation]) -> None:
        if not branches:
            branches = self._branches[key]
        self._sent[key] = tuple(
            _Sent(one.keys[: one.covered], one.layout, one.session.id) for one in branches if one.layout is not None
        )

    def _close_idle(self) -> None:
        with self._guard:
            if len(self._branches) <= _MOST_OPEN:
                return
            key = min(self._branches, key=lambda one: max(branch.used for branch in self._branches[one]))
        with self._of(key):
            self._close(key)

    def _close(self, key: str) -> None:
        for one in self._branches.pop(key, []):
            try:
                one.session.close()
            except FoveateError as error:
                log_failure(one.session.id, error)
        self._sent.pop(key, None)


def _nearest(branches: Sequence[Conversation], incoming: Incoming) -> tuple[Conversation, int]:
    """The branch that a request has most in common with, and how much; the first, if it has nothing but instructions.

    Of branches that have as much in common the newest goes on.
    """
    shared = [shared_length(one.keys, incoming.keys) for one in branches]
    most = max(shared)
    if most <= incoming.frame.leading:
        at = shared.index(most)
    else:
        at = max((at for at, count in enumerate(shared) if count == most), key=lambda at: branches[at].used)
    return branches[at], most
