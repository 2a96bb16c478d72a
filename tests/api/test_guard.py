"""The guard: a server answers its own pages and programs of this machine, and nobody else without the token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fastapi import WebSocket
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.websockets import WebSocketDisconnect

from foveate.api.admission import COOKIE_SECONDS, GUESS_SECONDS, MOST_GUESSES, MOST_GUESSES_OF_ALL, Cookies, Tokens
from foveate.api.guard import COOKIE, is_loopback
from foveate.errors import ConfigError
from tests.api.hostile_requests import guess_tokens
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


def test_the_login_page_sends_the_token_in_the_body(guarded: TestClient) -> None:
    """No address has it, so no history does; the way leads back to the page that was asked for."""
    page = guarded.get("/log", params={"id": 'a"b'}, headers={"accept": "text/html"})
    assert page.status_code == 401
    assert "<form method=post action='/login'>" in page.text
    assert 'name=next value="/log?id=a%22b"' in page.text
    assert "<label for=token>Access token</label>" in page.text
    answer = guarded.post("/login", data={"token": TOKEN, "next": "/log?id=a%22b"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/log?id=a%22b")
    assert answer.headers["set-cookie"].startswith(f"{COOKIE}=")
    assert status(guarded) == 200, "the client keeps cookies"
    again = guarded.get("/login", headers={"accept": "text/html"})
    assert (again.status_code, again.headers["location"]) == (303, "/")


def test_a_wrong_token_at_the_login_page_is_a_guess(guarded: TestClient) -> None:
    """The page says so, and how long to wait after some of them; another site's form does not count."""
    foreign = guarded.post("/login", data={"token": TOKEN}, headers={"origin": "http://evil.example"})
    assert foreign.status_code == 403
    answers = [guarded.post("/login", data={"token": "wrong"}) for _ in range(MOST_GUESSES + 1)]
    assert [one.status_code for one in answers] == [401] * MOST_GUESSES + [429]
    assert "That is not the token." in answers[0].text
    assert f"Wait {answers[-1].headers['retry-after']} seconds" in answers[-1].text
    assert not any(COOKIE in one.headers.get("set-cookie", "") for one in answers)


@pytest.mark.parametrize(
    "back", ["//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example", "", "/login", "x"]
)
def test_a_login_leads_to_no_other_server(guarded: TestClient, back: str) -> None:
    answer = guarded.post("/login", data={"token": TOKEN, "next": back})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"token", b"token=" + b"x" * 100_000, b"=&=&token=%ff"])
def test_a_login_that_is_none_gets_the_form(guarded: TestClient, body: bytes) -> None:
    assert guarded.post("/login", content=body).status_code == 401


def test_a_token_in_an_address_is_taken_away_at_once(guarded: TestClient) -> None:
    """Also from who is logged in already; right or wrong, it stays in no history."""
    guarded.post("/login", data={"token": TOKEN})
    for token in (TOKEN, "wrong"):
        answer = guarded.get("/log", params={"id": "a", "token": token})
        assert (answer.status_code, answer.headers["location"]) == (303, "/log?id=a")


@given(token=st.text(min_size=1))
def test_no_other_token_opens(token: str) -> None:
    tokens = Tokens(TOKEN)
    assert tokens.is_right(token, "192.0.2.1") is (token == TOKEN)


def test_a_cookie_ends_after_some_days_and_with_a_logout() -> None:
    """Also a copy of it, and one that was changed to last longer."""
    now = 1_000_000.0
    cookies = Cookies(clock=lambda: now)
    first, second = cookies.issue(), cookies.issue()
    assert cookies.is_valid(first) and cookies.is_valid(second) and first != second
    cookies.revoke(first)
    assert not cookies.is_valid(first) and cookies.is_valid(second)
    now += COOKIE_SECONDS - 1
    assert cookies.is_valid(second)
    now += 2
    assert not cookies.is_valid(second)
    _, nonce, signature = second.split(".")
    assert not cookies.is_valid(f"{int(now) + 1000}.{nonce}.{signature}")
    for wrong in ("", ".", "..", "x", "1.2.3", TOKEN, "é.é.é"):
        assert not cookies.is_valid(wrong)


def test_logging_out_ends_what_the_browser_has(guarded: TestClient) -> None:
    """The cookie is taken back, and a copy of it opens nothing any more; other sites cannot do it."""
    guarded.get("/", params={"token": TOKEN})
    copy = guarded.cookies[COOKIE]
    foreign = guarded.post("/logout", headers={"origin": "http://evil.example"})
    assert foreign.status_code == 403 and status(guarded) == 200
    answer = guarded.post("/logout")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    guarded.cookies.clear()
    assert status(guarded, cookie=f"{COOKIE}={copy}") == 401


def test_a_cookie_lasts_some_days_and_is_for_this_server_alone(guarded: TestClient) -> None:
    cookie = guarded.get("/", params={"token": TOKEN}).headers["set-cookie"]
    assert f"Max-Age={COOKIE_SECONDS}" in cookie and "HttpOnly" in cookie and "SameSite=lax" in cookie
    assert "Secure" not in cookie, "over plain HTTP a browser would drop it"
    secure = guarded.get("https://127.0.0.1:8417/", params={"token": TOKEN}, headers={"cookie": ""})
    assert "Secure" in secure.headers["set-cookie"]


def test_guessing_is_slowed_down(guarded: TestClient) -> None:
    """After some wrong tokens nobody at that address may try, not even the right one; a cookie still opens."""
    guarded.get("/", params={"token": TOKEN})
    cookie = guarded.cookies[COOKIE]
    guarded.cookies.clear()
    answers = guess_tokens(guarded, MOST_GUESSES + 5)
    assert [one.status_code for one in answers] == [401] * MOST_GUESSES + [429] * 5
    wait = int(answers[-1].headers["retry-after"])
    assert 1 <= wait <= GUESS_SECONDS
    assert answers[-1].json()["remedy"] == f"wait {wait} seconds and give the right one"
    assert status(guarded, authorization=f"Bearer {TOKEN}") == 429
    assert guarded.get("/", params={"token": TOKEN}).status_code == 429
    assert status(guarded) == 401, "who gives no token does not guess"
    assert status(guarded, cookie=f"{COOKIE}={cookie}") == 200


def test_guesses_come_back_with_time_and_are_counted_for_each_and_for_all() -> None:
    """One network cannot lock out others; many together are slowed down, except where the right one came from."""
    now = 0.0
    tokens = Tokens(TOKEN, clock=lambda: now)
    assert tokens.is_right(TOKEN, "198.51.100.1")
    for _ in range(MOST_GUESSES):
        assert tokens.wait_for("192.0.2.1") == 0
        assert not tokens.is_right("wrong", "192.0.2.1")
    assert tokens.wait_for("192.0.2.1") > 0 == tokens.wait_for("192.0.2.2")
    now += GUESS_SECONDS / MOST_GUESSES + 0.1
    assert tokens.wait_for("192.0.2.1") == 0
    for number in range(2 * MOST_GUESSES_OF_ALL):
        tokens.is_right("wrong", f"2001:db8:0:{number:x}::1")
    assert tokens.wait_for("192.0.2.2") > 0 == tokens.wait_for("198.51.100.1")
    for number in range(MOST_GUESSES):
        tokens.is_right("wrong", f"2001:db8:ffff:1::{number:x}")
    assert tokens.wait_for("2001:db8:ffff:1:abcd::") > 0
    now += 10 * GUESS_SECONDS
    assert tokens.wait_for("192.0.2.2") == 0


def test_a_socket_without_the_token_is_refused(tmp_path: Path) -> None:
    """Also one of the right origin; with the token it is opened."""
    with asking(tmp_path / "agent.db", token=TOKEN, host=ANY) as client:

        @client.app.websocket("/live")  # type: ignore[attr-defined]
        async def live(socket: WebSocket) -> None:
            await socket.accept()
            await socket.send_text("hello")
            await socket.close()

        host = {"host": "127.0.0.1:8417", "origin": "http://127.0.0.1:8417"}
        for extra in ({}, {"cookie": f"{COOKIE}=x"}, {"authorization": "Bearer wrong"}):
            with pytest.raises(WebSocketDisconnect), client.websocket_connect("/live", headers={**host, **extra}):
                pytest.fail("it was opened")
        foreign = {**host, "origin": "http://evil.example", "authorization": f"Bearer {TOKEN}"}
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/live", headers=foreign):
            pytest.fail("it was opened")
        with client.websocket_connect("/live", headers={**host, "authorization": f"Bearer {TOKEN}"}) as socket:
            assert socket.receive_text() == "hello"


def _with_echo(client: TestClient) -> dict[str, str]:
    """An application with a socket that says everything twice, and what a browser that has logged in asks it with."""

    @client.app.websocket("/live")  # type: ignore[attr-defined]
    async def live(socket: WebSocket) -> None:
        await socket.accept()
        with suppress(WebSocketDisconnect):
            while True:
                await socket.send_text(2 * await socket.receive_text())

    client.post("/login", data={"token": TOKEN})
    return {"host": "127.0.0.1:8417", "origin": "http://127.0.0.1:8417", "cookie": f"{COOKIE}={client.cookies[COOKIE]}"}


def test_logging_out_ends_the_open_sockets_of_the_cookie(tmp_path: Path) -> None:
    """Those of the browser that logs out, and of nobody else."""
    with asking(tmp_path / "agent.db", token=TOKEN, host=ANY) as client:
        headers = _with_echo(client)
        mine, others = client.cookies[COOKIE], {**headers, "cookie": "", "authorization": f"Bearer {TOKEN}"}
        with (
            client.websocket_connect("/live", headers=headers) as socket,
            client.websocket_connect("/live", headers=others) as other,
        ):
            socket.send_text("a")
            assert socket.receive_text() == "aa"
            assert client.post("/logout", headers={"cookie": f"{COOKIE}={mine}"}).status_code == 303
            with pytest.raises(WebSocketDisconnect) as ended:
                socket.receive_text()
            assert ended.value.code == 1008
            other.send_text("b")
            assert other.receive_text() == "bb"


def test_a_socket_ends_when_its_cookie_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was let in by something that is no longer valid."""
    monkeypatch.setattr("foveate.api.admission.COOKIE_SECONDS", 2)
    with asking(tmp_path / "agent.db", token=TOKEN, host=ANY) as client:
        headers = _with_echo(client)
        with client.websocket_connect("/live", headers=headers) as socket:
            socket.send_text("a")
            assert socket.receive_text() == "aa"
            with pytest.raises(WebSocketDisconnect) as ended:
                socket.receive_text()
            assert ended.value.code == 1008


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *[("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True)],
        *[(ANY, False), ("::", False), ("10.0.0.1", False), ("localhost.example", False), ("", False)],
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
