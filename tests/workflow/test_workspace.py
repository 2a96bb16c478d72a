"""The tools of an agent in a directory: they do what they say, and nothing outside of it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foveate import ConfigError
from foveate.agents.toolset import Answer, Toolset
from foveate.log.outcomes import outcome_of
from foveate.workflow import workspace as module
from foveate.workflow.workspace import Workspace

OUTSIDE = "only-outside-5d1f"


async def every(command: str) -> bool:
    return True


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with some files, beside a file that must never be seen."""
    (tmp_path / "outside.txt").write_text(OUTSIDE)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key.txt").write_text(OUTSIDE)
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "main.py").write_text("def main():\n    return 1\n")
    (root / "README.md").write_text("# A project\n")
    return root


@pytest.fixture
def tools(root: Path) -> Workspace:
    return Workspace(root, allow=every, timeout=20)


def repository(directory: Path, *tracked: str) -> None:
    subprocess.run(["git", "init", "-q", str(directory)], check=True)
    if tracked:
        subprocess.run(["git", "add", "-f", *tracked], cwd=directory, check=True)


def names(directory: Path) -> list[str]:
    """Everything below a directory."""
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*"))


def written(path: Path) -> str:
    """The text of a file, as soon as it has one."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if path.exists() and (text := path.read_text().strip()):
            return text
        time.sleep(0.02)
    raise TimeoutError(path)


def gone(pid: int, *, within: float = 5) -> bool:
    """Whether a process has ended, or is only waiting to be buried."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        status = Path(f"/proc/{pid}/status")
        try:
            if "\nState:\tZ" in status.read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


# --- What a model is told ---


def test_definitions_are_those_of_openai_and_closed(tools: Workspace) -> None:
    toolset: Toolset = tools
    by_name = {one["function"]["name"]: one["function"] for one in toolset.definitions}

    assert list(by_name) == ["list_files", "read_file", "search", "write_file", "edit_file", "run_command"]
    assert all(one["type"] == "function" for one in toolset.definitions)
    assert all(one["parameters"]["additionalProperties"] is False for one in by_name.values())
    assert all(one["description"] and "\n" not in one["description"] for one in by_name.values())
    assert by_name["read_file"]["parameters"]["required"] == ["path"]
    assert by_name["edit_file"]["parameters"]["required"] == ["path", "old", "new"]
    for one in by_name.values():
        assert all(field["description"] for field in one["parameters"]["properties"].values())


async def test_who_only_reads_has_only_the_tools_that_read(root: Path) -> None:
    tools = Workspace(root, allow=every, writable=False)

    assert [one["function"]["name"] for one in tools.definitions] == ["list_files", "read_file", "search"]
    refused = await tools.answer("write_file", {"path": "new.txt", "content": ""})
    assert refused.outcome == "error" and "`list_files`, `read_file`, `search`" in refused.text
    assert not (root / "new.txt").exists()


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read_file", {}, "missing required field `path`"),
        ("read_file", {"path": 7}, "Expected `str`, got `int`"),
        ("read_file", {"path": "README.md", "first_line": "1"}, "Expected `int`, got `str`"),
        ("read_file", {"path": "README.md", "first_line": 0}, ">= 1"),
        ("read_file", {"path": "README.md", "first_line": 10**30}, "has 1 lines"),
        ("read_file", {"path": "README.md", "first_line": 5, "last_line": 2}, "has 1 lines"),
        ("read_file", {"path": "README.md", "encoding": "x", "mode": "r"}, "unknown 'encoding', 'mode'"),
        ("read_file", {"path": ""}, "is no path"),
        ("read_file", {"path": "a\0b"}, r"'a\x00b' is no path"),
        ("read_file", {"path": "\ud800"}, r"'\ud800' is no path"),
        ("read_file", {"path": "absent.py"}, "'absent.py' does not exist"),
        ("read_file", {"path": "src"}, "is a directory"),
        ("read_file", {"path": "README.md/x"}, "does not exist"),
        ("read_file", {"path": "n" * 5000}, "…"),
        ("search", {"pattern": "("}, "no regular expression"),
        ("search", {"pattern": "a{99999999999999999999}"}, "no regular expression"),
        ("search", {"pattern": "a", "path": "absent"}, "does not exist"),
        ("search", {"pattern": "a" * 1001}, "length <= 1000"),
        ("write_file", {"path": "src", "content": "x"}, "is a directory"),
        ("write_file", {"path": ".", "content": "x"}, "is a directory"),
        ("write_file", {"path": "README.md/x", "content": "x"}, "'README.md/x'"),
        ("write_file", {"path": "n" * 300, "content": "x"}, "name too long"),
        ("write_file", {"path": "half.txt", "content": "ab\udcff"}, r"half a character ('\udcff') at position 2"),
        ("edit_file", {"path": "README.md", "old": "", "new": "x"}, "`old` is empty"),
        ("edit_file", {"path": "README.md", "old": "A", "new": "A"}, "the same"),
        ("edit_file", {"path": "README.md", "old": "A", "new": "\ud800"}, "half a character"),
        ("edit_file", {"path": "README.md", "old": None, "new": "x"}, "missing required field `old`"),
        ("run_command", {"command": ["ls"]}, "Expected `str`, got `array`"),
        ("run_command", {"command": "echo \0"}, r"'\x00', which cannot be shown"),
        ("run_command", {"command": "rm -rf x\x1b[2K\recho harmless"}, r"'\x1b', which cannot be shown"),
        ("run_command", {"command": "echo " + "x" * 3_000_000}, "rgument list too long"),
        ("remove_file", {"path": "README.md"}, "no tool 'remove_file'"),
        ("\ud800", {}, r"no tool '\ud800'"),
    ],
)
async def test_what_is_wrong_with_a_call_is_said(
    root: Path, tools: Workspace, name: str, arguments: dict[str, Any], said: str
) -> None:
    """Nothing raises, nothing changes, and the sentence names what is wrong."""
    before = names(root)

    answer = await tools.answer(name, arguments)

    assert answer.outcome == "error"
    assert said in answer.text
    assert len(answer.text) < 800
    answer.text.encode()
    assert names(root) == before
    assert (root / "README.md").read_text() == "# A project\n"


def test_the_directory_and_the_time_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="`root` must be a directory"):
        Workspace(tmp_path / "absent", allow=every)
    with pytest.raises(ConfigError, match="`timeout` must be more than 0"):
        Workspace(tmp_path, allow=every, timeout=0)


# --- Confinement ---


@pytest.fixture
def traps(root: Path) -> Path:
    """The directory with links of every kind, and a repository."""
    repository(root)
    (root / "to_file").symlink_to("../outside.txt")
    (root / "to_folder").symlink_to("../secrets")
    (root / "to_nowhere").symlink_to("../created.txt")
    (root / "absolute").symlink_to(root.parent / "secrets" / "key.txt")
    (root / "twice").symlink_to("to_folder")
    (root / "loop").symlink_to("loop")
    (root / "config").symlink_to(".git/config")
    (root / "inside").symlink_to("src")
    return root


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("../outside.txt", "`..` is not followed"),
        ("src/../../outside.txt", "`..` is not followed"),
        ("src/../README.md", "`..` is not followed"),
        ("/etc/passwd", "outside of the directory"),
        ("//etc/passwd", "outside of the directory"),
        ("to_file", "a symbolic link"),
        ("to_folder/key.txt", "a symbolic link"),
        ("to_folder/new/deep.txt", "a symbolic link"),
        ("to_nowhere", "a symbolic link"),
        ("absolute", "a symbolic link"),
        ("twice/key.txt", "a symbolic link"),
        (".git/config", "`.git`"),
        (".GIT/config", "`.git`"),
        ("src/.git/hooks/x", "`.git`"),
        ("config", "`.git`"),
    ],
)
async def test_what_leads_outside_is_refused_by_every_tool(traps: Path, path: str, rule: str) -> None:
    """The answer names path and rule, and the file outside is as it was."""
    tools = Workspace(traps, allow=every)
    config = (traps / ".git" / "config").read_bytes()
    for name, more in (
        ("read_file", {}),
        ("write_file", {"content": "mine"}),
        ("edit_file", {"old": OUTSIDE, "new": "mine"}),
        ("search", {"pattern": "."}),
    ):
        answer = await tools.answer(name, {"path": path, **more})
        assert answer.outcome == "denied", (name, answer)
        assert repr(path) in answer.text and rule in answer.text
        assert OUTSIDE not in answer.text

    assert (traps.parent / "outside.txt").read_text() == OUTSIDE
    assert sorted(path.name for path in traps.parent.iterdir()) == ["outside.txt", "project", "secrets"]
    assert [path.name for path in (traps.parent / "secrets").iterdir()] == ["key.txt"]
    assert (traps / ".git" / "config").read_bytes() == config


async def test_a_search_of_everything_follows_no_link_outside(traps: Path) -> None:
    tools = Workspace(traps, allow=every)

    found = await tools.answer("search", {"pattern": f"{OUTSIDE}|repositoryformat|return 1"})

    assert found == Answer(text="src/main.py:2:     return 1")
    listed = (await tools.answer("list_files", {})).text
    assert "to_folder" in listed and "key.txt" not in listed


async def test_links_and_absolute_paths_that_stay_inside_are_followed(traps: Path) -> None:
    tools = Workspace(traps, allow=every)
    text = "def main():\n    return 1\n"
    for path in ("inside/main.py", str(traps / "src" / "main.py"), "./src//main.py"):
        assert (await tools.answer("read_file", {"path": path})).text == text

    alias = traps.parent / "alias"
    alias.symlink_to(traps)
    aliased = Workspace(alias, allow=every)
    assert (await aliased.answer("read_file", {"path": str(alias / "src" / "main.py")})).text == text
    (traps / "link.py").symlink_to("src/main.py")
    await aliased.answer("write_file", {"path": "link.py", "content": "new\n"})
    assert (traps / "link.py").is_symlink() and (traps / "src" / "main.py").read_text() == "new\n"


async def test_a_link_that_never_ends_is_an_error(traps: Path) -> None:
    tools = Workspace(traps, allow=every)
    for name, more in (("read_file", {}), ("write_file", {"content": "x"}), ("search", {"pattern": "x"})):
        assert (await tools.answer(name, {"path": "loop/x", **more})).outcome == "error"


# fmt: off
PARTS = st.sampled_from([
    "..", ".", "", "src", "main.py", "to_file", "to_folder", "to_nowhere", "absolute", "twice", "loop", "config", "inside",
    ".git", ".Git", "key.txt", "outside.txt", "project", "~", "C:", "new", "\\..", "..\\", "\0", "\ud800",
])
# fmt: on


@given(
    parts=st.lists(PARTS | st.text(max_size=4), max_size=6), start=st.sampled_from(["", "/", "//", "./", "../", "root"])
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_path_reads_or_writes_outside(traps: Path, parts: list[str], start: str) -> None:
    """Whatever the path, no answer has what stands outside, and nothing outside changes."""
    path = (f"{traps}/" if start == "root" else start) + "/".join(parts)
    tools = Workspace(traps, allow=every)
    of_git = names(traps / ".git")

    async def answers() -> Iterator[Answer]:
        given_to = {"write_file": {"content": "mine"}, "edit_file": {"old": OUTSIDE, "new": "mine"}}
        order = ("read_file", "edit_file", "write_file", "read_file")
        return iter([await tools.answer(name, {"path": path, **given_to.get(name, {})}) for name in order])

    for answer in asyncio.run(answers()):
        assert OUTSIDE not in answer.text
        answer.text.encode()
    outside = {one: one.read_text() for one in traps.parent.rglob("*.txt") if not one.is_relative_to(traps)}
    assert outside == {
        traps.parent / "outside.txt": OUTSIDE,
        traps.parent / "secrets" / "key.txt": OUTSIDE,
    }
    assert sorted(one.name for one in traps.parent.iterdir()) == ["outside.txt", "project", "secrets"]
    assert names(traps / ".git") == of_git
    assert "mine" not in (traps / ".git" / "config").read_text()


# --- List ---


async def test_a_list_has_what_git_does_not_ignore(root: Path, tools: Workspace) -> None:
    """Tracked or not, in repositories inside too, and without what was deleted."""
    (root / ".gitignore").write_text("build/\n*.log\n")
    (root / "build").mkdir()
    (root / "build" / "out.bin").write_text("x")
    (root / "a.log").write_text("x")
    (root / "tracked.log").write_text("x")
    (root / "deleted.txt").write_text("x")
    repository(root, "tracked.log", "deleted.txt")
    (root / "deleted.txt").unlink()
    repository(root / "vendor" / "lib")
    (root / "vendor" / "lib" / "里.txt").write_text("x")

    listed = (await tools.answer("list_files", {})).text.split("\n")

    assert listed == [".gitignore", "README.md", "src/main.py", "tracked.log", "vendor/lib/里.txt"]


async def test_a_list_without_a_repository_leaves_out_hidden_folders(root: Path, tools: Workspace) -> None:
    (root / ".cache").mkdir()
    (root / ".cache" / "x").write_text("x")
    (root / ".env.example").write_text("x")

    assert (await tools.answer("list_files", {})).text.split("\n") == [".env.example", "README.md", "src/main.py"]


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        ("*.py", ["a/b/deep.py", "a/top.py", "src/main.py"]),
        ("a/**/*.py", ["a/b/deep.py", "a/top.py"]),
        ("**/deep.py", ["a/b/deep.py"]),
        ("a/b", ["a/b/deep.py"]),
        ("./a/", ["a/b/deep.py", "a/top.py"]),
        ("README.md", ["README.md"]),
        ("[RS]*.md", ["README.md"]),
        (".", ["README.md", "a/b/deep.py", "a/top.py", "src/main.py"]),
        (None, ["README.md", "a/b/deep.py", "a/top.py", "src/main.py"]),
    ],
)
async def test_a_pattern_chooses_files(root: Path, tools: Workspace, pattern: str | None, chosen: list[str]) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "deep.py").write_text("")
    (root / "a" / "top.py").write_text("")

    assert (await tools.answer("list_files", {"pattern": pattern})).text.split("\n") == chosen


async def test_a_long_list_says_how_many_are_left_out(root: Path, tools: Workspace) -> None:
    for number in range(500):
        (root / f"{number:03}.txt").touch()

    lines = (await tools.answer("list_files", {"pattern": "*.txt"})).text.split("\n")

    assert len(lines) == 401
    assert lines[-1] == "[100 more files are left out; give a `pattern` to see them]"
    assert (await tools.answer("list_files", {"pattern": "*.rs"})).text == "No file matches '*.rs'."


# --- Read ---


async def test_a_file_is_read_as_it_is(root: Path, tools: Workspace) -> None:
    """Every character, so that it can be given back to an edit."""
    text = "\ufeffeins\r\n\tzwei\x0c\u2028drei  \n\n四"
    (root / "文件 'a\".txt").write_bytes(text.encode())

    assert (await tools.answer("read_file", {"path": "文件 'a\".txt"})).text == text
    part = await tools.answer("read_file", {"path": "文件 'a\".txt", "first_line": 2, "last_line": 3})
    assert part.text == "\tzwei\x0c\u2028drei  \n\n[lines 2-3 of 4]"
    (root / "empty").touch()
    assert (await tools.answer("read_file", {"path": "empty"})).text == "[the file is empty]"


async def test_a_huge_file_is_read_in_parts_that_join_to_all_of_it(root: Path, tools: Workspace) -> None:
    lines = [f"line {number} of a long file" for number in range(1, 5_001)]
    (root / "long.txt").write_text("\n".join(lines) + "\n")
    read: list[str] = []
    while len(read) < len(lines):
        answer = await tools.answer("read_file", {"path": "long.txt", "first_line": len(read) + 1})
        assert len(answer.text) < 30_200
        *part, note = answer.text.split("\n")
        read += part
        assert note.startswith("[lines ")
        assert (f"go on with `first_line` {len(read) + 1}" in note) == (len(read) < len(lines))

    assert read == lines


async def test_what_is_no_text_or_too_large_is_refused(root: Path, tools: Workspace) -> None:
    (root / "image.png").write_bytes(b"\x89PNG\0\0")
    (root / "latin.txt").write_bytes("Grün".encode("latin-1"))
    (root / "one_line.json").write_text("x" * 100_000)
    os.mkfifo(root / "pipe")
    with (root / "huge.bin").open("wb") as file:
        file.truncate(2**33)

    said = {
        name: (await tools.answer("read_file", {"path": name})).text
        for name in ("image.png", "latin.txt", "one_line.json", "pipe", "huge.bin")
    }

    assert said["image.png"] == "Error: 'image.png' is a binary file of 6 bytes, no text."
    assert "not UTF-8: byte 0xfc at position 2" in said["latin.txt"]
    assert said["one_line.json"].endswith("\n[line 1 is cut: 30,000 of its 100,000 characters are shown]")
    assert "no regular file" in said["pipe"]
    assert "has 8,589,934,592 bytes" in said["huge.bin"]
    assert (await tools.answer("write_file", {"path": "pipe", "content": "x"})).outcome == "error"


# --- Search ---


async def test_a_search_names_file_line_and_text(root: Path, tools: Workspace) -> None:
    (root / "目录").mkdir()
    (root / "目录" / "文.txt").write_bytes("ein\r\nMain 主\r\n".encode())
    (root / "image.png").write_bytes(b"main\0")

    assert (await tools.answer("search", {"pattern": "(?i)main"})).text == (
        "src/main.py:1: def main():\n目录/文.txt:2: Main 主\n[not searched, as no text or too large: 1]"
    )
    assert (await tools.answer("search", {"pattern": "main", "path": "src"})).text == "src/main.py:1: def main():"
    assert (await tools.answer("search", {"pattern": "^$", "path": "README.md"})).text == "No line matches '^$'."


async def test_a_search_is_bounded(root: Path, tools: Workspace) -> None:
    (root / "many.txt").write_text("hit\n" * 1_000)
    (root / "wide.txt").write_text("x" * 50_000 + "needle" + "x" * 50_000)

    many = (await tools.answer("search", {"pattern": "hit"})).text
    assert many.count("\n") == 100
    assert many.endswith("[900 more matches are left out; use a narrower pattern, or give a `path`]")
    wide = (await tools.answer("search", {"pattern": "needle"})).text
    assert "needle" in wide and len(wide) < 350


async def test_a_pattern_that_takes_for_ever_is_stopped(
    root: Path, tools: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the program goes on meanwhile."""
    monkeypatch.setattr(module, "_SEARCH_SECONDS", 1)
    (root / "trap.txt").write_text("a" * 60 + "!")
    search = asyncio.create_task(tools.answer("search", {"pattern": "^(a+)+$"}))
    turns = 0
    while not search.done():
        await asyncio.sleep(0.05)
        turns += 1

    answer = await search
    assert answer.outcome == "error" and "longer than 1 seconds" in answer.text
    assert turns > 5


# --- Write and edit ---


async def test_a_file_is_written_with_its_folders_and_keeps_its_mode(root: Path, tools: Workspace) -> None:
    script = root / "run.sh"
    script.write_text("old")
    script.chmod(0o750)

    assert (await tools.answer("write_file", {"path": "run.sh", "content": "echo 1\n"})).text == (
        "Replaced run.sh: 1 line, 7 bytes."
    )
    assert (await tools.answer("write_file", {"path": "新/a/b.txt", "content": "ö\r\nx"})).text == (
        "Created 新/a/b.txt: 2 lines, 5 bytes."
    )
    assert script.stat().st_mode & 0o777 == 0o750
    assert (root / "新" / "a" / "b.txt").read_bytes() == "ö\r\nx".encode()
    mask = os.umask(0)
    os.umask(mask)
    assert (root / "新" / "a" / "b.txt").stat().st_mode & 0o777 == 0o666 & ~mask
    assert names(root) == ["README.md", "run.sh", "src", "src/main.py", "新", "新/a", "新/a/b.txt"]


async def test_a_file_is_never_there_in_part(root: Path, tools: Workspace) -> None:
    """Who has it open goes on reading the old one."""
    with (root / "README.md").open() as reader:
        await tools.answer("write_file", {"path": "README.md", "content": "new\n"})
        assert reader.read() == "# A project\n"
    assert (root / "README.md").read_text() == "new\n"


async def test_an_edit_replaces_what_is_there_once(root: Path, tools: Workspace) -> None:
    edited = await tools.answer("edit_file", {"path": "src/main.py", "old": "return 1", "new": "return 2"})

    assert edited == Answer(text="Edited src/main.py at line 2.")
    assert (root / "src" / "main.py").read_text() == "def main():\n    return 2\n"


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("return 3", "`old` is not in 'f.py'; read the file again"),
        ("if x:\n  return 1", "white space or line breaks differ"),
        ("return 1", "occurs 2 times"),
        ("aa", "occurs 2 times"),
    ],
)
async def test_an_edit_that_is_not_clear_changes_nothing(root: Path, tools: Workspace, old: str, said: str) -> None:
    text = "if x:\n    return 1\nelse:\n    return 1  # aaa\n"
    (root / "f.py").write_text(text)

    answer = await tools.answer("edit_file", {"path": "f.py", "old": old, "new": "y"})

    assert answer.outcome == "error" and said in answer.text and "nothing was changed" in answer.text
    assert (root / "f.py").read_text() == text


async def test_an_edit_keeps_the_line_ends_of_the_file(root: Path, tools: Workspace) -> None:
    (root / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")

    await tools.answer("edit_file", {"path": "dos.txt", "old": "one\ntwo\n", "new": "1\n2\n"})

    assert (root / "dos.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_a_read_only_file_stays(root: Path, tools: Workspace) -> None:
    (root / "README.md").chmod(0o444)

    assert "read-only" in (await tools.answer("write_file", {"path": "README.md", "content": "x"})).text


# --- Commands ---


async def test_a_command_runs_in_the_directory_and_says_how_it_ended(root: Path, tools: Workspace) -> None:
    ran = await tools.answer("run_command", {"command": "pwd; echo öffentlich; echo err >&2; cat; test ! -t 0"})

    assert ran == Answer(text=f"Exit code: 0\n{root}\nöffentlich\nerr\n")
    failed = await tools.answer("run_command", {"command": "printf 'a\\0\\xff'; exit 3"})
    assert failed == Answer(text="Exit code: 3\na\ufffd\ufffd", outcome="error")
    assert (await tools.answer("run_command", {"command": "kill -9 $$"})).text == "Exit code: -9\n"


async def test_each_command_is_shown_and_only_run_if_allowed(root: Path) -> None:
    seen: list[str] = []

    async def allow(command: str) -> bool:
        assert seen[-1] == command, "shown before it is asked for"
        return not command.startswith("rm")

    tools = Workspace(root, allow=allow, shown=seen.append)
    denied = await tools.answer("run_command", {"command": "rm README.md"})
    await tools.answer("run_command", {"command": "touch made"})

    assert denied.outcome == "denied" and "not run" in denied.text
    assert (root / "README.md").exists() and (root / "made").exists()
    assert seen == ["rm README.md", "touch made"]
    assert (await Workspace(root).answer("run_command", {"command": "ls"})).outcome == "denied"


async def test_what_fails_in_showing_or_asking_is_not_said_to_the_model(root: Path) -> None:
    """A terminal that is gone is the user's matter."""

    def shown(command: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        await Workspace(root, allow=every, shown=shown).answer("run_command", {"command": "touch made"})
    assert not (root / "made").exists()


async def test_a_command_sees_only_what_programs_need(
    root: Path, tools: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a secret is called: `DATABASE_URL` has a password in it, and the socket of ssh-agent is a key."""
    for name in (
        "OPENAI_API_KEY",
        "github_token",
        "DATABASE_URL",
        "SSH_AUTH_SOCK",
        "HTTPS_PROXY",
        "GIT_DIR",
        "LC_SECRET",
    ):
        monkeypatch.setenv(name, OUTSIDE)
    monkeypatch.setenv("LC_TIME", "C")

    text = (await tools.answer("run_command", {"command": "env"})).text

    assert "LC_TIME=C" in text and "PATH=" in text and "HOME=" in text
    assert OUTSIDE not in text


async def test_a_command_sees_what_was_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who wants it says so, by the name."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://test")
    monkeypatch.setenv("OTHER_URL", OUTSIDE)
    tools = Workspace(root, allow=every, environment=["DATABASE_URL", "NOT_SET"])

    text = (await tools.answer("run_command", {"command": "env"})).text

    assert "DATABASE_URL=postgresql://test" in text and OUTSIDE not in text


async def test_a_huge_output_keeps_its_beginning_and_its_end(tools: Workspace) -> None:
    text = (await tools.answer("run_command", {"command": "seq 1000000; echo the end"})).text

    assert text.startswith("Exit code: 0\n1\n2\n")
    assert text.endswith("\n1000000\nthe end\n")
    assert len(text) < 25_000
    head, _, rest = text.removeprefix("Exit code: 0\n").partition("[")
    note, _, tail = rest.partition("]\n")
    whole = sum(len(f"{number}\n") for number in range(1, 1_000_001)) + len("the end\n")
    assert note.startswith(f"{whole - len(head) - len(tail):,} bytes left out")


async def test_a_huge_line_is_cut_too(tools: Workspace) -> None:
    text = (await tools.answer("run_command", {"command": "head -c 5000000 /dev/zero | tr '\\0' x"})).text

    assert "\n[4,976,000 bytes left out here" in text and len(text) < 25_000


async def test_a_command_that_takes_too_long_is_stopped_with_its_children(root: Path) -> None:
    """Also those that hold its output open; what it said until then is there."""
    tools = Workspace(root, allow=every, timeout=0.7)
    started = time.monotonic()

    answer = await tools.answer("run_command", {"command": "sleep 99 & echo $!; (sleep 98; echo late) & echo $!; wait"})

    assert time.monotonic() - started < 4
    assert answer.outcome == "error" and "longer than 0.7 seconds" in answer.text
    assert all(gone(int(pid)) for pid in answer.text.split("\n")[1:3])


async def test_what_a_command_leaves_behind_ends_with_it(tools: Workspace) -> None:
    """A child that keeps the pipe does not keep the agent."""
    started = time.monotonic()

    answer = await tools.answer("run_command", {"command": "sleep 99 & echo $!"})

    assert time.monotonic() - started < 4
    assert answer.outcome == "ok" and gone(int(answer.text.split("\n")[1]))


async def test_a_child_in_a_session_of_its_own_does_not_hold_the_answer(tools: Workspace) -> None:
    started = time.monotonic()

    answer = await tools.answer("run_command", {"command": "setsid sleep 6 & echo done"})

    assert time.monotonic() - started < 4
    assert answer == Answer(text="Exit code: 0\ndone\n")


async def test_a_command_ends_when_its_agent_is_cancelled(root: Path, tools: Workspace) -> None:
    task = asyncio.create_task(tools.answer("run_command", {"command": "sleep 99 & echo $! > pid; wait"}))
    pid = int(await asyncio.to_thread(written, root / "pid"))

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert gone(pid)


# It forks twice, has a session and an environment of its own, and tells its number.
DAEMON = "(env -i setsid bash -c 'setsid sleep 95 & echo $! > daemon' &)"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to a supervisor")


@LINUX
async def test_what_left_its_session_ends_with_the_command(root: Path, tools: Workspace) -> None:
    """A process group is easily left; being a descendant is not."""
    answer = await tools.answer("run_command", {"command": f"{DAEMON}; until test -s daemon; do sleep 0.05; done"})

    assert answer.outcome == "ok"
    assert gone(int((root / "daemon").read_text()))


@LINUX
async def test_what_left_its_session_ends_when_the_time_is_over(root: Path) -> None:
    answer = await Workspace(root, allow=every, timeout=2).answer("run_command", {"command": f"{DAEMON}; sleep 96"})

    assert "longer than 2 seconds" in answer.text
    assert gone(int((root / "daemon").read_text()))


@LINUX
async def test_what_left_its_session_ends_when_the_agent_is_cancelled(root: Path, tools: Workspace) -> None:
    """As Ctrl-C does it."""
    task = asyncio.create_task(tools.answer("run_command", {"command": f"{DAEMON}; sleep 97"}))
    pid = int(await asyncio.to_thread(written, root / "daemon"))

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert gone(pid)


@LINUX
@pytest.mark.parametrize("start", ["setsid sleep 94", "env -i setsid sleep 94"])
async def test_what_left_its_session_ends_also_without_its_supervisor(root: Path, tools: Workspace, start: str) -> None:
    """A command may kill the process that watches it; what it started still carries its mark."""
    command = f"{start} & echo $! > daemon; kill -9 $PPID; sleep 93"
    answer = await tools.answer("run_command", {"command": command})

    assert answer.outcome == "error"
    assert gone(int((root / "daemon").read_text()))


@LINUX
async def test_commands_end_as_they_would_by_themselves(tools: Workspace) -> None:
    """Exit codes, signals, and a `kill 0` that is meant for the command alone."""
    for command, said in (
        ("exit 7", "7"),
        ("exit 250", "250"),
        ("kill -TERM $$", "-15"),
        ("kill -9 $$", "-9"),
        ("kill 0", "-15"),
    ):
        answer = await tools.answer("run_command", {"command": command})
        assert answer.text.startswith(f"Exit code: {said}\n")


async def test_a_hard_link_to_a_file_outside_is_not_read(root: Path, tools: Workspace, tmp_path: Path) -> None:
    """It is that file, under another name; writing puts a new file in its place and leaves the other alone."""
    secret = tmp_path / "secret.txt"
    secret.write_text(f"{OUTSIDE}\n")
    os.link(secret, root / "innocent.txt")

    for name, arguments in (
        ("read_file", {"path": "innocent.txt"}),
        ("edit_file", {"path": "innocent.txt", "old": OUTSIDE[:3], "new": "x"}),
        ("search", {"pattern": OUTSIDE[:3], "path": "innocent.txt"}),
        ("search", {"pattern": OUTSIDE[:3]}),
    ):
        answer = await tools.answer(name, arguments)
        assert OUTSIDE not in answer.text
        assert answer.outcome == "denied" or name == "search"
    answer = await tools.answer("write_file", {"path": "innocent.txt", "content": "mine\n"})
    assert answer.outcome == "ok"
    assert secret.read_text() == f"{OUTSIDE}\n" and (root / "innocent.txt").read_text() == "mine\n"


async def test_a_hard_link_within_the_directory_is_read(root: Path, tools: Workspace) -> None:
    (root / "one.txt").write_text("both\n")
    (root / "folder").mkdir()
    os.link(root / "one.txt", root / "folder" / "two.txt")
    assert (await tools.answer("read_file", {"path": "folder/two.txt"})).text == "both\n"


async def test_a_directory_that_is_gone_is_an_error(root: Path, tools: Workspace) -> None:
    await tools.answer("run_command", {"command": f"mv {root} {root}.away"})

    for name, arguments in (("run_command", {"command": "ls"}), ("read_file", {"path": "README.md"})):
        assert (await tools.answer(name, arguments)).outcome == "error"
    assert (await tools.answer("list_files", {})).text == "There are no files yet."


async def test_an_outcome_can_be_told_from_the_text_alone(root: Path) -> None:
    """A log that only keeps texts says the same."""
    allowing, refusing = Workspace(root, allow=every), Workspace(root)
    for tools, name, arguments in (
        (allowing, "read_file", {"path": "../x"}),
        (allowing, "read_file", {"path": "absent"}),
        (allowing, "run_command", {"command": "exit 2"}),
        (allowing, "run_command", {"command": "true"}),
        (refusing, "run_command", {"command": "true"}),
        (allowing, "nothing", {}),
    ):
        answer = await tools.answer(name, arguments)
        assert outcome_of(answer.text, shell=name == "run_command") == answer.outcome
