"""Which project a folder belongs to, and what the package offers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import foveate.knowledge
from foveate.errors import ConfigError
from foveate.knowledge.project import project_of, root_of


def test_a_project_has_the_name_of_its_repository_else_of_its_folder(tmp_path: Path) -> None:
    """The same in every folder of it; a repository inside another one is a project of its own."""
    deep = tmp_path / "shop" / "src" / "deep"
    deep.mkdir(parents=True)
    assert (project_of(deep), root_of(deep)) == ("deep", deep.resolve())
    (tmp_path / "shop" / ".git").mkdir()
    assert (project_of(deep), root_of(deep)) == ("shop", (tmp_path / "shop").resolve())
    (tmp_path / "shop" / "src" / ".git").write_text("gitdir: elsewhere")
    assert project_of(deep) == "src"


def test_a_project_that_is_named_is_that_one(tmp_path: Path) -> None:
    assert project_of(tmp_path, "Café") == "Café"
    with pytest.raises(ConfigError, match="`project` ' ' is no name"):
        project_of(tmp_path, " ")
    assert project_of(Path("/")) == "default"


def test_what_the_package_offers_is_there_and_says_what_it_is() -> None:
    """Its names in the order ruff sorts them, each with a docstring; nothing else comes of it."""
    names = foveate.knowledge.__all__
    assert names == sorted(names, key=lambda name: (name[0].islower(), name))
    assert all((getattr(foveate.knowledge, name).__doc__ or "").strip() for name in names)
    assert not hasattr(foveate.knowledge, "nothing")


def test_importing_the_package_waits_for_no_database() -> None:
    code = "import sys, foveate.knowledge, foveate.agents; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
