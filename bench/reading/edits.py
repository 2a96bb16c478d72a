"""Edits: the share of the next edit's old lines that a request shows, for which no reader is needed.

An agent that cannot see the lines that it is about to replace must read them again. Recorded edits say which lines
these were: the old text of an edit, the context and removed lines of a patch, the searched part of a replacement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bench.intervals import ratio_interval
from bench.material import Material
from bench.peering import end_lanes
from bench.reading.arms import ReadingArm
from bench.reading.requests import requests_of
from bench.reading.situations import DEPTH, deep_calls
from bench.replay import least_tokens, opening_of
from foveate.lab.chat import Chat, argument_values, calls_of, texts

_OLD_KEYS: Final = ("old_string", "old_str", "old_text", "old", "search", "oldText")
_PATCH: Final = "*** Begin Patch"
_BLOCK: Final = re.compile(r"^<{5,} ?SEARCH\n(.*?)^={5,}$", re.DOTALL | re.MULTILINE)
# Readers of files put numbers in front of lines.
_NUMBER: Final = re.compile(r"^\s*(?:L?\d+\s*(?:→|\||:|\t)|\d+\s{2})")
# A line of fewer letters and digits, such as `}` or `else:`, is everywhere.
_LEAST: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRow:
    """One arm over all edits: `share` is the mean over edits of the old lines in view, `low` to `high` its interval.

    `lines` old lines were due, `shown` of them were in view; `whole` edits had all of theirs in view.
    """

    arm: str
    budget: int
    sessions: int
    edits: int
    share: float
    lines: int
    shown: int
    whole: int
    low: float
    high: float
    tokens: int
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEdits:
    """One arm in one session; `shares` is the sum over edits of the share of old lines in view."""

    session: str
    arm: str
    edits: int
    shares: float
    whole: int
    lines: int
    shown: int
    tokens: int
    refused: int


def session_edits(
    material: Material, arms: Sequence[ReadingArm], budget: int, depth: float = DEPTH
) -> list[SessionEdits]:
    """How much of each deep edit of a session the arms show."""
    opening = opening_of(material.script)
    if least_tokens(material.script, opening) > budget:
        return []
    due = {
        number: lines
        for number, call, _ in deep_calls(material.script, depth * budget)
        if call.answer is not None and (lines := old_lines(call.answer))
    }
    if not due:
        return []
    rows = [_in_session(material, arm, due) for arm in arms]
    end_lanes()
    return rows


def edit_rows(found: Sequence[SessionEdits], arms: Sequence[ReadingArm]) -> list[EditRow]:
    """The sums of each arm, with an interval over sessions."""
    rows: list[EditRow] = []
    for arm in arms:
        own = [one for one in found if one.arm == arm.name]
        low, high = ratio_interval([(one.shares, one.edits) for one in own])
        edits = sum(one.edits for one in own)
        rows.append(
            EditRow(
                arm=arm.name,
                budget=arm.budget,
                sessions=len(own),
                edits=edits,
                share=sum(one.shares for one in own) / edits if edits else 0.0,
                whole=sum(one.whole for one in own),
                lines=sum(one.lines for one in own),
                shown=sum(one.shown for one in own),
                low=low,
                high=high,
                tokens=round(sum(one.tokens for one in own) / edits) if edits else 0,
                refused=sum(one.refused for one in own),
            )
        )
    return rows


def old_lines(answer: Chat) -> list[str]:
    """The lines that the edits of a response replace or stand next to; those that are everywhere are left out."""
    found = (line for called in calls_of(answer) for text in _old_texts(called) for line in text.splitlines())
    return list(dict.fromkeys(line for line in map(_bare, found) if sum(map(str.isalnum, line)) >= _LEAST))


def shown_lines(lines: Sequence[str], request: Sequence[Chat]) -> int:
    """How many of the lines are in view, whatever their indentation."""
    whole = "\n".join(" ".join(line.split()) for chat in request for text in texts(chat) for line in text.splitlines())
    return sum(line in whole for line in lines)


def _in_session(material: Material, arm: ReadingArm, due: dict[int, list[str]]) -> SessionEdits:
    assert arm.contestant is not None
    opening = opening_of(material.script)
    shown = tokens = refused = whole = 0
    shares = 0.0
    for number, chats in requests_of(arm.contestant, material.script, opening, arm.budget, due):
        if isinstance(chats, str):
            refused += 1
            continue
        lines, in_view = len(due[number]), shown_lines(due[number], chats)
        shown += in_view
        shares += in_view / lines
        whole += in_view == lines
        tokens += opening.reserved + opening.sizes.total(chats)
    return SessionEdits(
        session=material.name,
        arm=arm.name,
        edits=len(due),
        shares=shares,
        whole=whole,
        lines=sum(map(len, due.values())),
        shown=shown,
        tokens=tokens,
        refused=refused,
    )


def _old_texts(called: Chat) -> Iterator[str]:
    arguments = called["function"]["arguments"]
    try:
        decoded = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        decoded = None
    yield from _under_old_keys(decoded)
    for value in argument_values(arguments):
        yield from (found for found in _BLOCK.findall(value))
        if _PATCH in value:
            yield from _patched(value)


def _under_old_keys(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, inner in value.items():
                if key in _OLD_KEYS and isinstance(inner, str):
                    yield inner
                else:
                    yield from _under_old_keys(inner)
        case list():
            for inner in value:
                yield from _under_old_keys(inner)
        case _:
            return


def _patched(patch: str) -> Iterator[str]:
    """The lines of a patch that were in the file before; a file that is added had none."""
    is_update = False
    for line in patch[patch.index(_PATCH) :].splitlines():
        if line.startswith("*** "):
            is_update = line.startswith("*** Update File")
        elif is_update and line[:1] in ("-", " "):
            yield line[1:]


def _bare(line: str) -> str:
    return " ".join(_NUMBER.sub("", line).split())
