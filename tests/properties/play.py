"""Random sessions: operations as data, and a player that applies them to a session."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import foveate
from foveate.log.sections import CacheTier, ContextSection

from .dialects import DIALECTS, Call, Dialect, Media, Result, Said

TOOLS = ("read_file", "write_file", "edit_file", "bash", "grep", "lookup", "mcp.server/read", "long_" * 15, "x" * 90)
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
    "hunter2",
)
TABOO = "hunter2"
"""What no request may show if a pass takes it out; tool definitions are not asked about, so it is in none."""
BUDGETS = (300, 900, 2_000, 4_000, 8_000, 32_000)
POLICIES = ("lines", "patient", "thorough", "lean", "frugal", "chat", "transparent", "mask", "drop", "default")
MEDIA = (
    Media("image", "image/png", content="iVBORw0KGgo="),
    Media("image", "image/png", url="https://example.org/a.png"),
    Media("image", "image/svg+xml", content="PHN2Zy8+"),
    Media("file", "application/pdf", content="JVBERi0="),
    Media("file", "application/pdf", url="https://example.org/a.pdf"),
    Media("audio", "audio/wav", content="UklGRg=="),
    Media("file", "text/plain", content="aGVsbG8="),
)
IDS = ("fresh", "fresh", "same", "few", "odd", "missing")
"""How an agent names its calls; where an id cannot be missing, it is the same again and again."""
TIERS: tuple[CacheTier, ...] = ("instructions", "stable", "volatile")

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
    """Operations as agents, users and broken logs produce them, in the format that the player was given."""
    for _ in range(count):
        yield _op(rng)


def wild_ops(rng: random.Random, count: int) -> Iterator[Op]:
    """The same, with pictures, thinking, reused and missing ids, formats that change, pins, tools and overrides."""
    for _ in range(count):
        yield _wild_op(rng) if rng.random() < 0.35 else _op(rng)


def _op(rng: random.Random) -> Op:
    roll = rng.random()
    steps: tuple[tuple[float, Callable[[], Op]], ...] = (
        (0.12, lambda: ("user", Said(text(rng)))),
        (0.20, lambda: ("assistant", Said(text(rng)))),
        (0.50, lambda: ("exchange", _calls(rng, (1, 1, 1, 2, 3)), Said(""), rng.random() < 0.2)),
        (0.53, lambda: ("unanswered", _calls(rng, (1, 2)), Said(""))),
        (0.55, lambda: ("late",)),
        (0.57, lambda: ("orphan", text(rng))),
        (0.59, lambda: ("reused", _calls(rng, (1,)))),
        (0.60, lambda: ("system", Said(text(rng)))),
        (0.62, lambda: (rng.choice(("pin", "unpin", "resolve")), rng.random())),
        (0.64, lambda: ("usage", rng.choice((0.7, 1.0, 1.2)), rng.choice((0.0, 1.0)))),
        (0.65, lambda: ("next_execution",)),
        (0.66, lambda: ("reframe", {"system": text(rng, 40) or None})),
        (1.00, lambda: ("compile", rng.choice((1.0, 1.0, 1.0, 2_000.0)), ())),
    )
    return next(make for most, make in steps if roll < most)()


def _wild_op(rng: random.Random) -> Op:
    roll = rng.random()
    steps: tuple[tuple[float, Callable[[], Op]], ...] = (
        (0.10, lambda: ("user", _said(rng))),
        (0.18, lambda: ("assistant", _said(rng, thinks=True))),
        (0.40, lambda: ("exchange", _calls(rng, (1, 1, 2, 3), wild=True), _said(rng, thinks=True), rng.random() < 0.2)),
        (0.44, lambda: ("unanswered", _calls(rng, (1, 2)), _said(rng, thinks=True))),
        (0.47, lambda: ("system", _said(rng))),
        (0.61, lambda: (rng.choice(("pin", "pin", "unpin", "resolve")), rng.random())),
        (0.66, lambda: ("dialect", rng.choice(tuple(DIALECTS)))),
        (0.70, lambda: ("ids", rng.choice(IDS))),
        (0.76, lambda: ("reframe", _framing(rng))),
        (0.80, lambda: ("resume",)),
        (0.84, lambda: ("override", _override(rng))),
        (1.00, lambda: ("compile", rng.choice((1.0, 400.0)), _sections(rng))),
    )
    return next(make for most, make in steps if roll < most)()


def _said(rng: random.Random, *, thinks: bool = False, shows: bool = True) -> Said:
    media = tuple(rng.choice(MEDIA) for _ in range(rng.choice((0, 0, 1, 2)))) if shows and not thinks else ()
    thinking = rng.choice((None, "", " ", text(rng, 30))) if thinks else None
    return Said(rng.choice(("", " ", text(rng), text(rng))), media, thinking)


def _framing(rng: random.Random) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = [
        {
            "type": "function",
            "function": {"name": name, "description": text(rng, 10).replace(TABOO, "x"), "parameters": schema},
        }
        for name in rng.sample(TOOLS, rng.randint(0, 4))
    ]
    answer = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    return {"tools": tools, "response_format": rng.choice((None, None, {"type": "json_object"}, answer))}


def _sections(rng: random.Random) -> tuple[ContextSection, ...]:
    return tuple(
        ContextSection(name=f"s{index}", content=text(rng, 30), source="fuzz", tier=rng.choice(TIERS))
        for index in range(rng.choice((0, 0, 1, 3)))
    )


def _override(rng: random.Random) -> list[tuple[str, Said]]:
    roles = [rng.choice(("user", "user", "assistant", "system")) for _ in range(rng.randint(0, 3))]
    return [(role, _said(rng, thinks=role == "assistant", shows=role == "user")) for role in roles]


Drawn = tuple[str, str, Said, bool]
"""A call and its result: name, arguments, what the tool says, whether it failed."""


def _calls(rng: random.Random, sizes: tuple[int, ...], *, wild: bool = False) -> list[Drawn]:
    return [_call(rng, wild=wild) for _ in range(rng.choice(sizes))]


def _call(rng: random.Random, *, wild: bool) -> Drawn:
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
    media = (rng.choice(MEDIA),) if wild and rng.random() < 0.2 else ()
    return name, encoded, Said(result, media), wild and rng.random() < 0.1


@dataclass
class Player:
    """Applies operations to a session, minting ids as an agent would."""

    session: foveate.Session
    options: dict[str, Any] = field(default_factory=dict)
    dialect: str = "openai"
    naming: str = "fresh"
    ids: int = 0
    now: float = 0.0
    sent: int = 0

    def apply(self, op: Op) -> foveate.CompiledContext | None:
        """One operation; a compiled view if it was a compile."""
        speak = DIALECTS[self.dialect]
        match op:
            case ("user", said):
                self.session.extend(speak.user(said))
            case ("assistant", said):
                self.session.extend(speak.assistant(said, ()))
            case ("system", said):
                self.session.extend(speak.system(said))
            case ("exchange", drawn, said, reverse):
                results = self._called(speak, drawn, said)
                self.session.extend(speak.results(results[::-1] if reverse else results))
            case ("unanswered", drawn, said):
                self._called(speak, drawn, said)
            case ("late",):
                self.session.extend(speak.results([Result(f"c{max(1, self.ids - 1)}", "late", "came late")]))
            case ("orphan", words):
                self.session.extend(speak.results([Result(f"nowhere{self.ids}", "lost", words)]))
            case ("reused", drawn):
                self.ids = max(0, self.ids - 1)
                self.session.extend(speak.results(self._called(speak, drawn, Said(""))))
            case ("dialect", name):
                self.dialect = name
            case ("ids", naming):
                self.naming = naming
            case ("compile", gap, sections):
                self.now += gap
                return self._sending(self.session.compile(now=self.now, sections=sections))
            case ("override", turns):
                raws = [raw for role, said in turns for raw in _turn(speak, role, said)]
                return self.session.compile(now=self.now, override=raws)
            case _:
                self._manage(op)
        return None

    def _manage(self, op: Op) -> None:
        match op:
            case ("pin" | "unpin" | "resolve" as verb, where):
                self._mark(verb, where)
            case ("usage", ratio, cached):
                self._usage(ratio, cached)
            case ("next_execution",):
                self.session.next_execution()
            case ("reframe", changes):
                self.session.reframe(**changes)
            case ("resume",):
                events = foveate.load_events(self.session.dump())
                self.session = foveate.Session.from_events(events, **self.options)
            case _:
                raise AssertionError(f"no such operation: {op!r}")

    def _sending(self, view: foveate.CompiledContext) -> foveate.CompiledContext:
        self.sent = view.tokens
        return view

    def _called(self, speak: Dialect, drawn: list[Drawn], said: Said) -> list[Result]:
        calls = [Call(self._id(), name, arguments) for name, arguments, _, _ in drawn]
        self.session.extend(speak.assistant(said, calls))
        return [
            Result(call.id, call.name, told.text, told.media, failed)
            for call, (_, _, told, failed) in zip(calls, drawn, strict=True)
        ]

    def _id(self) -> str | None:
        self.ids += 1
        match self.naming:
            case "missing" if self.dialect == "gemini":
                return None
            case "same" | "missing":
                return "c1"
            case "few":
                return f"c{self.ids % 3}"
            case "odd":
                return f"call:{self.ids}|{'y' * 70}"
            case _:
                return f"c{self.ids}"

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


def _turn(speak: Dialect, role: str, said: Said) -> list[dict[str, Any]]:
    match role:
        case "user":
            return speak.user(said)
        case "system":
            return speak.system(said)
        case _:
            return speak.assistant(said, ())
