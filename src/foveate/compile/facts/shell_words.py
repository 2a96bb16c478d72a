"""Shell words: what the words of a command say before anybody asks what it does."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from foveate.compile.facts.shell import Command, Redirect, Word
from foveate.compile.facts.word_set import word_set

_SILENT: Final = word_set("""
    cd export set mkdir rm mv cp touch chmod true : source . unset test [ [[ sleep ln for shopt read break
    continue local wait pushd popd kill
    """)
_WRAPPERS: Final = word_set("""
    sudo time nice nohup command exec env stdbuf ionice caffeinate rtk
    """)
_RUNNERS: Final = (
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
    ("npm", "exec"),
    ("npx",),
    ("bunx",),
    ("mise", "exec"),
    ("mise", "x"),
    ("xargs",),
)
_ASSIGNMENT: Final = re.compile(r"\w{1,80}\+?=")
_NOWHERE: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_FILE_NAME: Final = re.compile(r"\.?[\w-]{1,120}(?:\.[\w-]{1,40})?\.[A-Za-z]\w{0,4}")


def command_of(arguments: Mapping[str, Any]) -> str | None:
    """The command line among the arguments of a shell tool."""
    value = next(
        (arguments[name] for name in ("command", "cmd", "script", "commands", "input") if arguments.get(name)), None
    )
    if isinstance(value, list):
        words = [str(one) for one in value]
        if len(words) == 3 and words[1] in ("-lc", "-c"):
            return words[2]
        return " ".join(words) if "command" in arguments else "\n".join(words)
    return value if isinstance(value, str) else None


def join_path(folder: str, path: str) -> str:
    """A path in a folder, without dots."""
    joined = posixpath.normpath(posixpath.join(folder, path.replace("\\", "/") if path[1:2] == ":" else path))
    return joined if joined != "." else ""


def and_or_lists(commands: Sequence[Command]) -> Iterator[tuple[bool, list[tuple[str, list[Command]]]]]:
    """Lists that `;` and line breaks part, each with its pipelines and what joins them; whether it is the last one."""
    lists: list[list[tuple[str, list[Command]]]] = [[("", [])]]
    for command in commands:
        lists[-1][-1][1].append(command)
        if command.joined in ("&&", "||"):
            lists[-1].append((command.joined, []))
        elif command.joined not in ("|", "|&"):
            lists.append([("", [])])
    filled = [[(joined, pipeline) for joined, pipeline in one if pipeline] for one in lists]
    filled = [one for one in filled if one]
    for index, one in enumerate(filled):
        yield index == len(filled) - 1, one


def unwrap_words(words: Sequence[Word]) -> Sequence[Word]:
    """The words of a command behind assignments and programs that only run another one."""
    while words:
        texts = [word.text for word in words[:2]]
        runner = next((one for one in _RUNNERS if tuple(texts[: len(one)]) == one), None)
        if _ASSIGNMENT.match(texts[0]):
            words = words[1:]
        elif texts[0] == "timeout" or texts[0] == "gtimeout":
            words = _without_options(words[1:])[1:]
        elif texts[0] in _WRAPPERS and len(words) > 1:
            words = _without_options(words[1:])
        elif runner is not None and len(words) > len(runner):
            words = _without_options(words[len(runner) :])
        else:
            break
    return words


def _without_options(words: Sequence[Word]) -> Sequence[Word]:
    while words and words[0].text.startswith("-"):
        words = words[1:]
    return words


def is_to_file(redirect: Redirect) -> bool:
    operator = redirect.operator.lstrip("0123456789&")
    to_descriptor = operator == ">&" and redirect.target.text in ("1", "2", "-")
    return operator.startswith(">") and not to_descriptor and redirect.target.text not in _NOWHERE


def writes_output(redirects: Iterable[Redirect]) -> bool:
    """Whether the standard output goes elsewhere."""
    for redirect in redirects:
        if redirect.operator in (">", "1>", ">>", "1>>", ">|", "&>", "&>>", "<>"):
            return True
        if redirect.operator in (">&", "1>&") and redirect.target.text != "1":
            return True
    return False


def is_silent(pipeline: Sequence[Command]) -> bool:
    last = pipeline[-1]
    if writes_output(last.redirects):
        return True
    texts = tuple(word.text for word in unwrap_words(last.words))
    if not texts:
        return not last.nested
    options = [text for text in texts[1:] if text.startswith("-")]
    if texts[0] == "sed" and any(one.startswith(("-i", "--in-place")) for one in options):
        return True
    if texts[:2] in (("git", "add"), ("git", "reset"), ("git", "restore")) or texts[0] in ("gofmt", "goimports"):
        return texts[0] == "git" or "-w" in options
    return texts[0] in _SILENT


def text_written(command: Command, texts: tuple[str, ...]) -> str | None:
    """The text that a command prints, if it is known from its words."""
    document = next((one for one in command.redirects if one.operator.lstrip("0") in ("<<", "<<-")), None)
    if texts in (("cat",), ("cat", "-")):
        return document.document if document is not None else None
    if any(word.dynamic for word in command.words) or document is not None or not texts:
        return None
    if texts[0] == "echo" and not any(text.startswith("-") for text in texts[1:2]) and "\\" not in " ".join(texts):
        return " ".join(texts[1:]) + "\n"
    if texts in ((":",), ("true",)):
        return ""
    return None


def restores_paths(texts: tuple[str, ...]) -> bool:
    """Whether a git command takes back files that it names, and no others."""
    if "--staged" in texts or "-b" in texts or "-p" in texts:
        return False
    if texts[1] == "stash":
        return texts[2:3] == ("push",) and "--" in texts
    if "--" in texts:
        return True
    plain = not any(one.startswith("-") for one in texts[2:])
    named = all(_FILE_NAME.fullmatch(one.rpartition("/")[2]) for one in texts[2:])
    return plain and len(texts) > 2 and (texts[1] == "restore" or named)
