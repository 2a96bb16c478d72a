"""The trail of a session up to a call: files it changed, errors that are still open, its last exchanges.

All of it is read off the recorded messages by rules that are fixed here, the same for every arm.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from foveate.lab.chat import Chat, argument_values, calls_of, content_of, texts
from foveate.lab.references import candidates

RECENT: Final = 3
# An error that nobody came back to for so many exchanges is not what the agent is working on.
_FORGOTTEN: Final = 20
_LINE: Final = 200

_CHANGING = re.compile(r"edit|write|patch|create|replace|insert|update|save", re.IGNORECASE)
_CHANGING_COMMAND = re.compile(r"(?<![<>=-])>{1,2}\s*[\w./~$\"']|\bsed\s+-i|\bapply_patch\b|\btee\b|\bmv\b|\bcp\b")
_FAILED = re.compile(
    r"Traceback \(most recent call last\)"
    r"|^(?:E\s+)?[\w.]*(?:Error|Exception)\b\s*:"
    r"|^(?:\w+: )?(?:fatal|error|panic)(?:\[\w+\])?:"
    r"|command not found|No such file or directory|Permission denied"
    r"|(?:exit(?:ed with)? code|returncode>|exit status):?\s*[1-9]",
    re.MULTILINE | re.IGNORECASE,
)
_TELLING = re.compile(
    r"^.*(?:\b[\w.]*(?:Error|Exception)\b\s*:|fatal:|error(?:\[\w+\])?:|panic:"
    r"|not found|No such file|No module named|denied).*$",
    re.MULTILINE | re.IGNORECASE,
)
_BARE = re.compile(
    r"\W*(?:exit(?:ed with)? (?:code|status)|returncode|process exited with code)\W*\d+\W*\w*\W*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class OpenError:
    """An error of a tool call: the lines that tell it, and the message it is in."""

    lines: tuple[str, ...]
    message: Chat


class Trail:
    """Grows with the session, message by message."""

    def __init__(self) -> None:
        self.modified: set[str] = set()
        self._exchanges: deque[list[Chat]] = deque(maxlen=RECENT)
        self._number = 0
        self._targets: dict[str, str] = {}
        self._errors: dict[str, tuple[int, OpenError]] = {}

    def append(self, chat: Chat) -> None:
        """Take in the next message."""
        if chat["role"] == "tool" and self._exchanges:
            self._exchanges[-1].append(chat)
            self._answered(chat)
            return
        self._exchanges.append([chat])
        self._number += 1
        for item in calls_of(chat):
            self._targets[item["id"]] = _target(item["function"])
            if _changes(item["function"]):
                self.modified |= _paths(item["function"])

    def recent(self) -> list[Chat]:
        """The messages of the last three exchanges: a response with its results, or a message of the user."""
        return [chat for exchange in self._exchanges for chat in exchange]

    def open_errors(self) -> list[OpenError]:
        """Errors of calls that did not succeed since."""
        return [error for number, error in self._errors.values() if self._number - number <= _FORGOTTEN]

    def _answered(self, chat: Chat) -> None:
        target = self._targets.get(chat.get("tool_call_id", ""), "")
        text = content_of(chat)
        if not target:
            return
        if chat.get("is_error") or _FAILED.search(text):
            lines = _telling_lines(text)
            if lines:
                self._errors[target] = self._number, OpenError(lines, chat)
        else:
            self._errors.pop(target, None)


def shows(errors: Sequence[OpenError], request: Sequence[Chat]) -> int:
    """How many errors a request shows, each by one of its lines."""
    present = set(map(id, request))
    missing = [error for error in errors if id(error.message) not in present]
    if not missing:
        return len(errors)
    whole = "\n".join(text for message in request for text in texts(message))
    return len(errors) - sum(not any(line in whole for line in error.lines) for error in missing)


def unchanged(recent: Sequence[Chat], request: Sequence[Chat]) -> bool:
    """Whether a request has all these messages as they were said; ids of calls may differ: logs repeat them."""
    present = set(map(id, request))
    missing = [chat for chat in recent if id(chat) not in present]
    return not missing or {*map(_said, missing)} <= {*map(_said, request)}


def _said(chat: Chat) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    called = (item["function"] for item in calls_of(chat))
    return chat["role"], content_of(chat), tuple((one["name"], one["arguments"]) for one in called)


def _target(function: dict[str, Any]) -> str:
    """What a call is about: its tool and its file, or the head of its command."""
    paths = sorted(_paths(function))
    first = next(iter(argument_values(function["arguments"])), "")
    head = " ".join(islice(first.split(), 3))
    return f"{function['name']} {paths[0] if paths else head}"


def _changes(function: dict[str, Any]) -> bool:
    if _CHANGING.search(function["name"]):
        return True
    return any(_CHANGING_COMMAND.search(value) for value in argument_values(function["arguments"]))


def _paths(function: dict[str, Any]) -> set[str]:
    found = {token for value in argument_values(function["arguments"]) for token in candidates(value[:2_000])}
    return {token for token in found if "/" in token or re.search(r"\.[A-Za-z]{1,4}$", token)}


def _telling_lines(text: str) -> tuple[str, ...]:
    """The lines that name the error, else the last that says something; none if there is nothing but a code."""
    told = [str(line) for line in _TELLING.findall(text)]
    saying = [line for line in text.splitlines() if not _BARE.fullmatch(line.strip()) and len(line.split()) >= 3]
    return tuple(line.strip()[:_LINE] for line in told or saying[-1:])
