"""Regular expressions take no longer than a text is long, whoever wrote the text."""

from __future__ import annotations

import re
import time

import pytest

from foveate.chat.reflecting import _parted  # pyright: ignore[reportPrivateUsage]  a replaced pattern
from foveate.knowledge.handoff_text import body_of, words_of
from foveate.knowledge.salvage import salvaged_handoff
from foveate.work.loading import _headed  # pyright: ignore[reportPrivateUsage]  a replaced pattern
from tests.patterns.hostile_patterns import Found, patterns_of_package, slow_patterns


@pytest.fixture(scope="module")
def patterns() -> list[Found]:
    return patterns_of_package()


def test_all_patterns_are_found(patterns: list[Found]) -> None:
    """Those of modules, of tables, and those written where they are used."""
    texts = {one.pattern.pattern for one in patterns}
    assert len(patterns) > 150
    assert r"\{[^{}]*\}?" in texts, "one of a module"
    assert r"\b(?:watch out|be careful|beware|careful with|caveat|gotcha)\b" in texts, "one of a table"
    assert r"m[1-9][0-9]{0,15}" in texts, "one in a function"


def test_no_pattern_takes_longer_than_its_text_is_long(patterns: list[Found]) -> None:
    """On runs of what it repeats, behind what leads to it and before what spoils it."""
    assert slow_patterns(patterns) == {}


@pytest.mark.parametrize("pattern", [r"(a+)+b", r"[ \t]*:", r"(.*?)x(.*?)y$", r"^(.+?)\s*$", r"\{\{.*?\}\}"])
def test_a_bad_pattern_is_found(pattern: str) -> None:
    """Otherwise the test above would promise nothing."""
    assert slow_patterns([Found("here", re.compile(pattern), frozenset({"search"}))])


HANDOFFS = [
    "\n" * 400_000,
    " " * 400_000,
    "{" * 400_000,
    "```yaml\n" * 50_000,
    "a/b.py is next. " * 25_000,
    "".join(f"Watch out for src/a{number}.py, then fix b{number}.py. " for number in range(8_000)),
    "outcome: " * 44_000,
    "- gotchas:\n" * 33_000,
    '{"outcome": "done", "gotchas": [' + '{"issue": "x", ' * 25_000,
    "+@" * 200_000,
    "a\\" * 200_000,
    '"a b ' * 80_000,
]


@pytest.mark.parametrize("text", HANDOFFS, ids=lambda text: text[:20])
def test_a_handoff_of_any_kind_is_salvaged_in_a_moment(text: str) -> None:
    """400,000 characters that a model wrote; processor time, with room for a slow machine."""
    start = time.thread_time()
    salvaged_handoff(text)
    words_of(text)
    body_of(text)
    assert time.thread_time() - start < 20


def test_patterns_that_were_replaced_still_say_the_same() -> None:
    assert _parted("Observation: slow \n\n  ADJUSTMENT: ask less\n") == ("slow", "ask less")
    assert _parted("observation: a\nb") == ("a\nb", "")
    assert _parted(" nothing of the kind ") == ("nothing of the kind", "")
    assert _headed("\n# Fix it ##  \nbody") == ("Fix it", "body")
    assert _headed("# About C#\n\nbody") == ("About C#", "body")
    assert _headed("no heading") == ("", "no heading")
