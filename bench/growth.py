"""How time and memory grow with the length of a history; each arm and length has a process of its own.

A history ends amid a turn, as when a program takes up a long session again. Of the steps after it, each of one call
with its result, the middle one is an answer and the next request of the user: some do their searching only then, and
put it off until then.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Final, Never, TypeVar

import msgspec

from bench import peering
from bench.arms import BASELINE, Measure
from bench.generated import conversation
from bench.intervals import percentile
from bench.messages import Message, content_of
from bench.outcome import Family, GrowthCurve, GrowthOutcome, GrowthPoint
from bench.peering import AdapterError, PeerError, Timed
from bench.speed import WARM_WORD, live_steps, resident, warm
from bench.stamp import stamp
from bench.tokens import message_tokens
from foveate.errors import ConfigError, FoveateError
from foveate.lab.contestants import Contestant, Feed, Opening, Step
from foveate.lab.policies import contestant
from foveate.wire.openai_chat import decode

LENGTHS: Final = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
QUICK_LENGTHS: Final = (100, 300)
QUICK_STEPS: Final = 3
OWN: Final = (contestant("foveate"), BASELINE, contestant("drop-steps"), contestant("mask-10"))

# Steps of the live loop that speak for the length they lead up to.
_LIVE_STEPS: Final = 200
# Steps are cut short once they took this share of the limit together.
_STEPS_SHARE: Final = 0.5
# Seconds to hand messages over to the process of a peer, which are not the peer's: for each, and in any case.
_HANDING_OVER: Final = (0.001, 15.0)
# Seconds that a process has to end after its last word.
_ENDING: Final = 10

T = TypeVar("T")
Progress = Callable[[int, int, str], None]
"""Told before each measurement: how many are done, of at most how many, and what comes next."""


def growth_contestants(*, peers: bool = True) -> list[Contestant]:
    """Foveate, baselines, and all arms of the peers that can run."""
    known = map(peering.peer_of, peering.adapters()) if peers else ()
    found = [*OWN, *(arm for peer in known for arm in peering.contestants(peer))]
    # They were only asked for their arms; each measurement starts an adapter of its own.
    peering.end_all()
    return found


def growth_outcome(
    contestants: Sequence[Contestant],
    *,
    lengths: Sequence[int] = LENGTHS,
    budget: int = 8_000,
    steps: int = 12,
    limit_seconds: float = 20,
    quick: bool = False,
    progress: Progress | None = None,
) -> GrowthOutcome:
    """Measure every arm at every length, and Foveate's loop message by message.

    Args:
        contestants: the arms.
        lengths: in messages, the system prompt among them, from short to long.
        budget: the most tokens a request may have.
        steps: after the first request; fewer where they take long, but always beyond the middle one.
        limit_seconds: an arm that takes longer for a request is not tried at greater lengths.
        quick: two short lengths, a few steps, no peers.
        progress: is told how far it is.

    """
    begun = time.perf_counter()
    if quick:
        lengths, steps = QUICK_LENGTHS, QUICK_STEPS
        contestants = [one for one in contestants if _adapter(one) is None]
    _check(lengths, steps)
    notes = _Notes(progress, len(contestants) * len(lengths) + 1)
    with tempfile.TemporaryDirectory() as folder:
        said = _Said.written(Path(folder) / "conversation.jsonl", max(lengths), steps)
        notes.say("foveate, message by message")
        live = _apart(partial(live_points, {length: said.sums[length // 2] for length in lengths}, budget))
        task = partial(_Task, said=said, budget=budget, steps=steps, limit=limit_seconds)
        curves = tuple(_curve(one, lengths, task, notes) for one in contestants)
    return GrowthOutcome(
        stamp=stamp("foveate-bench growth", begun), budget=budget, steps=steps, curves=curves, live=live
    )


def with_curves(earlier: GrowthOutcome, added: GrowthOutcome) -> GrowthOutcome:
    """An outcome with curves that were measured later on the same conversation, each with its own stamp."""
    if (earlier.budget, earlier.steps) != (added.budget, added.steps):
        raise ConfigError("`--add` needs the budget and steps of the earlier results; measure all arms anew")
    new = {curve.arm for curve in added.curves}
    rest = tuple(curve for curve in earlier.curves if curve.arm not in new)
    names = [*sorted(new), *(["the live loop"] if added.live else [])]
    return replace(
        earlier,
        curves=(*added.curves, *rest),
        live=added.live or earlier.live,
        later={**earlier.later, **dict.fromkeys(names, added.stamp)},
    )


def live_points(tokens: Mapping[int, int], budget: int) -> tuple[GrowthPoint, ...]:
    """Foveate message by message: each length by the steps before it; there is no first request of all at once."""
    warm(budget)
    before = resident()
    points: list[GrowthPoint] = []
    spent: list[float] = []
    for number, step in enumerate(live_steps(max(tokens), budget, time.perf_counter), 1):
        spent.append(step.seconds)
        if 2 * number in tokens:
            points.append(_point(2 * number, tokens[2 * number], 0.0, spent[-_LIVE_STEPS:], resident() - before))
    return tuple(points)


def _check(lengths: Sequence[int], steps: int) -> None:
    if not lengths or any(one < 2 or one % 2 for one in lengths) or list(lengths) != sorted(set(lengths)):
        raise ValueError(f"`lengths` must be even, 2 or more and rise, got {tuple(lengths)!r}")
    if steps < 1:
        raise ValueError(f"`steps` must be 1 or more, got {steps!r}")


@dataclass(slots=True)
class _Notes:
    """Counts what was announced."""

    progress: Progress | None
    total: int
    done: int = 0

    def say(self, text: str) -> None:
        if self.progress is not None:
            self.progress(self.done, self.total, text)
        self.done += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """The conversation, a step of two messages on each line of a file.

    Args:
        path: of the file.
        requests: the steps that end with a request of the user.
        sums: the tokens of all steps before each.
        steps_before: how many steps lie between a history and the next request.

    """

    path: Path
    requests: tuple[int, ...]
    sums: tuple[int, ...]
    steps_before: int

    @classmethod
    def written(cls, path: Path, longest: int, steps: int) -> _Said:
        """Write as much as the longest history and the steps after it need."""
        requests: list[int] = []
        sums = [0]
        with path.open("wb") as file:
            for number, step in enumerate(conversation()):
                if requests and requests[-1] >= longest // 2 + steps // 2 and number > requests[-1] + steps:
                    break
                if step[-1]["role"] == "user":
                    requests.append(number)
                file.write(msgspec.json.encode(step) + b"\n")
                sums.append(sums[-1] + sum(map(message_tokens, step)))
        return cls(path=path, requests=tuple(requests), sums=tuple(sums), steps_before=steps // 2)

    def window(self, length: int) -> tuple[int, int]:
        """From which step to which a history of so many messages goes, the first step of all aside."""
        request = self.requests[bisect_left(self.requests, length // 2 + self.steps_before)]
        end = request - self.steps_before
        return end - length // 2 + 1, end

    def tokens(self, length: int) -> int:
        """The tokens of a history."""
        start, end = self.window(length)
        return self.sums[1] + self.sums[end] - self.sums[start]

    def steps(self, start: int, end: int) -> list[list[Message]]:
        """Some of the steps."""
        with self.path.open("rb") as file:
            return [msgspec.json.decode(line) for line in islice(file, start, end)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One arm at one length."""

    contestant: Contestant
    length: int
    said: _Said
    budget: int
    steps: int
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """What one arm took at one length, or why it was stopped there."""

    cold: float = 0.0
    spent: tuple[float, ...] = ()
    megabytes: float = 0.0
    stopped: str = ""
    defect: str = ""


def _curve(one: Contestant, lengths: Sequence[int], task: Callable[..., _Task], notes: _Notes) -> GrowthCurve:
    points: list[GrowthPoint] = []
    stopped = ""
    for place, length in enumerate(lengths):
        notes.say(f"{one.name}, {length:,} messages")
        due = task(contestant=one, length=length)
        try:
            measured = _apart(partial(_measured, due))
        except _DiedError as error:
            measured = _Measured(stopped=str(error))
        if measured.defect:
            raise AdapterError(measured.defect)
        if measured.stopped:
            stopped = f"at {length:,} messages {measured.stopped}"
            notes.done += len(lengths) - place - 1
            break
        points.append(_point(length, due.said.tokens(length), measured.cold, measured.spent, measured.megabytes))
    return GrowthCurve(arm=one.name, family=_family(one), points=tuple(points), stopped=stopped)


def _point(length: int, tokens: int, cold: float, spent: Sequence[float], megabytes: float) -> GrowthPoint:
    return GrowthPoint(
        messages=length,
        tokens=tokens,
        cold_ms=round(1000 * cold, 3),
        p50_ms=round(1000 * percentile(spent, 0.5), 3),
        p95_ms=round(1000 * percentile(spent, 0.95), 3),
        megabytes=round(megabytes, 1),
    )


def _family(one: Contestant) -> Family:
    if _adapter(one) is not None:
        return "peer"
    return "foveate" if one.kind == "policy" else "own"


def _adapter(one: Contestant) -> Path | None:
    """The adapter that an arm of a peer is behind."""
    match one.start:
        case partial(args=(Path() as adapter, *_)):
            return adapter
        case _:
            return None


def _measured(task: _Task) -> _Measured:
    try:
        return _performed(task)
    except _TooLongError:
        return _Measured(stopped=f"a request took longer than {task.limit:g} s")
    except AdapterError as error:
        # Handed on: a process that ends with an error would look like an arm that died.
        return _Measured(defect=str(error))
    except (FoveateError, PeerError) as error:
        return _Measured(stopped=f"it failed: {error}")


def _performed(task: _Task) -> _Measured:
    one = task.contestant
    (opening_step,) = task.said.steps(0, 1)
    opening = Opening(system=content_of(opening_step[0]), budget=task.budget, sizes=Measure())
    # A session of one word loads what there is to load; what that takes is not due to the length.
    one.start(opening)(_step(one, [{"role": "user", "content": WARM_WORD}]))
    before = _memory(one)
    start, end = task.said.window(task.length)
    history = [opening_step[1], *(message for step in task.said.steps(start, end) for message in step)]
    later = task.said.steps(end, end + task.steps)
    if not one.is_bounded:
        # It has no budget to keep, so counting is none of its work.
        opening.sizes.total(message for messages in (history, *later) for message in messages)
    feed = one.start(opening)
    cold = _seconds(one, feed, history, task.limit)
    spent: list[float] = []
    for step in later:
        spent.append(_seconds(one, feed, step, task.limit))
        if len(spent) > task.steps // 2 + 1 and sum(spent) > _STEPS_SHARE * task.limit:
            break
    return _Measured(cold=cold, spent=tuple(spent), megabytes=_memory(one) - before)


def _memory(one: Contestant) -> float:
    adapter = _adapter(one)
    return resident() if adapter is None else peering.memory(adapter)


def _seconds(one: Contestant, feed: Feed, chats: Sequence[Message], limit: float) -> float:
    """The time of a request: what a peer says that it took, else that of the call."""
    each, any_case = _HANDING_OVER if _adapter(one) is not None else (0.0, 0.0)
    step = _step(one, chats)
    with _given_up_after(limit + each * len(chats) + any_case):
        begun = time.perf_counter()
        made = feed(step)
        seconds = made.seconds if isinstance(made, Timed) else time.perf_counter() - begun
    if seconds > limit:
        raise _TooLongError
    return seconds


def _step(one: Contestant, chats: Sequence[Message]) -> Step:
    # Only a policy of the product reads messages of the log; for others they would be memory that nobody uses.
    return Step(chats=chats, messages=[decode(chat) for chat in chats] if one.kind == "policy" else ())


class _TooLongError(BaseException):
    """A request took longer than it may."""


@contextmanager
def _given_up_after(seconds: float) -> Iterator[None]:
    previous = signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _give_up(_number: int, _frame: FrameType | None) -> Never:
    raise _TooLongError


def _apart(work: Callable[[], T]) -> T:
    """Do something in a process of its own, and end it with all that it started."""
    # Not forked: it would begin with the memory of this one.
    context = get_context("spawn")
    results, answers = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(work, answers))
    process.start()
    assert process.pid is not None
    answers.close()
    try:
        result: T = results.recv()
    except EOFError:
        process.join(_ENDING)
        raise _DiedError(process.exitcode) from None
    finally:
        results.close()
        # With its group, which it leads: an adapter that is busy would not notice that nobody waits for it any more.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()
    return result


class _DiedError(Exception):
    """A process ended without an answer."""

    def __init__(self, code: int | None) -> None:
        killed = code == -signal.SIGKILL
        super().__init__(
            "the process was killed, perhaps for want of memory" if killed else f"it ended with code {code}"
        )


def _answer(work: Callable[[], object], answers: Connection) -> None:
    os.setsid()
    answers.send(work())
