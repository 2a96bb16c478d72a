"""Code as it stands against a simulated file: whatever is read and edited, nothing wrong is ever called current."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.compile.facts.code import CodeState
from tests.facts.played import Played

PATH = "/repo/f.py"
Step = tuple[str, int, int, str]

LINES = st.sampled_from(["a", "b", "foo(a)", "  return b", "", "}", "a b"])
KINDS = ("read", "range", "tail", "grep", "edit", "all", "write", "append", "patch", "diff", "sed", "delete", "insert")
BEHIND = ("make", "user", "tests", "failed edit")
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS + BEHIND), st.integers(1, 12), st.integers(1, 4), LINES), min_size=1, max_size=16
)


class Simulated:
    """A file, and an agent that works on it with its tools."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = list(lines)
        self.state = CodeState()
        self.played = Played(self.state)
        # The text as the tools that compare have seen it.
        self.seen: str | None = None

    @property
    def text(self) -> str:
        """What the file holds."""
        return "".join(line + "\n" for line in self.lines)

    def take(self, step: Step) -> None:
        """Do one thing."""
        kind, at, count, word = step
        done: dict[str, Callable[[int, int, str], None]] = {
            "read": self.read, "range": self.range, "tail": self.tail, "grep": self.grep, "edit": self.edit,
            "all": self.replace_all, "write": self.write, "append": self.append, "patch": self.patch, "diff": self.diff,
            "sed": self.sed, "delete": self.delete, "insert": self.insert, "make": self.make, "user": self.user,
            "tests": self.tests, "failed edit": self.failed_edit,
        }  # fmt: skip
        done[kind](min(at, max(1, len(self.lines))), count, word)

    def compared(self, name: str, result: str, **arguments: object) -> None:
        """A tool that changes the file, or refuses because the file has changed since it saw it."""
        self.seen = self.text
        self.played.call(name, result, file_path=PATH, **arguments)

    def refused(self, name: str, **arguments: object) -> bool:
        """Whether the tool refuses."""
        if self.seen == self.text:
            return False
        why = "has not been read yet" if self.seen is None else "has been modified since read, by the user or a linter"
        self.played.call(
            name, f"<tool_use_error>File {why}. Read it first.</tool_use_error>", file_path=PATH, **arguments
        )
        return True

    def read(self, at: int, count: int, word: str) -> None:
        """All of it, with numbers, or a part."""
        shown = list(enumerate(self.lines, 1))[at - 1 : at - 1 + count] if count < 4 else list(enumerate(self.lines, 1))
        given = {} if count == 4 else {"offset": at, "limit": count}
        result = "\n".join(f"{number:6}→{line}" for number, line in shown) or "(empty)"
        self.compared("Read", result, **given)

    def range(self, at: int, count: int, word: str) -> None:
        """Some lines, without numbers."""
        shown = self.lines[at - 1 : at - 1 + count]
        self.played.run(f"sed -n '{at},{at + count - 1}p' f.py", "".join(line + "\n" for line in shown))

    def tail(self, at: int, count: int, word: str) -> None:
        """Its end."""
        self.played.run(f"tail -n {count} f.py", "".join(line + "\n" for line in self.lines[-count:]))

    def grep(self, at: int, count: int, word: str) -> None:
        """Lines with a word."""
        hits = [f"{number}:{line}" for number, line in enumerate(self.lines, 1) if "a" in line]
        self.played.run("grep -n a f.py", "\n".join(hits) + "\n" if hits else "", 0 if hits else 1)

    def edit(self, at: int, count: int, word: str) -> None:
        """Replace a text that stands once; the tool refuses any other."""
        old = "\n".join(self.lines[at - 1 : at - 1 + count])
        new = f"{word}\nnew" if count % 2 else word
        if old and self.text.count(old) == 1 and not self.refused("Edit", old_string=old, new_string=new):
            self.lines = self.text.replace(old, new).removesuffix("\n").split("\n")
            self.compared("Edit", f"The file {PATH} has been updated.", old_string=old, new_string=new)

    def failed_edit(self, at: int, count: int, word: str) -> None:
        """Replace what is not there."""
        result = "<tool_use_error>String to replace not found in file.</tool_use_error>"
        self.played.call("Edit", result, file_path=PATH, old_string="not there", new_string=word)

    def replace_all(self, at: int, count: int, word: str) -> None:
        """Replace a text wherever it stands."""
        given = {"old_string": "foo", "new_string": "bar" * count, "replace_all": True}
        if "foo" in self.text and not self.refused("Edit", **given):
            self.lines = self.text.replace("foo", "bar" * count).removesuffix("\n").split("\n")
            self.compared("Edit", f"The file {PATH} has been updated.", **given)

    def write(self, at: int, count: int, word: str) -> None:
        """A new text."""
        lines = [word, *self.lines[:at], "end"]
        content = "".join(line + "\n" for line in lines)
        if not self.refused("Write", content=content):
            self.lines = lines
            self.compared("Write", f"The file {PATH} has been updated.", content=content)

    def append(self, at: int, count: int, word: str) -> None:
        """One more line, by the shell."""
        self.lines.append("more")
        self.played.run("echo more >> f.py", "")

    def patch(self, at: int, count: int, word: str) -> None:
        """A patch without line numbers: it changes the first place that it fits."""
        old = self.lines[at - 1 : at - 1 + count]
        first = next((one for one in range(len(self.lines)) if self.lines[one : one + len(old)] == old), None)
        if first is None or not old:
            return
        new = [word, *old[1:]]
        self.lines[first : first + len(old)] = new
        body = "\n".join([f"-{old[0]}", f"+{word}", *(f" {line}" for line in old[1:])])
        text = f"*** Begin Patch\n*** Update File: f.py\n@@\n{body}\n*** End Patch"
        self.played.run(f"apply_patch <<'EOF'\n{text}\nEOF", "Success. Updated the following files:\nM f.py\n")

    def diff(self, at: int, count: int, word: str) -> None:
        """A patch with line numbers."""
        old = self.lines[at - 1 : at - 1 + count]
        if not old:
            return
        body = "\n".join([*(f"-{line}" for line in old), f"+{word}"])
        text = f"--- a/f.py\n+++ b/f.py\n@@ -{at},{len(old)} +{at},1 @@\n{body}\n"
        self.lines[at - 1 : at - 1 + len(old)] = [word]
        self.played.run(f"git apply <<'EOF'\n{text}EOF", "")

    def sed(self, at: int, count: int, word: str) -> None:
        """Replace a word in each line."""
        self.lines = [line.replace("foo", "baz", 1) for line in self.lines]
        self.played.run("sed -i 's/foo/baz/' f.py", "")

    def delete(self, at: int, count: int, word: str) -> None:
        """Some lines, by their numbers."""
        if len(self.lines) > count:
            del self.lines[at - 1 : at - 1 + count]
            self.played.run(f"sed -i '{at},{at + count - 1}d' f.py", "")

    def insert(self, at: int, count: int, word: str) -> None:
        """Lines behind a line."""
        self.lines[at:at] = [word, "put in"]
        given = {"command": "insert", "path": PATH, "insert_line": at, "new_str": f"{word}\nput in"}
        self.played.call("str_replace_editor", f"The file {PATH} has been edited.", **given)

    def make(self, at: int, count: int, word: str) -> None:
        """A generator changes the file, and nobody says so."""
        self.lines[at - 1 : at] = [f"generated {word}"] * count
        self.played.run("make generate", "done\n")

    def user(self, at: int, count: int, word: str) -> None:
        """Between two turns the user changes the file."""
        self.lines[at - 1 : at] = [f"typed {word}"] * count
        self.played.user("go on")

    def tests(self, at: int, count: int, word: str) -> None:
        """They leave sources alone."""
        self.played.run("pytest -q", "1 passed in 0.1s\n")

    def check(self) -> None:
        """Every current piece stands in the file, at its line."""
        for piece in self.state.pieces(PATH):
            if not piece.current:
                continue
            if piece.start is not None:
                assert tuple(self.lines[piece.start - 1 : piece.start - 1 + len(piece.lines)]) == piece.lines
            else:
                assert "\n" + "\n".join(piece.lines) + "\n" in "\n" + self.text
            if piece.whole:
                assert piece.lines == tuple(self.lines)


@settings(max_examples=150)
@given(st.lists(LINES, min_size=2, max_size=12), STEPS)
def test_nothing_wrong_is_ever_called_current(lines: list[str], steps: list[Step]) -> None:
    """Reads, edits, patches, `sed`, and what changes the file behind the log."""
    simulated = Simulated(lines)
    for step in steps:
        simulated.take(step)
        simulated.check()
