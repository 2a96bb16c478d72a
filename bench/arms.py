"""The arms of our own: settings of Foveate, what agents do without it, and a control."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from bench.messages import Message, texts
from bench.outcome import ArmInfo
from bench.tokens import count, message_tokens, request_tokens
from foveate.compile.draft import Shares
from foveate.compile.policy import POLICIES
from foveate.lab.baselines import LOW_MARK, UNMASKED
from foveate.lab.contestants import Contestant, Feed, Made, Opening, Step
from foveate.lab.exchanges import Window
from foveate.lab.policies import contestant
from foveate.lab.references import candidates
from foveate.lab.sessions import start_policy

DUMP_SHARE = 0.15


class Measure:
    """Sizes by the benchmark's own counter."""

    def of(self, message: Message, /) -> int:
        return message_tokens(message)

    def total(self, messages: Iterable[Message], /) -> int:
        return request_tokens(messages)


def _identifier_dump(opening: Opening) -> Feed:
    """A control: names of everything ever seen, and nothing of what was said about it."""
    window = Window(opening.head(), opening.sizes.of, unmasked=UNMASKED)
    budget = opening.budget or 0
    seen: dict[str, None] = {}
    notes: list[Message] = []

    def feed(step: Step) -> Made:
        window.append(step.chats)
        for name in sorted(n for m in step.chats for text in texts(m) for n in candidates(text)):
            seen.pop(name, None)
            seen[name] = None
        if window.tokens + opening.sizes.total(notes) > budget:
            notes[:] = [_list_of(seen, int(DUMP_SHARE * budget))]
            window.drop_to(LOW_MARK * budget - opening.sizes.total(notes))
        return Made(chats=window.request(*notes))

    return feed


def _start_part(share: float, opening: Opening) -> Feed:
    """Foveate as it comes, told that there is only a part of the room for messages."""
    framing = opening.reserved + opening.sizes.total(opening.head())
    room = (opening.budget or 0) - framing
    return start_policy(POLICIES["default"], replace(opening, budget=framing + int(share * room)))


def _part(name: str, share: float) -> Contestant:
    description = f"Foveate with {share:.0%} of the room that the budget leaves for messages"
    return Contestant(name=name, kind="policy", description=description, start=partial(_start_part, share))


BASELINE = replace(contestant("raw"), name="untouched")
OWN = (
    BASELINE,
    contestant("drop-exact"),
    contestant("drop-steps"),
    contestant("mask-10"),
    contestant("mask-steps"),
    Contestant(
        name="identifier-dump",
        kind="baseline",
        description="a control: as drop-steps, with a list of all names ever seen",
        start=_identifier_dump,
    ),
)
SETTINGS = (
    contestant("foveate"),
    replace(contestant("lines"), name="foveate-lines"),
    replace(contestant("patient"), name="foveate-patient"),
    replace(contestant("thorough"), name="foveate-thorough"),
    replace(contestant("lean"), name="foveate-lean"),
    replace(contestant("frugal"), name="foveate-frugal"),
    Contestant(
        name="foveate-capped",
        kind="policy",
        description="`lines` with `Shares(output=0.1, digests=0.3)`: between `lines` and `lean`",
        start=partial(start_policy, replace(POLICIES["lines"], name="capped", shares=Shares(output=0.1, digests=0.3))),
    ),
    _part("foveate-half", 0.5),
)
ARMS = (*SETTINGS, *OWN)


def described(arm: Contestant) -> ArmInfo:
    """An arm of ours, as results tell of it."""
    is_setting = any(arm.name == one.name for one in SETTINGS)
    return ArmInfo(
        name=arm.name,
        family="foveate" if is_setting else "own",
        call=arm.description,
        knows_budget=arm.is_bounded and not arm.name.startswith("mask-1"),
        is_default=arm.name == "foveate",
    )


def _list_of(seen: dict[str, None], limit: int) -> Message:
    """The names seen most recently, as many as fit into `limit` tokens."""
    chosen: list[str] = []
    room = limit - 20
    for name in reversed(seen):
        room -= count(name) + 1
        if room < 0:
            break
        chosen.append(name)
    return {"role": "user", "content": f"Names seen so far: {', '.join(chosen)}"}
