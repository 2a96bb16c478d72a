"""Knowledge for tests: a new project each, in one database for each engine, which takes longer to make.

A test module takes the fixture by `knowledge = projects.knowledge`, after `from tests.knowledge import projects`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

import pytest

from foveate.knowledge.base import Knowledge
from foveate.store import Store
from tests.store import engines

_urls: Final[dict[str, str]] = {}
_numbers: Final = count()


@pytest.fixture(params=["sqlite", "postgresql"])
def knowledge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Knowledge]:
    """What a new project knows: nothing yet."""
    if request.param not in _urls:
        if request.param == "sqlite":
            _urls["sqlite"] = engines.fresh_sqlite(tmp_path_factory.mktemp("knowledge"))
        else:
            _urls["postgresql"] = engines.fresh_postgresql(request)
        request.session.addfinalizer(_urls.clear)
    with Store(_urls[request.param]) as store:
        yield Knowledge(store, f"project {next(_numbers)}")
