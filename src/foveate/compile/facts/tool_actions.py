"""Tool actions: what the file tools of common agents did and showed, as far as their arguments say it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from foveate.compile.facts.actions import (
    Action,
    Confirm,
    DeleteFile,
    EditText,
    InsertLines,
    MayWrite,
    MoveFile,
    PatchFile,
    ShowLines,
    ShowMatches,
    WriteFile,
)
from foveate.compile.facts.patches import parse_envelope, parse_unified
from foveate.compile.facts.shell_words import join_path
from foveate.compile.facts.word_set import word_set

Arguments = Mapping[str, Any]
Actions = Iterator[Action]

# Tools that touch no file of the project, besides those that a log declares.
HARMLESS: Final = word_set(
    """
    TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet TaskOutput TaskStop BashOutput KillShell ExitPlanMode
    EnterPlanMode AskUserQuestion WebSearch WebFetch Glob LS ToolSearch Skill update_plan think finish submit
    list_directory list_dir list_files glob file_search codebase_search web_search google_web_search web_fetch
    view_image find_file search_dir search_file search_files find_by_name attempt_completion ask_followup_question
    new_task save_memory todowrite todoread read_many_files NotebookRead list_mcp_resources get_goal request_user_input
    wait_agent close_agent send_input SendMessage Monitor tool_search grep_search search_file_content
    """
)
_PATHS: Final = ("file_path", "path", "absolute_path", "filename", "file", "notebook_path", "target_file", "TargetFile")
_OLD: Final = ("old_string", "old_str", "old_text", "oldText", "search")
_NEW: Final = ("new_string", "new_str", "new_text", "newText", "replace")
_CONTENT: Final = ("content", "file_text", "contents", "text", "code_edit", "new_source")
_BLOCK: Final = re.compile(r"^[-<]{5,9} ?SEARCH>?\n(.*?)^={5,9}\n(.*?)^[+>]{5,9} ?REPLACE>?$", re.MULTILINE | re.DOTALL)


def tool_actions(name: str, arguments: Arguments, folder: str) -> tuple[Action, ...] | None:
    """What a successful call did and shows; None for a tool that nobody here knows."""
    made = _TOOLS.get(name)
    if made is None:
        return () if name in HARMLESS else None
    return tuple(made(arguments, folder))


def is_file_tool(name: str) -> bool:
    """Whether a tool is known to touch files alone, or nothing."""
    return name in _TOOLS or name in HARMLESS


def _path(arguments: Arguments, folder: str) -> str | None:
    value = next((arguments[name] for name in _PATHS if isinstance(arguments.get(name), str) and arguments[name]), None)
    return join_path(folder, value) if value is not None else None


def _text(arguments: Arguments, names: tuple[str, ...]) -> str | None:
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str)), None)


def _number(arguments: Arguments, *names: str) -> int | None:
    return next((value for name in names if isinstance(value := arguments.get(name), int) and value is not True), None)


def _read(arguments: Arguments, folder: str) -> Actions:
    path = _path(arguments, folder)
    if path is None:
        return
    limited = any(arguments.get(one) for one in ("offset", "limit", "start_line", "end_line", "view_range", "pages"))
    yield ShowLines(path, numbered=True, matches=bool(limited))


def _read_raw(arguments: Arguments, folder: str) -> Actions:
    """A read whose output has no numbers."""
    path = _path(arguments, folder)
    if path is None:
        return
    offset, limit = _number(arguments, "offset", "start_line"), _number(arguments, "limit")
    end = _number(arguments, "end_line")
    if offset is None and limit is None and end is None:
        yield ShowLines(path)


def _write(arguments: Arguments, folder: str) -> Actions:
    path, text = _path(arguments, folder), _text(arguments, _CONTENT)
    if path is not None:
        yield WriteFile(path, text) if text is not None else MayWrite(path)


def _edit(arguments: Arguments, folder: str) -> Actions:
    path, old, new = _path(arguments, folder), _text(arguments, _OLD), _text(arguments, _NEW)
    if path is None:
        yield MayWrite()
    elif old is None or new is None:
        yield MayWrite(path)
    elif not old:
        yield WriteFile(path, new)
    else:
        many = arguments.get("replace_all") or (_number(arguments, "expected_replacements") or 1) > 1
        yield EditText(path, old, new, everywhere=bool(many))


def _guarded_edit(arguments: Arguments, folder: str) -> Actions:
    """An edit of Claude Code, which refuses files that changed since they were read."""
    path = _path(arguments, folder)
    if path is not None:
        yield Confirm(path)
    yield from _edit(arguments, folder)


def _edits(arguments: Arguments, folder: str) -> Actions:
    path = _path(arguments, folder)
    edits = arguments.get("edits")
    if path is None or not isinstance(edits, list):
        yield MayWrite(path or "")
        return
    yield Confirm(path)
    for one in edits:
        yield from _edit({**one, "file_path": path}, folder) if isinstance(one, dict) else (MayWrite(path),)


def _notebook(arguments: Arguments, folder: str) -> Actions:
    yield MayWrite(_path(arguments, folder) or "")


def _editor(arguments: Arguments, folder: str) -> Actions:
    """The editor of Anthropic's API, of OpenHands and of SWE-agent: one tool with commands."""
    path = _path(arguments, folder)
    if path is None:
        yield MayWrite()
        return
    match arguments.get("command"):
        case "view":
            yield ShowLines(path, numbered=True, matches=bool(arguments.get("view_range")))
        case "create":
            text = _text(arguments, ("file_text",))
            yield WriteFile(path, text) if text is not None else MayWrite(path)
        case "str_replace":
            old = _text(arguments, ("old_str",))
            yield EditText(path, old, _text(arguments, ("new_str",)) or "") if old else MayWrite(path)
        case "insert":
            line, text = _number(arguments, "insert_line"), _text(arguments, ("new_str", "insert_text"))
            known = line is not None and text is not None
            yield InsertLines(path, line or 0, tuple((text or "").split("\n"))) if known else MayWrite(path)
        case _:
            yield MayWrite(path)


def _short_editor(arguments: Arguments, folder: str) -> Actions:
    """The editor of Cline: what it does is seen from what it is given."""
    path, old, new = _path(arguments, folder), _text(arguments, _OLD), _text(arguments, _NEW)
    line = _number(arguments, "insert_line")
    if path is None:
        yield MayWrite()
    elif line is not None or new is None:
        yield MayWrite(path)
    else:
        yield EditText(path, old, new) if old else MayWrite(path)


def _blocks(arguments: Arguments, folder: str) -> Actions:
    """Blocks of text to be searched and replaced; they are applied in order, so one that matched loosely spoils all."""
    path, diff = _path(arguments, folder), _text(arguments, ("diff", "content"))
    if path is None or diff is None:
        yield MayWrite(path or "")
        return
    found = list(_BLOCK.finditer(diff))
    if not found:
        yield MayWrite(path)
    for one in found:
        yield EditText(path, one.group(1), one.group(2)) if one.group(1) else MayWrite(path)


def _patch(arguments: Arguments, folder: str) -> Actions:
    text = _text(arguments, ("input", "patch", "diff", "patchText")) or ""
    found = parse_envelope(text) or parse_unified(text)
    if not found:
        yield MayWrite()
    for one in found:
        moved = join_path(folder, one.moved_to) if one.moved_to else None
        yield PatchFile(type(one)(path=join_path(folder, one.path), kind=one.kind, hunks=one.hunks, moved_to=moved))


def _delete(arguments: Arguments, folder: str) -> Actions:
    path = _path(arguments, folder)
    yield DeleteFile(path) if path is not None else MayWrite()


def _move(arguments: Arguments, folder: str) -> Actions:
    source, target = arguments.get("source"), arguments.get("destination")
    known = isinstance(source, str) and isinstance(target, str)
    yield MoveFile(join_path(folder, str(source)), join_path(folder, str(target))) if known else MayWrite()


def _grep(arguments: Arguments, folder: str) -> Actions:
    if arguments.get("output_mode") not in (None, "content") or arguments.get("-n") is False:
        return
    path = _path(arguments, folder)
    # Of one file it shows no path.
    if path is not None and "." in path.rpartition("/")[2]:
        yield ShowLines(path, numbered=True, matches=True, altered=True)
    else:
        yield ShowMatches(folder, altered=True)


_TOOLS: Final[Mapping[str, Callable[[Arguments, str], Actions]]] = {
    "Read": _read,
    "read": _read,
    "view": _read,
    "open_file": _read,
    "read_file": _read_raw,
    "Write": _write,
    "write": _write,
    "write_file": _write,
    "write_to_file": _write,
    "create_file": _write,
    "Edit": _guarded_edit,
    "edit": _edit,
    "edit_file": _edit,
    "replace": _edit,
    "str_replace": _edit,
    "MultiEdit": _edits,
    "NotebookEdit": _notebook,
    "str_replace_editor": _editor,
    "str_replace_based_edit_tool": _editor,
    "file_editor": _editor,
    "editor": _short_editor,
    "replace_in_file": _blocks,
    "apply_diff": _blocks,
    "apply_patch": _patch,
    "patch": _patch,
    "delete_file": _delete,
    "move_file": _move,
    "Grep": _grep,
    "grep": _grep,
    "grep_search": _grep,
    "search_file_content": _grep,
}
