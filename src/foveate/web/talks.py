"""Talks: answers that are under way, each in a thread of its own; a page that is opened meanwhile joins in."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock, Thread
from typing import Any, Final

from foveate.api.failures import Failure, failure_of
from foveate.api.room import Room, Told
from foveate.chat.opening import ENDLESS
from foveate.errors import ConflictError, FoveateError, TemplateError
from foveate.log.events import DiagnosticRecorded
from foveate.log.messages import ToolCall
from foveate.store import Store
from foveate.web.held import count_messages
from foveate.web.turns import QUIET, Entry, answer, diagnostic, parts_of, said, step, with_result

_REMEMBERED: Final = 64


class Talk:
    """Something that was said and what has come of it so far; `text` is None if an answer is asked for again.

    Written by one thread and read by others, which look at it again when `version` is another.
    """

    def __init__(self, text: str | None, messages: int) -> None:
        self.text = text
        self.version = 0
        self.is_done = False
        self.failure: Failure | None = None
        # How many messages there were before, those included that wait to be written.
        self.messages = messages
        self._entries: list[Entry] = [] if text is None else [said("live-said", text)]
        self._words = ""
        self._lock = Lock()

    @property
    def entries(self) -> list[Entry]:
        """What there is to show by now."""
        with self._lock:
            return [_copied(one) for one in self._entries]

    def take(self, told: Told) -> None:
        """Take in what happened."""
        with self._lock:
            match told.kind:
                case "text":
                    self._words += told.facts["text"]
                    self._newest()["words"] = self._words
                case "call":
                    facts = told.facts
                    call = ToolCall(id=facts["id"], name=facts["name"], arguments=facts["arguments"])
                    self._newest()["steps"].append(step(call))
                    # What is said next is another answer.
                    self._words = ""
                case "result":
                    self._result(told.facts)
                case "diagnostic" if told.facts["code"] in QUIET:
                    pass
                case "diagnostic":
                    self._entries.append(diagnostic(f"live-{len(self._entries)}", DiagnosticRecorded(**told.facts)))
                case "error":
                    self.failure = Failure(**told.facts)
                case "done":
                    pass
            self.version += 1

    def end(self, failure: Failure | None = None) -> None:
        """Nothing more will come."""
        with self._lock:
            self.failure = failure or self.failure
            self.is_done = True
            self.version += 1

    def _newest(self) -> Entry:
        """The answer that is being written: a new one after something else, or after tools have answered."""
        last = self._entries[-1] if self._entries else None
        if last is None or last["who"] != "assistant" or (self._words and last["steps"]):
            last = answer(f"live-{len(self._entries)}")
            self._entries.append(last)
        return last

    def _result(self, facts: dict[str, Any]) -> None:
        for one in reversed(self._entries):
            if with_result(one.get("steps", ()), facts["id"], facts["text"], failed=facts["outcome"] == "error"):
                return


def _copied(entry: Entry) -> Entry:
    """An entry as it is now; only what somebody looks at is taken apart, not every piece as it comes."""
    copy: Entry = {**entry, "steps": [dict(one) for one in entry.get("steps", ())]}
    words = copy.pop("words", None)
    return copy if words is None else {**copy, "parts": parts_of(words)}


class Talks:
    """The answers that are under way on a server, and the last one of each chat."""

    def __init__(self, room: Room, store: Store) -> None:
        self.room = room
        self._store = store
        self._talks: OrderedDict[str, Talk] = OrderedDict()
        self._lock = Lock()

    def of(self, session: str) -> Talk | None:
        """What is under way in a chat, or was last."""
        return self._talks.get(session)

    def begin(self, session: str, text: str | None) -> Talk:
        """Say something, or ask again for None; returns at once."""
        messages = count_messages(self._store, session)
        with self._lock:
            known = self._talks.get(session)
            if known is not None and not known.is_done:
                raise ConflictError(f"chat {session!r} is being answered; wait for the answer")
            talk = Talk(text, messages)
            self._talks[session] = talk
            self._talks.move_to_end(session)
            for old in list(self._talks)[:-_REMEMBERED]:
                if self._talks[old].is_done:
                    del self._talks[old]
        Thread(target=self._listen, args=(session, talk), name=f"talk {session}", daemon=True).start()
        return talk

    def _listen(self, session: str, talk: Talk) -> None:
        failure: Failure | None = None
        try:
            self._keep(session, talk)
            for told in self.room.heard(session, talk.text):
                talk.take(told)
        except FoveateError as error:
            failure = failure_of(error)
        except Exception as error:
            failure = Failure(error=f"this is a defect of Foveate: {error!r}", remedy="please report it")
            raise
        finally:
            talk.end(failure)

    def _keep(self, session: str, talk: Talk) -> None:
        """Have a session that is talked to here be known as a chat from now on."""
        info = self._store.find(session)
        if info is not None and ENDLESS in info.tags:
            return
        mode = self.room.mode(session)
        try:
            self.room.switch(session, endless=mode.endless, template=mode.template)
        except TemplateError as error:
            facts = {"code": "template_failed", "phase": error.phase, "text": str(error), "subject": error.pointer}
            talk.take(Told("diagnostic", facts))
