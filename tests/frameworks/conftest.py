"""What the tests opened is closed, as sockets that are left open are errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bench.frameworks.work import OPENED


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
