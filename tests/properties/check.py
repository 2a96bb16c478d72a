"""What must hold of every compile, whatever was said: checked by tests and by the fuzzer."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import foveate
from foveate.chat.templates import template_of
from foveate.chat.working_view import Keeping, endless_policy
from foveate.compile.draft import Draft, PassContext
from foveate.compile.pass_protocol import pass_name, runs_on
from foveate.compile.rules import Facts, broken
from foveate.log.messages import Media, Message, Text, ToolCall, ToolResult
from foveate.wire.format import OPENING
from foveate.wire.formats import FORMATS
from tests.validity import problems, whole_problems

from .dialects import DIALECTS
from .play import BUDGETS, IDS, POLICIES, TABOO, Op, Player, random_ops, wild_ops


@dataclass(frozen=True)
class Checked:
    """A pass that checks every rule but the budget after it has run."""

    stage: Any

    @property
    def runs_on(self) -> str:
        return runs_on(self.stage)

    @property
    def name(self) -> str:
        return pass_name(self.stage)

    def needed(self, draft: Draft, ctx: PassContext, /) -> bool:
        needed: Callable[..., bool] | None = getattr(self.stage, "needed", None)
        return needed(draft, ctx) if needed else draft.tokens > ctx.low

    def __call__(self, draft: Draft, ctx: PassContext, /) -> Draft:
        result = self.stage(draft, ctx)
        if self.runs_on == "request":
            # It sees new messages as they were recorded, which no provider would take.
            return result
        timeline = ctx.timeline
        facts = Facts(
            said=ctx.said,
            pins={pin: None for pin in timeline.pins if pin not in timeline.mender.left_out},
            newest_input=timeline.newest_input,
            leading=timeline.leading,
            tokens=0,
            limit=None,
        )
        assert not (violations := broken(result.items, facts)), (self.name, violations)
        return result


@foveate.request_pass
def redact(draft: Draft, ctx: PassContext) -> Draft:
    """Take out what nobody may read."""
    return draft.with_text(lambda text: text.replace(TABOO, "[redacted]"))


_TEMPLATE = template_of(
    b"{{ topic }}\n{{ constraints }}\n{{ ledger }}\n{{ tool_results }}\n{{ recent_turns }}\n{{ reflections }}",
    name="all",
    source="system",
    path=Path("all.md"),
)
ENDLESS = [
    endless_policy(_TEMPLATE, keeping)
    for keeping in (
        Keeping(),
        Keeping(runs=1, threshold=300),
        Keeping(runs=0, every_turn=True),
        Keeping(runs=None),
    )
]


@dataclass
class Outcome:
    """What one random session showed: compiles by format, naming of calls and policy, and how they ended."""

    compiles: int = 0
    refused: int = 0
    empty: int = 0
    reductions: int = 0
    by: Counter[str] = field(default_factory=Counter)

    def add(self, other: Outcome) -> None:
        """Count what another session showed too."""
        self.compiles += other.compiles
        self.refused += other.refused
        self.empty += other.empty
        self.reductions += other.reductions
        self.by.update(other.by)


def check_session(rng: random.Random, count: int, *, replay: bool = True) -> Outcome:
    """Play a random session of chat messages and check every promise at every compile."""
    return _check(rng, random_ops(rng, count), replay=replay)


def check_wild_session(rng: random.Random, count: int) -> Outcome:
    """The same with every format, pictures, pins, reused ids, tools, sections, overrides and resuming."""
    return _check(rng, wild_ops(rng, count), dialect=rng.choice(tuple(DIALECTS)), naming=rng.choice(IDS))


def _check(
    rng: random.Random, ops: Iterator[Op], *, replay: bool = True, dialect: str = "openai", naming: str = "fresh"
) -> Outcome:
    policy = rng.choice([*(foveate.POLICIES[name] for name in POLICIES), *ENDLESS])
    # From the first call on, from some call on, or never.
    redacts_from = rng.choice((0, 0, rng.randint(1, 12), sys.maxsize))
    options: dict[str, Any] = {
        "budget": rng.choice(BUDGETS),
        "policy": policy,
        "keep_turns": rng.choice((None, None, 1, 2, 5)),
        "passes": [*[redact][redacts_from:], *(Checked(one) for one in policy.passes)],
    }
    session = foveate.Session(system=rng.choice((None, "Be brief.", f"Never say {TABOO}.")), **options)
    player, outcome = Player(session, options, dialect, naming), Outcome()
    previous: list[dict[str, Any]] | None = None
    reframed = False
    for op in ops:
        if outcome.compiles == redacts_from and redact not in options["passes"]:
            options["passes"] = [redact, *options["passes"]]
            player.apply(("resume",))
            reframed = True
        reframed = reframed or op[0] == "reframe"
        before = player.session.dump() if replay and op[0] == "compile" and rng.random() < 0.1 else None
        keys = (f"format {player.dialect}", f"ids {player.naming}", f"policy {policy.name}", f"kind {op[0]}")
        try:
            view = player.apply(op)
        except foveate.BudgetError as error:
            assert error.needed > error.limit, error
            outcome.refused += 1
            outcome.by.update(f"{key}: refused" for key in keys)
            continue
        except foveate.EmptyRequestError:
            assert op[0] in ("compile", "override"), op
            assert not says_anything(player, op), op
            outcome.empty += 1
            continue
        if view is None:
            continue
        outcome.compiles += 1
        outcome.by.update(keys)
        outcome.reductions += any(type(body).__name__ == "ReductionRecorded" for body in view.proposed)
        whole = not (op[0] == "compile" and op[2]) and op[0] != "override"
        often = outcome.compiles < 5 or rng.random() < 0.1
        formats = [*FORMATS] if often or view.proposed else ["openai", *rng.sample([*FORMATS], 2)]
        request = check_view(view, previous, formats, reframed=reframed or not whole)
        if redact in options["passes"]:
            check_redacted(view, formats)
            outcome.by["redacted"] += 1
        if often:
            check_explained(view)
            check_objects(view)
        if before is not None and whole:
            check_rebuilt(before, view, options, player.now)
        if op[0] != "override":
            # What stands beside the history in one call stands in no other.
            previous, reframed = (request if view.messages and whole else None), False
    return outcome


def says_anything(player: Player, op: Op) -> bool:
    """Whether there was something to send: a second opinion, by what was said."""
    if op[0] == "override":
        return any(said.text.strip() or said.media for _, said in op[1])
    session, sections = player.session, op[2]
    said = [part for message in session.messages for part in message.parts]
    return bool(
        session.context.system
        or any(section.content.strip() for section in sections)
        or any(isinstance(part, Media | ToolCall) for part in said)
        or any(isinstance(part, Text | ToolResult) and part.text.strip() for part in said)
    )


def check_view(
    view: foveate.CompiledContext, previous: list[dict[str, Any]] | None, formats: Iterable[str], *, reframed: bool
) -> list[dict[str, Any]]:
    """Valid in the formats, within budget, accounted for, and an extension of the last request unless reduced."""
    assert view.budget is not None
    assert view.budget.used <= view.budget.limit
    request: list[dict[str, Any]] = []
    for name in formats:
        format = FORMATS[name]
        try:
            sent = format.lower(view.request)
        except foveate.EmptyRequestError:
            assert not any(map(_is_said, view.messages)), name
            continue
        assert not (found := format.problems(sent)), (name, found)
        assert not (found := whole_problems(name, sent, view.framing.tools)), (name, found)
        assert not _is_opened(sent) or _is_led_by_the_assistant(view), name
        if name == "openai":
            request = sent
    assert not (found := problems(request)), found
    if previous is not None and not view.proposed and not reframed:
        assert request[: len(previous)] == previous
    return request


def check_redacted(view: foveate.CompiledContext, formats: Iterable[str]) -> None:
    """The secret is in no request, in no format, and in nothing that a caller would send by other ways."""
    assert TABOO not in view.to("text")
    assert TABOO.encode() not in view.payload
    for name in formats:
        with suppress(foveate.EmptyRequestError):
            assert TABOO not in json.dumps(FORMATS[name].lower(view.request), default=repr), name
    for item in view.items:
        assert not any(TABOO in line.text for line in item.lines), item.id


def _is_said(message: Message) -> bool:
    """Whether a message says something beside the instructions."""
    shows = any(isinstance(part, Media | ToolCall | ToolResult) for part in message.parts)
    return message.role != "system" and (shows or bool(message.text.strip()))


def _is_opened(sent: Any) -> bool:
    """Whether Foveate's own remark begins a request."""
    keys = ("messages", "contents", "input")
    messages = sent if isinstance(sent, list) else next(sent[key] for key in keys if key in sent)
    return OPENING in json.dumps(messages[:2])


def _is_led_by_the_assistant(view: foveate.CompiledContext) -> bool:
    """Whether a request begins with the assistant."""
    roles = (message.role for message in view.messages if _is_said(message))
    return next(roles, None) == "assistant"


def check_objects(view: foveate.CompiledContext) -> None:
    """The frameworks' own objects can be made of a request."""
    for name in ("pydantic-ai", "langchain"):
        try:
            assert view.to(name)
        except foveate.EmptyRequestError:
            assert not any(map(_is_said, view.messages)), name


def check_explained(view: foveate.CompiledContext) -> None:
    """Every message of the log has exactly one fate, and the tokens add up."""
    explanation = view.explain()
    assert sum(item.tokens for item in explanation.items) + explanation.framing == explanation.used == view.tokens
    assert [record.id for record in explanation.fates] == [message.id for message in view.state.context.messages]


def check_rebuilt(before: bytes, view: foveate.CompiledContext, options: dict[str, Any], now: float) -> None:
    """A session rebuilt from its serialised events gives the same bytes."""
    rebuilt = foveate.Session.from_events(foveate.load_events(before), **options)
    again = rebuilt.compile(now=now)
    assert again.payload == view.payload
    assert again.payload_sha256 == view.payload_sha256
    assert again.proposed == view.proposed
