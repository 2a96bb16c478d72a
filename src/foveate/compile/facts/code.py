"""Code as it stands: the newest known text of the files that the agent worked on, and how sure it is.

A piece is current only where the log proves it: it was read or written, every edit since is known and succeeded, and no
command in between may have written the file. Everything else is as it was read, and may have changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from foveate.compile.facts.actions import (
    Action,
    Confirm,
    EditText,
    InsertLines,
    MayWrite,
    PatchFile,
    Print,
    RunCode,
    RunScript,
    ShowDiff,
    ShowLines,
    ShowMatches,
    Shown,
    WriteFile,
)
from foveate.compile.facts.code_view import CodeView, Piece, ShownDiff
from foveate.compile.facts.known_files import KnownFiles
from foveate.compile.facts.patches import parse_unified
from foveate.compile.facts.programs import may_write_files
from foveate.compile.facts.reads import lines_shown, read_window, split_output
from foveate.compile.facts.shell_actions import shell_actions
from foveate.compile.facts.shell_words import command_of, join_path
from foveate.compile.facts.tool_actions import tool_actions
from foveate.compile.facts.tool_output import Output, parse_output
from foveate.compile.facts.word_set import has_any, word_set
from foveate.log.messages import Message, ToolCall
from foveate.log.semantics import parsed_arguments, recorded_semantics

_MAX_CALLS: Final = 512
_MAX_RUNNING: Final = 32
_MAX_DIFF: Final = 200_000
_SHELLS: Final = word_set("""
    terminal run_in_terminal run_commands container.exec exec shell_exec
    """)
_WINDOW_TOOLS: Final = word_set("""
    open goto scroll_up scroll_down create edit insert find_file search_dir search_file submit
    """)
_WINDOW_EDITS: Final = frozenset({"create", "edit", "insert"})
_AGENTS: Final = frozenset({"Task", "Agent", "spawn_agent", "task", "delegate"})
_READING_AGENTS: Final = frozenset({"Explore", "Plan", "claude-code-guide"})
# Tools whose output is not what the command printed: one is a list of several, one has gone through a terminal, which
# makes spaces of tabs.
_UNFAITHFUL: Final = frozenset({"run_commands", "execute_bash"})
_COMPARING: Final = frozenset({"Read", "Edit", "MultiEdit", "Write"})
_MODIFIED: Final = re.compile(r"Note: (\S{1,400}) was modified, either by the user or by a linter")
_UNCHANGED: Final = re.compile(r"\bunchanged since (?:your )?last [Rr]ead")
_USER_COMMAND: Final = re.compile(r"<bash-input>([^<]{1,4000})</bash-input>")
_FOLDER_RESET: Final = re.compile(r"Shell cwd was reset to (\S{1,400})")
# What tools that write say of it at the beginning of their answers.
_FAILED: Final = re.compile(
    r"^\s{0,8}(?:error\b|failed\b|no changes\b)|verification failed|\bfailed to (?:find|apply|edit|write)|"
    r"\b(?:string|text|old_str\w*) (?:was )?not found|\bno match|did not (?:match|appear)|could not find|"
    r"has not been read yet|\b(?:0|zero) occurrences|multiple occurrences|\"success\":false",
    re.IGNORECASE,
)
_FAILED_WORDS: Final = (
    "error", "fail", "no change", "not found", "no match", "did not", "could not", "not been read", "occurrences",
    '"success":false',
)  # fmt: skip
_SUCCEEDED: Final = re.compile(
    r"\b(?:updated|edited|created|written|wrote|applied|replaced|modified|overwrote|overwritten|saved|inserted|success\w*|"
    r"deleted|moved|done)\b",
    re.IGNORECASE,
)
_STATUS_LINE: Final = re.compile(r"^(?: M|MM|AM|M ) (\S[^\n]{0,400})$|^\tmodified: +(\S[^\n]{0,400})$", re.MULTILINE)
_MAX_DIRTY: Final = 2_000
_HEAD: Final = 600
_AGENT_ID: Final = re.compile(r"\"agent_id\":\s?\"([\w-]{4,80})\"|[Aa]gent[Ii]d: (\w{4,80})")
_COMPLETED: Final = re.compile(r"completed|errored|shutdown|failed|killed")
_NOT_APPLIED: Final = "Your changes have NOT been applied"


class CodeState:
    """Follows what calls and their results say of files; its size is bounded however long the log is."""

    def __init__(self, files: KnownFiles | None = None) -> None:
        self._files = files if files is not None else KnownFiles()
        self._calls: dict[str, ToolCall] = {}
        self._access: dict[str, str | None] = {}
        self._folder: str | None = ""
        self._running: dict[str, None] = {}
        self._diff: ShownDiff | None = None
        # What git called modified before.
        self._dirty: dict[str, None] = {}

    def feed(self, message: Message, order: int) -> None:
        """Take one recorded message."""
        if message.role == "assistant":
            for call in message.calls:
                semantics = recorded_semantics(call.name, message.meta)
                self._calls[call.id] = call
                self._access[call.id] = semantics.access if semantics is not None else None
            for call_id in list(self._calls)[: max(0, len(self._calls) - _MAX_CALLS)]:
                del self._calls[call_id], self._access[call_id]
        elif message.role == "tool" and message.result is not None:
            self._take_result(message, message.result.call_id, order)
        elif message.role == "user":
            self._take_user(message, order)

    def view(self) -> CodeView:
        """What is known now."""
        return CodeView(pieces=tuple(self._pieces()), changes=tuple(self._files.changes.values()), diff=self._diff)

    def pieces(self, path: str) -> tuple[Piece, ...]:
        """What is known now of one file."""
        return tuple(self._pieces(path))

    def _pieces(self, only: str | None = None) -> Iterator[Piece]:
        for path, file in self._files.files.items():
            if only is not None and path != only:
                continue
            ordered = sorted(file.spans.items, key=lambda one: (one.start is None, one.start or 0, one.seen))
            for span in ordered:
                doubt = self._files.doubt_of(path, span)
                yield Piece(
                    path=path, start=span.start, lines=span.lines, doubt=doubt, sources=span.sources, whole=span.whole
                )

    def _take_user(self, message: Message, order: int) -> None:
        text = message.text
        if not message.meta.extra.get("program"):
            # Between two turns people edit, pull and commit, and the log has nothing of it.
            self._files.user_spoke()
        for found in _MODIFIED.finditer(text):
            self._do([MayWrite(found.group(1))], message, order)
        if self._running and "agent" in text:
            self._end_agents(text)
        for found in _USER_COMMAND.finditer(text):
            steps = shell_actions(found.group(1), self._folder, succeeded=None).steps
            self._do([step for step in steps if step is not None and not isinstance(step, Shown)], message, order)

    def _take_result(self, message: Message, call_id: str, order: int) -> None:
        call = self._calls.get(call_id)
        outcome = message.meta.outcome
        if call is None:
            self._do([MayWrite()], message, order)
        elif outcome != "denied":
            arguments = parsed_arguments(call)
            output = parse_output(message.text)
            if self._access.get(call_id) == "shell" or call.name in _SHELLS:
                self._take_shell(call, arguments, output, message, order)
            else:
                self._take_tool(call, arguments, output, message, order)
            self._take_window(call, message, order)
            for found in _MODIFIED.finditer(message.text[-20_000:]):
                self._do([MayWrite(found.group(1))], message, order)
        if self._running:
            self._files.drop_unproven()

    def _take_shell(
        self, call: ToolCall, arguments: dict[str, Any], output: Output, message: Message, order: int
    ) -> None:
        command = command_of(arguments)
        if command is None:
            # Input for a program that runs already, or none at all.
            self._do([MayWrite()] if arguments else [], message, order)
            return
        if command.split(None, 1)[:1] and command.split(None, 1)[0] in _WINDOW_TOOLS and "(Open file: " in message.text:
            return
        folder = self._folder
        given = arguments.get("workdir") or arguments.get("cwd") or arguments.get("dir_path")
        if isinstance(given, str):
            folder = join_path(folder or "", given)
        succeeded = self._succeeded(output, message)
        if message.meta.outcome == "interrupted":
            self._do([MayWrite()], message, order)
        done = shell_actions(command, folder, succeeded=succeeded, output=message.text[:4_000])
        readable = output if call.name not in _UNFAITHFUL else Output(text="", cut=True)
        for action, lines in split_output(done.steps, readable, succeeded=succeeded):
            if lines is not None and isinstance(action, Shown):
                self._show(action, lines, message, order)
            elif action is not None and not isinstance(action, Shown):
                self._do([action], message, order)
        if "git status" in command:
            self._take_status(output.text, folder or "")
        if not isinstance(given, str) and output.keeps_folder:
            self._folder = output.folder or done.folder
        reset = _FOLDER_RESET.search(message.text[-2_000:])
        if reset is not None:
            self._folder = reset.group(1)
        writes = any(isinstance(step, MayWrite | RunScript) for step in done.steps)
        if output.running is not None and (writes or not done.steps):
            self._running[output.running] = None
            for process in list(self._running)[: max(0, len(self._running) - _MAX_RUNNING)]:
                del self._running[process]

    def _take_status(self, text: str, folder: str) -> None:
        """Files that git calls modified, and that this agent did not write: somebody else did."""
        for found in _STATUS_LINE.finditer(text[:_MAX_DIFF]):
            path = self._repository_path((found.group(1) or found.group(2)).strip(), folder)
            if path is not None and path not in self._dirty:
                self._dirty[path] = None
                self._files.modified_by_others(path)
        for path in list(self._dirty)[: max(0, len(self._dirty) - _MAX_DIRTY)]:
            del self._dirty[path]

    def _succeeded(self, output: Output, message: Message) -> bool | None:
        if output.exit_code is not None:
            return output.exit_code == 0
        if output.running is not None:
            return None
        return message.meta.outcome in (None, "ok")

    def _take_tool(
        self, call: ToolCall, arguments: dict[str, Any], output: Output, message: Message, order: int
    ) -> None:
        failed = message.meta.outcome in ("error", "interrupted") or (output.exit_code or 0) != 0
        failed = failed or _says_failed(output.text[:_HEAD])
        if call.name == "write_stdin":
            self._take_input(arguments, output, message, order)
            return
        if call.name in _AGENTS:
            self._take_agent(call, arguments, message, order)
            return
        if call.name in ("wait_agent", "close_agent"):
            self._end_agents(message.text)
            if call.name == "close_agent":
                self._running.pop(f"agent:{arguments.get('target') or arguments.get('id')}", None)
            return
        if call.name in _WINDOW_TOOLS and ("[File: " in message.text or "(Open file: " in message.text):
            return
        if call.name in ("run_ipython", "execute_ipython_cell"):
            code = str(arguments.get("code") or "")
            writes = may_write_files(code) or "edit" in code or "insert" in code or "create" in code
            self._do([MayWrite()] if writes else [RunCode()], message, order)
            return
        actions = tool_actions(call.name, arguments, self._folder or "")
        if actions is None:
            harmless = self._access_of(call) in ("read", "search", "plan")
            self._do([] if harmless else [MayWrite()], message, order)
            return
        if failed:
            # A patch of several files may have been applied to some of them.
            doubtful = [MayWrite(one.patch.path) for one in actions if isinstance(one, PatchFile)]
            if "modified since" in message.text[:_HEAD]:
                doubtful += [MayWrite(one.path) for one in actions if isinstance(one, EditText | WriteFile | Confirm)]
            self._do(doubtful, message, order)
            return
        if _SUCCEEDED.search(output.text[:_HEAD]) is None:
            # Nothing says that it was done.
            actions = tuple(one if isinstance(one, Shown | Confirm) else MayWrite(path_of(one)) for one in actions)
        self._take_actions(call, actions, output, message, order)

    def _take_actions(
        self, call: ToolCall, actions: Sequence[Action], output: Output, message: Message, order: int
    ) -> None:
        for action in actions:
            if isinstance(action, ShowLines) and _UNCHANGED.search(output.text[:300]):
                self._do([Confirm(action.path)], message, order)
            elif isinstance(action, Shown):
                self._show(action, output, message, order)
            else:
                self._do([action], message, order)
                if isinstance(action, EditText | WriteFile | InsertLines):
                    self._take_snippet(action.path, output, message)
        paths = {one.path for one in actions if isinstance(one, EditText | WriteFile | ShowLines)}
        if call.name in _COMPARING:
            for path in paths:
                self._files.compared(path)

    def _access_of(self, call: ToolCall) -> str | None:
        return self._access.get(call.id)

    def _take_input(self, arguments: dict[str, Any], output: Output, message: Message, order: int) -> None:
        """Input for a running process; without any, a look at how it goes."""
        typed = str(arguments.get("chars") or arguments.get("input") or "")
        if typed.strip("\x03\x04 \n"):
            self._do([MayWrite()], message, order)
        session = str(arguments.get("session_id", ""))
        if output.exit_code is not None or output.running is None:
            if session in self._running:
                self._do([MayWrite()], message, order)
            self._running.pop(session, None)

    def _take_agent(self, call: ToolCall, arguments: dict[str, Any], message: Message, order: int) -> None:
        if arguments.get("subagent_type") in _READING_AGENTS:
            return
        self._do([MayWrite()], message, order)
        started = _AGENT_ID.search(message.text[:_HEAD])
        if started is not None and (call.name == "spawn_agent" or arguments.get("run_in_background")):
            self._running[f"agent:{started.group(1) or started.group(2)}"] = None

    def _end_agents(self, text: str) -> None:
        """Agents that a text says have completed write no more."""
        for one in [one for one in self._running if one.startswith("agent:")]:
            at = text.find(one.removeprefix("agent:"))
            if at >= 0 and _COMPLETED.search(text, at, at + _HEAD) is not None:
                del self._running[one]

    def _take_snippet(self, path: str, output: Output, message: Message) -> None:
        """The lines around an edit, which some tools show."""
        begin = output.text.find("`cat -n`")
        if begin >= 0:
            for found in lines_shown(
                ShowLines(path, numbered=True, matches=True), Output(text=output.text[begin:], verbatim=True)
            ):
                # Some number the end of a snippet as if it were one more line.
                lines = found.lines if found.lines[-1] else found.lines[:-1]
                self._files.show(path, lines, found.start, message.id)

    def _take_window(self, call: ToolCall, message: Message, order: int) -> None:
        """A window of a file, as the editors of SWE-agent and OpenHands print it."""
        window = read_window(message.text) if "[File: " in message.text else None
        if window is None or _NOT_APPLIED in message.text:
            return
        path = join_path(self._folder or "", window.path)
        command = command_of(parsed_arguments(call)) or ""
        verb = command.split(None, 1)[0] if command.strip() else ""
        if call.name in _WINDOW_EDITS or verb in _WINDOW_EDITS:
            self._do([MayWrite(path)], message, order)
        self._files.show(path, window.lines, window.start, message.id, whole=window.whole)

    def _do(self, actions: Sequence[Action], message: Message, order: int) -> None:
        for action in actions:
            self._files.apply(action, message.id, order)

    def _show(self, shown: Shown, output: Output, message: Message, order: int) -> None:
        match shown:
            case ShowDiff():
                self._show_diff(shown, output.text, message, order)
            case ShowLines() | ShowMatches():
                for found in lines_shown(shown, output):
                    self._files.show(found.path, found.lines, found.start, message.id, whole=found.whole)
            case Print():
                return

    def _show_diff(self, shown: ShowDiff, text: str, message: Message, order: int) -> None:
        patches = parse_unified(text)
        if not patches:
            return
        self._diff = ShownDiff(
            message_id=message.id, order=order, command=shown.command, text=text[:_MAX_DIFF], of_tree=shown.of_tree
        )
        for patch in patches if shown.of_tree else ():
            path = self._repository_path(patch.path, shown.folder)
            for hunk in patch.hunks if patch.kind != "delete" and path is not None else ():
                if hunk.complete and path is not None:
                    self._files.show(path, hunk.new, hunk.new_start, message.id)

    def _repository_path(self, path: str, folder: str) -> str | None:
        """The path of a file that a diff names from the root of the repository."""
        joined = join_path(folder, path)
        known = self._files.files
        if joined in known:
            return joined
        ending = [one for one in known if one.endswith("/" + path)]
        return ending[0] if len(ending) == 1 else joined if not ending else None


def _says_failed(head: str) -> bool:
    # The words first: to look for these takes a tenth of the time.
    return has_any(head.lower(), _FAILED_WORDS) and _FAILED.search(head) is not None


def path_of(action: Action) -> str:
    """The file that an action writes; empty if it may be any."""
    return action.patch.path if isinstance(action, PatchFile) else getattr(action, "path", "")
