"""States of a directory: exact, the same for everybody, and without a trace in the user's repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foveate import ConfigError
from foveate.workflow.snapshots import SnapshotError, Snapshots

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def snapshots(tmp_path: Path, root: Path) -> Snapshots:
    return Snapshots(tmp_path / "states", root)


def git(directory: Path, *words: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    ran = subprocess.run(["git", *identity, *words], cwd=directory, check=True, capture_output=True, text=True)
    return ran.stdout


def commit(directory: Path) -> None:
    git(directory, "init", "-q")
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "--allow-empty", "-m", "first")


def test_a_file_that_is_also_one_outside_is_in_no_state(root: Path, snapshots: Snapshots, tmp_path: Path) -> None:
    """A diff goes to a model; two names within the directory are no reason to leave a file out."""
    before = snapshots.take()
    (tmp_path / "secret.txt").write_text("secret\n")
    os.link(tmp_path / "secret.txt", root / "innocent.txt")
    (root / "one.txt").write_text("both\n")
    os.link(root / "one.txt", root / "two.txt")
    after = snapshots.take()

    assert snapshots.changed(before, after) == ("one.txt", "two.txt")
    assert "secret" not in snapshots.diff(before, after)


def test_a_diff_shows_what_changed(root: Path, snapshots: Snapshots) -> None:
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "gone.txt").write_text("bye\n")
    before = snapshots.take()
    (root / "a.txt").write_text("one\n2\n")
    (root / "gone.txt").unlink()
    (root / "new.txt").write_text("hi\n")
    after = snapshots.take()

    assert snapshots.changed(before, after) == ("a.txt", "gone.txt", "new.txt")
    assert snapshots.changes(before, after) == {"a.txt": "modify", "gone.txt": "delete", "new.txt": "add"}
    assert snapshots.diff(before, after) == (
        "diff --git a/a.txt b/a.txt\n"
        "index 814f4a422927..99b356dcd03d 100644\n"
        "--- a/a.txt\n"
        "+++ b/a.txt\n"
        "@@ -1,2 +1,2 @@\n"
        " one\n"
        "-two\n"
        "+2\n"
        "diff --git a/gone.txt b/gone.txt\n"
        "deleted file mode 100644\n"
        "index b023018cabc3..000000000000\n"
        "--- a/gone.txt\n"
        "+++ /dev/null\n"
        "@@ -1 +0,0 @@\n"
        "-bye\n"
        "diff --git a/new.txt b/new.txt\n"
        "new file mode 100644\n"
        "index 000000000000..45b983be36b7\n"
        "--- /dev/null\n"
        "+++ b/new.txt\n"
        "@@ -0,0 +1 @@\n"
        "+hi\n"
    )
    assert snapshots.diff(after, after) == "" and snapshots.changed(after, after) == ()


def test_a_state_is_its_content(tmp_path: Path, root: Path, snapshots: Snapshots) -> None:
    """The same files have the same id, in another directory, process or repository too, and whatever was before."""
    assert snapshots.take() == EMPTY
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "c.txt").write_text("x")
    first = snapshots.take()
    (root / "a" / "b" / "c.txt").write_text("y")
    assert snapshots.take() != first
    (root / "a" / "b" / "c.txt").write_text("x")
    assert snapshots.take() == first
    assert Snapshots(tmp_path / "states", root).take() == first

    shutil.copytree(root, tmp_path / "copy")
    commit(tmp_path / "copy")
    assert Snapshots(tmp_path / "other", tmp_path / "copy").take() == first


def test_a_change_in_the_same_instant_is_seen(root: Path, snapshots: Snapshots) -> None:
    """Also one of the same size that puts the time of the file back."""
    file = root / "a.txt"
    seen = []
    for number in range(10, 30):
        file.write_text(f"{number}")
        seen.append(snapshots.take())
    assert len(set(seen)) == 20
    moment = file.stat().st_mtime_ns
    file.write_text("99")
    os.utime(file, ns=(moment, moment))

    assert snapshots.take() not in seen


def test_the_repository_of_the_user_is_only_read(tmp_path: Path, root: Path) -> None:
    """Index, status, history and every other file of it are the same to the byte."""
    (root / "staged.txt").write_text("1\n")
    (root / "committed.txt").write_text("1\n")
    commit(root)
    (root / "staged.txt").write_text("2\n")
    git(root, "add", "staged.txt")
    (root / "staged.txt").write_text("3\n")
    (root / "untracked.txt").write_text("1\n")
    # An index that git would like to refresh.
    os.utime(root / "committed.txt", (1, 1))

    def everything() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}

    before = everything()
    snapshots = Snapshots(tmp_path / "states", root)
    first = snapshots.take()
    (root / "untracked.txt").write_text("2\n")
    snapshots.diff(first, snapshots.take())

    assert everything() == before
    (root / "untracked.txt").write_text("1\n")
    assert git(root, "status", "--porcelain") == "MM staged.txt\n?? untracked.txt\n"
    assert snapshots.changed(EMPTY, first) == ("committed.txt", "staged.txt", "untracked.txt")


def test_no_program_that_a_repository_names_is_run(tmp_path: Path, root: Path, snapshots: Snapshots) -> None:
    (root / "a.txt").write_text("x\n")
    (root / ".gitattributes").write_text("*.txt filter=own diff=own\n")
    commit(root)
    for name in ("core.fsmonitor", "filter.own.clean", "filter.own.process", "diff.own.textconv", "diff.own.command"):
        git(root, "config", name, f"touch {tmp_path}/ran; cat")
    git(root, "update-index", "--fsmonitor")
    (tmp_path / "ran").unlink(missing_ok=True)

    first = snapshots.take()
    (root / "a.txt").write_text("y\n")

    assert "+y\n" in snapshots.diff(first, snapshots.take())
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("repository", [True, False])
def test_what_is_ignored_is_left_out(root: Path, snapshots: Snapshots, repository: bool) -> None:
    """With a repository or without; what the user tracks nevertheless belongs to it."""
    (root / ".gitignore").write_text("*.log\n/build/\n")
    (root / "build").mkdir()
    (root / "build" / "x").write_text("x")
    (root / "a.log").write_text("x")
    (root / "kept.log").write_text("x")
    if repository:
        git(root, "init", "-q")
        git(root, "add", "-f", "kept.log")

    kept = {"kept.log"} if repository else set()
    assert set(snapshots.changed(EMPTY, snapshots.take())) == {".gitignore"} | kept


def test_what_becomes_ignored_is_left_out_from_then_on(root: Path, snapshots: Snapshots) -> None:
    (root / "out.bin").write_text("x")
    before = snapshots.take()
    (root / ".gitignore").write_text("out.bin\n")

    assert snapshots.changed(before, snapshots.take()) == (".gitignore", "out.bin")


def test_a_folder_that_a_repository_around_it_ignores_still_has_a_state(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("scratch\n")
    commit(tmp_path)
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "a.txt").write_text("x")
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "b.txt").write_text("x")

    for name, file in (("scratch", "a.txt"), ("part", "b.txt")):
        snapshots = Snapshots(tmp_path.parent / f"{tmp_path.name}-{name}", tmp_path / name)
        assert snapshots.changed(EMPTY, snapshots.take()) == (file,)


def test_names_are_shown_as_they_are(root: Path, snapshots: Snapshots) -> None:
    odd = [
        "a b.txt",
        "'quoted'.txt",
        "-option",
        "git~1",
        "文件/说明.md",
        ":(top)x",
        "nl\nx",
        'dq".txt',
        "*",
        "back\\slash",
    ]
    for name in odd:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("text\n")
    after = snapshots.take()

    assert snapshots.changed(EMPTY, after) == tuple(sorted(odd))
    diff = snapshots.diff(EMPTY, after)
    assert "+++ b/文件/说明.md\n" in diff and "+++ b/a b.txt\t\n" in diff and "+++ b/'quoted'.txt\n" in diff
    assert diff.count("diff --git ") == len(odd)


def test_a_name_that_is_no_text_can_still_be_said(root: Path, snapshots: Snapshots) -> None:
    (root / os.fsdecode(b"\xff.txt")).write_text("x\n")
    after = snapshots.take()

    assert snapshots.changed(EMPTY, after) == ("\ufffd.txt",)
    snapshots.diff(EMPTY, after).encode()


def test_moves_links_modes_and_binary_files(root: Path, snapshots: Snapshots) -> None:
    text = "".join(f"line {number}\n" for number in range(50))
    (root / "old.txt").write_text(text)
    (root / "run.sh").write_text("x\n")
    (root / "image.png").write_bytes(b"\0\1\2")
    (root / "target").mkdir()
    (root / "target" / "t").write_text("x")
    (root / "folder").mkdir()
    (root / "folder" / "f").write_text("x")
    before = snapshots.take()
    (root / "old.txt").rename(root / "new.txt")
    (root / "run.sh").chmod(0o755)
    (root / "image.png").write_bytes(b"\0\1\3")
    shutil.rmtree(root / "folder")
    (root / "folder").symlink_to("target")
    after = snapshots.take()

    diff = snapshots.diff(before, after)
    assert "rename from old.txt\nrename to new.txt\n" in diff and "line 1" not in diff
    assert "old mode 100644\nnew mode 100755\n" in diff
    assert "Binary files a/image.png and b/image.png differ\n" in diff
    assert "new file mode 120000\n" in diff
    assert snapshots.changed(before, after) == ("folder", "folder/f", "image.png", "new.txt", "old.txt", "run.sh")


def test_a_tracked_folder_that_became_a_link_is_the_link(root: Path, snapshots: Snapshots) -> None:
    """The index of the user still has files in it."""
    for name in ("folder", "target"):
        (root / name).mkdir()
        (root / name / "f").write_text("x")
    commit(root)
    shutil.rmtree(root / "folder")
    (root / "folder").symlink_to("target")

    assert snapshots.changed(EMPTY, snapshots.take()) == ("folder", "target/f")
    (root / "folder").unlink()
    (root / "folder").write_text("now a file")
    assert snapshots.changed(EMPTY, snapshots.take()) == ("folder", "target/f")


def test_a_repository_inside_counts_as_the_files_it_has(root: Path, snapshots: Snapshots) -> None:
    """With a commit or without, as a submodule, or broken; changes in it are seen like all others."""
    for name in ("fresh", "library", "library/deeper", "broken"):
        (root / name).mkdir(exist_ok=True)
        (root / name / "code.py").write_text("1\n")
        (root / name / ".gitignore").write_text("*.log\n")
        (root / name / "x.log").write_text("x")
    git(root / "fresh", "init", "-q")
    commit(root / "library" / "deeper")
    commit(root / "library")
    commit(root / "broken")
    git(root, "init", "-q")
    git(root, "add", "library", "broken")
    shutil.rmtree(root / "broken" / ".git")
    (root / "broken" / ".git").write_text("gitdir: ../nowhere\n")

    before = snapshots.take()
    (root / "library" / "deeper" / "code.py").write_text("2\n")
    (root / "library" / "new.py").write_text("2\n")
    (root / "fresh" / "code.py").write_text("2\n")
    (root / "broken" / "code.py").write_text("2\n")
    after = snapshots.take()

    states = set(snapshots.changed(EMPTY, before))
    assert {"fresh/code.py", "library/code.py", "library/deeper/code.py", "broken/code.py"} <= states
    assert not any("/.git/" in f"/{name}/" or name == "library/x.log" for name in states)
    assert snapshots.changed(before, after) == (
        "broken/code.py",
        "fresh/code.py",
        "library/deeper/code.py",
        "library/new.py",
    )


def test_the_private_repository_inside_the_directory_is_no_part_of_it(root: Path) -> None:
    (root / "a.txt").write_text("x")
    git(root, "init", "-q")
    snapshots = Snapshots(root / ".foveate" / "states", root)
    first = snapshots.take()

    assert snapshots.take() == first
    assert snapshots.changed(EMPTY, first) == ("a.txt",)


def test_the_configuration_of_the_user_does_not_matter(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do the environment of a hook, attributes, global ignore files or a monitor."""
    (root / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    (root / "b.txt").write_text("$Id$\n")
    plain = Snapshots(tmp_path / "plain", root)
    first = plain.take()
    (root / "b.txt").write_text("$Id$ 2\n")
    second = plain.take()
    expected = plain.diff(first, second)

    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("*.txt\n")
    (home / ".config" / "git" / "attributes").write_text("* text eol=lf ident\n")
    (home / ".gitconfig").write_text(
        "[core]\nautocrlf = true\nfsmonitor = touch monitored\nhooksPath = /hooks\nabbrev = 20\npager = false\n"
        "[color]\nui = always\n[diff]\nnoprefix = true\nexternal = false\nmnemonicPrefix = true\nrenames = false\n"
        "[commit]\ngpgSign = true\n[init]\ntemplateDir = /absent\ndefaultObjectFormat = sha256\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.abbrev")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "30")

    other = Snapshots(tmp_path / "other", root)
    assert other.take() == second
    assert plain.take() == second and plain.diff(first, second) == expected
    assert not (tmp_path / "elsewhere").exists() and not (root / "monitored").exists()


def test_content_is_kept_to_the_byte_whatever_attributes_say(root: Path, snapshots: Snapshots) -> None:
    """A diff of two states is the same when the attributes of the directory have changed since."""
    (root / ".gitattributes").write_text("* text=auto eol=lf ident\n*.enc working-tree-encoding=UTF-16\n")
    (root / "a.txt").write_bytes(b"one\r\n$Id: mine$\r\n")
    (root / "b.enc").write_bytes(b"no utf-16")
    before = snapshots.take()
    (root / "a.txt").write_bytes(b"one\n$Id: mine$\r\n")
    after = snapshots.take()
    diff = snapshots.diff(before, after)

    assert "-one\r\n+one\n" in diff
    (root / ".gitattributes").write_text("* binary\n")
    assert snapshots.diff(before, after) == diff


def test_a_long_diff_keeps_something_of_each_file(root: Path, snapshots: Snapshots) -> None:
    """The longest are cut, so that a lock file does not hide the change beside it."""
    (root / "a.lock").write_text("".join(f"package {number}\n" for number in range(20_000)))
    (root / "b.py").write_text("print('small')\n")
    after = snapshots.take()

    diff = snapshots.diff(EMPTY, after, most=4_000)

    assert len(diff) <= 4_000
    assert "+package 100\n" in diff and "+print('small')\n" in diff
    shown = diff.count("\n+package ")
    assert f"[{20_000 - shown:,} more lines of the diff are left out]\n" in diff
    assert snapshots.diff(EMPTY, after, most=10**9) == snapshots.diff(EMPTY, after)
    with pytest.raises(ConfigError, match="`most` must be 1 character or more, got 0"):
        snapshots.diff(EMPTY, after, most=0)


def test_a_diff_of_many_files_is_bounded_too(root: Path, snapshots: Snapshots) -> None:
    for number in range(300):
        (root / f"{number:03}.txt").write_text("some text\n" * 20)
    after = snapshots.take()
    for most in (1, 50, 100, 500, 5_000, 50_000):
        assert len(snapshots.diff(EMPTY, after, most=most)) <= most
    assert snapshots.diff(EMPTY, after, most=5_000).count("diff --git") > 5


def test_what_cannot_work_is_said(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="`root` must be a directory"):
        Snapshots(tmp_path / "states", tmp_path / "absent")
    with pytest.raises(ConfigError, match="put it elsewhere"):
        Snapshots(root, root)
    commit(root)
    head = (root / ".git" / "HEAD").read_bytes()
    with pytest.raises(ConfigError, match="somebody's repository"):
        Snapshots(root / ".git", root)
    assert (root / ".git" / "HEAD").read_bytes() == head
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("x")
    with pytest.raises(ConfigError, match="cannot be created"):
        Snapshots(tmp_path / "full", root)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letter.txt"]
    snapshots = Snapshots(tmp_path / "states", root)
    for wrong in ("HEAD", "--output=/tmp/x", "", "0" * 40):
        with pytest.raises(SnapshotError):
            snapshots.diff(wrong, EMPTY)
    with pytest.raises(ConfigError, match="cannot be created"):
        Snapshots(tmp_path / "full" / "letter.txt" / "states", root)
    root.rename(tmp_path / "moved")
    with pytest.raises(SnapshotError, match="cannot be run in"):
        snapshots.take()
    (tmp_path / "moved").rename(root)
    shutil.rmtree(tmp_path / "states")
    with pytest.raises(SnapshotError, match="cannot be written"):
        snapshots.take()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="install git"):
        Snapshots(tmp_path / "more", root)


def test_a_take_that_was_killed_does_not_stop_the_next(tmp_path: Path, root: Path, snapshots: Snapshots) -> None:
    (root / "a.txt").write_text("x")
    (tmp_path / "states" / "index.lock").touch()
    (tmp_path / "states" / "index-left").mkdir()
    (tmp_path / "states" / "index-left" / "index.lock").touch()

    assert snapshots.changed(EMPTY, snapshots.take()) == ("a.txt",)


NAMES = st.sampled_from(["a", "b", "a/x", "a/y", "b/x/z", "文", "sp ace/f"])


@given(steps=st.lists(st.dictionaries(NAMES, st.binary(max_size=4)), min_size=1, max_size=5))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_states_is_taken_as_each_alone(
    tmp_path: Path, root: Path, snapshots: Snapshots, steps: list[dict[str, bytes]]
) -> None:
    """What was before, files in the place of folders included, leaves nothing in a later state."""
    for step in steps:
        shutil.rmtree(root)
        root.mkdir()
        # A name cannot be a file and a folder at once.
        kept = {name: step[name] for name in step if not any(other.startswith(f"{name}/") for other in step)}
        for name, content in kept.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        taken = snapshots.take()
        assert snapshots.changed(EMPTY, taken) == tuple(sorted(kept))
        shutil.rmtree(tmp_path / "fresh", ignore_errors=True)
        assert Snapshots(tmp_path / "fresh", root).take() == taken
