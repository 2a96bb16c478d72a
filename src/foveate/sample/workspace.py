"""A file tree in memory that behaves as an agent's tools see one, with a little git on top."""

from __future__ import annotations

import difflib
import hashlib
import random
import re
from collections.abc import Iterator, Mapping

from foveate.sample.project import Commit

_CONTEXT_LINES = 2
_MATCH_LIMIT = 60
_UNTRACKED = ("logs/",)


class Workspace:
    """Files by path. Every method that stands for a tool returns the text the tool would print."""

    def __init__(self, files: Mapping[str, str], history: tuple[Commit, ...], rng: random.Random) -> None:
        self.files = dict(files)
        self.rng = rng
        self.history = history
        self._committed = dict(files)

    def list_dir(self, path: str) -> str:
        prefix = "" if path in {".", ""} else path.rstrip("/") + "/"
        sizes: dict[str, int] = {}
        for name, text in self.files.items():
            if name.startswith(prefix):
                head, slash, _ = name.removeprefix(prefix).partition("/")
                sizes[head + slash] = sizes.get(head + slash, 0) + len(text.encode())
        if not sizes:
            return f"Error: no such directory: {path}"
        rows = [f"{size:>9,}  {name}" for name, size in sorted(sizes.items())]
        return f"{path} ({len(rows)} entries, sizes in bytes)\n" + "\n".join(rows)

    def read_file(self, path: str, offset: int = 1, limit: int | None = None) -> str:
        if path not in self.files:
            return f"Error: file not found: {path}"
        lines = self.files[path].splitlines()
        last = len(lines) if limit is None else min(len(lines), offset + limit - 1)
        shown = numbered(lines, offset, last)
        if offset > 1 or last < len(lines):
            shown = f"[lines {offset}-{last} of {len(lines)}]\n{shown}"
        return shown

    def grep(self, pattern: str, path: str) -> str:
        found = [f"{name}:{number}: {line}" for name, number, line in self._matches(pattern, path)]
        if not found:
            return f"No matches for `{pattern}` in {path}"
        if len(found) > _MATCH_LIMIT:
            more = len(found) - _MATCH_LIMIT
            found = [*found[:_MATCH_LIMIT], f"[{more} more matches not shown]"]
        return "\n".join(found)

    def edit_file(self, path: str, old_text: str, new_text: str) -> str:
        if path not in self.files:
            return f"Error: file not found: {path}"
        before = self.files[path]
        times = before.count(old_text)
        if times == 0:
            return f"Error: old text not found in {path}. Nothing was changed."
        if times > 1:
            return f"Error: old text occurs {times} times in {path}. Nothing was changed."
        self.files[path] = before.replace(old_text, new_text)
        first = before[: before.index(old_text)].count("\n") + 1
        last = first + new_text.count("\n")
        lines = self.files[path].splitlines()
        start, end = max(1, first - _CONTEXT_LINES), min(len(lines), last + _CONTEXT_LINES)
        return f"Edited {path}. Lines {start}-{end} now read:\n{numbered(lines, start, end)}"

    def write_file(self, path: str, content: str) -> str:
        verb = "Overwrote" if path in self.files else "Created"
        self.files[path] = content
        return f"{verb} {path} ({content.count(chr(10))} lines, {len(content.encode()):,} bytes)."

    def line_of(self, path: str, needle: str) -> int:
        """The number of the first line that holds `needle`."""
        for number, line in enumerate(self.files[path].splitlines(), 1):
            if needle in line:
                return number
        raise LookupError(f"{needle!r} is not in {path}")

    def changed(self) -> list[str]:
        paths = sorted({*self.files, *self._committed})
        return [
            path
            for path in paths
            if not path.startswith(_UNTRACKED) and self.files.get(path) != self._committed.get(path)
        ]

    def status(self) -> str:
        # " A", not "??": the agent looks at its diff first, with `git add -AN`.
        marks = {path: " M" if path in self._committed else " A" for path in self.changed()}
        return "\n".join(f"{mark} {path}" for path, mark in marks.items()) or "nothing to commit"

    def diff(self, *paths: str) -> str:
        texts = [
            unified(path, self._committed.get(path), self.files.get(path))
            for path in self.changed()
            if not paths or path in paths
        ]
        return "\n".join(texts)

    def commit(self, subject: str) -> str:
        paths = self.changed()
        diff = self.diff().splitlines()
        added = sum(line.startswith("+") and not line.startswith("+++") for line in diff)
        gone = sum(line.startswith("-") and not line.startswith("---") for line in diff)
        sha = f"{self.rng.getrandbits(32):08x}"
        made = Commit(sha=sha, subject=subject, author="agent <agent@localhost>", date="")
        self.history = (made, *self.history)
        new = [path for path in paths if path not in self._committed]
        self._committed = dict(self.files)
        rows = [
            f"[main {sha}] {subject}",
            f" {len(paths)} files changed, {added} insertions(+), {gone} deletions(-)",
            *(f" create mode 100644 {path}" for path in new),
        ]
        return "\n".join(rows)

    def log(self, count: int) -> str:
        return "\n".join(f"{commit.sha} {commit.subject}" for commit in self.history[:count])

    def show(self, sha: str) -> str:
        commit = next(commit for commit in self.history if commit.sha == sha)
        body = "".join(f"    {line}\n" for line in commit.body.splitlines())
        head = (
            f"commit {commit.sha}{_rest_of_sha(commit)}\n"
            f"Author: {commit.author}\nDate:   {commit.date}\n\n"
            f"    {commit.subject}\n\n{body}"
        )
        diffs = []
        for change in commit.changes:
            after = self._committed[change.path]
            diffs.append(unified(change.path, after.replace(change.new, change.old), after))
        return "\n".join([head, *diffs])

    def _matches(self, pattern: str, path: str) -> Iterator[tuple[str, int, str]]:
        wanted = re.compile(pattern, re.MULTILINE)
        prefix = "" if path in {".", ""} else path.rstrip("/")
        for name in sorted(self.files):
            inside = name == prefix or not prefix or name.startswith(prefix + "/")
            if inside and wanted.search(self.files[name]):
                for number, line in enumerate(self.files[name].splitlines(), 1):
                    if wanted.search(line):
                        yield name, number, line


def _rest_of_sha(commit: Commit) -> str:
    return hashlib.sha256(commit.subject.encode()).hexdigest()[: 40 - len(commit.sha)]


def numbered(lines: list[str], first: int, last: int) -> str:
    """Lines `first` to `last` with their numbers, as `cat -n` shows them."""
    return "\n".join(f"{number:>5}\t{lines[number - 1]}" for number in range(first, last + 1))


def unified(path: str, before: str | None, after: str | None) -> str:
    """One file's part of `git diff`."""
    old = [] if before is None else before.splitlines()
    new = [] if after is None else after.splitlines()
    source = "/dev/null" if before is None else f"a/{path}"
    target = "/dev/null" if after is None else f"b/{path}"
    body = difflib.unified_diff(old, new, source, target, lineterm="")
    return "\n".join([f"diff --git a/{path} b/{path}", *body])
