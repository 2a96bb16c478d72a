"""Generated sessions of a coding agent: a conversation without end, and scripts as long as a large budget asks for.

`python -m bench.likeness` sets the scripts beside recorded sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from bench.agent import Agent
from bench.developer import Developer
from bench.messages import Message
from bench.tokens import message_tokens
from foveate.lab.script import ModelCall, Script
from foveate.wire.openai_chat import decode

_EXCHANGES: Final = (17, 21)
_BEGIN: Final = 1_800_000_000.0
# Seconds: between calls, until the user replies, and until one who went away is back.
_STEP: Final = (5.0, 60.0)
_REPLY: Final = (10.0, 240.0)
_BREAK: Final = (600.0, 5_400.0)
_AWAY: Final = 0.4
_SYSTEM: Final = (
    "You are a coding agent in the repository of a shop. Work in small steps: look before you change, run the tests "
    "after each change, and say at the end what you did. Tools: read_file (path, start_line, end_line), grep (pattern, "
    "path), edit_file (path, old, new), run_command (command). Never change a signature without being asked, never add "
    "a dependency, never touch generated files, and leave no test failing. Prefer short functions and plain names. If "
    "a command fails, read its output to the end before the next attempt. If a request is unclear, take the reading "
    "that changes least and say so."
)


def conversation(seed: int = 7) -> Iterator[list[Message]]:
    """Steps of a coding agent without end, two messages each, the same for the same seed.

    An exchange is a call with its result; about every twentieth step the agent answers and the user asks for more.
    """
    agent = Agent(Random(seed))
    yield [{"role": "system", "content": "The repository is a shop."}, {"role": "user", "content": agent.request()}]
    while True:
        for _ in range(agent.random.randint(*_EXCHANGES)):
            yield agent.exchange()
        yield [{"role": "assistant", "content": agent.answer()}, {"role": "user", "content": agent.request()}]


def generated_scripts(count: int = 4, tokens: int = 400_000, seed: int = 7) -> list[Script]:
    """Sessions of at least so many tokens each, in which actions refer to what was seen near and far back."""
    if count < 0 or tokens < 1:
        raise ValueError(f"`count` must be 0 or more and `tokens` 1 or more, got {count!r} and {tokens!r}")
    return [_script(f"generated-{number}", tokens, Random(f"{seed}-{number}")) for number in range(1, count + 1)]


def _script(name: str, tokens: int, random: Random) -> Script:
    recorder = _Recorder(random)
    developer = Developer(random)
    while recorder.tokens < tokens:
        recorder.asked(developer.request())
        for exchange in developer.turn():
            recorder.acted(exchange)
            if recorder.tokens >= tokens:
                break
        recorder.acted([{"role": "assistant", "content": developer.answer()}])
    return recorder.script(name)


class _Recorder:
    """Writes a session down with the time of each call."""

    def __init__(self, random: Random) -> None:
        self.tokens = 0
        self._random = random
        self._now = _BEGIN
        self._chats: list[Message] = []
        self._calls: list[ModelCall] = []

    def asked(self, text: str) -> None:
        """The user speaks, at once or after a break."""
        is_away = self._chats and self._random.random() < _AWAY
        self._now += self._random.uniform(*(_BREAK if is_away else _REPLY))
        self._say({"role": "user", "content": text})

    def acted(self, exchange: Sequence[Message]) -> None:
        """The agent responds, and its tools answer."""
        self._calls.append(
            ModelCall(place=len(self._chats), at=round(self._now, 1), model="", usage=None, answer=exchange[0])
        )
        self._now += self._random.uniform(*_STEP)
        for message in exchange:
            self._say(message)

    def script(self, name: str) -> Script:
        return Script(
            name=name,
            source=name,
            format="generated",
            system=_SYSTEM,
            tools=(),
            model="",
            messages=tuple(map(decode, self._chats)),
            chats=tuple(self._chats),
            calls=tuple(self._calls),
            compactions=(),
            recorded_messages=len(self._chats),
        )

    def _say(self, message: Message) -> None:
        self._chats.append(message)
        self.tokens += message_tokens(message)
