"""Open errors: what failed, and has not been seen to work since.

An error closes when the same command passes, or a wider one (the suite after one file, the tests after the build), or
the same test, or when the user says so. What is kept of it is the line that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from foveate.facts.command_scope import CheckScope, check_scopes
from foveate.facts.outcomes import CommandOutcome, command_outcome, judged
from foveate.facts.run_summaries import telling_lines
from foveate.facts.shell import parse_command_line
from foveate.facts.shell_words import command_of, join_path, unwrap_words
from foveate.facts.tool_actions import is_file_tool
from foveate.facts.tool_output import parse_output
from foveate.log.messages import Access, Message, ToolCall
from foveate.log.semantics import parsed_arguments, recorded_semantics, understood

MAX_OPEN: Final = 32
MAX_RESOLVED: Final = 200
_MAX_CALLS: Final = 512
_MAX_COMMAND: Final = 160
_MAX_LINE: Final = 240
_MAX_OUTPUT: Final = 100_000
_MAX_RUNNING: Final = 16
# So many messages later nobody comes back to an attempt that only missed its mark.
_LAPSED: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenError:
    """A failed call; `line` says what is wrong, `tests` are those that failed."""

    message_id: str
    order: int
    command: str
    line: str
    summary: str = ""
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedError:
    """An error that is open no more; `by` is the message that says so, and `how` in what way."""

    error: OpenError
    by: str
    order: int
    how: str


@dataclass(frozen=True, slots=True)
class _Held:
    """An open error, and what would cover it; a miss is a call that was wrong itself, such as a text not found."""

    error: OpenError
    scopes: tuple[CheckScope, ...]
    tool: str
    paths: tuple[str, ...] = ()
    miss: bool = False


@dataclass(frozen=True, slots=True)
class _Ran:
    """A command, where it ran, and the tool that ran it."""

    command: str
    folder: str
    tool: str


class OpenErrors:
    """Follows failures and what settles them; its size is bounded however long the log is."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[ToolCall, Access | None, tuple[str, ...]]] = {}
        self._open: list[_Held] = []
        self._resolved: list[ResolvedError] = []
        # Commands that have not ended, with their output so far.
        self._running: dict[str, tuple[_Ran, str]] = {}

    def feed(self, message: Message, order: int) -> None:
        """Take one recorded message."""
        if message.role == "assistant":
            for call in message.calls:
                semantics = recorded_semantics(call.name, message.meta)
                access = semantics.access if semantics is not None else None
                self._calls[call.id] = (call, access, _paths_of(call))
            for call_id in list(self._calls)[: max(0, len(self._calls) - _MAX_CALLS)]:
                del self._calls[call_id]
        elif message.role == "tool" and message.result is not None:
            known = self._calls.get(message.result.call_id)
            if known is not None:
                self._take(message, order, *known)

    def resolve(self, message_id: str, order: int) -> None:
        """The user settles an error."""
        for held in [one for one in self._open if one.error.message_id == message_id]:
            self._close(held, by=message_id, order=order, how="settled by the user")

    def view(self) -> tuple[OpenError, ...]:
        """The open errors, oldest first; attempts that only missed their mark are none."""
        return tuple(held.error for held in self._open if not held.miss)

    def resolved_since(self, order: int) -> tuple[ResolvedError, ...]:
        """The errors that were settled by a message at a position of the log or behind it."""
        return tuple(one for one in self._resolved if one.order >= order)

    def _take(
        self, message: Message, order: int, call: ToolCall, access: Access | None, paths: tuple[str, ...]
    ) -> None:
        arguments = parsed_arguments(call)
        command = command_of(arguments) if access == "shell" else None
        if call.name == "write_stdin":
            self._take_rest(message, order, call, str(arguments.get("session_id", "")))
        elif command is not None:
            given = arguments.get("workdir") or arguments.get("cwd")
            ran = _Ran(command, given if isinstance(given, str) else "", call.name)
            process = parse_output(message.text).running
            if process is not None:
                self._running[process] = (ran, message.text[:_MAX_OUTPUT])
                for oldest in list(self._running)[: max(0, len(self._running) - _MAX_RUNNING)]:
                    del self._running[oldest]
            self._take_outcome(ran, command_outcome(command, message), message, order)
        elif message.meta.outcome == "error":
            # A tool that no table knows acts on something else than files: that it refused is an error.
            harmless = access is not None or is_file_tool(call.name)
            self._take_refusal(message, order, call, paths, miss=harmless)
        elif message.meta.outcome in (None, "ok"):
            self._close_misses(call.name, paths, message, order)

    def _take_rest(self, message: Message, order: int, call: ToolCall, process: str) -> None:
        """The rest of the output of a command that went on running."""
        output = parse_output(message.text)
        if process not in self._running:
            return
        ran, text = self._running[process]
        if output.exit_code is None:
            self._running[process] = (ran, (text + output.text)[-_MAX_OUTPUT:])
            return
        del self._running[process]
        self._take_outcome(ran, judged(ran.command, text + output.text, output.exit_code), message, order)

    def _take_outcome(self, ran: _Ran, outcome: CommandOutcome, message: Message, order: int) -> None:
        scopes = check_scopes(ran.command, ran.folder)
        self._close_removed(ran.command, ran.folder, message, order)
        if outcome.kind == "passed":
            self._close_covered(scopes, message, order, "passed")
            self._close_misses(ran.tool, (), message, order)
            return
        if outcome.kind == "unknown" or outcome.missing_tool:
            return
        # What failed again is open once, as it fails now; what this run covers and does not name works.
        self._replace(scopes, outcome, message, order)
        if outcome.meant_to_fail:
            return
        line = outcome.lines[0] if outcome.lines else outcome.summary
        error = OpenError(
            message_id=message.id,
            order=order,
            command=_described(ran.command),
            line=line,
            summary=outcome.summary,
            tests=outcome.failed_tests,
        )
        failing = _failing(scopes, outcome)
        self._hold(_Held(error=error, scopes=failing, tool=ran.tool, miss=outcome.slip))

    def _take_refusal(
        self, message: Message, order: int, call: ToolCall, paths: tuple[str, ...], *, miss: bool
    ) -> None:
        lines = telling_lines(message.text[:4_000]) or tuple(message.text.strip().split("\n")[:1])
        about = paths[0] if paths else ""
        error = OpenError(
            message_id=message.id,
            order=order,
            command=f"{call.name} {about}".strip()[:_MAX_COMMAND],
            line=lines[0][:_MAX_LINE] if lines else "",
        )
        for held in [one for one in self._open if one.tool == call.name and one.paths == paths and not one.scopes]:
            self._open.remove(held)
        self._hold(_Held(error=error, scopes=(), tool=call.name, paths=paths, miss=miss))

    def _hold(self, held: _Held) -> None:
        self._open.append(held)
        oldest_miss = held.error.order - _LAPSED
        self._open = [one for one in self._open if not (one.miss and one.error.order < oldest_miss)]
        if len(self._open) > MAX_OPEN:
            oldest = next((one for one in self._open if one.miss), self._open[0])
            self._open.remove(oldest)

    def _replace(self, scopes: tuple[CheckScope, ...], outcome: CommandOutcome, message: Message, order: int) -> None:
        failing = set(outcome.failed_tests)
        for held in list(self._open):
            if not held.scopes or not any(_is_covered(held, scope) for scope in scopes):
                continue
            works = bool(failing and held.error.tests) and not failing & set(held.error.tests)
            if works:
                self._close(held, by=message.id, order=order, how="passed")
            else:
                self._open.remove(held)

    def _close_covered(self, scopes: tuple[CheckScope, ...], message: Message, order: int, how: str) -> None:
        for held in list(self._open):
            if held.scopes and all(
                any(scope.covers(one) or _names_tests(scope, held) for scope in scopes) for one in held.scopes
            ):
                self._close(held, by=message.id, order=order, how=how)

    def _close_misses(self, tool: str, paths: tuple[str, ...], message: Message, order: int) -> None:
        for held in list(self._open):
            refused = held.miss or not held.scopes
            if refused and held.tool == tool and (not held.paths or held.paths == paths or not paths):
                self._close(held, by=message.id, order=order, how="the same tool succeeded")

    def _close_removed(self, command: str, folder: str, message: Message, order: int) -> None:
        """A script that is gone fails no more."""
        removed = set(_removed(command, folder))
        for held in list(self._open):
            if removed and held.scopes and all(_is_gone(scope, removed) for scope in held.scopes):
                self._close(held, by=message.id, order=order, how="script removed")

    def _close(self, held: _Held, *, by: str, order: int, how: str) -> None:
        self._open.remove(held)
        if not held.miss:
            self._resolved.append(ResolvedError(error=held.error, by=by, order=order, how=how))
            del self._resolved[:-MAX_RESOLVED]


def _failing(scopes: tuple[CheckScope, ...], outcome: CommandOutcome) -> tuple[CheckScope, ...]:
    """The checks of a command line that did not pass; which of them that was is seen from the tool that complained."""
    checks = tuple(scope for scope in scopes if scope.kind != "run") or scopes
    tool = outcome.summary.partition(":")[0]
    kinds = {
        "go test": "test",
        "pytest": "test",
        "unittest": "test",
        "tests": "test",
        "lint": "lint",
        "format": "format",
    }
    named = tuple(scope for scope in checks if scope.kind == kinds.get(tool))
    return named or checks[-1:]


def _is_covered(held: _Held, scope: CheckScope) -> bool:
    return any(scope.covers(one) for one in held.scopes)


def _names_tests(scope: CheckScope, held: _Held) -> bool:
    """Whether a run that passed was of all the tests that had failed."""
    if scope.kind != "test" or not held.error.tests:
        return False
    chosen = " ".join((*scope.targets, *scope.filters))
    return bool(chosen) and all(_short(test) in chosen for test in held.error.tests)


def _short(test: str) -> str:
    """The name of a test without what it stands in."""
    return test.partition(" (")[0].rpartition("::")[2].partition("[")[0].partition("/")[0]


def _described(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _MAX_COMMAND else line[: _MAX_COMMAND - 1] + "…"


def _paths_of(call: ToolCall) -> tuple[str, ...]:
    touched = understood(call).touched
    return touched.writes or touched.reads


def _removed(command: str, folder: str) -> Iterator[str]:
    for one in parse_command_line(command) or () if "rm " in command else ():
        texts = tuple(word.text for word in unwrap_words(one.words))
        if texts[:1] == ("rm",) or texts[:2] == ("git", "rm"):
            yield from (join_path(folder, text) for text in texts[1:] if not text.startswith("-"))


def _is_gone(scope: CheckScope, removed: set[str]) -> bool:
    """Whether all that a check was about has been removed."""
    return all(_is_one_of(one, removed) for one in (scope.targets or (scope.program,)))


def _is_one_of(program: str, removed: set[str]) -> bool:
    return any(program == path or program.startswith(path + "/") or program.endswith("/" + path) for path in removed)
