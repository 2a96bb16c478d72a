"""Compiles a session with the Foveate of whatever environment runs this file: the worker of `read compile`.

It is run by the Python of another checkout, whose version it must not assume, so it uses nothing but what the package
has exported since 0.1: `Session`, `Message`, `BudgetError`. One JSON object comes in, one goes out for each call that
is wanted.
"""

from __future__ import annotations

import sys
from typing import Any

import msgspec

import foveate


def main() -> None:
    asked = msgspec.json.decode(sys.stdin.buffer.read())
    session = foveate.Session(
        budget=asked["budget"],
        policy=asked["policy"],
        model=asked["model"],
        system=asked["system"] or None,
        tools=asked["tools"],
    )
    wanted = set(asked["wanted"])
    for number, call in enumerate(asked["calls"]):
        session.extend(msgspec.convert(call["messages"], list[foveate.Message]))
        made = _made(session, call["at"])
        if number in wanted:
            sys.stdout.buffer.write(msgspec.json.encode({"call": number, **made}) + b"\n")


def _made(session: foveate.Session, now: float | None) -> dict[str, Any]:
    try:
        return {"chats": session.compile(now=now).to("openai")}
    except foveate.BudgetError as error:
        return {"problem": str(error)}


if __name__ == "__main__":
    main()
