"""Where sessions are kept is decided by one order of rules, and the rule is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from foveate.errors import ConfigError
from foveate.store.location import located


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of the person who runs the tests decides."""
    monkeypatch.delenv("FOVEATE_STORE", raising=False)
    monkeypatch.delenv("FOVEATE_SYSTEM", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_without_anything_it_is_the_users_data_directory() -> None:
    """A file with a name of its own in a folder of its own."""
    place = located()
    assert Path(place.store).parts[-2:] == ("foveate", "context.db")
    assert "user's data directory" in place.rule


def test_each_rule_gives_way_to_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--store`, `--system`, FOVEATE_STORE, FOVEATE_SYSTEM, in this order: what is given counts before what is set."""
    monkeypatch.setenv("FOVEATE_SYSTEM", "machine")
    assert located() == (Path("machine/context.db"), "the variable FOVEATE_SYSTEM")
    monkeypatch.setenv("FOVEATE_STORE", "postgresql://host/name")
    assert located() == ("postgresql://host/name", "the variable FOVEATE_STORE")
    assert located(system="given") == (Path("given/context.db"), "the option `--system`")
    assert located("mine.db", system="given") == ("mine.db", "the option `--store`")


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As shells have it: set to nothing is not set."""
    monkeypatch.setenv("FOVEATE_STORE", "")
    monkeypatch.setenv("FOVEATE_SYSTEM", "")
    assert "user's data directory" in located().rule


def test_the_home_directory_may_be_written_as_a_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No shell expands a variable in a service's settings."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FOVEATE_SYSTEM", "~/agent")
    assert located().store == tmp_path / "agent" / "context.db"


@pytest.mark.parametrize("system", ["", "  "])
def test_an_empty_folder_is_refused(system: str) -> None:
    """The error names the option and what to give instead."""
    with pytest.raises(ConfigError, match="`--system` is empty; give a folder"):
        located(system=system)


def test_a_file_is_no_system(tmp_path: Path) -> None:
    """Who means a file is told which option takes one."""
    file = tmp_path / "agent.db"
    file.touch()
    with pytest.raises(ConfigError, match=r"agent\.db', which is a file and no folder; give a file with `--store`"):
        located(system=file)
