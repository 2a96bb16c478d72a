"""Command lines: what they run, what they do to files, and what their output shows of them."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.compile.facts.actions import (
    Action,
    DeleteFile,
    DeleteLines,
    MayWrite,
    MoveFile,
    PatchFile,
    RunCode,
    RunScript,
    ShowLines,
    ShowMatches,
    SubstituteLines,
    WriteFile,
)
from foveate.compile.facts.sed import sed_actions
from foveate.compile.facts.shell import parse_command_line
from foveate.compile.facts.shell_actions import shell_actions


def texts_of(line: str) -> list[tuple[str, ...]]:
    """The commands of a line by their words."""
    return [command.texts for command in parse_command_line(line) or ()]


def steps_of(line: str, *, succeeded: bool | None = True) -> list[Action | None]:
    """What a line does in /repo."""
    return list(shell_actions(line, "/repo", succeeded=succeeded).steps)


def writes_of(line: str, *, succeeded: bool | None = True) -> list[Action | None]:
    """What a line does to files, without what it prints."""
    return [one for one in steps_of(line, succeeded=succeeded) if one is not None and not isinstance(one, ShowLines)]


# ------------------------------------------------------------------------------------------------------------- parsing


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("cd a && make; ls | head", [("cd", "a"), ("make",), ("ls",), ("head",)]),
        ("echo 'a b' \"c d\" e\\ f", [("echo", "a b", "c d", "e f")]),
        ("echo a # not this", [("echo", "a")]),
        ("a \\\n b\nc", [("a", "b"), ("c",)]),
        ("if test -f x; then rm x; fi", [("test", "-f", "x"), ("rm", "x")]),
        ("X=1 make", [("X=1", "make")]),
    ],
)
def test_lines_are_commands_of_words(line: str, texts: list[tuple[str, ...]]) -> None:
    """Quotes and escapes are taken off, comments left out."""
    assert texts_of(line) == texts


def test_documents_belong_to_their_commands() -> None:
    """Two of them on one line come one after the other; what is expanded is not known."""
    first, second = parse_command_line("cat <<'A' ; cat <<B\none\nA\n$two\nB\n") or ()
    assert first.redirects[0].document == "one\n" and second.redirects[0].document is None


def test_what_the_shell_expands_is_marked() -> None:
    """A pattern, a variable, the output of a command; not what single quotes hold."""
    (command,) = parse_command_line("echo *.py $x \"$(pwd)\" '$x' plain") or ()
    assert [word.dynamic for word in command.words] == [False, True, True, True, False, False]
    assert [one.texts for one in command.nested] == [("pwd",)]


@pytest.mark.parametrize("line", ["echo 'open", "f() { rm x; }", "cat <<A\nnever ended", "echo $(ls", "a=(1 2)"])
def test_what_is_not_understood_is_not_guessed(line: str) -> None:
    """It may have written anything."""
    assert parse_command_line(line) is None and steps_of(line) == [MayWrite(), None]


@given(st.lists(st.text(alphabet="ab '\"$\\*#;&|<>()`\n!~é", max_size=6), min_size=1, max_size=4))
def test_quoted_words_are_what_the_shell_makes_of_them(words: list[str]) -> None:
    """Whatever they hold."""
    line = "printf '%s\\0' " + " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True)
    assert [word.encode() for word in texts_of(line)[0][2:]] == done.stdout.split(b"\0")[:-1]


@given(st.text(alphabet="ab '\"$\\*#;&|<>()`\n{}=1", max_size=60))
def test_any_text_is_parsed_or_refused(line: str) -> None:
    """Never an exception."""
    steps_of(line)


# ------------------------------------------------------------------------------------------------- what lines do to files


@pytest.mark.parametrize(
    ("line", "actions"),
    [
        ("rm a.py", [DeleteFile("/repo/a.py")]),
        ("mv a.py b.py", [MoveFile("/repo/a.py", "/repo/b.py"), MayWrite("/repo/b.py")]),
        ("cp a.py b.py", [MayWrite("/repo/b.py")]),
        ("echo x > a.py", [WriteFile("/repo/a.py", "x\n")]),
        ("echo x >> a.py", [WriteFile("/repo/a.py", "x\n", append=True)]),
        ("cat > a.py <<'E'\none\nE", [WriteFile("/repo/a.py", "one\n")]),
        ("cat > a.py <<E\n$one\nE", [MayWrite("/repo/a.py")]),
        ("ls > files.txt", [MayWrite("/repo/files.txt")]),
        ("make test 2>&1 | tee log.txt", [RunCode(), MayWrite("/repo/log.txt")]),
        ("sed -i 's/a/b/g' a.py", [SubstituteLines("/repo/a.py", "a", "b", all_in_line=True)]),
        ("cd sub && sed -i 3d a.py", [DeleteLines("/repo/sub/a.py", 3, 3)]),
        ("git checkout -- a.py", [MayWrite("/repo/a.py")]),
        ("git stash", [MayWrite()]),
        ("git reset --hard", [MayWrite()]),
        ("pytest -q", [RunCode()]),
        ("npm test", [RunCode()]),
        ("black a.py", [MayWrite("/repo/a.py")]),
        ("ruff check --fix .", [MayWrite("/repo")]),
        ("./gen.sh", [RunScript("/repo/gen.sh")]),
        ("python -c 'print(1)'", [RunCode()]),
        ('python -c \'open("a", "w")\'', [MayWrite()]),
        ("find . -delete", [MayWrite()]),
        ("cat a.py > /dev/null", []),
        ("grep x a.py 2>/dev/null", []),
        ("git status && git diff && git log", []),
        ("unheard_of a.py", [MayWrite()]),
    ],
)
def test_commands_are_known_by_what_they_write(line: str, actions: list[Action]) -> None:
    """What no table knows may have written anything."""
    assert [one for one in writes_of(line) if type(one).__name__ != "ShowDiff"] == actions


def test_a_command_that_may_not_have_run_is_only_a_doubt() -> None:
    """Behind `||`, in a branch, or behind something that failed."""
    doubt: list[Action | None] = [MayWrite("/repo/a.py")]
    assert writes_of("false || echo x > a.py") == doubt
    assert writes_of("if true; then echo x > a.py; fi") == doubt
    assert writes_of("true && echo x > a.py", succeeded=False) == doubt
    assert writes_of("true && echo x > a.py") == [WriteFile("/repo/a.py", "x\n")]


def test_the_folder_is_followed() -> None:
    """Until nobody knows where it leads."""
    assert shell_actions("cd src/../lib", "/repo", succeeded=True).folder == "/repo/lib"
    assert shell_actions("cd $x", "/repo", succeeded=True).folder is None
    assert shell_actions("(cd src)", "/repo", succeeded=True).folder == "/repo"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("cat a.py", ShowLines("/repo/a.py")),
        ("sed -n '2,5p' a.py", ShowLines("/repo/a.py", ranges=((2, 5),))),
        ("head -5 a.py", ShowLines("/repo/a.py", ranges=((1, 5),))),
        ("cat a.py | head -n 3", ShowLines("/repo/a.py", ranges=((1, 3),))),
        ("tail -n +4 a.py", ShowLines("/repo/a.py", ranges=((4, None),))),
        ("tail -3 a.py", ShowLines("/repo/a.py", from_end=True)),
        ("nl -ba a.py | sed -n '2,3p'", ShowLines("/repo/a.py", numbered=True, matches=True)),
        ("grep -n x a.py", ShowLines("/repo/a.py", numbered=True, matches=True)),
        ("grep -rn x .", ShowMatches("/repo")),
        ("cat a.py b.py", None),
        ("cat *.py", None),
        ("cat a.py | sort", None),
        ("sed -n '/x/p' a.py", None),
        ("cat a.py | tr a b", None),
    ],
)
def test_output_is_known_by_its_command(line: str, shown: Action | None) -> None:
    """Nothing is said of output whose lines nobody can place."""
    assert steps_of(line)[-1:] == [shown]


# ----------------------------------------------------------------------------------------------------------------- sed


@pytest.mark.parametrize(
    ("script", "action"),
    [
        ("3d", DeleteLines("f", 3, 3)),
        ("2,4d", DeleteLines("f", 2, 4)),
        ("s/a/b/", SubstituteLines("f", "a", "b")),
        ("2,3s|a/b|c|g", SubstituteLines("f", "a/b", "c", all_in_line=True, first=2, last=3)),
        (r"s/f(x)\.y/g/", SubstituteLines("f", "f(x).y", "g")),
        ("s/a.c/b/", MayWrite("f")),
        ("s/a/[&]/", MayWrite("f")),
        ("s/a/b/i", MayWrite("f")),
        ("/a/d", MayWrite("f")),
        ("$d", MayWrite("f")),
        ("1i\\new", MayWrite("f")),
    ],
)
def test_plain_scripts_are_applied(script: str, action: Action) -> None:
    """Anything cleverer may have done anything to the file."""
    assert sed_actions(script, "f", extended=False) == (action,)


WORDS = st.text(alphabet="ab.*/\\&[]$^ |()+?{}1n", min_size=1, max_size=5)


@given(WORDS, WORDS, st.sampled_from(["", "g", "2,3"]), st.booleans())
def test_substitutions_do_what_sed_does(old: str, new: str, flag: str, extended: bool) -> None:
    """As far as they are claimed to be known."""
    address, flags = (flag, "") if "," in flag else ("", flag)
    script = f"{address}s/{old}/{new}/{flags}"
    text = "aa.b a*b\n[a] b\\n/ a|b\na(b) +a $1 {a}\n"
    (action,) = sed_actions(script, "f", extended=extended)
    options = ["-E"] if extended else []
    done = subprocess.run(["sed", *options, script], input=text, capture_output=True, text=True, check=False)
    if isinstance(action, SubstituteLines):
        lines = text.split("\n")
        for index, line in enumerate(lines, 1):
            if action.first is None or action.first <= index <= (action.last or 0):
                lines[index - 1] = line.replace(action.old, action.new, -1 if action.all_in_line else 1)
        assert done.returncode == 0 and done.stdout == "\n".join(lines)


def test_a_patch_in_a_command_line_is_one() -> None:
    """In an envelope, or unified; one that is taken back is none."""
    envelope = "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch\nE"
    (step,) = writes_of(envelope)
    assert isinstance(step, PatchFile) and step.patch.path == "/repo/a.py" and step.patch.hunks[0].new == ("b",)
    unified = "{} <<'E'\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\nE"
    assert isinstance(writes_of(unified.format("git apply"))[0], PatchFile)
    assert writes_of(unified.format("git apply -R")) == [MayWrite()]
