"""Random sessions: operations as data, and a player that applies them to a session."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import foveate

TOOLS = ("read_file", "write_file", "edit_file", "bash", "grep", "lookup")
PATHS = ("src/app.py", "src/billing/invoice.py", "tests/test_app.py", "README.md", "docs/订单.md")
WORDS = (
    "order",
    "parse_order",
    "ORD-20931",
    "refund",
    "total_cents",
    "the",
    "of",
    "失败",
    "测试",
    "never",
    "🙂",
    "a1b2c3d4",
)
BUDGETS = (300, 900, 2_000, 4_000, 8_000, 32_000)
POLICIES = ("default", "patient", "thorough", "lean", "frugal", "chat", "transparent", "mask", "drop")

Op = tuple[Any, ...]


def text(rng: random.Random, most: int = 400) -> str:
    """Words, lines, now and then a very long or an empty text."""
    roll = rng.random()
    if roll < 0.05:
        return rng.choice(("", " ", "\n\n"))
    length = rng.randint(1, 28) if roll < 0.9 else rng.randint(most // 2, most * 4)
    pieces = [rng.choice(WORDS) if rng.random() < 0.7 else rng.choice(PATHS) for _ in range(length)]
    return "".join(piece + ("\n" if rng.random() < 0.15 else " ") for piece in pieces)


def random_ops(rng: random.Random, count: int) -> Iterator[Op]:
    """Operations as agents, users and broken logs produce them."""
    for _ in range(count):
        roll = rng.random()
        if roll < 0.12:
            yield ("user", text(rng))
        elif roll < 0.20:
            yield ("assistant", text(rng))
        elif roll < 0.50:
            yield ("exchange", [_call(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))], rng.random() < 0.2)
        elif roll < 0.53:
            yield ("unanswered", [_call(rng) for _ in range(rng.choice((1, 2)))])
        elif roll < 0.55:
            yield ("late",)
        elif roll < 0.57:
            yield ("orphan", text(rng))
        elif roll < 0.59:
            yield ("reused", _call(rng))
        elif roll < 0.60:
            yield ("system", text(rng))
        elif roll < 0.62:
            yield (rng.choice(("pin", "unpin", "resolve")), rng.random())
        elif roll < 0.64:
            yield ("usage", rng.choice((0.7, 1.0, 1.2)), rng.choice((0.0, 1.0)))
        elif roll < 0.65:
            yield ("next_execution",)
        elif roll < 0.66:
            yield ("reframe", text(rng, 40))
        else:
            yield ("compile", rng.choice((1.0, 1.0, 1.0, 2_000.0)))


def _call(rng: random.Random) -> tuple[str, str, str]:
    name = rng.choice(TOOLS)
    arguments: dict[str, Any] = {"path": rng.choice(PATHS)}
    if name == "bash":
        arguments = {"command": rng.choice(("pytest -q", "cat src/app.py", "git push", "ls"))}
    if name in ("write_file", "edit_file"):
        arguments["content"] = text(rng)
    encoded = json.dumps(arguments, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.03:
        encoded = encoded[:-1]
    result = text(rng)
    if rng.random() < 0.2:
        result = rng.choice(("Error: no such file\n", "exit code 1\n", "The user doesn't want to proceed\n")) + result
    return name, encoded, result


@dataclass
class Player:
    """Applies operations to a session, minting ids as an agent would."""

    session: foveate.Session
    ids: int = 0
    now: float = 0.0
    sent: int = 0

    def apply(self, op: Op) -> foveate.CompiledContext | None:
        """One operation; a compiled view if it was a compile."""
        match op:
            case ("user" | "assistant" | "system" as role, words):
                self.session.append({"role": role, "content": words})
            case ("exchange", calls, reverse):
                results = self._calls(calls)
                self.session.extend(reversed(results) if reverse else results)
            case ("unanswered", calls):
                self._calls(calls)
            case ("late",):
                self._late()
            case ("orphan", words):
                self.session.append({"role": "tool", "tool_call_id": f"nowhere{self.ids}", "content": words})
            case ("reused", call):
                self.ids = max(0, self.ids - 1)
                self.session.extend(self._calls([call]))
            case ("pin" | "unpin" | "resolve" as verb, where):
                self._mark(verb, where)
            case ("usage", ratio, cached):
                self._usage(ratio, cached)
            case ("next_execution",):
                self.session.next_execution()
            case ("reframe", words):
                self.session.reframe(system=words or None)
            case ("compile", gap):
                self.now += gap
                view = self.session.compile(now=self.now)
                self.sent = view.tokens
                return view
        return None

    def _calls(self, calls: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
        wire, results = [], []
        for name, arguments, result in calls:
            self.ids += 1
            wire.append({"id": f"c{self.ids}", "type": "function", "function": {"name": name, "arguments": arguments}})
            results.append({"role": "tool", "tool_call_id": f"c{self.ids}", "content": result})
        self.session.append({"role": "assistant", "content": None, "tool_calls": wire})
        return results

    def _late(self) -> None:
        self.session.append({"role": "tool", "tool_call_id": f"c{max(1, self.ids - 1)}", "content": "came late"})

    def _mark(self, verb: str, where: float) -> None:
        messages = self.session.messages
        if not messages:
            return
        message_id = messages[int(where * len(messages))].id
        if verb == "unpin":
            pins = self.session.pins
            if pins:
                self.session.unpin(pins[int(where * len(pins))])
        elif verb == "pin" and len(self.session.pins) < 3:
            self.session.pin(message_id)
        elif verb == "resolve":
            self.session.resolve(message_id)

    def _usage(self, ratio: float, cached: float) -> None:
        if self.sent:
            tokens = int(self.sent * ratio)
            self.session.report_usage(tokens, int(tokens * cached))
