"""An application over a real store, for the tests of the API.

A test module takes the fixtures by `client = serving.client`, after `from tests.api import serving`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from foveate import Session
from foveate.api import Place, create_app
from foveate.sample import coding_session, tools
from foveate.store import Store
from foveate.store.arrivals import import_lines
from tests.dialogue import call, calls, lines, result, says, user

ADDRESS = "http://127.0.0.1:8417"
SLASHED = "日志/2"


@cache
def sample_lines() -> tuple[bytes, ...]:
    """The events of the beginning of the sample session, a call before each response."""
    session = Session(budget=4_000, tools=tools(), session_id="sample")
    for index, message in enumerate(coding_session(turns=2)):
        if index and message["role"] == "assistant":
            session.compile()
        session.extend([message])
    return tuple(session.dump().splitlines())


def fill(file: Path) -> Path:
    """A store with the sample, and a small session that has tags, usage, a price, Chinese text and a slash."""
    with Store(file) as store:
        import_lines(store, sample_lines())
    with Session.open(file, SLASHED, vault="甲", model="anthropic:claude-sonnet-4-5", system="Be brief.") as session:
        session.append(user("订单总额是多少？"), time=1_700_000_000.0)
        session.compile(now=1_700_000_001.0)
        session.report_usage(2_000, 500)
        session.extend([calls(call("a", "Read", file_path="orders.py"), call("b", "bash", command="ls"))])
        session.extend([result("a", lines(400, "total_cents 4200")), result("b", "<script>alert(1)</script>")])
        session.compile()
        session.append(says("总额是 42 欧元。"))
        session.tag(experiment="甲", arm="8k")
    return file


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a filled store, for tests that change nothing another one looks at."""
    return fill(tmp_path_factory.mktemp("api") / "agent.db")


@pytest.fixture(scope="module")
def client(file: Path) -> Iterator[TestClient]:
    """Somebody who asks from this machine."""
    with asking(file) as asked:
        yield asked


def asking(file: Path | str, **options: Any) -> TestClient:
    """Somebody who asks an application over a store."""
    app = create_app(Place(store=file, system=Path(str(file)).parent), **options)
    return TestClient(app, base_url=ADDRESS, follow_redirects=False)


def good(client: TestClient, path: str, **query: Any) -> Any:
    """The answer to a question that has one."""
    answer = client.get(f"/api/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def bad(client: TestClient, status: int, path: str, **query: Any) -> tuple[str, str]:
    """What is said to a question that has no answer: the error and its remedy."""
    answer = client.get(f"/api/{path}", params=query)
    assert answer.status_code == status, answer.text
    said = answer.json()
    assert set(said) == {"error", "remedy"}
    return said["error"], said["remedy"]
