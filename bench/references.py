"""References of actions to earlier history, and whether a request still holds them in context.

A reference is a path, hash or identifier in the arguments of the next recorded action that is
absent from the system prompt and the first user message but was seen earlier in the history.
It is *kept in context* if the request shows it amid the same characters as the history did, up
to twelve on either side within its line. Equal lines have equal surroundings; a list of bare
names has not.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.messages import Call, Message, argument_values, calls_of, content_of, texts
from bench.tokens import message_tokens

CONTEXT = 12
LONGEST = 200

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


def action_candidates(called: Iterable[Call]) -> set[str]:
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
        for reference in references:
            anchor = max(re.finditer(r"\w+", reference), key=lambda word: len(word[0]))
            self._anchors.setdefault(anchor[0], []).append((reference, anchor.start()))

    def in_message(self, message: Message) -> dict[str, Mentions]:
        called = (item["function"] for item in calls_of(message))
        key = (content_of(message), *(part for f in called for part in (f["name"], f["arguments"])))
        known = self._by_message.get(key)
        if known is None:
            known = self._by_message[key] = self._merged(list(texts(message)))
        return known

    def in_text(self, text: str) -> dict[str, Mentions]:
        known = self._by_text.get(text)
        if known is None:
            known = self._by_text[text] = self._scan(text)
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
    """The recorded history up to a call, indexed as it grows."""

    def __init__(self, system: str, messages: Sequence[Message]) -> None:
        first = next((content_of(m) for m in messages if m["role"] == "user"), "")
        framing = f"{system}\n{first}"
        named = {id(m): action_candidates(calls_of(m)) for m in messages}
        new = {token for tokens in named.values() for token in tokens if token not in framing}
        self.lexicon = Lexicon(new)
        self._windows: dict[str, set[str]] = {}
        self._last: dict[str, float] = {}
        self._spoken: set[str] = set()
        self._tokens = 0
        self._due = {message: tokens & new for message, tokens in named.items()}

    def append(self, message: Message) -> None:
        tokens = message_tokens(message)
        for reference, mentions in self.lexicon.in_message(message).items():
            self._windows.setdefault(reference, set()).update(mentions.windows)
            self._last[reference] = self._tokens + tokens * mentions.position
            if message["role"] != "tool":
                self._spoken.add(reference)
        self._tokens += tokens

    def references(self, action: Message) -> list[Reference]:
        """What the next recorded action takes from the history so far."""
        return [
            Reference(
                text=text,
                distance=int(self._tokens - self._last[text]),
                observed_only=text not in self._spoken,
            )
            for text in sorted(self._due[id(action)] & self._windows.keys())
        ]

    def kept(self, reference: str, request: Iterable[dict[str, Mentions]]) -> bool:
        """Whether a request, as the mentions of its messages, shows it in a recorded context."""
        known = self._windows[reference]
        return any(not known.isdisjoint(mentions[reference].windows) for mentions in request if reference in mentions)


def is_visible(reference: str, request: Iterable[Message]) -> bool:
    return any(reference in text for text in _plain(request))


def _plain(request: Iterable[Message]) -> Iterator[str]:
    for message in request:
        yield from texts(message)


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
