"""Open errors: what failed, and has not been seen to work since.

An error closes when the same command passes, or a wider one (the suite after one file, the tests after the build), or
the same test, or when the user says so. What is kept of it is the line that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from foveate.compile.facts.command_scope import CheckScope, check_scopes, holds
from foveate.compile.facts.outcomes import CommandOutcome, command_outcome, judged
from foveate.compile.facts.run_summaries import telling_lines
from foveate.compile.facts.shell import parse_command_line
from foveate.compile.facts.shell_words import command_of, join_path, unwrap_words
from foveate.compile.facts.tool_actions import is_file_tool
from foveate.compile.facts.tool_output import parse_output
from foveate.log.messages import Access, Message, ToolCall
from foveate.log.semantics import parsed_arguments, recorded_semantics, understood

MAX_OPEN: Final = 32
MAX_SETTLED: Final = 40
_MAX_CALLS: Final = 512
_MAX_COMMAND: Final = 160
_MAX_LINE: Final = 240
_MAX_OUTPUT: Final = 20_000
_MAX_RUNNING: Final = 16
_MAX_SUBJECT: Final = 4
# So many messages later nobody comes back to an attempt that only missed its mark.
_LAPSED: Final = 400
_REFUSED: Final = "the user said:"
_REWRITTEN: Final = "rewritten since"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenError:
    """A failed call; `line` says what is wrong, `tests` are those that failed."""

    message_id: str
    order: int
    call_id: str
    command: str
    line: str
    summary: str = ""
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledError:
    """An error that is open no more; `by` is the message that says so, and `how` in what way."""

    error: OpenError
    by: str
    order: int
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldError:
    """An open error, and what would cover it; a miss is a call that was wrong itself, such as a text not found.

    `subject` names what a call of a tool was about that no table knows: the success of another booking is none of this.
    """

    error: OpenError
    tool: str
    scopes: tuple[CheckScope, ...] = ()
    paths: tuple[str, ...] = ()
    subject: tuple[str, ...] = ()
    miss: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call that has no result yet."""

    call: ToolCall
    access: Access | None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it touches, as far as its tool is known."""
        return _paths_of(self.call)


@dataclass(frozen=True, slots=True)
class RanCommand:
    """A command, where it ran, the tool that ran it, and the call."""

    command: str
    folder: str
    tool: str
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsState:
    """What is known of errors at a moment, and of calls and commands that have not ended, by their ids."""

    held: tuple[HeldError, ...] = ()
    settled: tuple[SettledError, ...] = ()
    calls: Mapping[str, PendingCall] = field(default_factory=dict)
    running: Mapping[str, tuple[RanCommand, str]] = field(default_factory=dict)


class OpenErrors:
    """Follows failures and what settles them; its size is bounded however long the log is."""

    def __init__(self, state: ErrorsState | None = None) -> None:
        state = state or ErrorsState()
        self._calls = dict(state.calls)
        self._open = list(state.held)
        self._settled = state.settled
        # Commands that have not ended, with their output so far.
        self._running = dict(state.running)

    def state(self) -> ErrorsState:
        """All that goes on from here needs to know."""
        return ErrorsState(
            held=tuple(self._open), settled=self._settled, calls=dict(self._calls), running=dict(self._running)
        )

    def feed(self, message: Message, order: int) -> bool:
        """Take one recorded message; whether errors may be others now."""
        if message.role == "assistant":
            for call in message.calls:
                self._calls[call.id] = PendingCall(call=call, access=_access(call, message))
            for call_id in list(self._calls)[: max(0, len(self._calls) - _MAX_CALLS)]:
                del self._calls[call_id]
        elif message.role == "tool" and message.result is not None:
            known = self._calls.pop(message.result.call_id, None)
            if known is not None:
                before = list(self._open)
                self._take(message, order, known)
                return before != self._open
        return False

    def resolve(self, message_id: str, order: int) -> None:
        """The user settles an error."""
        for held in [one for one in self._open if one.error.message_id == message_id]:
            self._close(held, by="", order=order, how="settled by the user")

    def rewrite(self, message: Message) -> None:
        """Say of a message what it says by now, wherever something of it is kept."""
        commands = {call.id: _told(call, _access(call, message)) for call in message.calls}
        line = _line_of(message.text)

        def reworded(error: OpenError) -> OpenError:
            if error.call_id in commands:
                return replace(error, command=commands[error.call_id])
            return replace(error, line=line, summary="") if error.message_id == message.id else error

        self._open = [replace(one, error=reworded(one.error)) for one in self._open]
        self._settled = tuple(replace(one, error=reworded(one.error)) for one in self._settled)

    def view(self) -> tuple[OpenError, ...]:
        """The open errors, oldest first; attempts that only missed their mark are none."""
        return tuple(held.error for held in self._open if not held.miss)

    @property
    def held(self) -> tuple[HeldError, ...]:
        """The open errors and misses, oldest first, with what would cover each."""
        return tuple(self._open)

    @property
    def settled(self) -> tuple[SettledError, ...]:
        """The newest errors that were settled, oldest first."""
        return self._settled

    def _take(self, message: Message, order: int, known: PendingCall) -> None:
        call, access = known.call, known.access
        arguments = parsed_arguments(call)
        command = command_of(arguments) if access == "shell" else None
        if call.name == "write_stdin":
            self._take_rest(message, order, call, str(arguments.get("session_id", "")))
        elif message.meta.outcome == "denied":
            scopes = check_scopes(command) if command is not None else ()
            self._take_refusal(message, order, known, _subject(arguments), scopes=scopes)
        elif command is not None:
            given = arguments.get("workdir") or arguments.get("cwd")
            ran = RanCommand(command, given if isinstance(given, str) else "", call.name, call.id)
            process = parse_output(message.text).running
            if process is not None:
                self._running[process] = (ran, message.text[-_MAX_OUTPUT:])
                for oldest in list(self._running)[: max(0, len(self._running) - _MAX_RUNNING)]:
                    del self._running[oldest]
            self._take_outcome(ran, command_outcome(command, message), message, order)
        elif message.meta.outcome == "error":
            # A tool that no table knows acts on something else than files: that it refused is an error.
            harmless = access is not None or is_file_tool(call.name)
            self._take_refusal(message, order, known, _subject(arguments), miss=harmless)
        elif message.meta.outcome in (None, "ok") and self._open:
            self._close_refusals(call.name, known.paths, _subject(arguments), message, order)

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

    def _take_outcome(self, ran: RanCommand, outcome: CommandOutcome, message: Message, order: int) -> None:
        if outcome.kind != "failed" and not self._open:
            return
        scopes = check_scopes(ran.command, ran.folder)
        self._close_removed(ran.command, ran.folder, message, order)
        # Not all tools say how a command ended; then a text that speaks of no failure is what there is to go by.
        seems_fine = outcome.kind == "unknown" and message.meta.outcome == "ok" and not outcome.hidden
        if outcome.kind == "passed" or (seems_fine and outcome.exit_code is None and not outcome.summary):
            self._close_covered(scopes, message, order, "passed")
            self._close_misses(ran.tool, message, order)
            return
        if outcome.kind == "unknown" or outcome.missing_tool:
            return
        # What failed again is open once, as it fails now; what this run covers and does not name works.
        self._replace(scopes, outcome, message, order)
        if outcome.meant_to_fail:
            return
        error = OpenError(
            message_id=message.id,
            order=order,
            call_id=ran.call_id,
            command=described(ran.command),
            line=outcome.lines[0] if outcome.lines else outcome.summary,
            summary=outcome.summary,
            tests=outcome.failed_tests,
        )
        failing = _failing(scopes, outcome)
        self._hold(HeldError(error=error, scopes=failing, tool=ran.tool, miss=outcome.slip))

    def _take_refusal(
        self,
        message: Message,
        order: int,
        known: PendingCall,
        subject: tuple[str, ...],
        *,
        scopes: tuple[CheckScope, ...] = (),
        miss: bool = False,
    ) -> None:
        call = known.call
        error = OpenError(
            message_id=message.id,
            order=order,
            call_id=call.id,
            command=_told(call, known.access),
            line=_line_of(message.text),
        )
        held = HeldError(error=error, scopes=scopes, tool=call.name, paths=known.paths, subject=subject, miss=miss)
        for one in [one for one in self._open if _is_same_call(one, held)]:
            self._open.remove(one)
        self._hold(held)

    def _hold(self, held: HeldError) -> None:
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
            how = "passed" if works else "failed again"
            self._close(held, by=message.id, order=order, how=how)

    def _close_covered(self, scopes: tuple[CheckScope, ...], message: Message, order: int, how: str) -> None:
        for held in list(self._open):
            if held.scopes and all(
                any(scope.covers(one) or _names_tests(scope, held) for scope in scopes) for one in held.scopes
            ):
                self._close(held, by=message.id, order=order, how=how)

    def _close_misses(self, tool: str, message: Message, order: int) -> None:
        """A shell that works again."""
        for held in [one for one in self._open if one.miss and one.tool == tool and not one.paths]:
            self._close(held, by=message.id, order=order, how="the same tool succeeded")

    def _close_refusals(
        self, tool: str, paths: tuple[str, ...], subject: tuple[str, ...], message: Message, order: int
    ) -> None:
        for held in list(self._open):
            about_it = (not held.paths or held.paths == paths) and (not held.subject or held.subject == subject)
            if held.tool == tool and not held.scopes and about_it:
                self._close(held, by=message.id, order=order, how="the same tool succeeded")

    def _close_removed(self, command: str, folder: str, message: Message, order: int) -> None:
        """A script that is gone fails no more."""
        if "rm " not in command or not self._open:
            return
        removed = set(_removed(command, folder))
        for held in list(self._open):
            if removed and held.scopes and all(_is_gone(scope, removed) for scope in held.scopes):
                self._close(held, by=message.id, order=order, how="script removed")

    def _close(self, held: HeldError, *, by: str, order: int, how: str) -> None:
        self._open.remove(held)
        if not held.miss:
            settled = SettledError(error=held.error, by=by, order=order, how=how)
            self._settled = (*self._settled, settled)[-MAX_SETTLED:]


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


def _is_same_call(one: HeldError, other: HeldError) -> bool:
    """Whether one refusal says of the same attempt what another one says."""
    return (one.tool, one.paths, one.subject, one.scopes) == (other.tool, other.paths, other.subject, other.scopes)


def _is_covered(held: HeldError, scope: CheckScope) -> bool:
    return any(scope.covers(one) for one in held.scopes)


def _names_tests(scope: CheckScope, held: HeldError) -> bool:
    """Whether a run that passed was of all the tests that had failed."""
    if scope.kind != "test" or not held.error.tests:
        return False
    chosen = " ".join((*scope.targets, *scope.filters))
    if chosen and all(_short(test) in chosen for test in held.error.tests):
        return True
    # All of the files that they stand in.
    in_targets = (any(holds(one, test) for one in scope.targets) for test in held.error.tests)
    return bool(scope.targets) and not scope.filters and all(in_targets)


def _short(test: str) -> str:
    """The name of a test without what it stands in."""
    return test.partition(" (")[0].rpartition("::")[2].partition("[")[0].partition("/")[0]


def described(command: str) -> str:
    """A command in one line."""
    line = " ".join(command.split())
    return line if len(line) <= _MAX_COMMAND else line[: _MAX_COMMAND - 1] + "…"


def _access(call: ToolCall, message: Message) -> Access | None:
    semantics = recorded_semantics(call.name, message.meta)
    return semantics.access if semantics is not None else None


def _told(call: ToolCall, access: Access | None) -> str:
    """A call in one line: the command that it runs, else the tool and what it is about."""
    arguments = parsed_arguments(call)
    command = command_of(arguments) if access == "shell" else None
    if command is not None:
        return described(command)
    about = next(iter(_paths_of(call)), "") or " ".join(_subject(arguments))
    return described(f"{call.name} {about}".strip())


def _line_of(text: str) -> str:
    """What a tool that refused says of the reason; the words of a user who did, if there are any."""
    _, refused, reason = text[:8_000].partition(_REFUSED)
    lines = () if refused else telling_lines(text[:4_000])
    lines = lines or tuple(line.strip() for line in (reason if refused else text).split("\n") if line.strip())
    return lines[0][:_MAX_LINE] if lines else ""


def _subject(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments that name what a call is about: ids."""
    named = sorted(name for name in arguments if name.lower() == "id" or name.endswith(("_id", "Id", "ID", "-id")))
    return tuple(str(arguments[name])[:_MAX_COMMAND] for name in named[:_MAX_SUBJECT])


def _paths_of(call: ToolCall) -> tuple[str, ...]:
    touched = understood(call).touched
    return touched.writes or touched.reads


def _removed(command: str, folder: str) -> Iterator[str]:
    for one in parse_command_line(command) or ():
        texts = tuple(word.text for word in unwrap_words(one.words))
        if texts[:1] == ("rm",) or texts[:2] == ("git", "rm"):
            yield from (join_path(folder, text) for text in texts[1:] if not text.startswith("-"))


def _is_gone(scope: CheckScope, removed: set[str]) -> bool:
    """Whether all that a check was about has been removed."""
    return all(_is_one_of(one, removed) for one in (scope.targets or (scope.program,)))


def _is_one_of(program: str, removed: set[str]) -> bool:
    return any(program == path or program.startswith(path + "/") or program.endswith("/" + path) for path in removed)
