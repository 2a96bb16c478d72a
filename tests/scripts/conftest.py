"""What tests of workflows share."""

from __future__ import annotations

from pathlib import Path

import pytest

from foveate.store import Store


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with nothing in it, to be copied: making its tables takes longer than most tests."""
    path = tmp_path_factory.mktemp("empty") / "context.db"
    with Store(path):
        return path
