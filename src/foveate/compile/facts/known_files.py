"""Known files: the stretches of all files that the agent worked on, and what each action makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from foveate.compile.facts.actions import (
    Action,
    Confirm,
    DeleteFile,
    DeleteLines,
    EditText,
    InsertLines,
    MayWrite,
    MoveFile,
    PatchFile,
    RunCode,
    RunScript,
    SubstituteLines,
    WriteFile,
)
from foveate.compile.facts.line_places import Lines
from foveate.compile.facts.patches import FilePatch
from foveate.compile.facts.programs import is_generated, may_write_files
from foveate.compile.facts.spans import Span, Spans

MAX_FILES: Final = 256
_MAX_LINES: Final = 200_000
_MAX_CHANGES: Final = 500

Doubt = Literal["none", "user", "patch", "command"]
ChangeKind = Literal["written", "edited", "deleted", "renamed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What the agent last did to a file by name; `target` is the new path of one that was renamed."""

    path: str
    kind: ChangeKind
    message_id: str
    order: int
    target: str | None = None


@dataclass(slots=True)
class _File:
    spans: Spans
    # As of when spans were right at the last moment that a tool compared the file with what it had seen of it.
    compared: int | None = None
    # How many lines it had when it was last counted.
    lines: int = 0


class KnownFiles:
    """Files by their paths, the one that was used last at the end."""

    def __init__(self) -> None:
        self.files: dict[str, _File] = {}
        self.changes: dict[str, FileChange] = {}
        # The last moments at which a command, and the user, may have written anything.
        self.commanded = -1
        self.spoken = -1
        self.now = 0
        # Lines of all files, as last counted, and the one file that may have others since.
        self._lines = 0
        self._touched: _File | None = None

    @property
    def doubted(self) -> int:
        """The last moment at which anything may have written any file."""
        return max(self.commanded, self.spoken)

    def apply(self, action: Action, source: str, order: int) -> None:
        """Take what a call did to files."""
        self.now += 1
        match action:
            case WriteFile():
                self._write(action, source)
                self._changed(action.path, "edited" if action.append else "written", source, order)
            case EditText(path=path):
                self._edit(action, source)
                self._changed(path, "edited", source, order)
            case SubstituteLines(path=path) | DeleteLines(path=path) | InsertLines(path=path):
                self._change_lines(action, source)
                self._changed(path, "edited", source, order)
            case PatchFile(patch=patch):
                self._patch(patch, source, order)
            case DeleteFile(path=path):
                self._delete(path, source, order)
            case MoveFile(path=path, target=target):
                self._move(path, target, source, order)
            case Confirm(path=path):
                self._confirm(path)
            case MayWrite(path=path):
                self._doubt(path)
            case RunCode():
                self._doubt_generated()
            case RunScript(path=path):
                self._run_script(path)
            case _:
                return

    def show(self, path: str, lines: Lines, start: int | None, source: str, *, whole: bool = False) -> None:
        """Lines of a file were shown."""
        self.now += 1
        file = self._file(path)
        if not whole:
            file.spans.show(lines, start, self.now, source, self.doubted)
            return
        spans = file.spans
        known = next((one for one in spans.items if one.whole and spans.is_current(one, self.doubted)), None)
        if known is None or known.lines != lines:
            spans.replace_all(lines, self.now, source)

    def compared(self, path: str) -> None:
        """A tool that compares files has seen this one as it is now."""
        file = self.files.get(path)
        if file is not None:
            file.compared = max(self.doubted, file.spans.doubted)

    def drop_unproven(self) -> None:
        """Something is running that may write at any time."""
        self.now += 1
        self.commanded = self.now

    def user_spoke(self) -> None:
        """The user has had the files in hand."""
        self.now += 1
        self.spoken = self.now

    def doubt_of(self, path: str, span: Span) -> Doubt:
        """What may have written a span since it was seen."""
        if span.seen <= max(self.commanded, self.files[path].spans.doubted):
            return "command"
        if not span.placed:
            return "patch"
        return "user" if span.seen <= self.spoken else "none"

    def modified_by_others(self, path: str) -> None:
        """A file has changed; if the agent has not done it, somebody else may have, at any time."""
        self.now += 1
        if path not in self.changes:
            self._doubt(path)

    def lines_of(self, path: str) -> Lines | None:
        """All of a file as it stands, if that is known."""
        file = self.files.get(path)
        if file is None:
            return None
        sure = (one for one in file.spans.items if one.whole and file.spans.is_current(one, self.doubted))
        return next((one.lines for one in sure), None)

    def same_file(self, path: str) -> Iterator[str]:
        """Other paths that may name the same file, because nobody knows what they are relative to."""
        for other in self.files:
            if other != path and (
                (not other.startswith("/") and path.endswith("/" + other))
                or (not path.startswith("/") and other.endswith("/" + path))
            ):
                yield other

    def _file(self, path: str) -> _File:
        self._count_touched()
        file = self.files.pop(path, None) or _File(Spans())
        self.files[path] = file
        while len(self.files) > MAX_FILES or (len(self.files) > 1 and self._lines > _MAX_LINES):
            self._remove(next(iter(self.files)))
        self._touched = file
        return file

    def _count_touched(self) -> None:
        """Count the lines of the file that was last worked on, so that no file is counted again and again."""
        if self._touched is not None:
            size = self._touched.spans.size
            self._lines += size - self._touched.lines
            self._touched.lines = size
            self._touched = None

    def _remove(self, path: str) -> _File:
        self._count_touched()
        file = self.files.pop(path)
        self._lines -= file.lines
        return file

    def _written(self, path: str) -> _File:
        for other in list(self.same_file(path)):
            self.files[other].spans.doubt(self.now)
        return self._file(path)

    def _write(self, action: WriteFile, source: str) -> None:
        text = action.text.removesuffix("\n")
        lines = tuple(text.split("\n")) if action.text else ()
        known = self.lines_of(action.path)
        spans = self._written(action.path).spans
        if not action.append:
            spans.replace_all(lines, self.now, source)
        elif known is not None:
            sources = spans.items[-1].sources
            spans.replace_all(known + lines, self.now, source)
            spans.items = [replace(one, sources=(*sources[-8:], source)) for one in spans.items]
        else:
            # What ended without a line break goes on in the first of them.
            spans.show(lines[1:], None, self.now, source, self.doubted)

    def _edit(self, action: EditText, source: str) -> None:
        spans = self._written(action.path).spans
        if not spans.edit(action.old, action.new, self.now, source, everywhere=action.everywhere, doubted=self.doubted):
            spans.doubt(self.now)

    def _change_lines(self, action: SubstituteLines | DeleteLines | InsertLines, source: str) -> None:
        spans = self._written(action.path).spans
        match action:
            case DeleteLines(first=first, last=last):
                spans.delete_lines(first, last, source)
            case InsertLines(after=after, lines=lines):
                spans.insert_lines(after, lines, self.now, source)
            case SubstituteLines():
                spans.change_lines(
                    lambda start, lines: _substituted(action, start, lines), source, numbered=action.first is not None
                )

    def _patch(self, patch: FilePatch, source: str, order: int) -> None:
        if patch.kind == "delete":
            self._delete(patch.path, source, order)
            return
        spans = self._written(patch.path).spans
        self._changed(patch.path, "written" if patch.kind == "add" else "edited", source, order)
        if patch.kind == "add":
            spans.replace_all(tuple(line for hunk in patch.hunks for line in hunk.new), self.now, source)
            return
        after, grown = 0, 0
        for hunk in patch.hunks:
            place = None
            if hunk.old and hunk.complete and hunk.old_start is not None:
                line = hunk.old_start + grown
                place = spans.replace_at(line, hunk.old, hunk.new, source, doubted=self.doubted)
            elif hunk.old and hunk.complete:
                after = max(after, self._line_of_header(spans, hunk.header, after))
                place = spans.replace_lines(hunk.old, hunk.new, self.now, source, after=after, doubted=self.doubted)
            if place is None:
                spans.doubt(self.now)
                self.now += 1
                spans.show(hunk.new, None, self.now, source, self.doubted)
            after = place or after
            grown += len(hunk.new) - len(hunk.old)
        if patch.moved_to:
            self._move(patch.path, patch.moved_to, source, order)

    def _line_of_header(self, spans: Spans, header: str, after: int) -> int:
        """The line of the file behind which a patch says that a change is."""
        if not header:
            return after
        whole = (one for one in spans.items if one.start == 1 and spans.is_current(one, self.doubted))
        lines = next((one.lines for one in whole), ())
        return next(
            (index + 2 for index in range(max(0, after - 1), len(lines)) if lines[index].strip() == header), after
        )

    def _delete(self, path: str, source: str, order: int) -> None:
        for other in list(self.same_file(path)):
            self.files[other].spans.doubt(self.now)
        for name in [name for name in self.files if name == path or name.startswith(path + "/")]:
            self._remove(name)
            self._changed(name, "deleted", source, order)
        self._changed(path, "deleted", source, order)

    def _move(self, path: str, target: str, source: str, order: int) -> None:
        self._doubt(target)
        for name in [name for name in self.files if name == path or name.startswith(path + "/")]:
            moved, place = self.files.pop(name), target + name[len(path) :]
            if place in self.files:
                self._count_touched()
                self._lines -= self.files[place].lines
            self.files[place] = moved
        self._changed(path, "renamed", source, order, target)

    def _confirm(self, path: str) -> None:
        file = self.files.get(path)
        if file is not None and file.compared is not None:
            file.spans.confirm(self.now, file.compared + 1)

    def _doubt(self, path: str) -> None:
        if not path:
            self.commanded = self.now
            return
        for name, file in self.files.items():
            if name == path or name.startswith(path + "/"):
                file.spans.doubt(self.now)
        for name in self.same_file(path):
            self.files[name].spans.doubt(self.now)

    def _doubt_generated(self) -> None:
        for name, file in self.files.items():
            if is_generated(name):
                file.spans.doubt(self.now)

    def _run_script(self, path: str) -> None:
        text = self.lines_of(path)
        if text is None or may_write_files("\n".join(text)):
            self.commanded = self.now
        else:
            self._doubt_generated()

    def _changed(self, path: str, kind: ChangeKind, source: str, order: int, target: str | None = None) -> None:
        self.changes.pop(path, None)
        self.changes[path] = FileChange(path=path, kind=kind, message_id=source, order=order, target=target)
        if len(self.changes) > _MAX_CHANGES:
            del self.changes[next(iter(self.changes))]


def _substituted(action: SubstituteLines, start: int | None, lines: Lines) -> Lines:
    changed: list[str] = []
    for number, line in enumerate(lines, start or 0):
        inside = action.first is None or action.first <= number <= (action.last or action.first)
        count = -1 if action.all_in_line else 1
        changed.append(line.replace(action.old, action.new, count) if inside else line)
    return tuple(changed)
