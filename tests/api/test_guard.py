"""The guard: a server answers its own pages and programs of this machine, and nobody else without the token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import WebSocket
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocketDisconnect

from foveate.api.guard import COOKIE, Guard, is_loopback
from foveate.errors import ConfigError
from tests.api.serving import asking

TOKEN = "correct-horse-battery-staple"  # noqa: S105  it opens nothing else
ANY = "0.0.0.0"  # noqa: S104  nothing listens there


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Somebody who asks a server without a token."""
    with asking(tmp_path_factory.mktemp("guard") / "agent.db") as asked:
        yield asked


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[TestClient]:
    """Somebody who asks a server that others can reach."""
    with asking(tmp_path / "agent.db", token=TOKEN, host=ANY) as asked:
        yield asked


def status(client: TestClient, path: str = "/api/sessions", **headers: str) -> int:
    return client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()}).status_code


# --- names and origins --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "localhost:8417", "127.0.0.1:9999", "[::1]:8417", "LOCALHOST."])
def test_this_machine_is_answered_by_each_of_its_names(client: TestClient, host: str) -> None:
    assert status(client, host=host) == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8417", "localhost.evil.example", "", "::"])
def test_a_name_that_was_bent_to_this_address_is_refused(client: TestClient, host: str) -> None:
    """A page of another site can have its name resolved to 127.0.0.1; then the browser takes us for that site."""
    assert status(client, host=host) == 403


def test_two_host_headers_are_refused(client: TestClient) -> None:
    answer = client.get("/api/sessions", headers=[("host", "localhost"), ("host", "evil.example")])
    assert answer.status_code == 403
    assert answer.json()["remedy"] == "open it by the address it printed"


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost:8417", "file://", "http://["]
)
def test_a_page_of_another_origin_is_refused(client: TestClient, origin: str) -> None:
    """Another port of this machine is another origin, and so is another name of it."""
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        answer = client.request(method, "/api/sessions", headers={"origin": origin})
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_own_page_may_ask(client: TestClient) -> None:
    assert status(client, origin="http://127.0.0.1:8417", sec_fetch_site="same-origin") == 200


def test_a_page_that_only_embeds_something_of_ours_is_refused(client: TestClient) -> None:
    """Browsers send no origin with images and scripts, but say where they come from."""
    assert status(client, sec_fetch_site="cross-site", sec_fetch_mode="no-cors") == 403
    assert status(client, sec_fetch_site="same-site", sec_fetch_mode="cors") == 403
    assert status(client, sec_fetch_site="cross-site", sec_fetch_mode="navigate") == 200
    sent = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.post("/api/sessions/import", headers=sent).status_code == 403


def test_a_socket_of_another_origin_is_refused(tmp_path: Path) -> None:
    with asking(tmp_path / "agent.db") as client:

        @client.app.websocket("/live")  # type: ignore[attr-defined]
        async def live(socket: WebSocket) -> None:
            await socket.accept()
            await socket.send_text("hello")
            await socket.close()

        with client.websocket_connect("/live", headers={"host": "127.0.0.1:8417"}) as socket:
            assert socket.receive_text() == "hello"
        foreign = {"host": "127.0.0.1:8417", "origin": "https://evil.example"}
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/live", headers=foreign):
            pass


def test_every_answer_tells_browsers_what_not_to_do_with_it(client: TestClient) -> None:
    for path in ("/api/sessions", "/api/nothing", "/api/docs", "/api/openapi.json"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
    refused = client.get("/api/sessions", headers={"host": "evil.example"})
    assert refused.headers["x-content-type-options"] == "nosniff"


# --- the token ----------------------------------------------------------------------------------------------------


def test_an_address_that_others_reach_demands_a_token(tmp_path: Path) -> None:
    for host in (ANY, "::", "192.168.1.7", "my-machine", ""):
        with pytest.raises(ConfigError, match=r"`--token`.*FOVEATE_TOKEN"):
            asking(tmp_path / "agent.db", host=host)
    assert not list(tmp_path.iterdir()), "nothing was made"


@pytest.mark.parametrize("token", ["", " ", "a b\n", "秘密", " x"])
def test_a_token_that_no_header_can_carry_is_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(ConfigError, match="`--token`"):
        asking(tmp_path / "agent.db", token=token)


def test_without_the_token_nothing_is_answered(guarded: TestClient) -> None:
    for path in ("/api/sessions", "/api/docs", "/api/openapi.json", "/", "/nothing", "/api/sessions?token=wrong"):
        answer = guarded.get(path)
        assert answer.status_code == 401, path
        assert "Authorization: Bearer" in answer.json()["remedy"]
    assert guarded.post("/api/sessions/import", content=b"[]", params={"token": TOKEN}).status_code == 401


@pytest.mark.parametrize(
    "header", [f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer", "Bearer ", "Bearer é"]
)
def test_another_token_is_refused(guarded: TestClient, header: str) -> None:
    assert guarded.get("/api/sessions", headers={"authorization": header.encode()}).status_code == 401


def test_a_program_gives_the_token_with_each_request(guarded: TestClient) -> None:
    assert status(guarded, authorization=f"Bearer {TOKEN}") == 200
    assert status(guarded, authorization=f"bearer  {TOKEN}", host="192.168.1.7:8417") == 200


def test_a_browser_gives_the_token_once(guarded: TestClient) -> None:
    """It is taken out of the address, and the cookie that is left does not tell it to others on this machine."""
    answer = guarded.get("/api/sessions", params={"search": "订单 &", "token": TOKEN})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/api/sessions?search=%E8%AE%A2%E5%8D%95+%26"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and TOKEN not in cookie
    assert status(guarded) == 200, "the client keeps cookies"
    guarded.cookies.clear()
    assert status(guarded, cookie=f"{COOKIE}={TOKEN}") == 401


def test_the_way_back_stays_on_this_server(guarded: TestClient) -> None:
    for path in ("//evil.example/", "/%5Cevil.example", "/\\evil.example"):
        answer = guarded.send(guarded.build_request("GET", f"http://127.0.0.1:8417{path}?token={TOKEN}"))
        assert answer.status_code == 303
        assert not answer.headers["location"].startswith(("//", "/\\", "http"))
        guarded.cookies.clear()


@given(token=st.text(min_size=1))
def test_no_other_token_opens(token: str) -> None:
    guard = Guard(_nobody, host=ANY, token=TOKEN)
    asked = {
        "type": "http",
        "method": "GET",
        "headers": [(b"authorization", b"Bearer " + token.encode("utf-8", "surrogatepass")), (b"host", b"x")],
    }
    assert guard._knows(HTTPConnection(asked)) is (token.strip() == TOKEN)


async def _nobody(*_asked: object) -> None:
    raise AssertionError("nobody is asked")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *[("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True)],
        *[(ANY, False), ("::", False), ("10.0.0.1", False), ("localhost.example", False), ("", False)],
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
