"""Links: the addresses of pages; names of sessions may hold any sign, so they stand in the query."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from foveate.web.replaying import Lens


def to_session(session: str, lens: Lens | None = None) -> str:
    """The timeline of a session."""
    return _to("/session", session, lens)


def to_call(session: str, number: int, lens: Lens | None = None) -> str:
    """One call."""
    return _to("/call", session, lens, n=number)


def to_next(session: str, lens: Lens | None = None) -> str:
    """What the model would see now."""
    return _to("/next", session, lens)


def to_difference(session: str, first: int, second: int, lens: Lens | None = None) -> str:
    """What differs between two calls."""
    return _to("/diff", session, lens, a=first, b=second)


def to_log(session: str, message: str | None = None, lens: Lens | None = None) -> str:
    """The log of a session, or one message of it."""
    return _to("/log", session, lens, message=message)


def to_chat(session: str) -> str:
    """A session as a chat that goes on."""
    return _to("/chat", session, None)


def to_transcript(session: str) -> str:
    """The conversation of a session as a file."""
    return f"/api/sessions/{quote(session, safe='')}/transcript"


def to_template(name: str) -> str:
    """One template."""
    return f"/templates?{urlencode({'name': name})}"


def lens_of(policy: str, budget: str, model: str) -> Lens | None:
    """The lens that an address names; None if it names none."""
    if not policy:
        return None
    return Lens(policy=policy, budget=number_in(budget) or None, model=model or None)


def number_in(text: str) -> int:
    """The number that an address names; 0, which nothing has, if it names none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _to(path: str, session: str, lens: Lens | None, **more: object) -> str:
    asked: dict[str, object] = {"id": session, **{name: value for name, value in more.items() if value is not None}}
    if lens is not None:
        asked |= {"policy": lens.policy, "budget": lens.budget or 0, "model": lens.model or ""}
    return f"{path}?{urlencode(asked)}"
