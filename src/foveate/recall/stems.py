"""Stems: the forms of a word as one."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

# What is longer is no word but data, and engines have limits of their own.
LONGEST: Final = 80
CJK_CLASS: Final = (
    "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
CJK: Final = re.compile(f"[{CJK_CLASS}]+")
_FORM: Final = re.compile(r"\A(?:([^aeiouy]*+[aeiouy].*?)(?:ing|ed)(?:ly)?|(.{3,})(?<!p)ly)")
# The more an ending says, the more must be left without it: "station" is no form of "state".
_DERIVED: Final = re.compile(
    r"(?:(?<=.{4})(?:i[sz](?:e|er|ation)|(?<!e)at(?:e|ion|or|ive)|[ai]b(?:le|ility)|ful|ness)"
    r"|(?<=.{5})(?:ion(?:al)?|ive|er|or|[ae]nc[ey]|ent|ity)|(?<=.{6})ment)$"
)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without case, accents and common English endings, so that its forms are one.

    >>> [stem(word) for word in ("Queries", "running", "configurations", "Café", "注文")]
    ['queri', 'run', 'configur', 'caf', '注文']
    """
    lowered = word[:LONGEST].lower()
    if not lowered.isascii():
        if CJK.search(lowered):
            # What looks like an accent there is a letter: が is not か.
            return unicodedata.normalize("NFKC", lowered)[:LONGEST]
        plain = "".join(filter(str.isalnum, unicodedata.normalize("NFKD", lowered).lower()))
        lowered = plain[:LONGEST] or lowered
    return lowered if len(lowered) <= 3 or not lowered.isalpha() else _root(_uninflected(lowered))


def _uninflected(word: str) -> str:
    if word.endswith(("ies", "ied")):
        word = f"{word[:-3]}y"
    elif word[-1] == "s" and word[-2] not in "su":
        word = word[:-1]
    form = _FORM.fullmatch(word)
    if form is None or len(form[1] or form[2]) < 3:
        return word
    if form[1] is None:
        return form[2]
    return f"{form[1]}e" if form[1].endswith(("at", "iz", "is")) else _undoubled(form[1])


def _root(word: str) -> str:
    while (shorter := _DERIVED.sub("", word)) != word:
        word = shorter
    if len(word) > 3:
        word = word[:-1] if word[-1] == "e" else f"{word[:-1]}i" if word[-1] == "y" else word
    return _undoubled(word)


def _undoubled(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiou" else word
