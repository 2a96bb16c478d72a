"""The context policies under comparison: the lab's, and a control."""

from collections.abc import Iterable
from dataclasses import replace

from bench.messages import Message, texts
from bench.tokens import count, message_tokens, request_tokens
from foveate.lab.baselines import LOW_MARK, UNMASKED
from foveate.lab.contestants import Contestant, Feed, Made, Opening, Step
from foveate.lab.exchanges import Window
from foveate.lab.policies import contestant
from foveate.lab.references import candidates

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


def _named(name: str, policy: str) -> Contestant:
    return replace(contestant(policy), name=name)


BASELINE = _named("untouched", "raw")
ARMS = (
    BASELINE,
    _named("drop_exact", "drop-exact"),
    _named("drop_steps", "drop-steps"),
    _named("mask_10", "mask-10"),
    _named("mask_steps", "mask-steps"),
    Contestant(name="identifier_dump", kind="baseline", description="names only", start=_identifier_dump),
    contestant("foveate"),
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
