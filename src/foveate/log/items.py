"""Items: what stands in a compiled request, each naming the messages it came from."""

from __future__ import annotations

from typing import Literal

import msgspec

from foveate.log.messages import Message

Fate = Literal["verbatim", "repaired", "superseded", "masked", "trimmed", "folded", "summarised", "dropped", "recalled"]
LineKind = Literal["user", "step", "answer", "error", "evidence", "ledger", "summary"]


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a digest, with the message it came from and that message's place in the log."""

    kind: LineKind
    text: str
    source: str = ""
    order: int = 0
    part: int = 0
    tokens: int = 0


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a compiled request.

    `group` names the exchange the item belongs to: the items of a group stand or fall together.
    `covers` lists ranges of log positions that a digest stands for; `room` is what it may still grow by.
    """

    id: str
    message: Message
    tokens: int
    order: int
    group: str
    fate: Fate = "verbatim"
    by: str = ""
    why: str = ""
    covers: tuple[tuple[int, int], ...] = ()
    lines: tuple[Line, ...] = ()
    room: int = 0

    @property
    def is_unreduced(self) -> bool:
        """Whether no pass has reduced the item, unless it was too large from the first."""
        return self.fate in ("verbatim", "repaired") or self.by == "cap"

    @property
    def is_digest(self) -> bool:
        """Whether the item stands for a stretch of the past, not for one message."""
        return bool(self.covers)
