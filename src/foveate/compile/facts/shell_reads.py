"""Shell reads: which lines of a file the output of a pipeline is, where that is certain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from foveate.compile.facts.actions import Print, ShowDiff, ShowLines, ShowMatches, Shown
from foveate.compile.facts.shell import Command
from foveate.compile.facts.word_set import word_set

_RANGE: Final = re.compile(r"(\d{1,9})(?:,(\d{1,9}|\$))?p")
_AWK_RANGE: Final = re.compile(
    r"\s*NR\s*>=?\s*(\d{1,9})\s*&&\s*NR\s*<=\s*(\d{1,9})\s*+(?:\{\s*+print(?:\s++\$0)?\s*+;?\s*+\})?\s*+"
)
_COUNT: Final = re.compile(r"-n?(\d{1,9})|--lines=(\d{1,9})")
_GREP_CONTEXT: Final = re.compile(r"-[ABC]\d*|-\d+|--(?:context|after-context|before-context)(?:=\d+)?")
_GREP_VALUES: Final = word_set("""
    -A -B -C -e -m -g -t --include --exclude --exclude-dir --glob --type -f
    """)
_GIT_GLOBAL: Final = frozenset({"--no-pager", "-P", "--paginate", "-p"})


def shown_by(pipeline: Sequence[Command], folder: str) -> Shown | None:
    """What a pipeline prints of files; None if that is not known.

    `folder` is what relative paths of a search or a diff are relative to.
    """
    first = _shown_by_command(pipeline[0], folder)
    for filtering in pipeline[1:]:
        first = _filtered(first, filtering) if first is not None else None
    return first


def _shown_by_command(command: Command, folder: str) -> Shown | None:
    texts = command.texts
    if not texts or any(word.dynamic for word in command.words[:1]):
        return None
    if any(one.operator.lstrip("0123456789&") in ("<", "<<", "<<-", "<<<") for one in command.redirects):
        return None
    match texts[0]:
        case "cat" | "nl" | "bat":
            return _concatenated(command)
        case "head" | "tail":
            return _ended(command)
        case "sed":
            return _printed_range(command)
        case "awk":
            return _awk_range(command)
        case "grep" | "rg" | "egrep" | "fgrep" | "ggrep":
            return _matches(command, folder)
        case "git":
            return _git(command, folder)
        case "echo" | "printf":
            return _printed(command)
        case _:
            return None


def _files(command: Command, valued: frozenset[str] = frozenset()) -> list[str] | None:
    """The words of a command that are no options; None if the shell expands one of them."""
    found: list[str] = []
    rest = iter(command.words[1:])
    for word in rest:
        if word.text in valued:
            next(rest, None)
        elif word.text == "--":
            continue
        elif not word.text.startswith("-"):
            if word.dynamic:
                return None
            found.append(word.text)
    return found


def _concatenated(command: Command) -> ShowLines | None:
    files = _files(command, frozenset({"-b", "-w", "-s", "-v"}) if command.texts[0] == "nl" else frozenset())
    options = [word for word in command.texts[1:] if word.startswith("-")]
    if files is None or len(files) != 1:
        return None
    if command.texts[0] == "nl":
        # Without `-ba` it does not number empty lines.
        every = "-ba" in options or ("-b" in options and "a" in command.texts)
        return ShowLines(files[0], numbered=True) if every else None
    if not options:
        return ShowLines(files[0])
    return ShowLines(files[0], numbered=True) if options == ["-n"] else None


def _count_of(command: Command) -> int | None:
    texts = command.texts[1:]
    for index, text in enumerate(texts):
        if text == "-n" and index + 1 < len(texts) and texts[index + 1].isascii() and texts[index + 1].isdigit():
            return int(texts[index + 1][:9])
        found = _COUNT.fullmatch(text)
        if found is not None:
            return int(found.group(1) or found.group(2))
    return None if any(text.startswith("-") for text in texts) else 10


def _tail_from(command: Command) -> int | None:
    texts = command.texts[1:]
    for index, text in enumerate(texts):
        value = texts[index + 1] if text == "-n" and index + 1 < len(texts) else text.removeprefix("-n")
        if value.startswith("+") and value[1:].isascii() and value[1:].isdigit():
            return int(value[1:10])
    return None


def _ended(command: Command) -> ShowLines | None:
    files = [one for one in _files(command, frozenset({"-n", "-c"})) or [] if not one.startswith("+")]
    if len(files) != 1 or "-c" in command.texts or "-f" in command.texts:
        return None
    if command.texts[0] == "tail":
        start = _tail_from(command)
        if start is not None:
            return ShowLines(files[0], ranges=((max(1, start), None),))
        return ShowLines(files[0], from_end=True) if _count_of(command) is not None else None
    count = _count_of(command)
    return ShowLines(files[0], ranges=((1, count),)) if count else None


def _sed_ranges(script: str) -> tuple[tuple[int, int | None], ...] | None:
    ranges: list[tuple[int, int | None]] = []
    for piece in script.split(";"):
        if not piece.strip():
            continue
        found = _RANGE.fullmatch(piece.strip())
        if found is None:
            return None
        first, last = int(found.group(1)), found.group(2)
        ranges.append((first, None if last == "$" else int(last) if last else first))
    ends = [last for _, last in ranges]
    ordered = all(end is not None and end < following[0] for end, following in zip(ends[:-1], ranges[1:], strict=True))
    return tuple(ranges) if ranges and ordered and ranges[0][0] > 0 else None


def _printed_range(command: Command) -> ShowLines | None:
    texts = command.texts
    options = [text for text in texts[1:] if text.startswith("-")]
    plain = [word for word in command.words[1:] if not word.text.startswith("-")]
    if options not in (["-n"], ["-n", "-e"], ["-ne"]) or len(plain) != 2 or plain[1].dynamic or plain[0].dynamic:
        return None
    ranges = _sed_ranges(plain[0].text)
    return ShowLines(plain[1].text, ranges=ranges) if ranges is not None else None


def _awk_range(command: Command) -> ShowLines | None:
    if len(command.words) != 3 or command.words[2].dynamic:
        return None
    found = _AWK_RANGE.fullmatch(command.texts[1])
    if found is None:
        return None
    first = int(found.group(1)) + (0 if ">=" in command.texts[1] else 1)
    return ShowLines(command.texts[2], ranges=((first, int(found.group(2))),))


def _matches(command: Command, folder: str) -> ShowLines | ShowMatches | None:
    options = [text for text in command.texts[1:] if text.startswith("-")]
    short = "".join(text[1:] for text in options if not text.startswith("--") and not _GREP_CONTEXT.fullmatch(text))
    if not ("n" in short or "--line-number" in options) or set(short) & set("olcLqZ") or "--only-matching" in options:
        return None
    files = _files(command, _GREP_VALUES)
    if files is None:
        # The pattern may have what the shell would expand; the output then names the paths anyway.
        return ShowMatches(folder)
    named = files if {"-e", "-f"} & set(options) else files[1:]
    recursive = "r" in short or "R" in short or "H" in short or command.texts[0] == "rg" or "--with-filename" in options
    if len(named) == 1 and not recursive:
        return ShowLines(named[0], numbered=True, matches=True)
    if len(named) == 1 and command.texts[0] == "rg" and "." in named[0].rpartition("/")[2] and "H" not in short:
        # Of one file it prints no path; a folder with such a name shows paths, which are no numbers.
        return ShowLines(named[0], numbered=True, matches=True)
    return ShowMatches(folder)


def _git(command: Command, folder: str) -> ShowDiff | None:
    texts = list(command.texts[1:])
    while texts and texts[0] in _GIT_GLOBAL:
        texts.pop(0)
    if not texts or texts[0] not in ("diff", "show", "stash", "log"):
        return None
    if texts[0] != "diff":
        shows = texts[0] == "show" or "-p" in texts or "--patch" in texts
        return ShowDiff(folder, of_tree=False, command=" ".join(command.texts)) if shows else None
    summed = ("--stat", "--name-only", "--name-status", "--shortstat", "--numstat", "--word-diff", "--check", "--quiet")
    if any(text.startswith(summed) for text in texts):
        return None
    plain = [text for text in texts[1 : texts.index("--") if "--" in texts else None] if not text.startswith("-")]
    staged = "--cached" in texts or "--staged" in texts or "--no-index" in texts or "-R" in texts
    revisions = [text for text in plain if ".." in text or ("/" not in text and "." not in text)]
    of_tree = not staged and len(revisions) <= 1 and not any(".." in text for text in plain)
    return ShowDiff(folder, of_tree=of_tree, command=" ".join(command.texts))


def _printed(command: Command) -> Print | None:
    if any(word.dynamic for word in command.words):
        # A pattern that matches nothing stands for itself, but who knows.
        return None
    texts = list(command.texts[1:])
    if command.texts[0] == "printf":
        text = " ".join(texts)
        plain = len(texts) == 1 and "%" not in text and text.endswith("\\n")
        inner = text.replace("\\n", "\n")
        return Print(inner[:-1]) if plain and "\\" not in inner else None
    if texts[:1] in (["-e"], ["-n"], ["-E"], ["-ne"]):
        return None
    text = " ".join(texts)
    return Print(text) if "\\" not in text else None


def _filtered(shown: Shown, command: Command) -> Shown | None:
    """What is left of an output behind a filter."""
    texts = command.texts
    if not texts or any(word.dynamic for word in command.words) or command.redirects:
        return None
    match texts[0], shown:
        case "cat", _ if len(texts) == 1:
            return shown
        case "head", ShowMatches() | ShowDiff():
            return shown if _files(command, frozenset({"-n"})) == [] else None
        case "head", ShowLines(numbered=True) if _files(command, frozenset({"-n"})) == []:
            return shown
        case "head", ShowLines(from_end=False):
            count = _count_of(command)
            return _first_lines(shown, count) if count and _files(command, frozenset({"-n"})) == [] else None
        case "tail", ShowMatches():
            return shown
        case "tail" | "sed" | "grep", ShowLines(numbered=True):
            # Whole lines are chosen, and each has its number; `grep -v` and others that rewrite are none of these.
            kept = texts[0] != "sed" or _printed_range_of_input(command)
            kept = kept and not (texts[0] == "grep" and any(_rewrites(text) for text in texts[1:]))
            return replace(shown, matches=True) if kept else None
        case "tail", ShowLines() if _count_of(command) is not None:
            return replace(shown, ranges=(), from_end=True)
        case "sed", ShowLines(ranges=(), from_end=False):
            ranges = _input_ranges(command)
            return replace(shown, ranges=ranges) if ranges else None
        case "nl", ShowLines(numbered=False, from_end=False, ranges=()):
            return replace(shown, numbered=True) if "-ba" in texts else None
        case _:
            return None


def _rewrites(option: str) -> bool:
    """Whether an option of `grep` makes it print anything but whole lines of its input."""
    if not option.startswith("-") or _GREP_CONTEXT.fullmatch(option) is not None:
        return False
    return option.startswith("--") or bool(set(option) & set("noclLqbHfr"))


def _input_ranges(command: Command) -> tuple[tuple[int, int | None], ...] | None:
    plain = [text for text in command.texts[1:] if not text.startswith("-")]
    if "-n" not in command.texts or len(plain) != 1:
        return None
    return _sed_ranges(plain[0])


def _printed_range_of_input(command: Command) -> bool:
    return _input_ranges(command) is not None


def _first_lines(shown: ShowLines, count: int) -> ShowLines | None:
    if not shown.ranges:
        return replace(shown, ranges=((1, count),))
    if len(shown.ranges) != 1:
        return None
    ((first, last),) = shown.ranges
    end = first + count - 1
    return replace(shown, ranges=((first, end if last is None else min(last, end)),))
