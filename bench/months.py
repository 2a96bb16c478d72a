"""Months in one thread: a conversation of 2,000 turns in endless mode, and what of its beginning is in view at its end.

Early on, a hundred facts are told; more than a thousand turns later each is asked for, half of them without the rare
word they were told with, among remarks that share the other words. Printed is how often the value asked for stands in
the request. Run it as `uv run --group bench python -m bench.months`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from foveate.agents.driver import OnText, Reply, Schema
from foveate.agents.toolset import Answer
from foveate.budget.economics import call_cost
from foveate.budget.profiles import DEFAULT_RULES
from foveate.chat.conversation import Conversation
from foveate.chat.endless import Endless
from foveate.chat.finding import TemplateFolders
from foveate.compile.passes.compose import HEADING
from foveate.lab.prefix import shared_prefix
from foveate.session import Session
from foveate.session.transcript import transcript_text
from foveate.store import Store
from foveate.wire.format import Request
from foveate.wire.formats import FORMATS

BUDGET: Final = 8_000
_PEOPLE: Final = (
    "sister", "brother", "neighbour", "aunt", "cousin", "dentist", "landlord", "trainer", "colleague", "niece",
)  # fmt: skip
_THINGS: Final = (
    ("locker code", "code"), ("train seat", "seat number"), ("parcel number", "number"), ("flat number", "number"),
    ("shoe order", "order number"), ("library card", "card number"), ("garage code", "code"), ("exam room", "room"),
    ("phone extension", "extension"), ("ticket number", "number"),
)  # fmt: skip
_SYLLABLES: Final = ("va", "lor", "mi", "ket", "sun", "dra", "pel", "hol", "bri", "zan", "tor", "nex", "gul", "fen")
_SUBJECTS: Final = (
    "the garden", "my bicycle", "the weekly shopping", "a film about lighthouses", "the new bakery", "my back pain",
    "the holiday in spring", "learning the cello", "a recipe for lentils", "the noise upstairs", "the tax form",
    "our reading group", "the broken lamp", "a long walk by the river", "the football match", "tidying the cellar",
)  # fmt: skip
_OPINIONS: Final = (
    "I am not sure what to make of it.", "It went better than last week.", "It took the whole afternoon.",
    "Perhaps I should ask somebody about it.", "It cost more than I thought.", "I would do it again any time.",
    "The weather did not help.", "In the end it was fun.", "I keep putting it off.", "It reminded me of school.",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something told once, and asked for much later."""

    person: str
    thing: str
    kind: str
    place: str
    value: str
    rare: bool

    @property
    def told(self) -> str:
        return f"By the way, my {self.person} told me at {self.place} that the {self.thing} is {self.value} now."

    @property
    def asked(self) -> str:
        if self.rare:
            return f"What was it that I was told at {self.place}? I need the {self.kind}."
        return f"Which {self.thing} did my {self.person} tell me? I need it today."

    @property
    def distractor(self) -> str:
        return f"My {self.person} asked me about the {self.thing} again, and I said that I would look it up some day."


@dataclass(frozen=True, slots=True)
class Script:
    """What is said in each turn, and which fact is asked for in it."""

    inputs: list[str]
    asked: dict[int, Fact]


def script(turns: int, facts: int, seed: int = 7) -> Script:
    """A conversation: facts in its first quarter, questions in its last, small talk and distractors all over."""
    dice = random.Random(seed)
    made = list(_facts(facts, dice))
    inputs = [_small_talk(dice) for _ in range(turns)]
    for turn, fact in zip(sorted(dice.sample(range(5, turns // 4), facts)), made, strict=True):
        inputs[turn] = f"{fact.told} {_small_talk(dice)}"
    for fact in made:
        for turn in dice.sample(range(turns // 4, 3 * turns // 4), 4):
            inputs[turn] = f"{_small_talk(dice)} {fact.distractor}"
    asked = dict(zip(dice.sample(range(3 * turns // 4 + 1, turns), facts), dice.sample(made, facts), strict=True))
    for turn, fact in asked.items():
        inputs[turn] = fact.asked
    return Script(inputs, asked)


def _facts(count: int, dice: random.Random) -> Iterator[Fact]:
    pairs = [(person, *thing) for person in _PEOPLE for thing in _THINGS]
    for number, (person, thing, kind) in enumerate(dice.sample(pairs, count)):
        place = "".join(dice.choice(_SYLLABLES) for _ in range(3)).capitalize() + str(number % 7)
        value = f"{dice.randrange(10_000, 99_999)}{dice.choice('BCDFGH')}"
        yield Fact(person=person, thing=thing, kind=kind, place=place, value=value, rare=number % 2 == 0)


def _small_talk(dice: random.Random) -> str:
    sentences = [f"Today I thought about {dice.choice(_SUBJECTS)}.", *dice.sample(_OPINIONS, dice.randrange(1, 4))]
    return " ".join(sentences)


class Scripted:
    """A model that answers by rule: now and then it looks something up first."""

    name = "scripted"

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def generate(self, messages: Request, schema: Schema | None, *, on_text: OnText | None = None) -> Reply:
        """The answer to a request: a function of what was said last, whatever else is in it.

        Of a tool's result only which call it answers counts: a request may show a part of a long one.
        """
        self.requests[:] = [messages]
        last = messages.messages[-1]
        said = last.result.call_id if last.result is not None else last.text
        digest = hashlib.sha256(said.encode()).digest()
        if last.role == "user" and digest[0] < 40:
            function = {"name": "look_up", "arguments": f'{{"page": "{digest.hex()[:6]}"}}'}
            call = {"id": f"c{digest.hex()[:12]}", "type": "function", "function": function}
            return Reply(message={"role": "assistant", "content": None, "tool_calls": [call]})
        words = [_OPINIONS[byte % len(_OPINIONS)] for byte in digest[: 2 + digest[1] % 4]]
        return Reply(message={"role": "assistant", "content": f"I see. {' '.join(words)}"})


class Pages:
    """A tool with long answers."""

    definitions: Final[tuple[dict[str, Any], ...]] = (
        {
            "type": "function",
            "function": {
                "name": "look_up",
                "description": "Look a page up.",
                "parameters": {"type": "object", "properties": {"page": {"type": "string"}}, "required": ["page"]},
            },
        },
    )

    async def answer(self, name: str, arguments: Mapping[str, Any], /) -> Answer:
        """The page."""
        dice = random.Random(str(arguments["page"]))
        return Answer(text="\n".join(f"{line}: {_small_talk(dice)}" for line in range(12)))


@dataclass(slots=True)
class Outcome:
    """What a conversation came to."""

    turns: int
    requests: int = 0
    over: int = 0
    invalid: int = 0
    summaries: set[str] = field(default_factory=set)
    tokens: list[int] = field(default_factory=list)
    # Tokens of messages that were sent, and of those at the beginning of a request that were so in the one before.
    sent: int = 0
    reused: int = 0
    last: list[dict[str, Any]] = field(default_factory=list)
    found: dict[bool, list[bool]] = field(default_factory=lambda: {True: [], False: []})
    sizes: list[tuple[int, int, int]] = field(default_factory=list)
    transcript: str = ""


async def held(plan: Script, folder: Path, *, endless: bool, budget: int = BUDGET) -> Outcome:
    """Hold a conversation from its first turn to its last."""
    outcome, model = Outcome(len(plan.inputs)), Scripted()
    file = folder / f"{'endless' if endless else 'plain'}.db"
    folders = TemplateFolders(vault=None, system=folder)
    folders.seed()
    with Store(file) as store, Session.open(store, "months", budget=budget, policy="chat") as session:
        chat = Conversation(session, model, system="You are a friend who listens.", tools=[Pages()])
        if endless:
            chat.endless = Endless(session, folders, "chat")
        for turn, text in enumerate(plan.inputs):
            done = await chat.say(text)
            for number in done.calls:
                _judge(session, number, outcome, budget)
            fact = plan.asked.get(turn)
            if fact is not None:
                outcome.found[fact.rare].append(_in_view(session, done.calls[0], fact))
            if (turn + 1) % max(1, outcome.turns // 8) == 0:
                outcome.sizes.append((turn + 1, len(session.messages), _kept(store)))
        outcome.transcript = transcript_text(session.events)
    return outcome


def _kept(store: Store) -> int:
    """The bytes of a store's pages, as far as they are in use."""
    with store.reading() as connection:
        pages, free, size = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("page_count", "freelist_count", "page_size")
        )
    return int((pages - free) * size)


def _judge(session: Session, number: int, outcome: Outcome, budget: int) -> None:
    view = session.call(number)
    outcome.requests += 1
    outcome.over += view.tokens > budget
    sent = FORMATS["openai"].lower(view.request)
    outcome.invalid += bool(_orphans(sent))
    outcome.tokens.append(view.tokens)
    outcome.summaries |= {message.text for message in view.messages if message.text.startswith(HEADING)}
    counts = [view.count(message) for message in view.messages]
    outcome.sent += sum(counts)
    # The system prompt stands before the messages, and is the same in all requests.
    outcome.reused += sum(counts[: max(0, shared_prefix(outcome.last, sent) - (len(sent) - len(counts)))])
    outcome.last = sent


def _orphans(sent: list[dict[str, Any]]) -> list[str]:
    """Ids of calls without a result right behind them, and of results without a call."""
    open_ids: list[str] = []
    wrong: list[str] = []
    for message in sent:
        if message["role"] == "tool":
            if message["tool_call_id"] in open_ids:
                open_ids.remove(message["tool_call_id"])
            else:
                wrong.append(message["tool_call_id"])
            continue
        wrong += open_ids
        open_ids = [call["id"] for call in message.get("tool_calls") or ()]
    return wrong + open_ids


def _in_view(session: Session, number: int, fact: Fact) -> bool:
    return any(fact.value in message.text for message in session.call(number).messages)


def main() -> None:
    """Hold the conversation twice, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=2_000)
    parser.add_argument("--facts", type=int, default=100)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--no-plain", action="store_true")
    given = parser.parse_args()
    plan = script(given.turns, given.facts, given.seed)
    with tempfile.TemporaryDirectory() as name:
        for endless in (True,) if given.no_plain else (True, False):
            outcome = asyncio.run(held(plan, Path(name), endless=endless, budget=given.budget))
            _show("endless" if endless else "plain", outcome)
            print(f"  transcript {hashlib.sha256(outcome.transcript.encode()).hexdigest()[:12]}")


def _show(label: str, outcome: Outcome) -> None:
    rare, plain = (outcome.found[kind] for kind in (True, False))
    print(
        f"{label}: {outcome.turns} turns, {outcome.requests} requests, {outcome.invalid} invalid, {outcome.over} over"
    )
    print(f"  in view: with the rare word {_share(rare)}, without {_share(plain)}")
    print(f"  tokens: median {statistics.median(outcome.tokens):.0f}, most {max(outcome.tokens)}")
    print(
        f"  {len(outcome.summaries)} summaries; {outcome.reused / outcome.sent:.2f} of {outcome.sent:,} tokens reused"
    )
    cost = call_cost(outcome.sent, outcome.reused, DEFAULT_RULES)
    print(f"  {cost:,.0f} plain input tokens at cached prices, {cost / outcome.requests:,.0f} a request")
    print(f"  turns, messages, bytes kept: {outcome.sizes}")


def _share(found: list[bool]) -> str:
    return f"{sum(found) / len(found):.2f} of {len(found)}" if found else "-"


if __name__ == "__main__":
    main()
