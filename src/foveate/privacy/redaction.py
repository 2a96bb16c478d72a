"""Redaction: secrets in texts, messages and JSON are replaced by marks that say what stood there, and counted.

A mark such as `[redacted: github-token]` is never redacted again, and the same text always gives the same marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from foveate.log.messages import Message, ToolCall
from foveate.log.rewriting import rewrite_message
from foveate.privacy.named import named_spans, secret_in_field
from foveate.privacy.notations import notation_spans
from foveate.privacy.tokens import Span, token_spans

# What is no text: pictures, and what only its provider can read. It must go back byte for byte.
_OPAQUE_FIELDS: Final = frozenset({"signature", "encrypted_content", "thoughtSignature", "thought_signature"})
_SHORTEST: Final = 8


class Redacted(NamedTuple):
    """A text without its secrets, and where these stood in the text as it was."""

    text: str
    spans: tuple[Span, ...]


def redact(text: str) -> Redacted:
    """Replace the secrets in a text by marks.

    >>> redact("curl -H 'Authorization: Bearer 9f8a7b6c5d4e3f2a1b0c' https://example.org").text
    "curl -H 'Authorization: Bearer [redacted: bearer-token]' https://example.org"

    """
    spans = find_secrets(text)
    return Redacted(_marked(text, spans), spans) if spans else Redacted(text, ())


def find_secrets(text: str) -> tuple[Span, ...]:
    """Where secrets stand in a text, in order; those that overlap are one."""
    if len(text) < _SHORTEST or _is_inline_data(text):
        return ()
    # Of two that overlap, the form says more than the name.
    return _merged([*token_spans(text), *notation_spans(text), *named_spans(text)])


class Redactor:
    """Redacts values and counts what it found, by kind."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    @property
    def summary(self) -> str:
        """What was taken out, in words: "3 secrets redacted: 2 github-token, 1 password"."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        total = self.counts.total()
        return f"{total} {'secret' if total == 1 else 'secrets'} redacted: {kinds}"

    def text(self, text: str) -> str:
        """A text without its secrets."""
        found = redact(text)
        self.counts.update(span.kind for span in found.spans)
        return found.text

    def value(self, value: Any, name: str = "") -> Any:
        """Plain data without the secrets in it; `name` is that of the field it stands in."""
        match value:
            case str():
                return self._field(value, name)
            case Mapping():
                return {
                    self._name(key): one
                    if key in _OPAQUE_FIELDS or _is_media(value, key)
                    else self.value(one, str(key))
                    for key, one in value.items()
                }
            case list() | tuple():
                return type(value)(self.value(one, name) for one in value)
            case _:
                return value

    def message(self, message: Message) -> Message:
        """A message without the secrets in it; the same message if there are none."""
        parts = tuple(self._call(part) if isinstance(part, ToolCall) else part for part in message.parts)
        named = msgspec.structs.replace(message, parts=parts) if parts != message.parts else message
        return rewrite_message(named, self.text)

    def _field(self, value: str, name: str) -> str:
        if name and (span := secret_in_field(name, value)) is not None:
            known = find_secrets(value)
            # What only a part of the value was known for says more: the password of an address.
            if not known:
                self.counts[span.kind] += 1
                return mark(span.kind)
        return self.text(value)

    def _name(self, key: Any) -> Any:
        """The name of a field: only what is a secret by its form is none, such as a file's name with a token in it."""
        if not isinstance(key, str) or len(key) < _SHORTEST:
            return key
        spans = _merged(token_spans(key))
        self.counts.update(span.kind for span in spans)
        return _marked(key, spans)

    def _call(self, call: ToolCall) -> ToolCall:
        try:
            arguments = msgspec.json.decode(call.arguments)
        except (msgspec.DecodeError, RecursionError):
            return call
        redacted = self.value(arguments)
        if redacted == arguments:
            return call
        return msgspec.structs.replace(call, arguments=msgspec.json.encode(redacted).decode())


def mark(kind: str) -> str:
    """What stands in the place of a secret."""
    return f"[redacted: {kind}]"


def _marked(text: str, spans: Iterable[Span]) -> str:
    pieces: list[str] = []
    at = 0
    for span in spans:
        pieces += [text[at : span.start], mark(span.kind)]
        at = span.end
    return "".join([*pieces, text[at:]])


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    merged: list[Span] = []
    # Sorting keeps the order of those that begin together, so that the first kind is the one that is shown.
    for span in sorted(spans, key=lambda one: one.start):
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


def _is_inline_data(text: str) -> bool:
    return text[:5].lower() == "data:" and ";base64," in text[:100]


def _is_media(fields: Mapping[Any, Any], key: Any) -> bool:
    """Whether a field holds the bytes of a picture or a file, or reasoning that nobody can read."""
    is_typed = any(name in fields for name in ("media_type", "mimeType", "mime_type"))
    return key == "data" and (is_typed or fields.get("type") in ("base64", "redacted_thinking"))
