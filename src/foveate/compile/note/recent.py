"""Recent work: what the newest messages prove about files, errors, lists and answers, folded for a note."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from foveate.compile.draft import PassContext
from foveate.compile.facts.answers import Answer, AnswersBuilder
from foveate.compile.facts.code import CodeState
from foveate.compile.facts.code_view import CodeView
from foveate.compile.facts.plans import PlanList, PlansBuilder, tracker_lists
from foveate.compile.facts.tool_output import parse_output
from foveate.compile.note.deeds import Deed, deeds_of
from foveate.log.messages import Message, ToolCall
from foveate.log.quoting import flatten_text

# A window begins anew so many messages later: what came before two of them is of no work that goes on.
_STRETCH: Final = 400
_OUTPUTS: Final = 80
_CALLS: Final = 256
_WHAT: Final = 160
# In characters: of an output, and of one of its lines.
_MOST_TEXT: Final = 200_000
_LONGEST: Final = 400
_NOISE: Final = re.compile(
    r".{0,300}(?:\bPASSED\b|\s\.\.\. ok$|✓|--- PASS|^PASS\b|\[\s{0,3}\d{1,3}%\]|\d{1,3}%\|)|ok\s{1,8}\S|"
    r"\s{0,20}(?:Compiling|Downloading|Downloaded|Collecting|Installing|Fetching|Resolving|"
    r"Requirement already satisfied|=== RUN|=== PAUSE|=== CONT)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a call printed, with the call in few words; `lines` are those that say something."""

    message: Message
    order: int
    what: str
    lines: tuple[str, ...]
    kind: str
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is known of the work from the message at `first` on."""

    first: int
    code: CodeView
    lists: tuple[PlanList, ...]
    answers: tuple[Answer, ...]
    outputs: tuple[Output, ...]
    # What was done, by the message with the call and the call's id; a story adds what nobody asked for before.
    deeds: dict[tuple[str, str], Sequence[Deed]]


class RecentWork:
    """Follows the work from a message on."""

    def __init__(self, first: int) -> None:
        self.first = self.next = first
        self._code = CodeState()
        self._plans, self._answers = PlansBuilder(), AnswersBuilder()
        self._calls: dict[str, tuple[ToolCall, Message]] = {}
        # By what was run or looked for: what ran again says more of it by now.
        self._outputs: dict[str, Output] = {}
        self._deeds: dict[tuple[str, str], Sequence[Deed]] = {}

    def feed(self, message: Message, order: int) -> None:
        """Take the next message."""
        self.next = order + 1
        for one in (self._code, self._plans, self._answers):
            one.feed(message, order)
        for call in message.calls:
            self._calls[call.id] = (call, message)
        for call_id in list(self._calls)[: max(0, len(self._calls) - _CALLS)]:
            del self._calls[call_id]
        result = message.result
        if result is not None and result.call_id in self._calls:
            call, head = self._calls.pop(result.call_id)
            deeds = self._deeds[head.id, call.id] = deeds_of(call, head, message)
            self._take_output(message, order, deeds)

    def work(self) -> Work:
        """What is known now."""
        code = self._code.view()
        return Work(
            first=self.first,
            code=code,
            lists=(*tracker_lists(code), *self._plans.plans().lists),
            answers=self._answers.answers().answers,
            outputs=tuple(self._outputs.values()),
            deeds=self._deeds.copy(),
        )

    def _take_output(self, message: Message, order: int, deeds: Sequence[Deed]) -> None:
        what = flatten_text("; ".join(dict.fromkeys(deed.what for deed in deeds)))[:_WHAT]
        self._outputs.pop(what, None)
        if not any(map(_is_worth, deeds)):
            return
        kinds = [deed.kind for deed in deeds]
        kind = "ran" if "ran" in kinds else kinds[0]
        failed = any(deed.outcome.startswith("failed") for deed in deeds)
        lines = telling_lines(parse_output(message.text).text)
        self._outputs[what] = Output(message=message, order=order, what=what, lines=lines, kind=kind, failed=failed)
        if len(self._outputs) > _OUTPUTS:
            del self._outputs[next(iter(self._outputs))]


def _is_worth(deed: Deed) -> bool:
    """Whether what a call printed says more than the story does."""
    return deed.kind in ("looked", "searched", "called") or (
        deed.kind == "ran" and not deed.outcome.startswith(("commit", '"'))
    )


def work_of(ctx: PassContext) -> Work:
    """What is known of the work when a request is compiled; only what was not folded yet is folded."""
    timeline = ctx.timeline
    count = timeline.message_count
    first = max(0, (count - _STRETCH) // _STRETCH * _STRETCH)
    # What request passes take out in this very compile has been folded already.
    held = None if ctx.rewritten else timeline.memo.take()
    recent = held if isinstance(held, RecentWork) and held.first == first and held.next <= count else RecentWork(first)
    timeline.prefetch(range(recent.next, count))
    for order in range(recent.next, count):
        recent.feed(ctx.said(order), order)
    work = recent.work()
    if not ctx.rewritten:
        timeline.memo.leave(recent)
    return work


def telling_lines(text: str) -> tuple[str, ...]:
    """The lines of an output without passing tests, progress and further empty lines."""
    lines: list[str] = []
    for line in text[:_MOST_TEXT].split("\n"):
        if _NOISE.match(line) is None and (line.strip() or (lines and lines[-1].strip())):
            lines.append(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…")
    return tuple(lines)
