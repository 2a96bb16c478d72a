"""Handoff text: where a handoff stands in what an agent says, what else it says, and how a handoff is written there."""

from __future__ import annotations

import json
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
# A line's own beginning, or a brace and what follows it on other lines; lines that are blank are passed once.
_START: Final = r"^(?:[^\S\n]*+\{\s*+)?[ \t\r\f\v\xa0{]*+[\"']?"
_FIELD: Final = re.compile(rf"{_START}(?:{'|'.join(FIELDS)})[\"']?[ \t]*:", re.MULTILINE)
# A sentence may begin with `outcome:` too.
_NO_SENTENCE: Final = re.compile(
    rf"{_START}(?:(?:{'|'.join(FIELDS[1:])})[\"']?[ \t]*:"
    rf"|outcome[\"']?[ \t]*:[ \t]*[\"']?(?:{'|'.join(get_args(Result))})[\"']?[ \t]*(?:$|[,}}]))",
    re.MULTILINE,
)
_PAIRS: Final = json.JSONDecoder(object_pairs_hook=tuple)
_SENTENCE: Final = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+|(?<=[。！？])|\n+")
_BULLET: Final = re.compile(r"^\s*(?:>\s*|(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?)")
_SUMMARY: Final = 400
_FRONT_MATTER: Final = re.compile(r"\A(---|\+\+\+)[ \t]*\n(?:.*?\n)??\1[ \t]*(?:\n|\Z)", re.DOTALL)
_UNDERLINE: Final = re.compile(r" {0,3}(?:={2,}|-{2,})[ \t]*")
_BOLD: Final = re.compile(r"[ \t]*(?:\*\*|__)([^*_\n]{1,100})(?:\*\*|__)[ \t]*")
_HEADED: Final = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)", re.MULTILINE)
_LISTED: Final = re.compile(
    r"^\s*(?:[-*+•][ \t]|>|\d{1,9}[.)][ \t]|\||[-=*_]{3,}\s*$|\*\*[^*\n]{1,60}(?::\*\*|\*\*:)"
    r"|!\[[^\]\n]{0,200}\]\([^)\n]{0,500}\)\s*$)"
)
# Headings that say of which kind a text is, and not what it is about.
_KIND: Final = re.compile(
    r"(?:task|issue|story|ticket|objective|goal|description|summary|overview|context|background|metadata|outcome)"
    r"(?:[ \t]+[\w.#:-]{1,20})?",
    re.IGNORECASE,
)


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
    names = _names_in_json(body) if body.lstrip().startswith("{") else _names_in_yaml(body)
    return [name for name, count in Counter(names).items() if count > 1]


def _names_in_json(body: str) -> list[str]:
    try:
        pairs = _PAIRS.decode(body.strip())
    except (ValueError, RecursionError):
        # Whoever reads it says what is wrong with it.
        return []
    return [name for name, _ in pairs]


def _names_in_yaml(body: str) -> list[str]:
    # Whoever has no handoff to read need not wait for it.
    import yaml  # noqa: PLC0415

    try:
        read = yaml.compose(body, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        # Whoever reads it says what is wrong with it.
        return []
    return [str(key.value) for key, _ in read.value] if isinstance(read, yaml.MappingNode) else []


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
    if _HEADED.search(words):
        # A document, of which headings and lists of facts are no summary.
        first = first_sentence(words)
        return Told(first[:SUMMARY], first[:_SUMMARY])
    if handoff is not None and handoff.salvaged:
        said = _lessons(handoff)
        words = " ".join(one for one in sentences(words) if one not in said)
    return Told(next(iter(sentences(words)), "")[:SUMMARY], " ".join(words.split())[:_SUMMARY])


def first_sentence(text: str) -> str:
    r"""The first sentence of a Markdown text: of its prose, else of its lists, else of its headings.

    A heading that only says of which kind the text is comes last.

    >>> first_sentence("# Task\n\n- id: 7\n\nRound half up. Then test.")
    'Round half up.'
    """
    plain = _FRONT_MATTER.sub("", text.replace("\r\n", "\n").strip(), count=1)
    lines = _with_marked_headings(_ANY_FENCE.sub("", _without_comments(plain)).split("\n"))
    prose = [line for line in lines if not _HEADED.match(line) and not _LISTED.match(line)]
    # A number with its dot is no sentence.
    listed = [_BULLET.sub("", line) for line in lines if _LISTED.match(line)]
    headings = [line.strip("# \t").removesuffix(":") for line in lines if _HEADED.match(line)]
    telling = [one for one in headings if not _KIND.fullmatch(one)]
    for some in (prose, listed, telling, headings):
        found = next(iter(sentences("\n".join(some))), "")
        if found:
            return found.strip("*_ ")
    return ""


def _without_comments(text: str) -> str:
    """A text without what Markdown does not show; a comment that nothing closes is none."""
    kept, at = "", 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept, at = kept + text[at:start], end + 3
    return kept + text[at:]


def _with_marked_headings(lines: list[str]) -> list[str]:
    """Lines with the one mark of headings, also where they are underlined or wholly bold."""
    marked: list[str] = []
    for line in lines:
        above = marked[-1] if marked else ""
        if _UNDERLINE.fullmatch(line) and above.strip() and not _HEADED.match(above) and not _LISTED.match(above):
            marked[-1] = f"# {above.strip()}"
        elif bold := _BOLD.fullmatch(line):
            marked.append(f"# {bold[1]}")
        else:
            marked.append(line)
    return marked


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
