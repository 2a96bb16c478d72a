"""Requests of somebody who has no business here; for tests and for `make attack`."""

from __future__ import annotations

from httpx import Client, Response

FOREIGN_ORIGINS = ("http://evil.example", "https://127.0.0.1:8417.evil.example", "null", "http://127.0.0.1:1")
FOREIGN_HOSTS = ("evil.example", "127.0.0.1.evil.example:8417", "localhost.evil.example", "::")


def guess_tokens(client: Client, times: int) -> list[Response]:
    """Guess the token of a server some times; all but the first few must be answered with 429."""
    return [client.get("/api/sessions", headers={"authorization": f"Bearer guess-{number}"}) for number in range(times)]


def attack_origins(client: Client, path: str = "/api/sessions") -> tuple[int, list[str]]:
    """Ask from other origins and by other names: how many were tried, and those that were answered."""
    asked = [("origin", one) for one in FOREIGN_ORIGINS] + [("host", one) for one in FOREIGN_HOSTS]
    answered = [value for name, value in asked if client.get(path, headers={name: value}).status_code != 403]
    return len(asked), answered
