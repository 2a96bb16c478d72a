"""References of actions to earlier history: whether a request still holds them in context, or leads back to them.

A reference is a path, hash or identifier in the arguments of the next recorded action that is absent from the system
prompt and the first user message but was seen earlier in the history. It is *kept* if the request shows it amid the
same characters as the history did, up to twelve on either side within its line. Equal lines have equal surroundings; a
list of bare names has not. It is *restorable* if it is not kept, but the request names a message that holds it as
something that can be recalled. Else it is *lost*.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from foveate.lab.chat import Chat, argument_values, calls_of, content_of, texts

CONTEXT: Final = 12
LONGEST: Final = 200

_TOKEN = re.compile(r"[A-Za-z0-9_~./@$-]+")
_HASH = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{7,40}")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[\w.-]*\w\.[A-Za-z][A-Za-z0-9]{0,4}")
_SNAKE = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]")
_INNER_CAPITAL = re.compile(r"[a-z]\d*[A-Z]|[A-Z]{2}[a-z]")
_LETTER = re.compile(r"[A-Za-z]")
_DIGIT = re.compile(r"\d")
# An escaped newline in raw JSON must not glue its letter to the word behind it.
_WORD = re.compile(r"\\[nrt]|\w+")
_TRIVIAL = frozenset({"/dev/null", "and/or", "/bin/bash", "/usr/bin/env"})


def candidates(text: str) -> set[str]:
    """The paths, hashes and identifiers of a text."""
    trimmed = {_trimmed(token) for token in set(_TOKEN.findall(text))}
    return {token for token in trimmed if _is_reference(token)}


def action_candidates(called: Iterable[Mapping[str, Any]]) -> set[str]:
    """What an action refers to: its argument values; names and keys belong to the tool schema."""
    return {
        candidate
        for item in called
        for value in argument_values(item["function"]["arguments"])
        for candidate in candidates(value)
    }


@dataclass(slots=True)
class Mentions:
    """How a text shows a reference: its surroundings, and how far in it was seen last."""

    windows: set[str]
    position: float


class Lexicon:
    """Finds a session's references in any text by one scan; texts seen before cost nothing."""

    def __init__(self, references: Iterable[str]) -> None:
        self._anchors: dict[str, list[tuple[str, int]]] = {}
        self._by_text: dict[str, dict[str, Mentions]] = {}
        self._by_message: dict[tuple[str, ...], dict[str, Mentions]] = {}
        # With the message itself, so that its identity never comes to mean another one.
        self._by_identity: dict[int, tuple[Chat, dict[str, Mentions]]] = {}
        for reference in references:
            anchor = max(re.finditer(r"\w+", reference), key=lambda word: len(word[0]))
            self._anchors.setdefault(anchor[0], []).append((reference, anchor.start()))

    def in_message(self, message: Chat) -> dict[str, Mentions]:
        """The references that a message shows."""
        known = self._by_identity.get(id(message))
        if known is None:
            known = self._by_identity[id(message)] = message, self._looked_up(message)
        return known[1]

    def in_text(self, text: str) -> dict[str, Mentions]:
        """The references that a text shows."""
        known = self._by_text.get(text)
        if known is None:
            known = self._by_text[text] = self._scan(text)
        return known

    def _looked_up(self, message: Chat) -> dict[str, Mentions]:
        called = (item["function"] for item in calls_of(message))
        key = (content_of(message), *(part for f in called for part in (f["name"], f["arguments"])))
        known = self._by_message.get(key)
        if known is None:
            known = self._by_message[key] = self._merged(list(texts(message)))
        return known

    def _merged(self, parts: Sequence[str]) -> dict[str, Mentions]:
        if len(parts) == 1:
            return self.in_text(parts[0])
        merged: dict[str, Mentions] = {}
        for part in parts:
            for reference, found in self.in_text(part).items():
                known = merged.setdefault(reference, Mentions(set(), 0.0))
                known.windows |= found.windows
                # Parts of one message are short or repeat each other; its end is near enough.
                known.position = 1.0
        return merged

    def _scan(self, text: str) -> dict[str, Mentions]:
        found: dict[str, Mentions] = {}
        for word in _WORD.finditer(text):
            for reference, offset in self._anchors.get(word[0], ()):
                start = word.start() - offset
                end = start + len(reference)
                if start >= 0 and text.startswith(reference, start) and _bounded(text, start, end):
                    mentions = found.setdefault(reference, Mentions(set(), 0.0))
                    mentions.windows.add(_window(text, start, end))
                    mentions.position = end / len(text)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference due at a call: how many tokens back it was last seen, and by whom."""

    text: str
    distance: int
    observed_only: bool


class History:
    """The recorded history up to a call, indexed as it grows; `size` says the tokens of a message."""

    def __init__(self, system: str, messages: Sequence[Chat], size: Callable[[Chat], int]) -> None:
        first = next((content_of(m) for m in messages if m["role"] == "user"), "")
        framing = f"{system}\n{first}"
        named = {id(m): action_candidates(calls_of(m)) for m in messages}
        new = {token for tokens in named.values() for token in tokens if token not in framing}
        self.lexicon = Lexicon(new)
        self._size = size
        self._windows: dict[str, set[str]] = {}
        self._holders: dict[str, list[int]] = {}
        self._holding: dict[str, set[int]] = {}
        self._said = {id(message) for message in messages}
        self._last: dict[str, float] = {}
        self._spoken: set[str] = set()
        self._tokens = 0
        self._length = 0
        self._due = {message: tokens & new for message, tokens in named.items()}

    def append(self, message: Chat) -> None:
        """Take in the next message."""
        tokens = self._size(message)
        for reference, mentions in self.lexicon.in_message(message).items():
            self._windows.setdefault(reference, set()).update(mentions.windows)
            self._holders.setdefault(reference, []).append(self._length)
            self._holding.setdefault(reference, set()).add(id(message))
            self._last[reference] = self._tokens + tokens * mentions.position
            if message["role"] != "tool":
                self._spoken.add(reference)
        self._tokens += tokens
        self._length += 1

    def references(self, action: Chat) -> list[Reference]:
        """What the next recorded action takes from the history so far."""
        return [
            Reference(
                text=text,
                distance=int(self._tokens - self._last[text]),
                observed_only=text not in self._spoken,
            )
            for text in sorted(self._due.get(id(action), set()) & self._windows.keys())
        ]

    def kept(self, references: Iterable[str], request: Sequence[Chat]) -> set[str]:
        """Those references that a request shows in a recorded context."""
        shown = {id(message): message for message in request}
        # A message that was said shows what it holds and nothing else; what a policy made has to be looked through.
        made = [self.lexicon.in_message(message) for key, message in shown.items() if key not in self._said]
        return {
            reference
            for reference in references
            if not self._holding[reference].isdisjoint(shown)
            or any(
                not self._windows[reference].isdisjoint(mentions[reference].windows)
                for mentions in made
                if reference in mentions
            )
        }

    def is_held(self, reference: str, places: Collection[int]) -> bool:
        """Whether one of the messages at these places of the history holds it."""
        return any(place in places for place in self._holders[reference])


def is_visible(reference: str, request: Iterable[Chat]) -> bool:
    """Whether a request has a reference anywhere in it."""
    return any(reference in text for message in request for text in texts(message))


def _trimmed(token: str) -> str:
    token = token.lstrip("-@").removeprefix("./").rstrip("./-@~$")
    if token.startswith("//"):
        token = token.lstrip("/")
    # Only a leading slash: the end of a markup tag, or a name that stands without it.
    return token[1:] if token.rfind("/") == 0 else token


def _is_reference(token: str) -> bool:
    if not 4 <= len(token) <= LONGEST or not _LETTER.search(token) or token in _TRIVIAL:
        return False
    if "/" in token or _SNAKE.search(token) or _HASH.fullmatch(token):
        return True
    if len(token) >= 5 and (_DOTTED.fullmatch(token) or _INNER_CAPITAL.search(token)):
        return True
    return len(token) >= 6 and _DIGIT.search(token) is not None


def _bounded(text: str, start: int, end: int) -> bool:
    before = start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")
    escaped = before and text[start - 1] in "nrt" and text[start - 2 : start - 1] == "\\"
    after = end < len(text) and (text[end].isalnum() or text[end] == "_")
    return (not before or escaped) and not after


def _window(text: str, start: int, end: int) -> str:
    """The reference and its surroundings in its line, indentation aside."""
    before = text[max(0, start - CONTEXT) : start]
    after = text[end : end + CONTEXT]
    line = before[before.rfind("\n") + 1 :] + text[start:end] + after.split("\n", 1)[0]
    window = line.strip()
    # Alone on its line, a name is known by its neighbours; else a list of names would do.
    return window if len(window) > end - start else (before + text[start:end] + after).strip()
