"""What proves that code is current, and what makes it unsure."""

from __future__ import annotations

import pytest

from foveate.compile.facts.code import CodeState
from foveate.compile.facts.known_files import Doubt
from tests.facts.played import Played

PATH = "/repo/f.py"
TEXT = "one\ntwo\nthree\nfour\n"


class Known:
    """A file that was read, and what happens then."""

    def __init__(self) -> None:
        self.state = CodeState()
        self.log = Played(self.state)

    @property
    def doubts(self) -> list[Doubt]:
        """Why each piece of the file is unsure."""
        return [piece.doubt for piece in self.state.pieces(PATH)]

    @property
    def text(self) -> str:
        """What is known of it."""
        return "\n".join("\n".join(piece.lines) for piece in self.state.pieces(PATH))

    def read(self) -> None:
        """All of it."""
        self.log.run("cat f.py", TEXT)


@pytest.fixture
def known() -> Known:
    """A file that was just read."""
    found = Known()
    found.read()
    return found


def test_a_read_proves_it(known: Known) -> None:
    """With the message that it comes from."""
    (piece,) = known.state.pieces(PATH)
    assert piece.current and piece.whole and piece.start == 1 and piece.sources == ("m2",)


@pytest.mark.parametrize(
    ("command", "doubt"),
    [
        ("ls", "none"),
        ("grep -rn one .", "none"),
        ("git status && git diff && git log -3", "none"),
        ("git add . && git commit -m x && git push", "none"),
        ("pytest -q", "none"),
        ("go build ./... && npm test", "none"),
        ("python -c 'print(1)'", "none"),
        ("echo x > other.py", "none"),
        ("make generate", "command"),
        ("./migrate", "command"),
        ("git checkout main", "command"),
        ("git stash pop", "command"),
        ("git pull", "command"),
        ("git reset --hard", "command"),
        ("ruff format .", "command"),
        ("black f.py", "command"),
        ("sed -i '/x/d' f.py", "command"),
        ("unheard_of", "command"),
        ("python fix.py", "command"),
        ("cat x | xargs rm", "command"),
        ("ls | xargs -I{} mv {} old", "command"),
        ("ls | xargs grep one", "none"),
        ("echo $(make all)", "command"),
        ("bash -c 'make all'", "command"),
        ("for f in *; do mv $f x; done", "command"),
        ("f() { true; }", "command"),
    ],
)
def test_commands_and_what_they_may_have_written(known: Known, command: str, doubt: Doubt) -> None:
    """A command that no table knows to only read makes it unsure; checks leave sources alone."""
    known.log.run(command, "")
    assert known.doubts == [doubt]


def test_checks_may_write_what_is_generated(known: Known) -> None:
    """Lock files and snapshots, not sources."""
    known.log.run("cat package-lock.json", "{}\n")
    known.log.run("npm test", "")
    assert [piece.doubt for piece in known.state.pieces("/repo/package-lock.json")] == ["command"]
    assert known.doubts == ["none"]


def test_a_script_is_judged_by_its_text(known: Known) -> None:
    """If it is known that it only reads."""
    known.log.call(
        "Write", "File created successfully", file_path="/repo/look.py", content="print(open('f.py').read())\n"
    )
    known.log.run("python look.py", "")
    assert known.doubts == ["none"]
    known.log.call("Write", "File updated", file_path="/repo/look.py", content="open('f.py', 'w').write('')\n")
    known.log.run("python look.py", "")
    assert known.doubts == ["command"]


def test_a_turn_of_the_user_makes_it_unsure(known: Known) -> None:
    """What a program says in the user's name does not."""
    known.log.user("<system-reminder>x</system-reminder>", program=True)
    assert known.doubts == ["none"]
    known.log.user("now the docs")
    assert known.doubts == ["user"]
    known.read()
    assert known.doubts == ["none"]


def test_a_notice_that_somebody_changed_it_makes_it_unsure(known: Known) -> None:
    """As agents pass it on."""
    known.log.call(
        "Read", f"x\n\nNote: {PATH} was modified, either by the user or by a linter.", file_path="/repo/o.py"
    )
    assert known.doubts == ["command"]


def test_a_file_that_git_calls_modified_and_the_agent_did_not_write(known: Known) -> None:
    """Somebody else did, at any time."""
    known.log.run("git status --short", " M f.py\n")
    assert known.doubts == ["command"]


def test_an_agent_or_a_process_that_runs_may_write_at_any_time(known: Known) -> None:
    """Until it has ended and the file is read again."""
    known.log.call("exec_command", "Process running with session ID 3\nOutput:\n", cmd="make watch", workdir="/repo")
    known.read()
    assert known.doubts == ["command"]
    known.log.call("write_stdin", "Wall time: 0\nProcess exited with code 0\nOutput:\n", session_id=3)
    known.read()
    assert known.doubts == ["none"]
    known.log.call("Task", "done", subagent_type="Explore", prompt="look")
    assert known.doubts == ["none"]
    known.log.call("Task", "done", subagent_type="general", prompt="fix")
    assert known.doubts == ["command"]


def test_an_edit_that_says_it_succeeded_is_applied(known: Known) -> None:
    """One that failed, was refused by the user, or says nothing, is not."""
    edit = {"file_path": PATH, "old_string": "two", "new_string": "2"}
    known.log.call("Edit", "<tool_use_error>String to replace not found</tool_use_error>", **edit)
    known.log.call("Edit", "The tool use was rejected", denied=True, **edit)
    assert "two" in known.text and known.doubts == ["none"]
    known.log.call("Edit", "The file has been updated.", **edit)
    assert known.text == "one\n2\nthree\nfour" and known.doubts == ["none"]
    known.log.call("Edit", "hm", **{**edit, "old_string": "2", "new_string": "3"})
    assert known.doubts == ["command"]


def test_an_edit_that_does_not_fit_makes_it_unsure(known: Known) -> None:
    """The file is not what it was taken for."""
    known.log.call("str_replace", "The file has been edited.", path=PATH, old_str="not there", new_str="x")
    assert known.doubts[0] == "command"


def test_a_tool_that_compares_restores_what_was_true(known: Known) -> None:
    """It refuses a file that changed since it was seen."""
    numbered = "".join(f"{number:6}→{line}\n" for number, line in enumerate(TEXT.split(), 1))
    known.log.call("Read", numbered, file_path=PATH)
    known.log.user("go on")
    assert known.doubts == ["user"]
    known.log.call("Edit", "The file has been updated.", file_path=PATH, old_string="two", new_string="2")
    assert known.doubts == ["none"]


def test_a_patch_without_numbers_may_have_hit_the_same_lines_elsewhere() -> None:
    """A piece from the middle of a file is then unsure; the whole file is not."""
    patch = "*** Begin Patch\n*** Update File: f.py\n@@\n-two\n+2\n*** End Patch"
    part = Known()
    part.log.run("sed -n '2,3p' f.py", "two\nthree\n")
    part.log.call("apply_patch", "Success. Updated the following files:\nM f.py", input=patch.replace("f.py", PATH))
    assert part.doubts == ["patch"]
    whole = Known()
    whole.read()
    whole.log.call("apply_patch", "Success. Updated the following files:\nM f.py", input=patch.replace("f.py", PATH))
    assert whole.doubts == ["none"] and whole.text == "one\n2\nthree\nfour"


def test_a_patch_with_numbers_goes_where_they_say() -> None:
    """Not to the first lines that look alike."""
    found = Known()
    found.log.run("cat f.py", "a\nb\na\n")
    diff = "--- a/f.py\n+++ b/f.py\n@@ -3 +3 @@\n-a\n+c\n"
    found.log.run(f"git apply <<'E'\n{diff}E", "")
    assert found.text == "a\nb\nc" and found.doubts == ["none"]


def test_where_a_patch_with_numbers_goes_is_unknown_if_the_line_was_not_seen() -> None:
    """A piece further up with the same lines is left as it is, and unsure."""
    found = Known()
    found.log.run("head -1 f.py", "a\n")
    found.log.run("git apply <<'E'\n--- a/f.py\n+++ b/f.py\n@@ -2 +2 @@\n-a\n+c\nE", "")
    assert [(piece.lines, piece.doubt) for piece in found.state.pieces(PATH)] == [(("a",), "command"), (("c",), "none")]


def test_overlapping_reads_are_one_piece_and_the_newer_text_wins(known: Known) -> None:
    """Also if it says that the older one is wrong."""
    known.log.run("make generate", "")
    known.log.run("sed -n '2,3p' f.py", "TWO\nthree\n")
    assert [(piece.start, piece.lines, piece.doubt) for piece in known.state.pieces(PATH)] == [
        (1, ("one",), "command"),
        (2, ("TWO", "three"), "none"),
        (4, ("four",), "command"),
    ]


def test_deleted_and_renamed_files_are_known_as_such(known: Known) -> None:
    """A renamed one takes its text along."""
    known.log.run("git mv f.py g.py", "")
    assert known.state.pieces(PATH) == ()
    assert known.state.pieces("/repo/g.py")[0].lines == ("one", "two", "three", "four")
    known.log.run("rm g.py", "")
    changes = {change.path: (change.kind, change.target) for change in known.state.view().changes}
    assert changes == {PATH: ("renamed", "/repo/g.py"), "/repo/g.py": ("deleted", None)}


def test_what_is_known_stays_bounded() -> None:
    """In files, and in lines but for those of the last file."""
    found = Known()
    for number in range(300):
        found.log.run(f"cat f{number}.py", "line\n" * 1_000)
    view = found.state.view()
    assert len({piece.path for piece in view.pieces}) <= 256
    assert sum(len(piece.lines) for piece in view.pieces) <= 200_000 + 1_000
