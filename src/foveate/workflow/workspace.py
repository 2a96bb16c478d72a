"""The workspace: the tools of an agent that works in a directory."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, assert_never

import msgspec
from msgspec import UNSET, Meta, UnsetType

from foveate.agents.toolset import Answer
from foveate.errors import ConfigError
from foveate.hard_links import HardLinks
from foveate.log.text import encodable
from foveate.workflow import commands, matching
from foveate.workflow.files import Files, RefusedError, shortened

Allow = Callable[[str], Awaitable[bool]]
"""Asked before a command is run, with the command as it will be run."""

_MOST_MATCHES = 100
_SEARCH_SECONDS = 10
# On a terminal they hide or reorder what is shown, and a person decides by what is shown.
_HIDING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class _Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


_Path = Annotated[str, Meta(description="Path of a file, relative to the directory.")]


class ListFiles(_Form, frozen=True):
    """List the files of the directory, without those that git ignores."""

    pattern: (
        Annotated[
            str,
            Meta(description="Only these: a name, a folder or a glob, like *.py or src/**/test_*.py.", max_length=1000),
        ]
        | UnsetType
    ) = UNSET


class ReadFile(_Form, frozen=True):
    """Read a text file, whole or some lines of it. A long file is cut; the last line then says how to go on."""

    path: _Path
    first_line: Annotated[int, Meta(description="First line to read, from 1.", ge=1)] | UnsetType = UNSET
    last_line: Annotated[int, Meta(description="Last line to read, included.", ge=1)] | UnsetType = UNSET


class Search(_Form, frozen=True):
    """Search the files of the directory for a regular expression; gives path:line: text for each line that matches."""

    pattern: Annotated[str, Meta(description="Python regular expression, looked for in each line.", max_length=1000)]
    path: Annotated[str, Meta(description="Only this file, or the files in this folder.")] | UnsetType = UNSET


class WriteFile(_Form, frozen=True):
    """Create a file with the folders it needs, or replace all of its content."""

    path: _Path
    content: Annotated[str, Meta(description="The whole content of the file.")]


class EditFile(_Form, frozen=True):
    """Replace a text that occurs exactly once in a file."""

    path: _Path
    old: Annotated[str, Meta(description="The text to replace, copied exactly, with enough around it to be unique.")]
    new: Annotated[str, Meta(description="What stands there afterwards.")]


class RunCommand(_Form, frozen=True):
    """Run a shell command in the directory, without input; gives exit code and output, and stops what still runs."""

    command: Annotated[str, Meta(description="The command line.")]


_Call = ListFiles | ReadFile | Search | WriteFile | EditFile | RunCommand
_READING: Final[dict[str, type[_Call]]] = {"list_files": ListFiles, "read_file": ReadFile, "search": Search}
_WRITING: Final[dict[str, type[_Call]]] = {"write_file": WriteFile, "edit_file": EditFile, "run_command": RunCommand}


async def _nothing(_: str) -> bool:
    return False


def _to_nobody(_: str) -> None:
    """Show a command to nobody."""


class Workspace:
    """Tools to list, read, search, write and edit files under `root`, and to run commands there.

    Each command is given to `shown`, then to `allow`, and only run if that says yes. Paths that lead outside of `root`,
    or into `.git`, are refused; a command is not confined, which is why it is asked for. With `writable` false there
    are only the tools that read. `without` are files and folders that are neither shown nor changed. Commands see the
    variables that programs need to run, and those that `environment` names.
    """

    def __init__(
        self,
        root: Path,
        *,
        allow: Allow = _nothing,
        shown: Callable[[str], None] = _to_nobody,
        timeout: float = 120,
        writable: bool = True,
        without: Sequence[Path] = (),
        environment: Collection[str] = (),
    ) -> None:
        if not root.is_dir():
            raise ConfigError(f"`root` must be a directory, and {str(root)!r} is none; create it or name another")
        if not timeout > 0:
            raise ConfigError(f"`timeout` must be more than 0 seconds, got {timeout!r}")
        self._files = Files(root, without)
        self._allow = allow
        self._shown = shown
        self._timeout = timeout
        self._environment = tuple(environment)
        self._forms = _READING | _WRITING if writable else _READING
        self.definitions: Final = tuple(_definition(name, form) for name, form in self._forms.items())

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        """Do what a call asks; what is wrong with it is said to the model, not raised."""
        try:
            call = self._understood(name, arguments)
            if isinstance(call, RunCommand):
                await self._ask(call.command)
        except RefusedError as refused:
            return _refused(refused)
        try:
            answer = await self._carried_out(call)
        except RefusedError as refused:
            answer = _refused(refused)
        except OSError as error:
            about = f" for {shortened(str(arguments['path']))}" if "path" in arguments else ""
            answer = Answer(text=f"Error: `{name}` failed{about}: {error.strerror or error}.", outcome="error")
        return Answer(text=encodable(answer.text), outcome=answer.outcome)

    def _understood(self, name: str, arguments: Mapping[str, Any]) -> _Call:
        form = self._forms.get(name)
        if form is None:
            raise RefusedError(f"there is no tool {shortened(name)}; there are {_words(self._forms)}")
        # What may be left out is often given as null.
        given = {key: value for key, value in arguments.items() if value is not None}
        try:
            return msgspec.convert(given, form, strict=True)
        except msgspec.ValidationError as error:
            unknown = [key for key in given if key not in form.__struct_fields__]
            wrong = f"unknown {', '.join(map(shortened, unknown))}" if unknown else str(error)
            raise RefusedError(f"wrong arguments: {wrong}; `{name}` takes {_words(form.__struct_fields__)}") from error

    async def _carried_out(self, call: _Call) -> Answer:
        match call:
            case ListFiles(pattern=pattern):
                text = await asyncio.to_thread(self._files.listing, pattern or "")
            case ReadFile(path=path, first_line=first, last_line=last):
                text = await asyncio.to_thread(self._files.read, path, first or 1, last or None)
            case Search(pattern=pattern, path=path):
                text = await self._search(pattern, path or ".")
            case WriteFile(path=path, content=content):
                text = await asyncio.to_thread(self._files.write, path, content)
            case EditFile(path=path, old=old, new=new):
                text = await asyncio.to_thread(self._files.edit, path, old, new)
            case RunCommand(command=command):
                return await self._run(command)
            case _:
                assert_never(call)
        return Answer(text=text)

    async def _search(self, pattern: str, path: str) -> str:
        asked = {
            "pattern": pattern,
            "files": await asyncio.to_thread(self._searched, path),
            "most": _MOST_MATCHES,
            "seconds": _SEARCH_SECONDS,
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", "-X", "utf8", "-W", "ignore", matching.__file__),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            said, _ = await process.communicate(json.dumps(asked).encode())
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode == -signal.SIGALRM:
            raise RefusedError(
                f"the search for {shortened(pattern)} took longer than {_SEARCH_SECONDS} seconds and was stopped; "
                "use a simpler pattern, without a repetition inside a repetition, or give a `path`"
            )
        if process.returncode != 0:
            raise RefusedError(f"the search for {shortened(pattern)} failed; use a simpler pattern")
        return _report(json.loads(said), pattern)

    def _searched(self, path: str) -> list[tuple[str, str]]:
        """The files to search, with the path to show and the one to open."""
        place = self._files.place(path)
        if not place.exists():
            raise RefusedError(f"{shortened(path)} does not exist; `list_files` shows what there is")
        if not place.is_dir():
            self._files.check_links(place, path)
            return [(place.relative_to(self._files.root).as_posix(), str(place))]
        found: list[tuple[str, str]] = []
        links = HardLinks(self._files.root)
        for name in self._files.under(place):
            # The list has links too, and they may lead anywhere.
            with suppress(RefusedError):
                if (real := self._files.place(name)).is_file() and not links.leads_out(real):
                    found.append((name, str(real)))
        return found

    async def _ask(self, command: str) -> None:
        hidden = next((one for one in command if one not in "\t\n" and unicodedata.category(one) in _HIDING), None)
        if hidden is not None:
            raise RefusedError(
                f"the command has the character {hidden!a}, which cannot be shown; write it as an escape"
            )
        self._shown(command)
        if not await self._allow(command):
            raise RefusedError(
                "denied by the user; the command was not run. Go on without it, or say what could not be done",
                outcome="denied",
            )

    async def _run(self, command: str) -> Answer:
        ran = await commands.run(command, self._files.root, timeout=self._timeout, also=self._environment)
        if ran.code is None:
            text = f"Error: the command took longer than {self._timeout:g} seconds and was stopped."
            return Answer(text=f"{text} Until then it said:\n{ran.output}" if ran.output else text, outcome="error")
        return Answer(text=f"Exit code: {ran.code}\n{ran.output}", outcome="ok" if ran.code == 0 else "error")


def _definition(name: str, form: type[_Call]) -> dict[str, Any]:
    """What a model is told of a tool, made of the same form that its calls are checked with."""
    _, known = msgspec.json.schema_components([form])
    schema = known[form.__name__]
    del schema["title"]
    description = schema.pop("description", "")
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def _refused(refused: RefusedError) -> Answer:
    start = "Not permitted by policy" if refused.outcome == "denied" else "Error"
    return Answer(text=encodable(f"{start}: {refused}."), outcome=refused.outcome)


def _words(names: Mapping[str, Any] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _report(found: dict[str, Any], pattern: str) -> str:
    if "error" in found:
        raise RefusedError(
            f"{shortened(pattern)} is no regular expression: {found['error']}; escape special characters"
        )
    lines: list[str] = found["lines"]
    if found["matches"] > len(lines):
        more = found["matches"] - len(lines)
        lines.append(f"[{more:,} more matches are left out; use a narrower pattern, or give a `path`]")
    if found["unread"]:
        lines.append(f"[not searched, as no text or too large: {found['unread']:,}]")
    return "\n".join(lines) if found["matches"] else "\n".join([f"No line matches {shortened(pattern)}.", *lines])
