"""Tool output: what agents put around the output of a command, and lines that have their numbers in front."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec

from foveate.compile.facts.word_set import has_any
from foveate.log.messages import Message

_CODEX_HEAD: Final = re.compile(r"(?:Chunk ID|Wall time|Exit code|Command): ")
_EXIT: Final = re.compile(
    r"(?:Process exited with code|Exit code:?|Exit Code:|finished with exit code|completed with exit code|"
    r"exited with code|<returncode>|\[Command finished with exit code)\s{0,4}(-?\d{1,9})"
)
_RUNNING: Final = re.compile(
    r"Process running with session ID (\d{1,12})|running in (?:the )?background with ID: (\w{1,40})|"
    r"^Background PIDs: (\d{1,12})",
    re.MULTILINE,
)
_EXIT_WORDS: Final = ("code", "Code")
_RUNNING_WORDS: Final = ("Process running", "ackground")
_REMINDER: Final = re.compile(r"<system-reminder>")
_CUT: Final = re.compile(
    r"\d{1,9} (?:lines|characters|chars|tokens|bytes)\b[^\n]{0,20}\b(?:truncated|omitted|elided)|"
    r"truncated \d{1,9} |omitted \d{1,9} of \d{1,9} lines|<elided_chars>|"
    r"<response clipped>|\[truncated\]|Output truncated|Due to the max output limit|"
    r"output of your last command was too long|\boutput limited\b",
    re.IGNORECASE,
)
_CUT_WORDS: Final = ("truncated", "omitted", "elided", "clipped", "output limit", "too long", "output limited")
_NUMBERED: Final = re.compile(r"\s{0,40}(\d{1,9})( \| |→|\t|\||:|-)(.*)", re.DOTALL)
_MATCHED: Final = re.compile(r"([^\s:][^\n:]{0,400}):(\d{1,9}):(.*)", re.DOTALL)
_SURROUNDING: Final = re.compile(r"(\S{1,400}?)-(\d{1,9})-(.*)", re.DOTALL)
_TRAILER: Final = re.compile(
    r"\n?\((?:Open file|Current directory): [^\n]*\)|\nbash-\$|\n?\[Jupyter current working directory[^\n]*|"
    r"\nError: [^\n]*\nExit Code: |\n?\[Python Interpreter:[^\n]*|\n?\[The command completed with exit code[^\n]*|"
    r"\n?\[Current working directory:[^\n]*|\n?\[Command finished with exit code[^\n]*"
)
_TRAILER_WORDS: Final = (
    "(Open file: ", "(Current", "bash-$", "[Jupyter", "\nError: ", "[Python",
    "[The command", "[Current", "[Command",
)  # fmt: skip
_FOLDER_WORDS: Final = ("Current ",)
_FOLDER: Final = re.compile(
    r"\((?:Current directory): ([^\n]{1,400})\)|\[Current working directory: ([^\n\]]{1,400})\]"
)
_SHORTEST_RUN: Final = 1
# Each output is read several times in a row: by what follows errors, files and answers.
_REMEMBERED: Final = 32
_MAX_HEAD: Final = 2_000
_TAIL: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a tool printed, without what the agent put around it.

    `verbatim` if nothing was trimmed at its ends, `cut` if something is missing in it, `running` names a process that
    has not ended, `folder` is where the shell is afterwards, if the agent says so.
    """

    text: str
    exit_code: int | None = None
    verbatim: bool = False
    cut: bool = False
    running: str | None = None
    folder: str | None = None
    keeps_folder: bool = True


def read_output(message: Message) -> Output:
    """The output that a tool message holds."""
    return parse_output(message.text)


@lru_cache(_REMEMBERED)
def parse_output(text: str) -> Output:
    """The output in the text of a tool result."""
    exit_code: int | None = None
    verbatim, keeps_folder = False, True
    head, tail = text[:_MAX_HEAD], text[-_TAIL:]
    running = _search(_RUNNING, _RUNNING_WORDS, head)
    folder = _search(_FOLDER, _FOLDER_WORDS, tail)
    if text.startswith('{"output"'):
        wrapped = _json_object(text)
        if wrapped is not None and isinstance(wrapped.get("output"), str):
            metadata = wrapped.get("metadata")
            code = metadata.get("exit_code") if isinstance(metadata, dict) else None
            body = wrapped["output"]
            return Output(
                text=body,
                exit_code=code if isinstance(code, int) else None,
                verbatim=True,
                cut=_is_cut(body),
                keeps_folder=False,
            )
    if _CODEX_HEAD.match(text) is not None:
        head, found, _ = head.partition("Output:\n")
        if found:
            exit_code = _code(head)
            text, verbatim, keeps_folder = text[len(head) + len(found) :], True, False
    elif text.startswith("<returncode>"):
        exit_code = _code(text[:40])
        text, keeps_folder = _tagged_output(text), False
        verbatim = True
    else:
        exit_code = _code(text[:80]) if text.startswith(("Exit code", "Error: Exit code")) else _code(tail)
    begin = text.find("<system-reminder>", max(0, len(text) - 20_000))
    if begin >= 0 and (begin == 0 or text[begin - 1] == "\n"):
        text = text[:begin].rstrip("\n")
    trailer = _search(_TRAILER, _TRAILER_WORDS, text[-_TAIL:])
    if trailer is not None:
        text = text[: max(0, len(text) - _TAIL) + trailer.start()]
    return Output(
        text=text,
        exit_code=exit_code,
        verbatim=verbatim,
        cut=_is_cut(text),
        running=next((one for one in running.groups() if one), None) if running is not None else None,
        folder=next((one for one in folder.groups() if one), None) if folder is not None else None,
        keeps_folder=keeps_folder,
    )


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _code(text: str) -> int | None:
    found = _search(_EXIT, _EXIT_WORDS, text)
    return int(found.group(1)) if found is not None else None


def _tagged_output(text: str) -> str:
    begin = text.find("<output>\n")
    if begin < 0:
        # Its middle was left out; that is seen from the marks that stay.
        return text
    end = text.rfind("</output>")
    return text[begin + len("<output>\n") : end if end > begin else len(text)]


def _is_cut(text: str) -> bool:
    return has_any(text.lower(), _CUT_WORDS) and _CUT.search(text) is not None


def _search(pattern: re.Pattern[str], words: tuple[str, ...], text: str) -> re.Match[str] | None:
    """What a pattern finds in a text, looked for only where the text has one of the words that it cannot be without.

    Most outputs have none of them, and to look for words takes a tenth of the time.
    """
    return pattern.search(text) if has_any(text, words) else None


def numbered_runs(text: str, *, altered: bool = False) -> list[tuple[int, tuple[str, ...]]]:
    r"""Runs of lines with consecutive numbers in front, each with the number of its first line.

    Where a tool tidies what it takes for paths, lines around a match that have a colon are left out.

    >>> numbered_runs("  7→a\n  8→b\n--\n12:c")
    [(7, ('a', 'b')), (12, ('c',))]
    """
    runs: list[tuple[int, list[str]]] = []
    due = -1
    for line in text.split("\n"):
        numbered = _NUMBERED.match(line)
        if numbered is None or (altered and numbered.group(2) == "-" and ":" in numbered.group(3)):
            due = -1
            continue
        number = int(numbered.group(1))
        if number == due:
            runs[-1][1].append(numbered.group(3))
        else:
            runs.append((number, [numbered.group(3)]))
        due = number + 1
    return [(start, tuple(lines)) for start, lines in runs if len(lines) >= _SHORTEST_RUN]


def contiguous_numbered(text: str) -> tuple[int, tuple[str, ...]] | None:
    """The longest run from the first numbered line on that a single separator marks; None if no line is numbered."""
    lines: list[str] = []
    start, separator = 0, ""
    for line in text.split("\n"):
        numbered = _NUMBERED.match(line)
        expected = not lines or (
            numbered is not None and numbered.group(2) == separator and int(numbered.group(1)) == start + len(lines)
        )
        if numbered is None or not expected:
            if lines:
                break
            continue
        if not lines:
            start, separator = int(numbered.group(1)), numbered.group(2)
        lines.append(numbered.group(3))
    return (start, tuple(lines)) if lines else None


def matched_runs(text: str, *, altered: bool = False) -> list[tuple[str, int, tuple[str, ...]]]:
    """Runs of lines that a search shows with path and number: `path:7:text`, and `path-8-text` around them."""
    runs: list[tuple[str, int, list[str]]] = []
    open_run: tuple[str, int] | None = None
    paths: set[str] = set()
    for line in text.split("\n"):
        found = _MATCHED.match(line)
        if found is not None:
            paths.add(found.group(1))
        else:
            around = _SURROUNDING.match(line)
            found = around if around is not None and around.group(1) in paths else None
            found = None if altered and found is not None and ":" in found.group(3) else found
        if found is None:
            open_run = None
            continue
        path, number, words = found.group(1), int(found.group(2)), found.group(3)
        if open_run == (path, number):
            runs[-1][2].append(words)
        else:
            runs.append((path, number, [words]))
        open_run = (path, number + 1)
    return [(path, start, tuple(lines)) for path, start, lines in runs]
