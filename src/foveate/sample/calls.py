"""The agent's six tools, as a task's script calls them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from foveate.sample.workspace import Workspace

EXIT_CODE = "[exit code: {code}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call and the work that makes its result."""

    name: str
    arguments: dict[str, object]
    run: Callable[[Workspace], str]


def list_dir(path: str) -> Call:
    return Call(name="list_dir", arguments={"path": path}, run=lambda ws: ws.list_dir(path))


def grep(pattern: str, path: str = ".") -> Call:
    return Call(
        name="grep",
        arguments={"pattern": pattern, "path": path},
        run=lambda ws: ws.grep(pattern, path),
    )


def read_file(path: str, offset: int = 1, limit: int | None = None) -> Call:
    arguments: dict[str, object] = {"path": path}
    if offset != 1 or limit is not None:
        arguments |= {"offset": offset, "limit": limit}
    return Call(name="read_file", arguments=arguments, run=lambda ws: ws.read_file(path, offset, limit))


def edit_file(path: str, old_text: str, new_text: str) -> Call:
    return Call(
        name="edit_file",
        arguments={"path": path, "old_text": old_text, "new_text": new_text},
        run=lambda ws: ws.edit_file(path, old_text, new_text),
    )


def write_file(path: str, content: str) -> Call:
    return Call(
        name="write_file",
        arguments={"path": path, "content": content},
        run=lambda ws: ws.write_file(path, content),
    )


def bash(command: str, output: str | Callable[[Workspace], str], code: int = 0) -> Call:
    """A shell command, what it prints (given or computed from the files), and its exit code."""

    def run(ws: Workspace) -> str:
        text = output if isinstance(output, str) else output(ws)
        if code:
            text = f"{text}\n{EXIT_CODE.format(code=code)}"
        return text or "(no output)"

    return Call(name="bash", arguments={"command": command}, run=run)


def denied(command: str, reason: str) -> Call:
    """A command that the user refused to let run."""
    return Call(
        name="bash",
        arguments={"command": command},
        run=lambda _: f"Permission denied: the user rejected this command. Reason: {reason}",
    )


def git_log(count: int) -> Call:
    return bash(f"git log --oneline -{count}", lambda ws: ws.log(count))


def git_show(sha: str) -> Call:
    return bash(f"git show {sha}", lambda ws: ws.show(sha))


def git_status() -> Call:
    return bash("git status --short", lambda ws: ws.status())


def git_diff(*paths: str) -> Call:
    command = " ".join(["git add -AN && git diff", *(["--", *paths] if paths else [])])
    return bash(command, lambda ws: ws.diff(*paths))


def git_commit(subject: str) -> Call:
    return bash(f'git add -A && git commit -m "{subject}"', lambda ws: ws.commit(subject))
