"""Variables of the user: who may say that commands, and the hooks of git, see them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from foveate.cli.work_run import named_outside
from foveate.git import git
from foveate.lab.config import config_at
from foveate.work.models import Task
from foveate.workflow.commits import commit
from tests.workflow.test_workflow import beginning


@pytest.mark.parametrize("repo", ["clone", "clone/part"])
def test_a_file_in_the_repository_names_no_variables(
    tmp_path: Path, repo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Agents can write there, and so can whoever shared the code: only the user says what commands see."""
    (tmp_path / "clone/part").mkdir(parents=True)
    (tmp_path / "clone/.git").mkdir()
    (tmp_path / "clone/foveate.toml").write_text('[work]\nenvironment = ["DATABASE_URL", "OTHER", "MINE"]\n')
    (tmp_path / "foveate.toml").write_text('[work]\nenvironment = ["MINE"]\n')
    begun = beginning(tmp_path / repo, environment=("OTHER",))

    assert named_outside(begun, config_at(start=tmp_path / repo)) == ("MINE",)
    assert "pass them with `--env DATABASE_URL`, or name" in " ".join(capsys.readouterr().err.split())


def test_the_users_own_file_names_variables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One above the repository is no part of what is shared; nothing needs to be said."""
    (tmp_path / "clone/.git").mkdir(parents=True)
    (tmp_path / "foveate.toml").write_text('[work]\nenvironment = ["MINE"]\n')
    config = config_at(start=tmp_path / "clone")

    assert named_outside(beginning(tmp_path / "clone"), config) == ("MINE",)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("repo", ["", "project"])
def test_a_home_folder_with_a_history_is_the_users_place(
    tmp_path: Path, repo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its foveate.toml counts for projects in it, but not for a run on the home folder itself."""
    (tmp_path / "project").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "foveate.toml").write_text('[work]\nenvironment = ["MINE"]\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    config = config_at(start=tmp_path / repo)

    assert named_outside(beginning(tmp_path / repo), config) == (("MINE",) if repo else ())


def repository(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "a.py").write_text("x = 1\n")
    for words in (["init", "-q"], ["config", "user.name", "n"], ["config", "user.email", "n@example.org"]):
        subprocess.run(["git", "-C", str(repo), *words], check=True)
    return repo


def test_a_hook_sees_what_commands_see_and_what_git_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent can write a hook or a filter, which the commit of its task then runs."""
    repo = repository(tmp_path)
    hook = repo / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\nenv > hooked.txt\n")
    hook.chmod(0o755)
    (repo / ".gitattributes").write_text("a.py filter=spy\n")
    subprocess.run(["git", "-C", str(repo), "config", "filter.spy.clean", "env > filtered.txt; cat"], check=True)
    monkeypatch.setenv("DATABASE_URL", "SECRET-URL")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    monkeypatch.setenv("NAMED", "by the user")

    commit(repo, ["a.py"], Task(id="T1", description="Add it."), also=["NAMED"])

    for name in ("hooked.txt", "filtered.txt"):
        seen = (repo / name).read_text()
        assert "SECRET-URL" not in seen
        assert "SSH_AUTH_SOCK=/run/agent" in seen and "NAMED=by the user" in seen and "PATH=" in seen


def test_git_that_reads_sees_no_more_than_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a repository has git start when files are taken up gets none of the user's variables."""
    repo = repository(tmp_path)
    (repo / ".gitattributes").write_text("a.py filter=spy\n")
    subprocess.run(["git", "-C", str(repo), "config", "filter.spy.clean", "env > filtered.txt; cat"], check=True)
    monkeypatch.setenv("DATABASE_URL", "SECRET-URL")

    git("add", "a.py", cwd=repo)

    seen = (repo / "filtered.txt").read_text()
    assert "PATH=" in seen and "SECRET-URL" not in seen
