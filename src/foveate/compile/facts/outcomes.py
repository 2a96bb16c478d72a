"""Outcomes of commands: whether one passed, a summary in a few words, and the lines that say what is wrong.

Exit status first, then what test runners and compilers say, then error lines. A status that a pipe or `|| true` hides
proves nothing, and a line that says FAIL overrides any status. Where nothing proves a success, none is reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from foveate.compile.facts.command_scope import check_scope
from foveate.compile.facts.programs import Reach, reach_of
from foveate.compile.facts.run_summaries import Summary, failed_tests_in, summaries_in, telling_lines
from foveate.compile.facts.shell import Command, parse_command_line
from foveate.compile.facts.shell_words import unwrap_words
from foveate.compile.facts.tool_output import parse_output
from foveate.compile.facts.word_set import word_set
from foveate.log.messages import Message

OutcomeKind = Literal["passed", "failed", "unknown"]
_MAX_LINE: Final = 240
_MAX_TEXT: Final = 400_000
# Commands that say by their status whether they found something.
_ASKING: Final = word_set("""
    grep rg egrep fgrep diff cmp test [ [[ pgrep which command type ls find
    """)
# Tools that print nothing if nothing is wrong.
_SILENT_IF_RIGHT: Final = frozenset(
    {
        ("go", "build"),
        ("go", "vet"),
        ("gofmt", "-l"),
        ("tsc",),
        ("eslint",),
        ("flake8",),
        ("shellcheck",),
        ("py_compile",),
    }
)
_NO_OUTPUT: Final = frozenset(
    {"", "(no output)", "(Bash completed with no output)", "Tool ran without output", "(No output)"}
)
# Tools that count all of their run in one line.
_ONE_SUMMARY: Final = frozenset({"pytest", "unittest", "tests", "mocha", "eslint"})
_TRIFLES: Final = frozenset({"sed", "rm", "mv", "cp", "mkdir", "touch", "ln", "chmod"})
# What is done elsewhere, by a program that leaves the files here alone.
_REMOTE_STEPS: Final = frozenset({"push", "fetch", "clone", "worktree"})
_SENDING: Final = word_set("""
    create edit close reopen comment delete upload rerun cancel run -d --data --data-raw --data-binary --json -F --form
    -T POST PUT PATCH DELETE -XPOST -XPUT -XPATCH -XDELETE
    """)
_MISSING: Final = re.compile(
    r"(?:command not found|: not found|executable file not found|is not recognized as|"
    r"No module named ['\"]?(?P<module>[\w.]+)|"
    r"ENOENT.{0,40}spawn|Unknown command)"
)
_TIMED_OUT: Final = re.compile(r"\btimed out\b|\btimeout\b.{0,40}\bexceeded\b", re.IGNORECASE)
_TRACEBACK: Final = "Traceback (most recent call last)"
_REPRODUCTION: Final = re.compile(r"repro\w*(?:[_.-]|$)|poc[_.-]", re.IGNORECASE)
_PIPED_AWAY: Final = word_set("""
    tail head grep rg tee sed awk cat sort wc cut less uniq jq
    """)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """How a command ended.

    `summary` takes a few words, `lines` say what is wrong. `missing_tool` names a tool that is not installed,
    `slip` a look at something that is not there; `meant_to_fail` a script that was made to show a bug. None of these
    is an error that stays open. `hidden` if a pipe or the like keeps the status back.
    """

    kind: OutcomeKind
    summary: str
    lines: tuple[str, ...] = ()
    failed_tests: tuple[str, ...] = ()
    exit_code: int | None = None
    missing_tool: bool = False
    slip: bool = False
    meant_to_fail: bool = False
    hidden: bool = False


def command_outcome(command: str, message: Message) -> CommandOutcome:
    """How a command ended, by the message that holds its output."""
    output = parse_output(message.text)
    flagged = message.extra.get("is_error")
    code = output.exit_code if output.exit_code is not None else 0 if flagged is False else None
    if message.meta.outcome == "denied":
        return CommandOutcome(kind="unknown", summary="denied")
    if message.meta.outcome == "interrupted":
        return CommandOutcome(kind="unknown", summary="interrupted")
    if output.running is not None and output.exit_code is None:
        return CommandOutcome(kind="unknown", summary="still running")
    has_failed = message.meta.outcome == "error" or flagged is True
    return judged(command, output.text[:_MAX_TEXT], code, has_failed=has_failed)


def has_effect(command: str) -> bool:
    """Whether a command does more than look, as far as it can be read."""
    return any(map(_has_effect, _programs(parse_command_line(command) or ())))


def judged(command: str, text: str, code: int | None, *, has_failed: bool = False) -> CommandOutcome:
    """How a command ended, by its output and its exit status."""
    commands = parse_command_line(command)
    programs = _programs(commands or ())
    acting = commands is None or any(map(_has_effect, programs))
    hidden = commands is None or _hides_status(commands)
    failed_by_status = (code is not None and code != 0) or (code is None and has_failed)
    missing = failed_by_status and (code == 127 or _is_missing(text, programs))
    # Output of commands that only read is other people's: a log may be full of failures.
    said = summaries_in(text) if acting else ()
    failures = [one for one in said if one.failed]
    if failures or failed_by_status:
        return _failure(programs, text, code, failures, acting=acting, missing=missing)
    if acting and _TRACEBACK in text and (hidden or code is None) and telling_lines(text[-4_000:]):
        return _failure(programs, text, code, [], acting=acting, missing=False)
    if said and not (hidden and said[-1].tool not in _ONE_SUMMARY and _shows_a_part(commands or ())):
        return CommandOutcome(kind="passed", summary=_words(said[-1]), exit_code=code)
    if acting and hidden:
        silent = text.strip() in _NO_OUTPUT and any(_is_silent_if_right(words) for words in programs)
        return CommandOutcome(
            kind="passed" if silent else "unknown",
            summary="no output" if silent else "",
            exit_code=code,
            hidden=True,
        )
    if code is None:
        return CommandOutcome(kind="unknown", summary="")
    return CommandOutcome(kind="passed", summary="", exit_code=code)


def _failure(
    programs: Sequence[tuple[str, ...]],
    text: str,
    code: int | None,
    failures: Sequence[Summary],
    *,
    acting: bool,
    missing: bool,
) -> CommandOutcome:
    asked = programs[-1:] and programs[-1][0].rpartition("/")[2] in _ASKING
    if not acting and asked and code == 1:
        # It was a question, and this is the answer.
        return CommandOutcome(kind="passed", summary="found nothing", exit_code=code)
    lines = tuple(_clipped(line) for line in telling_lines(text)) or _last_lines(text)
    if failures:
        summary = "; ".join(dict.fromkeys(_words(one) for one in failures[:2]))
    elif code in (124, 137, 143) or (code is None and _TIMED_OUT.search(text[:2_000])):
        summary = "timed out" if code != 137 else "killed"
    else:
        summary = "not installed" if missing else lines[0] if lines else f"exit code {code}" if code else "failed"
    trifle = not failures and all(_is_trifle(words) for words in programs)
    return CommandOutcome(
        kind="failed",
        summary=summary,
        lines=lines,
        failed_tests=failed_tests_in(text),
        exit_code=code,
        missing_tool=missing,
        slip=not acting or trifle,
        meant_to_fail=any(_is_reproduction(words) for words in programs),
    )


def _is_trifle(words: tuple[str, ...]) -> bool:
    """Whether a program only looks at things, moves files, or runs a few lines that nobody keeps."""
    name = words[0].rpartition("/")[2]
    inline = name.startswith(("python", "node", "perl", "ruby")) and bool({"-c", "-e", "-"} & set(words))
    return name in _TRIFLES or inline or not _has_effect(words)


def _words(summary: Summary) -> str:
    return _clipped(f"{summary.tool}: {summary.text}" if summary.tool not in summary.text else summary.text)


def _clipped(line: str) -> str:
    return line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 1] + "…"


def _last_lines(text: str) -> tuple[str, ...]:
    lines = [line.strip() for line in text[-4_000:].split("\n") if line.strip()]
    lines = [line for line in lines if not line.lower().startswith(("exit code", "<returncode", "process exited"))]
    return tuple(_clipped(line) for line in lines[-1:])


def _programs(commands: Sequence[Command]) -> list[tuple[str, ...]]:
    """The programs that a command line runs, behind what only leads to them."""
    found: list[tuple[str, ...]] = []
    for command in commands:
        texts = tuple(word.text for word in unwrap_words(command.words))
        if texts[:1] == ("(",):
            found += _programs(command.nested)
        elif texts and texts[0] not in ("cd", "export", "set", "source", ".", "true", ":"):
            found.append(_module(texts))
    return found


def _module(texts: tuple[str, ...]) -> tuple[str, ...]:
    """What `python -m` runs, as if it had been called by its name."""
    if texts[0].rpartition("/")[2].startswith("python") and "-m" in texts[1:-1]:
        return texts[texts.index("-m") + 1 :]
    return texts


def _hides_status(commands: Sequence[Command]) -> bool:
    """Whether the status of a line says nothing of the program in it that does the work."""
    joined = [command.joined for command in commands]
    if any("pipefail" in command.texts for command in commands):
        joined = [one for one in joined if one not in ("|", "|&")]
    last = commands[-1] if commands else None
    if "||" in joined or "&" in joined[:-1]:
        return True
    for index, one in enumerate(joined[:-1]):
        following = commands[index + 1 :]
        if one in ("|", "|&") and following[0].texts[:1] and following[0].texts[0] in _PIPED_AWAY:
            return True
        if one in (";", "\n") and _acts(commands[index]) and last is not None and not _acts(last):
            return True
    return False


def _shows_a_part(commands: Sequence[Command]) -> bool:
    """Whether an output is cut before its end, so that a failure may be missing in it."""
    return any(command.texts[:1] in (("head",), ("grep",), ("rg",), ("sed",), ("awk",)) for command in commands)


def _acts(command: Command) -> bool:
    texts = tuple(word.text for word in unwrap_words(command.words))
    return bool(texts) and _has_effect(_module(texts))


def _has_effect(words: tuple[str, ...]) -> bool:
    """Whether a program does more than look: it may write something, checks the code, or acts on another machine."""
    if reach_of(words) is not Reach.NOTHING or check_scope(words).kind not in ("run", "git"):
        return True
    name, arguments = words[0].rpartition("/")[2], words[1:]
    if name == "git":
        return next((one for one in arguments if not one.startswith("-")), "") in _REMOTE_STEPS
    if name == "gh":
        return bool(_SENDING.intersection(arguments[1:2]))
    return name in ("curl", "http", "xh") and bool(_SENDING.intersection(arguments))


def _is_silent_if_right(words: tuple[str, ...]) -> bool:
    name = words[0].rpartition("/")[2]
    return (name,) in _SILENT_IF_RIGHT or (name, *words[1:2]) in _SILENT_IF_RIGHT


def _is_missing(text: str, programs: Sequence[tuple[str, ...]]) -> bool:
    found = _MISSING.search(text[-4_000:])
    if found is None:
        return False
    module = found.group("module")
    # A module that the code under work misses is an error of it; one that was to be run is a tool.
    return module is None or any(module.partition(".")[0] == words[0].partition(".")[0] for words in programs)


def _is_reproduction(words: tuple[str, ...]) -> bool:
    script = next((one for one in words if one.endswith((".py", ".js", ".ts", ".sh", ".rb", ".go", ".php", ".pl"))), "")
    return bool(script) and _REPRODUCTION.match(script.rpartition("/")[2]) is not None
