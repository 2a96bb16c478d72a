"""Handoff text: where a handoff stands in what an agent says, what else it says, and how a handoff is written there."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple, get_args

import msgspec

from foveate.knowledge.models import SUMMARY, Handoff, Result, Written

FIELDS: Final = Written.__struct_fields__
_OPENING: Final = r"^(?P<fence>`{3,}|~{3,})[ \t]*"
_CLOSING: Final = r"(?P<closed>^(?P=fence)[ \t]*$)|\Z"
_FENCE: Final = re.compile(rf"{_OPENING}(?:ya?ml|json)[^\n]*\n(?P<body>.*?)(?:{_CLOSING})", re.DOTALL | re.MULTILINE)
_ANY_FENCE: Final = re.compile(rf"{_OPENING}.*?(?:{_CLOSING})", re.DOTALL | re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+Handoff[ \t]*$", re.MULTILINE | re.IGNORECASE)
_FIELD: Final = re.compile(rf"^[\s{{]*[\"']?(?:{'|'.join(FIELDS)})[\"']?[ \t]*:", re.MULTILINE)
# A sentence may begin with `outcome:` too.
_NO_SENTENCE: Final = re.compile(
    rf"^[\s{{]*[\"']?(?:(?:{'|'.join(FIELDS[1:])})[\"']?[ \t]*:"
    rf"|outcome[\"']?[ \t]*:[ \t]*[\"']?(?:{'|'.join(get_args(Result))})[\"']?[ \t]*(?:$|[,}}]))",
    re.MULTILINE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_SUMMARY: Final = 400


class Body(NamedTuple):
    """The text of a handoff: whether it is marked as one, by a fence or a heading, and whether its fence is closed."""

    text: str
    marked: bool
    closed: bool

    @property
    def has_fields(self) -> bool:
        """Whether any line of it begins as a field of a handoff does."""
        return _FIELD.search(self.text) is not None


class Told(NamedTuple):
    """What a text says beside its handoff, as a name and in a few sentences; empty if that is nothing."""

    name: str
    summary: str


def body_of(text: str) -> Body:
    """The text of the handoff in a text: all of it if nothing in it is marked as one."""
    heading = _HEADING.search(text)
    rest = text[heading.end() :] if heading else text
    fenced = [Body(one["body"], marked=True, closed=one["closed"] is not None) for one in _FENCE.finditer(rest)]
    whole = Body(rest, marked=heading is not None, closed=True)
    return next((one for one in fenced if one.has_fields), fenced[0] if fenced else whole)


def repeated_fields(body: str) -> list[str]:
    """The fields that stand twice in a handoff that can be read: of two outcomes nobody knows which is meant."""
    # Whoever has no handoff to read need not wait for it.
    import yaml  # noqa: PLC0415

    try:
        read = yaml.compose(body, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        # JSON with tabs in it, which this reads only as YAML.
        return []
    if not isinstance(read, yaml.MappingNode):
        return []
    names = Counter(str(key.value) for key, _ in read.value)
    return [name for name, count in names.items() if count > 1]


def words_of(text: str) -> str:
    """What a text says before its handoff, without anything that stands in fences."""
    heading = _HEADING.search(text)
    before = text[: heading.start()] if heading else text
    if heading is None and not _FENCE.search(text):
        bare = _NO_SENTENCE.search(text)
        before = text[: bare.start()] if bare else text
    return _ANY_FENCE.sub(" ", before).strip()


def told_in(text: str, handoff: Handoff | None = None) -> Told:
    """A name and a summary from the words of whoever hands over; without what was salvaged from them."""
    words = words_of(text)
    if handoff is not None and handoff.salvaged:
        said = _lessons(handoff)
        words = " ".join(one for one in sentences(words) if one not in said)
    return Told(next(iter(sentences(words)), "")[:SUMMARY], " ".join(words.split())[:_SUMMARY])


def _lessons(handoff: Handoff) -> set[str]:
    return {
        *(one.pattern for one in handoff.patterns_discovered),
        *(one.issue for one in handoff.gotchas),
        *(one.question for one in handoff.open_questions),
        *(one.step for one in handoff.suggested_next_steps),
    }


def sentences(text: str) -> list[str]:
    """The sentences of a text, without the marks of lists and headings."""
    found = (_BULLET.sub("", piece).strip().lstrip("#").strip() for piece in _SENTENCE.split(text))
    return [sentence for sentence in found if sentence]


def written(handoff: Handoff) -> str:
    """A handoff as an agent would write it below its words."""
    body = msgspec.json.format(msgspec.json.encode(handoff), indent=0).decode()
    return f"## Handoff\n\n```json\n{body}\n```"
