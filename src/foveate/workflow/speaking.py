"""Speaking: data that somebody wrote where words were asked for, told in sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

# A line on a screen shows a small part of it.
_LONGEST: Final = 4_000
# What lies deeper is told as if it lay here.
_DEEPEST: Final = 20
_STRINGS_IN_STRINGS: Final = 3
# A text with more brackets that never close is no data.
_MOST_UNCLOSED: Final = 20

_VALUE: Final = r"[\"'\[{]|-?[\d.]+\s*,|(?:true|false|null|True|False|None)\b"
_KEY: Final = r"[\"']|[A-Za-z_]\w*\s*:(?!:)"
# Not `list[0]`, not `[a link](…)`, not `{placeholder}`.
_DATA: Final = re.compile(rf"\{{(?=\s*(?:{_KEY}))|(?<![\w\])])\[(?=\s*(?:{_VALUE}))")
# Where nothing stands before it, less is needed to know data by.
_ALL_DATA: Final = re.compile(rf"[\[{{](?=\s*(?:{_KEY}|{_VALUE}|[\]}}\d]|\Z))")
_TOKEN: Final = re.compile(
    r"(?:(?P<open>[\[{]|\((?=\s*[\"'\[{(]))|(?P<close>[\]})])|(?P<sign>[:,])"
    r"|(?P<text>\"(?:\\.|[^\"\\])*+(?:\"|\\?\Z)|'(?:\\.|[^'\\])*+(?:'|\\?\Z))|(?P<bare>[^\s\[\]{}:,\"')][^\[\]{}:,\")\n]*+))",
    re.DOTALL,
)
_FENCE: Final = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_CONSTANTS: Final = {"true": "yes", "false": "no", "null": "", "none": "", "undefined": ""}


def in_sentences(text: str) -> str:
    """A text in one line of words; JSON, and what looks like it, is told in sentences wherever it stands.

    >>> in_sentences('All done. {"files": ["a.py", "b.py"], "tested": true}')
    'All done. files: a.py, b.py; tested: yes'
    """
    said = _told(_FENCE.sub(" ", text[:_LONGEST]).strip(), _STRINGS_IN_STRINGS)
    # Half a sign, which a model may write as well, can be neither printed nor stored.
    return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Data:
    """What stands between two brackets: values, with or without names."""

    def __init__(self) -> None:
        self._items: list[tuple[str, str | _Data]] = []
        self._name = ""

    def add(self, value: str | _Data) -> None:
        self._items.append((self._name, value))
        self._name = ""

    def name_next(self) -> None:
        """Have the last value be the name of the next one."""
        if self._items and not self._items[-1][0] and isinstance(self._items[-1][1], str):
            self._name = str(self._items.pop()[1])

    def told(self) -> str:
        parts = [(name, value.told() if isinstance(value, _Data) else value) for name, value in self._items]
        between = "; " if any(name for name, _ in parts) else ", "
        named = [f"{name}: {said}" if name not in ("", "summary") else said for name, said in parts if said]
        # A sentence has its own sign at the end.
        return "".join(f"{one} " if one.endswith((".", "!", "?")) else f"{one}{between}" for one in named[:-1]) + (
            named[-1] if named else ""
        )


def _told(text: str, strings: int) -> str:
    whole = _TOKEN.fullmatch(text)
    if strings and whole is not None and whole["text"]:
        return _told(_unquoted(text).strip(), strings - 1)
    return _joined(_pieces(text, strings))


def _pieces(text: str, strings: int) -> Iterator[tuple[str, bool]]:
    """The words of a text and its data, told; each with whether it is data."""
    behind = at = unclosed = 0
    while unclosed < _MOST_UNCLOSED and (
        start := (_ALL_DATA.match(text) if not at else None) or _DATA.search(text, at)
    ):
        found, end = _read(text, start.start(), strings)
        # What was cut off on its way is data if a name stands there, or nothing before it.
        if end is None and start.start() and not re.match(r"\{\s*[\"'][^\"'\n]*+[\"']\s*:", text[start.start() :]):
            at, unclosed = start.end(), unclosed + 1
            continue
        yield text[behind : start.start()].removesuffix("`"), False
        yield found.told(), True
        behind = at = len(text) if end is None else end
        if text[behind : behind + 1] == "`":
            behind += 1
    yield text[behind:], False


def _read(text: str, start: int, strings: int) -> tuple[_Data, int | None]:
    """The data that begins there, and where it ends; None if it does not."""
    stack: list[_Data] = []
    brackets: list[str] = []
    root, at = _Data(), start
    while token := _TOKEN.match(text, _past_space(text, at)):
        at = token.end()
        if token["open"]:
            inner = root if not stack else stack[-1] if len(stack) >= _DEEPEST else _Data()
            if stack and inner is not stack[-1]:
                stack[-1].add(inner)
            stack.append(inner)
            brackets.append(token["open"])
        elif token["close"]:
            # One that closes nothing is part of somebody's words.
            if (token["close"] == ")") == (brackets[-1] == "("):
                brackets.pop()
                stack.pop()
            if not stack:
                return root, at
        elif token["sign"] == ":":
            stack[-1].name_next()
        elif not token["sign"]:
            stack[-1].add(_value(token, strings))
    return root, None


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _value(token: re.Match[str], strings: int) -> str:
    if token["text"]:
        said = _unquoted(token["text"])
        return _told(said.strip(), strings - 1) if strings else " ".join(said.split())
    bare = " ".join(token["bare"].split())
    return _CONSTANTS.get(bare.lower(), bare)


def _unquoted(written: str) -> str:
    try:
        return str(json.loads(written, strict=False))
    except ValueError:
        # Of Python, or cut off.
        mark = written[0]
        inner = written[1:].removesuffix(mark)
        return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), inner, flags=re.DOTALL)


def _joined(pieces: Iterator[tuple[str, bool]]) -> str:
    """Words and data as one text, with a full stop where one follows the other without a sign."""
    whole, was_data = "", False
    for text, is_data in pieces:
        piece = " ".join(text.split())
        if not piece:
            continue
        begins = is_data or piece[0].isupper() or "\n" in text[: len(text) - len(text.lstrip())]
        needs_stop = was_data and whole[-1:].isalnum() and begins
        between = ". " if needs_stop else "" if piece[0] in ".,;:!?)" else " "
        whole += (between if whole else "") + piece
        was_data = is_data
    return whole
