"""Symbols: what a file defines, which names it uses, and what it says of itself."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from foveate.errors import ConfigError

GROUP: Final = "foveate.symbols"

_ENDINGS: Final = {
    "python": "py pyi",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx",
    "ruby": "rb rake gemspec",
    "markdown": "md markdown",
    "other": "kt kts swift cs php scala lua sh bash ex exs dart zig proto m mm pl r jl vue svelte",
}
LANGUAGES: Final[Mapping[str, str]] = MappingProxyType(
    {ending: language for language, endings in _ENDINGS.items() for ending in endings.split()}
)
_FAMILIES: Final = MappingProxyType({"typescript": "javascript", "tsx": "javascript", "cpp": "c"})
DEFINITIONS: Final = 400
USES: Final = 2_000
_NAME: Final = re.compile(r"[^\W\d]\w{1,79}")
_HEADLINE: Final = 120

_OPENING: Final = (
    r"(?:export|default|declare|public|private|protected|internal|pub(?:\([^)]*\))?|async|abstract|static|final|sealed"
    r"|open|data|unsafe|extern|const|inline|override|virtual|partial)"
)
_DEFINING: Final = (
    r"(?:class|interface|struct|enum|union|trait|module|mod|object|record|protocol|def|defp|func|fun|fn|function\*?|type"
    r"|namespace|message|service|macro_rules!)"
)
_DEFINED: Final = re.compile(
    rf"^[ \t]*(?:{_OPENING}\s+)*{_DEFINING}\s+(?:\([^)\n]*\)\s*)?(?:self\.)?([^\W\d]\w*)", re.MULTILINE
)
_ASSIGNED: Final = re.compile(
    r"^(?:export\s+)?(?:(?:const|let|var|static)\s+(?:mut\s+)?)?([^\W\d]\w*)\s*(?::[^=\n]{1,80})?=(?!=)", re.MULTILINE
)
# `int parse(…) {` of the C family, and methods of Java; a control statement looks the same but for its name.
_C_FUNCTION: Final = re.compile(
    r"^[ \t]*(?:[^\W\d][\w:<>,*&\[\]]*[ \t*&]+){1,5}~?(?:\w+::)*([^\W\d]\w*)[ \t]*"
    r"\([^;{}()]{0,400}\)[^;{}=()]{0,80}\{",
    re.MULTILINE,
)
_C_MACRO: Final = re.compile(r"^#\s*define\s+(\w+)", re.MULTILINE)
_C_CONTROL: Final = frozenset({"if", "for", "while", "switch", "catch", "return", "else", "do", "new", "sizeof"})
_HEADING: Final = re.compile(r"^#{1,6}[ \t]++(.*[^ \t#\n])[ \t]*+#*+[ \t]*+$", re.MULTILINE)
_FENCE: Final = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)

_DOCSTRING: Final = re.compile(r"(?:\s*+#[^\n]*\n)*+\s*+[rRuU]?(\"{3}|'{3}|\"|')\s*+([^\n]*?)(?:\1|\n|\Z)")
_COMMENT: Final = re.compile(r"^[ \t]*(?:///?!?|/\*+!?|\*(?!/)|--+|;+|<!--)[ \t]?(.*)$")
_HASH_COMMENT: Final = re.compile(r"^[ \t]*#+[ \t]?(.*)$")
# In other languages a line like this is an instruction.
_HASH_COMMENTS: Final = ("python", "ruby", "other", "")
_LEGAL: Final = re.compile(
    r"copyright|licen[cs]e|spdx|all rights|generated|eslint|@ts-|-\*-|vim:|coding[:=]|prettier|go:build|\+build"
    r"|frozen_string",
    re.IGNORECASE,
)


class Names(NamedTuple):
    """The names that a file defines and those that it uses, each once and in order."""

    definitions: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()


class Parser(Protocol):
    """Finds the names in a source; `None` for a language it does not know."""

    @property
    def name(self) -> str: ...
    def __call__(self, language: str, source: bytes, /) -> Names | None: ...
    def close(self) -> None: ...


class PlainParser:
    """Finds names without any grammar: Python by its own parser, other languages by the look of their lines."""

    @property
    def name(self) -> str:
        return "plain 1"

    def __call__(self, language: str, source: bytes, /) -> Names | None:
        text = source.decode("utf-8", "replace")
        if language == "markdown":
            return names(map(_shown, _HEADING.findall(_FENCE.sub("", text))), ())
        tree = _python_tree(text) if language == "python" else None
        if tree is not None:
            return names(_python_definitions(tree), _python_uses(tree), _python_bound(tree))
        return names(_looks_defined(language, text), _NAME.findall(text)) if language else None

    def close(self) -> None:
        """Do nothing: there is nothing to end."""


def installed_parser() -> Parser:
    """The parser that an extra brought, else the plain one; to be closed after use."""
    for entry in entry_points(group=GROUP):
        try:
            made: Callable[[], Parser] = entry.load()
        except (ImportError, ConfigError):
            # It is registered with the package, and its grammars may not be installed.
            continue
        return made()
    return PlainParser()


def language_of(path: str) -> str:
    """The language of a file by its ending; empty for what is no code."""
    return LANGUAGES.get(path.rpartition("/")[2].rpartition(".")[2].lower(), "") if "." in path else ""


def family_of(language: str) -> str:
    """The languages that share names with a language, under one name; empty for prose."""
    return _FAMILIES.get(language, "" if language == "markdown" else language)


def names(definitions: Iterable[str], uses: Iterable[str], bound: Iterable[str] = ()) -> Names:
    """Names, each once and no more than a map has use for; what is `bound` in a file comes from no other."""
    defined = tuple(dict.fromkeys(definitions))[:DEFINITIONS]
    own = {*defined, *bound}
    # Two letters are a variable; two Chinese characters are a word.
    used = (name for name in dict.fromkeys(uses) if name not in own and (len(name) > 2 or not name.isascii()))
    return Names(defined, tuple(used)[:USES])


def headline_of(language: str, source: bytes) -> str:
    """The first line of what a file says of itself: its docstring, heading or opening comment."""
    text = source[:8_000].decode("utf-8", "replace").removeprefix("\ufeff")
    if language == "markdown":
        said = next(iter(_HEADING.findall(_FENCE.sub("", text))), "")
    elif language == "python" and (found := _DOCSTRING.match(text)):
        said = "" if _LEGAL.match(found[2]) else found[2]
    else:
        said = next(_comments(text, _HASH_COMMENT if language in _HASH_COMMENTS else _COMMENT), "")
    return _shown(said)


def _shown(text: str) -> str:
    """A line as it can be stored and shown anywhere."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= _HEADLINE else f"{line[: _HEADLINE - 1].rstrip()}…"


def _python_tree(text: str) -> ast.Module | None:
    try:
        # What a file's author should be warned of is no concern of whoever maps it.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _python_definitions(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.ClassDef():
                yield node.name
                yield from (one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            case ast.Assign():
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                continue


def _python_uses(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.alias(name=name):
                yield name.rpartition(".")[2]
            case _:
                continue


def _python_bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case _:
                continue


def _looks_defined(language: str, text: str) -> Iterator[str]:
    yield from _DEFINED.findall(text)
    if language in ("c", "cpp", "java"):
        yield from (name for name in _C_FUNCTION.findall(text) if name not in _C_CONTROL)
        yield from _C_MACRO.findall(text)
    else:
        yield from _ASSIGNED.findall(text)


def _comments(text: str, hashed: re.Pattern[str]) -> Iterator[str]:
    """The lines of the comment a file begins with, without markers and what lawyers and tools want there."""
    for line in text.splitlines()[:40]:
        if not line.strip() or line.startswith("#!"):
            continue
        comment = _COMMENT.match(line) or hashed.match(line)
        if comment is None:
            return
        said = comment[1].strip(" \t*/-=#<>!")
        if said and not _LEGAL.search(said):
            yield said
