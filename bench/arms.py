"""The context policies under comparison, each fed a session message by message."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.messages import Message, calls_of, content_of, texts
from bench.references import candidates
from bench.tokens import count, message_tokens, request_tokens

LOW_MARK = 0.6
UNMASKED = 10
DUMP_SHARE = 0.15

Feed = Callable[[Sequence[Message]], list[Message]]
"""Takes the messages appended since the last call, gives the request, system prompt first."""


class RefusedError(Exception):
    """A policy declined to make a request within its budget."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A policy by name; `start(system, budget)` begins a session."""

    name: str
    start: Callable[[str, int], Feed]
    is_bounded: bool = True


@dataclass(slots=True, eq=False)
class _Exchange:
    """A message, or a response together with the results of its calls; kept or dropped whole."""

    opening: Message
    results: dict[str, Message] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for item in calls_of(self.opening):
            self.results[item["id"]] = {
                "role": "tool",
                "tool_call_id": item["id"],
                "content": "[no result recorded]",
            }

    def messages(self) -> list[Message]:
        return [self.opening, *self.results.values()]


class _Window:
    """The part of a session that a policy still sends."""

    def __init__(self, system: str) -> None:
        self._head: list[Message] = _system_messages(system)
        self._exchanges: list[_Exchange] = []
        self._unmasked: list[tuple[_Exchange, str]] = []
        self.tokens = request_tokens(self._head)

    def append(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if message["role"] == "tool":
                self._answer(message)
            elif content_of(message).strip() or calls_of(message):
                self._exchanges.append(_Exchange(_with_distinct_calls(message)))
                self.tokens += request_tokens(self._exchanges[-1].messages())

    def drop_to(self, limit: float) -> None:
        """Drop the oldest exchanges; the newest stays even if it alone is too large."""
        gone = 0
        while self.tokens > limit and gone < len(self._exchanges) - 1:
            self.tokens -= request_tokens(self._exchanges[gone].messages())
            gone += 1
        dropped = set(self._exchanges[:gone])
        self._exchanges = self._exchanges[gone:]
        self._unmasked = [entry for entry in self._unmasked if entry[0] not in dropped]

    def mask(self) -> None:
        for exchange, call_id in self._unmasked[:-UNMASKED]:
            old = exchange.results[call_id]
            lines = len(content_of(old).splitlines())
            self._replace(exchange, {**old, "content": f"[output omitted: {lines} lines]"})
        del self._unmasked[:-UNMASKED]

    def request(self, *notes: Message) -> list[Message]:
        body = (message for exchange in self._exchanges for message in exchange.messages())
        return [*self._head, *notes, *body]

    def _answer(self, message: Message) -> None:
        call_id = message.get("tool_call_id", "")
        exchange = next((e for e in reversed(self._exchanges) if call_id in e.results), None)
        # A result whose call is gone, was never recorded or has a result cannot be sent.
        if exchange is not None and call_id not in exchange.answered:
            exchange.answered.add(call_id)
            self._replace(exchange, message)
            self._unmasked.append((exchange, call_id))

    def _replace(self, exchange: _Exchange, message: Message) -> None:
        call_id = message["tool_call_id"]
        self.tokens += message_tokens(message) - message_tokens(exchange.results[call_id])
        exchange.results[call_id] = message


def _untouched(system: str, _budget: int) -> Feed:
    log = _system_messages(system)

    def feed(new: Sequence[Message]) -> list[Message]:
        log.extend(new)
        return list(log)

    return feed


def _drop_exact(system: str, budget: int) -> Feed:
    window = _Window(system)

    def feed(new: Sequence[Message]) -> list[Message]:
        window.append(new)
        window.drop_to(budget)
        return window.request()

    return feed


def _drop_steps(system: str, budget: int) -> Feed:
    window = _Window(system)

    def feed(new: Sequence[Message]) -> list[Message]:
        window.append(new)
        if window.tokens > budget:
            window.drop_to(LOW_MARK * budget)
        return window.request()

    return feed


def _mask_every_step(system: str, _budget: int) -> Feed:
    window = _Window(system)

    def feed(new: Sequence[Message]) -> list[Message]:
        window.append(new)
        window.mask()
        return window.request()

    return feed


def _mask_steps(system: str, budget: int) -> Feed:
    window = _Window(system)

    def feed(new: Sequence[Message]) -> list[Message]:
        window.append(new)
        if window.tokens > budget:
            window.mask()
            window.drop_to(LOW_MARK * budget)
        return window.request()

    return feed


def _identifier_dump(system: str, budget: int) -> Feed:
    """A control: names of everything ever seen, and nothing of what was said about it."""
    window = _Window(system)
    seen: dict[str, None] = {}
    notes: list[Message] = []

    def feed(new: Sequence[Message]) -> list[Message]:
        window.append(new)
        for name in sorted(n for m in new for text in texts(m) for n in candidates(text)):
            seen.pop(name, None)
            seen[name] = None
        if window.tokens + request_tokens(notes) > budget:
            notes[:] = [_list_of(seen, int(DUMP_SHARE * budget))]
            window.drop_to(LOW_MARK * budget - request_tokens(notes))
        return window.request(*notes)

    return feed


BASELINE = Arm("untouched", _untouched, is_bounded=False)
ARMS = (
    BASELINE,
    Arm("drop_exact", _drop_exact),
    Arm("drop_steps", _drop_steps),
    Arm("mask_10", _mask_every_step),
    Arm("mask_steps", _mask_steps),
    Arm("identifier_dump", _identifier_dump),
)


def _system_messages(system: str) -> list[Message]:
    return [{"role": "system", "content": system}] if system else []


def _with_distinct_calls(message: Message) -> Message:
    distinct = {item["id"]: item for item in calls_of(message)}
    if len(distinct) == len(calls_of(message)):
        return message
    return {**message, "tool_calls": list(distinct.values())}


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
