"""Shell: a command line as the simple commands it runs, with their redirections and here-documents.

Nothing is expanded. A word that the shell would expand is marked, so that nobody takes it for the name of a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from foveate.compile.facts.word_set import word_set

MAX_COMMAND: Final = 200_000
# An open error, what a command did and how it ended are each read from the same command line.
_REMEMBERED: Final = 1_024
_MAX_DEPTH: Final = 8
_BLANK: Final = re.compile(r"(?:[ \t\r]|\\\n)+")
_PLAIN: Final = re.compile(r"""[^\s"'`$\\|;&<>()]+""")
_OPERATOR: Final = re.compile(r"&&|\|\||\|&|;;|[|;&\n]")
_REDIRECT: Final = re.compile(r"(?:\d+|&)?(?:<<<|<<-?|>>|>\||>&|<&|<>|[<>])|&>>?")
_VARIABLE: Final = re.compile(r"\$(?:\w+|[@*#?$!-])")
_EXPANDED: Final = re.compile(r"\$[\w{(]|`|\\[\\$`]")
_PATTERN: Final = re.compile(r"[*?\[]|\{[^{}]*,")
# Words that lead to a command, and words that are nothing by themselves.
_LEADING: Final = word_set("""
    if then elif else while until do ! { time
    """)
_BRANCHING: Final = _LEADING - {"{", "time", "!"} | {"for", "case", "select", "function"}
_CLOSING: Final = frozenset({"fi", "done", "}", "esac"})


class ShellSyntaxError(ValueError):
    """The text is no command line that is understood here."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes; `dynamic` if the shell expands something in it."""

    text: str
    dynamic: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where input comes from or output goes; `document` is the text of a here-document, None if it is expanded."""

    operator: str
    target: Word
    document: str | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command; `joined` is the operator behind it, `nested` are commands that its words run.

    `branched` if it stands behind a keyword such as `if` or `do`, so that it may run never or many times.
    """

    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    joined: str = ""
    nested: tuple[Command, ...] = ()
    branched: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The words as texts."""
        return tuple(word.text for word in self.words)


@lru_cache(_REMEMBERED)
def parse_command_line(text: str) -> tuple[Command, ...] | None:
    """The simple commands of a command line in order; None where it is too long or not understood.

    >>> [command.texts for command in parse_command_line("cd src && sed -n '1,5p' a.py") or ()]
    [('cd', 'src'), ('sed', '-n', '1,5p', 'a.py')]
    """
    if len(text) > MAX_COMMAND:
        return None
    try:
        return _Reader(text).commands("", 0)
    except ShellSyntaxError:
        return None


class _Reader:
    """Reads a command line once from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        # Here-documents whose text begins behind the next line break.
        self._due: list[tuple[str, bool, bool, int, list[Redirect]]] = []
        self._branched = False

    def commands(self, closing: str, depth: int) -> tuple[Command, ...]:
        """Commands up to a closing character, which is passed."""
        if depth > _MAX_DEPTH:
            raise ShellSyntaxError
        found: list[_Draft] = []
        draft = _Draft()
        while True:
            self._skip_blanks()
            if self._at >= len(self._text):
                if closing:
                    raise ShellSyntaxError
                break
            if closing and self._text[self._at] == closing:
                self._at += 1
                break
            if self._text[self._at] == "#":
                end = self._text.find("\n", self._at)
                self._at = end if end >= 0 else len(self._text)
                continue
            draft = self._step(draft, found, depth)
        found.append(draft)
        return tuple(one.command() for one in found if one)

    def _step(self, draft: _Draft, found: list[_Draft], depth: int) -> _Draft:
        redirect = _REDIRECT.match(self._text, self._at)
        if redirect is not None:
            self._at = redirect.end()
            self._redirected(draft, redirect.group(), depth)
            return draft
        operator = _OPERATOR.match(self._text, self._at)
        if operator is not None:
            self._at = operator.end()
            if operator.group() == "\n":
                self._documents()
            if not draft:
                return draft
            draft.joined = operator.group()
            found.append(draft)
            return _Draft()
        if self._text[self._at] == "(":
            self._at += 1
            if draft.words:
                # A function or an array.
                raise ShellSyntaxError
            draft.nested += self.commands(")", depth + 1)
            draft.words.append(Word("(", dynamic=True))
            return draft
        if self._text[self._at] == ")":
            raise ShellSyntaxError
        word = self._word(draft, depth)
        self._branched = self._branched or (not draft.words and word.text in _BRANCHING)
        draft.branched = self._branched
        if draft.words or word.text not in _LEADING | _CLOSING:
            draft.words.append(word)
        return draft

    def _skip_blanks(self) -> None:
        blank = _BLANK.match(self._text, self._at)
        if blank is not None:
            self._at = blank.end()

    def _word(self, draft: _Draft, depth: int) -> Word:
        pieces: list[str] = []
        dynamic, begin = False, self._at
        while self._at < len(self._text):
            character = self._text[self._at]
            plain = _PLAIN.match(self._text, self._at)
            if plain is not None:
                self._at = plain.end()
                pieces.append(plain.group())
                dynamic = dynamic or _PATTERN.search(plain.group()) is not None
            elif character == "'":
                pieces.append(self._until("'"))
            elif character == '"':
                text, expanded = self._double_quoted(draft, depth)
                pieces.append(text)
                dynamic = dynamic or expanded
            elif character == "\\":
                pieces.append(self._text[self._at + 1 : self._at + 2])
                self._at += 2
            elif character in "$`":
                pieces.append(self._expansion(draft, depth))
                dynamic = dynamic or pieces[-1] != "$"
            else:
                break
        if self._at == begin:
            raise ShellSyntaxError
        return Word("".join(pieces), dynamic)

    def _until(self, quote: str) -> str:
        end = self._text.find(quote, self._at + 1)
        if end < 0:
            raise ShellSyntaxError
        text = self._text[self._at + 1 : end]
        self._at = end + 1
        return text

    def _double_quoted(self, draft: _Draft, depth: int) -> tuple[str, bool]:
        self._at += 1
        pieces: list[str] = []
        dynamic = False
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == '"':
                self._at += 1
                return "".join(pieces), dynamic
            if character == "\\":
                escaped = self._text[self._at + 1 : self._at + 2]
                pieces.append(escaped if escaped in '"\\$`' else "" if escaped == "\n" else "\\" + escaped)
                self._at += 2
            elif character in "$`":
                pieces.append(self._expansion(draft, depth))
                dynamic = dynamic or pieces[-1] != "$"
            else:
                end = min((at for at in map(self._find, '"\\$`') if at >= 0), default=len(self._text))
                pieces.append(self._text[self._at : end])
                self._at = end
        raise ShellSyntaxError

    def _find(self, character: str) -> int:
        # Near enough in practice; what is far away is looked at in steps, so that no text is scanned again and again.
        at = self._text.find(character, self._at, self._at + 512)
        return at if at >= 0 else min(len(self._text), self._at + 512)

    def _expansion(self, draft: _Draft, depth: int) -> str:
        """A variable or a command whose output is put in; the text as it stands."""
        begin = self._at
        if self._text[begin] == "`":
            inner = self._until("`")
            draft.nested += _Reader(inner).commands("", depth + 1)
        elif self._text.startswith("$((", begin):
            end = self._text.find("))", begin)
            if end < 0:
                raise ShellSyntaxError
            self._at = end + 2
        elif self._text.startswith("$(", begin):
            self._at += 2
            due, self._due = self._due, []
            draft.nested += self.commands(")", depth + 1)
            self._due = due
        elif self._text.startswith("${", begin):
            self._at += 1
            self._until("}")
        elif self._text.startswith("$'", begin):
            self._at += 1
            self._until("'")
        else:
            variable = _VARIABLE.match(self._text, begin)
            self._at = variable.end() if variable is not None else begin + 1
        return self._text[begin : self._at]

    def _redirected(self, draft: _Draft, operator: str, depth: int) -> None:
        self._skip_blanks()
        quoted = self._text[self._at : self._at + 1] in ("'", '"', "\\")
        if self._text.startswith("(", self._at):
            # What a process substitution runs is run by the shell as well.
            self._at += 1
            draft.nested += self.commands(")", depth + 1)
            draft.words.append(Word("(", dynamic=True))
            return
        target = self._word(draft, depth)
        if operator.lstrip("0123456789") in ("<<", "<<-"):
            self._due.append((target.text, quoted, operator.endswith("-"), len(draft.redirects), draft.redirects))
        draft.redirects.append(Redirect(operator, target))

    def _documents(self) -> None:
        """Take the texts of here-documents, each up to a line that is its mark."""
        due, self._due = self._due, []
        for mark, quoted, tabs, index, redirects in due:
            lines: list[str] = []
            while True:
                if self._at >= len(self._text):
                    raise ShellSyntaxError
                end = self._text.find("\n", self._at)
                end = end if end >= 0 else len(self._text)
                line = self._text[self._at : end]
                self._at = end + 1
                line = line.lstrip("\t") if tabs else line
                if line == mark:
                    break
                lines.append(line + "\n")
            text = "".join(lines)
            if not quoted and ("$(" in text or "`" in text):
                raise ShellSyntaxError
            known = quoted or _EXPANDED.search(text) is None
            redirects[index] = Redirect(redirects[index].operator, redirects[index].target, text if known else None)


class _Draft:
    """A command that is being read."""

    __slots__ = ("branched", "joined", "nested", "redirects", "words")

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.redirects: list[Redirect] = []
        self.nested: tuple[Command, ...] = ()
        self.joined = ""
        self.branched = False

    def __bool__(self) -> bool:
        return bool(self.words or self.redirects or self.nested)

    def command(self) -> Command:
        return Command(tuple(self.words), tuple(self.redirects), self.joined, self.nested, self.branched)
