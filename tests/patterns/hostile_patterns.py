"""Every regular expression of the package, and texts that make a bad one take for ever; for tests and `make attack`."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Only their parser says what a pattern repeats; it has had this shape since Python 3.11.
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import FrameType, ModuleType
from typing import Any, Final

import foveate

_FUNCTIONS: Final = ("compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
_ALL_USES: Final = frozenset({"search", "match", "fullmatch"})
_LEFT_OUT: Final = ("foveate.sample", "foveate.store.migrations", "foveate.__main__")
# Their frameworks cannot share an environment with the others, so they are not imported; they may have no pattern.
_ELSEWHERE: Final = frozenset(
    f"foveate.integrations.{name}" for name in ("agent_framework", "claude_agent", "google_adk", "litellm", "strands")
)
_MANY: Final = 50
_ENDS: Final = ("", "\0")
_COMMON: Final = (" ", "\n", "a", "0", '"')


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern, where it is, and how it is used: one that only matches at a beginning has one place to begin."""

    place: str
    pattern: re.Pattern[str]
    uses: frozenset[str]


def patterns_of_package() -> list[Found]:
    """All patterns of texts in modules, also in their tables, and those written in calls of `re`."""
    found: dict[tuple[str, int], Found] = {}
    trees = {module: ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")) for module in _modules()}
    named = _uses_by_name(trees.values())
    for module, tree in trees.items():
        kept = [
            (one, named.get(name, _ALL_USES)) for name, value in vars(module).items() for one in _kept_in([value], 0)
        ]
        for pattern, uses in [*kept, *_called_in(module, tree)]:
            if isinstance(pattern.pattern, str):
                key = (pattern.pattern, pattern.flags)
                before = found[key].uses if key in found else frozenset[str]()
                found[key] = Found(module.__name__, pattern, before | uses)
    return list(found.values())


def _uses_by_name(trees: Iterable[ast.Module]) -> dict[str, frozenset[str]]:
    """The methods that are called of each name; a name that is also used in another way may be used in all."""
    called: dict[str, set[str]] = {}
    seen: dict[str, int] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                called.setdefault(name, set()).add(attr)
                seen[name] = seen.get(name, 0) - 1
            case ast.Name(id=name, ctx=ast.Load()):
                seen[name] = seen.get(name, 0) + 1
            case _:
                continue
    return {name: frozenset(uses) for name, uses in called.items() if not seen[name]}


def _modules() -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(foveate.__path__, "foveate."):
        if info.name in _ELSEWHERE:
            source = Path(foveate.__path__[0], "integrations", f"{info.name.rpartition('.')[2]}.py")
            assert not re.search(r"^\s*(import re\b|from re\b)", source.read_text(encoding="utf-8"), re.MULTILINE), (
                source
            )
        elif not info.name.startswith(_LEFT_OUT):
            yield importlib.import_module(info.name)


def _kept_in(values: Iterable[Any], depth: int) -> Iterator[re.Pattern[Any]]:
    for value in values:
        if isinstance(value, re.Pattern):
            yield value
        elif depth < 3 and isinstance(value, tuple | list | set | frozenset):
            yield from _kept_in(value, depth + 1)
        elif depth < 3 and isinstance(value, Mapping):
            yield from _kept_in([*value.keys(), *value.values()], depth + 1)


def _called_in(module: ModuleType, tree: ast.Module) -> Iterator[tuple[re.Pattern[Any], frozenset[str]]]:
    """Patterns that are made where they are used; a name among them is looked up in its module."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr), args=[first, *_]) if (
                attr in _FUNCTIONS
            ):
                written = first.value if isinstance(first, ast.Constant) else None
                if isinstance(first, ast.Name):
                    written = getattr(module, first.id, None)
                if isinstance(written, str) and attr != "compile":
                    flags = re.IGNORECASE if "IGNORECASE" in ast.unparse(node) else 0
                    yield re.compile(written, flags), frozenset({attr})
            case _:
                continue


def hostile_texts(pattern: re.Pattern[str], size: int) -> Iterator[str]:
    """Texts in which what a pattern repeats stands for ever, after what leads to it and before what spoils it."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    seen: set[tuple[str, str, str]] = set()
    for before, pump in [*_pumps(list(tree), ""), *(("", one) for one in (*_letters(tree), *_COMMON))]:
        for end in _ENDS:
            if pump and (before, pump, end) not in seen:
                seen.add((before, pump, end))
                yield before + pump * (size // len(pump)) + end
        if before and pump:
            # Each beginning is one more place to search from.
            yield (before + pump) * (size // len(before + pump))


def _pumps(items: list[Any], before: str) -> Iterator[tuple[str, str]]:
    for code, argument in items:
        yield from _inner_pumps(code, argument, before)
        before = (before + _sample([(code, argument)]))[-200:]


def _inner_pumps(code: Any, argument: Any, before: str) -> Iterator[tuple[str, str]]:
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        _, most, inner = argument
        if most > _MANY:
            yield before, _sample(list(inner)) or "a"
        yield from _pumps(list(inner), before)
    elif code is codes.SUBPATTERN:
        yield from _pumps(list(argument[-1]), before)
    elif code is codes.ATOMIC_GROUP:
        yield from _pumps(list(argument), before)
    elif code is codes.BRANCH:
        for branch in argument[1]:
            yield from _pumps(list(branch), before)
    elif code in (codes.ASSERT, codes.ASSERT_NOT):
        yield from _pumps(list(argument[1]), before)


def _sample(items: list[Any]) -> str:
    """A short text that such items match, as far as that is easily told."""
    text = ""
    for code, argument in items:
        if code is codes.LITERAL:
            text += chr(argument)
        elif code is codes.NOT_LITERAL:
            text += "b" if argument == ord("a") else "a"
        elif code is codes.ANY:
            text += "a"
        elif code is codes.IN:
            text += _member(argument)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            text += _sample(list(argument[2])) * max(1, min(argument[0], 80))
        elif code is codes.SUBPATTERN:
            text += _sample(list(argument[-1]))
        elif code is codes.ATOMIC_GROUP:
            text += _sample(list(argument))
        elif code is codes.BRANCH:
            text += _sample(list(argument[1][0]))
    return text


def _member(members: list[Any]) -> str:
    """One character of a set."""
    for one in " \ta0_-.,:\"'/x\\{}[]()<>`*#|=\n\u4e00\x01!":
        if _is_in(one, members):
            return one
    for code, argument in members:
        if code is codes.RANGE:
            return chr(argument[0])
        if code is codes.LITERAL:
            return chr(argument)
    return "a"


def _is_in(one: str, members: list[Any]) -> bool:
    negated = bool(members) and members[0][0] is codes.NEGATE
    hit = False
    for code, argument in members:
        if code is codes.LITERAL:
            hit |= ord(one) == argument
        elif code is codes.RANGE:
            hit |= argument[0] <= ord(one) <= argument[1]
        elif code is codes.CATEGORY:
            hit |= re.match(_CATEGORIES[str(argument)], one) is not None
    return hit is not negated


_CATEGORIES: Final = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


def _letters(items: Any) -> list[str]:
    """Characters that a pattern speaks of."""
    found: list[str] = []
    for code, argument in items:
        if code is codes.LITERAL:
            found.append(chr(argument))
        elif code is codes.IN:
            found.append(_member(argument))
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            found += _letters(argument[2])
        elif code is codes.SUBPATTERN:
            found += _letters(argument[-1])
        elif code is codes.BRANCH:
            found += [letter for branch in argument[1][:6] for letter in _letters(branch)]
    return list(dict.fromkeys(found))[:5]


class TookTooLongError(Exception):
    """A pattern spent more processor time than any linear one could."""


def seconds_taken(found: Found, text: str, most: float) -> float:
    """Processor time that a pattern takes as it is used; ended soon after `most` seconds."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    start = time.thread_time()
    # The alarm may also come while it is being taken back: that too is caught.
    with suppress(TookTooLongError):
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, most)
            for use in found.uses & {"match", "fullmatch"}:
                getattr(found.pattern, use)(text)
            if found.uses - {"match", "fullmatch", "pattern", "flags"}:
                for _ in found.pattern.finditer(text):
                    pass
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)
    return time.thread_time() - start


def least_seconds(found: Found, text: str, most: float) -> float:
    """Processor time at the best of three: a busy machine slows any one of them, a bad pattern all."""
    taken = seconds_taken(found, text, most)
    for _ in range(2):
        if taken < most / 10:
            break
        taken = min(taken, seconds_taken(found, text, most))
    return taken


def slow_patterns(found: Iterable[Found], *, size: int = 20_000, most: float = 0.3) -> dict[str, str]:
    """Patterns whose time grows faster than a hostile text, each with the beginning of the text.

    Linear ones take some milliseconds for it; none comes near `most` seconds.
    """
    slow: dict[str, str] = {}
    for one in found:
        for text, longer in zip(hostile_texts(one.pattern, size), hostile_texts(one.pattern, 2 * size), strict=True):
            taken = least_seconds(one, text, most)
            # Twice as much takes twice as long, or four times and more.
            if taken >= most or (taken >= most / 10 and least_seconds(one, longer, 4 * most) > 3 * taken):
                slow[one.pattern.pattern] = f"{one.place}: {text[:60]!r}"
                break
    return slow
