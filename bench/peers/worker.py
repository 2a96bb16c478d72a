"""What every adapter stands on: it gives a peer the messages of a session step by step, and times the peer alone.

An adapter runs in its peer's own environment, so nothing here needs more than Python and the tokenizer. It reads one
JSON object a line and answers each with one: `hello`, `open` (a lane: an arm at a budget for one session), `step`,
`close`, `memory`.

Messages come plain: `{"role", "content"}` with a text, on assistant messages `tool_calls` as OpenAI chat has them, on
tool messages `tool_call_id` and `name`. A request goes back as a list of them, where the index of a message stands for
one that is as it was said.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TextIO, TypeVar

from splintr import Tokenizer

Chat = dict[str, Any]
T = TypeVar("T")

MESSAGE_OVERHEAD = 4
# What a model without thoughts says where a peer asks for a summary: of the usual length, and with nothing in it.
SUMMARY = (
    "Summary of the earlier conversation: the user described a task and the assistant has been working on it step by"
    " step. It looked around first, read what seemed to matter, and formed an idea of where the change belongs. It then"
    " tried the idea in small pieces, looked at the results after each of them, and corrected what did not work out."
    " Some of the tool calls failed at first and were repeated in another form. The decisions made so far still hold"
    " and nothing was asked of the user that is still open. What remains is to finish the work that was begun, to check"
    " it once more in the way it was checked before, and to tell the user briefly what was done and why."
)


class Lane(Protocol):
    """A session under one arm: takes what came in, gives the request for the next call, system prompt first."""

    def step(self, new: Sequence[Chat], /) -> list[Chat]: ...


@dataclass(frozen=True)
class Arm:
    """One way to call a peer.

    Args:
        name: short, such as `trim`; the peer's name goes before it.
        call: the peer's own call, as it stands in the adapter; `B` is the budget.
        start: begins a session: system prompt ("" if there is none) and budget in tokens.
        knows_budget: whether the call is told the budget at all.
        is_default: whether everything but the budget is as the peer has it by default, or recommends where it has none.
        note: what a reader should know, one sentence.

    """

    name: str
    call: str
    start: Callable[[str, int], Lane]
    knows_budget: bool = True
    is_default: bool = True
    note: str = ""


@cache
def count(text: str) -> int:
    """The tokens of a text, by the counter that the benchmark judges with."""
    return len(_tokenizer().encode(text)) if text else 0


def tokens(message: Chat) -> int:
    """The tokens of a message, as the benchmark counts them."""
    called = (item["function"] for item in message.get("tool_calls") or ())
    return (
        MESSAGE_OVERHEAD
        + count(message.get("content") or "")
        + sum(count(function["name"]) + count(function["arguments"]) for function in called)
    )


def head(system: str) -> list[Chat]:
    """The system prompt as a message, if there is one."""
    return [{"role": "system", "content": system}] if system else []


def timed(call: Callable[[], T]) -> T:
    """Run the peer's own code; only what goes through here counts as its time."""
    begun = time.perf_counter()
    try:
        return call()
    except Exception as error:
        _clock.raised = error
        raise
    finally:
        _clock.seconds += time.perf_counter() - begun


def timed_async(call: Callable[[], Awaitable[T]]) -> T:
    """Run the peer's own coroutine to its end."""

    async def run() -> T:
        return await call()

    return timed(lambda: _loop().run_until_complete(run()))


def serve(peer: str, packages: Sequence[str], arms: Sequence[Arm]) -> None:
    """Answer on standard output until standard input ends; what a peer prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    server = _Server(peer, packages, arms)
    # Made now, or the first arm that is asked would pay for it.
    _loop()
    for line in sys.stdin:
        _answer(server, json.loads(line), answers)


def _answer(server: _Server, asked: Chat, answers: TextIO) -> None:
    try:
        reply = server.answer(asked)
    except Exception as error:  # noqa: BLE001  what a peer raises is its result
        reply = {"error" if _is_of_peer(error) else "defect": f"{type(error).__name__}: {error}"[:500]}
    answers.write(json.dumps(reply, ensure_ascii=True) + "\n")
    answers.flush()


def _is_of_peer(error: Exception) -> bool:
    """Whether the peer's own code raised it; what an adapter raises, even as a callback, is a defect of ours."""
    if error is not _clock.raised:
        return False
    *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
    ours = {Path(__file__).resolve(), Path(sys.argv[0]).resolve()}
    return Path(innermost.f_code.co_filename).resolve() not in ours


@dataclass
class _Clock:
    seconds: float = 0.0
    raised: Exception | None = None


class _Server:
    def __init__(self, peer: str, packages: Sequence[str], arms: Sequence[Arm]) -> None:
        self._peer = peer
        self._packages = packages
        self._arms = {arm.name: arm for arm in arms}
        self._lanes: dict[str, tuple[Lane, _Said]] = {}

    def answer(self, asked: Chat) -> Chat:
        match asked["do"]:
            case "hello":
                return self._hello()
            case "open":
                arm = self._arms[asked["arm"]]
                count(asked["system"])
                self._lanes[asked["lane"]] = arm.start(asked["system"], asked["budget"]), _Said(asked["system"])
                return {}
            case "step":
                return self._step(*self._lanes[asked["lane"]], asked["new"])
            case "close":
                self._lanes.pop(asked["lane"], None)
                return {}
            case "memory":
                return {"megabytes": _resident(), "peak": _peak()}
            case unknown:
                raise ValueError(f"unknown request {unknown!r}")

    def _hello(self) -> Chat:
        return {
            "peer": self._peer,
            "versions": {package: version(package) for package in self._packages},
            "arms": [{key: value for key, value in vars(arm).items() if key != "start"} for arm in self._arms.values()],
        }

    def _step(self, lane: Lane, said: _Said, new: Sequence[Chat]) -> Chat:
        said.add(new)
        # Tokenizing is the benchmark's own work; done here, it does not show up as the peer's.
        for message in new:
            tokens(message)
        _clock.seconds = 0.0
        request = lane.step([dict(message) for message in new])
        return {"request": said.referred(request), "seconds": _clock.seconds}


class _Said:
    """The messages of a lane by what they say, so that an unchanged one goes back as its index; -1: system prompt."""

    def __init__(self, system: str) -> None:
        self._places: dict[str, list[int]] = {}
        self._length = 0
        if system:
            self._places[_key({"role": "system", "content": system})] = [-1]

    def add(self, messages: Iterable[Chat]) -> None:
        for message in messages:
            self._places.setdefault(_key(message), []).append(self._length)
            self._length += 1

    def referred(self, request: Sequence[Chat]) -> list[int | Chat]:
        shown: list[int | Chat] = []
        last = -2
        for message in request:
            places = self._places.get(_key(message))
            if places is None:
                shown.append(message)
                continue
            # Of equal messages the next one in order, so that a request keeps the order of the log.
            last = next((place for place in places if place > last), places[-1])
            shown.append(last)
        return shown


def _key(message: Chat) -> str:
    calls = [
        (item["id"], item["function"]["name"], item["function"]["arguments"])
        for item in message.get("tool_calls") or ()
    ]
    # Both are instructions to a model, and most peers know but one of them.
    role = "system" if message["role"] == "developer" else message["role"]
    return json.dumps([role, message.get("content") or "", calls, message.get("tool_call_id")])


def _resident() -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return _peak()
    return int(status.read_text().partition("VmRSS:")[2].split()[0]) / 1024


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@cache
def _tokenizer() -> Any:
    return Tokenizer.from_pretrained("o200k_base")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


_clock = _Clock()
