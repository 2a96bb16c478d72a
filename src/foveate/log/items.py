"""Items: what stands in a compiled request, each naming the messages it came from."""

from __future__ import annotations

from typing import Literal

import msgspec

from foveate.log.messages import Message

Fate = Literal[
    "verbatim", "rewritten", "repaired", "superseded", "masked", "trimmed", "folded", "summarised", "dropped",
    "recalled",
]  # fmt: skip
LineKind = Literal[
    "user", "step", "answer", "error", "evidence", "ledger", "summary", "words", "value", "state", "plan", "output",
    "code", "settled",
]  # fmt: skip


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a digest, with the message it came from and that message's place in the log.

    `speaker` is whose words these are, "" where the kind says it. `left_out` are the characters of the message that do
    not stand in `text`. A `carried` one has an earlier summary, in case that no new one is written. `label` says in
    words of ours what of the message this is.
    """

    kind: LineKind
    text: str
    source: str = ""
    order: int = 0
    part: int = 0
    tokens: int = 0
    speaker: str = ""
    left_out: int = 0
    carried: bool = False
    label: str = ""


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a compiled request.

    `group` names the exchange the item belongs to: the items of a group stand or fall together.
    `covers` lists ranges of log positions that a digest stands for; `room` is what it may still grow by. `reduction` is
    the number of the reduction that made it, `anchor` the message that it was looked up for, `heading` the line of ours
    that its text begins with.
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
    reduction: int = 0
    anchor: str = ""
    heading: str = ""
    # Whether it was cut before any request showed it whole.
    capped: bool = False
    # Whether a later pass of the same reduction has to word it.
    unworded: bool = False

    @property
    def words(self) -> str:
        """The text without its heading."""
        return self.message.text.removeprefix(self.heading).strip()

    @property
    def is_as_said(self) -> bool:
        """Whether the message stands there in its own form, as it was said or as a request pass left it."""
        return self.fate in ("verbatim", "rewritten") and not self.is_digest

    @property
    def is_whole(self) -> bool:
        """Whether all of a message stands there, in its own form or as a provider needs it."""
        return self.fate in ("verbatim", "rewritten", "repaired")

    @property
    def is_unreduced(self) -> bool:
        """Whether no pass has reduced the item, unless it was too large from the first."""
        return self.is_whole or self.capped

    @property
    def is_looked_up(self) -> bool:
        """Whether it is what was looked up for an input, and of no more use once that is answered."""
        return self.fate == "recalled" and not any(line.kind == "settled" for line in self.lines)

    @property
    def is_digest(self) -> bool:
        """Whether the item stands for a stretch of the past, not for one message."""
        return bool(self.covers)
