"""How fast a compile is, and whether it stays so: `python -m bench.speed`."""

import argparse
import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Literal, Protocol

from splintr import Tokenizer

from bench.generated import conversation
from bench.logs import data_root, load_sessions
from bench.messages import Message, calls_of, content_of

Kind = Literal["plain", "compact", "user"]
Report = dict[str, Any]
Clock = Callable[[], float]

# A machine with other work to do shows it in the time on the wall, hardly in that of the process.
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}
KINDS: tuple[Kind, ...] = ("plain", "compact", "user")
COLD_MESSAGES = 1_400
COLD_BUDGET = 8_000
REPETITIONS = 5
# Rare enough to be several tokens: the first such word makes the tokenizer build its tables, a third of a second.
WARM_WORD = "flibbertigibbet"
RENDER_EVERY = 50
_BOOK = 24_000
SYSTEM = "You are a coding agent. Work in small steps, run the tests after each change, and say what you did."


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.worker:
        print(json.dumps(_WORKERS[options.worker](options.messages, options.budget, CLOCKS[options.clock])))
        return 0
    live = [_spawned("live", options.messages, budget, options.clock) for budget in options.budgets]
    cold = _cold(options.clock)
    if options.json:
        print(json.dumps({"live": live, "cold": cold}, indent=2))
        return 0
    for report in live:
        print("\n".join(_live_lines(report)), end="\n\n")
    print("\n".join(_cold_lines(cold)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--budgets", type=int, nargs="+", default=[8_000, 100_000])
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    parser.add_argument("--json", action="store_true")
    # Each measurement has a process of its own: memory, garbage and the tokenizer's word cache start from nothing.
    parser.add_argument("--worker", choices=sorted(_WORKERS), help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=int, default=COLD_BUDGET, help=argparse.SUPPRESS)
    return parser


def _spawned(worker: str, messages: int, budget: int, clock: str) -> Report:
    numbers = ["--messages", str(messages), "--budget", str(budget), "--clock", clock]
    command = [sys.executable, "-m", "bench.speed", "--worker", worker, *numbers]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    report: Report = json.loads(done.stdout)
    return report


class _View(Protocol):
    decision: object | None
    tokens: int

    def to(self, form: str, /) -> list[Message]: ...


class _Session(Protocol):
    def extend(self, messages: list[Message], /) -> object: ...

    def compile(self) -> _View: ...


def _session(budget: int) -> _Session:
    session: _Session = import_module("foveate").Session(budget=budget, system=SYSTEM)
    return session


@dataclass(frozen=True, slots=True)
class LiveStep:
    """One step of a live loop: what it was, how long it took, and the request."""

    kind: Kind
    seconds: float
    view: _View


def live_steps(messages: int, budget: int, clock: Clock) -> Iterator[LiveStep]:
    """Append and compile step by step; only that is timed, not the making of texts."""
    session = _session(budget)
    for step in islice(conversation(), messages // 2):
        begun = clock()
        session.extend(step)
        view = session.compile()
        seconds = clock() - begun
        yield LiveStep(_kind(step, view), seconds, view)


def live_loop(messages: int, budget: int, clock: Clock) -> Report:
    """A live loop summed up; rendering is timed apart."""
    warm(budget)
    spent: list[tuple[Kind, float]] = []
    rendered: list[float] = []
    memory, pauses, steps, largest = [resident()], _GarbagePauses(clock), messages // 2, 0
    for number, step in enumerate(live_steps(messages, budget, clock), 1):
        spent.append((step.kind, step.seconds))
        largest = max(largest, step.view.tokens)
        if number % RENDER_EVERY == 0:
            begun = clock()
            step.view.to("openai")
            rendered.append(clock() - begun)
        if number * 10 // steps > (number - 1) * 10 // steps:
            memory.append(resident())
            _progress(f"budget {budget}: {number * 100 // steps} % of {messages} messages")
    return {
        "budget": budget,
        "messages": messages,
        "largest": largest,
        "seconds": sum(seconds for _, seconds in spent),
        "garbage_seconds": pauses.seconds,
        "longest_garbage_ms": pauses.longest * 1000,
        "all": _summary(spent, KINDS),
        **{kind: _summary(spent, (kind,)) for kind in KINDS},
        "render_p50_ms": median(rendered or [0.0]) * 1000,
        "resident_mb": memory,
        "growth_ratio": _ratio(memory[-1] - memory[5], memory[5] - memory[0]),
    }


def warm(budget: int) -> None:
    """Load the vocabulary and the code; this word and the system prompt are all the tokenizer has seen then."""
    session = _session(budget)
    session.extend([{"role": "user", "content": WARM_WORD}])
    session.compile()


class _GarbagePauses:
    """Seconds that the garbage collector ran, within the timed part or not."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.seconds = self.longest = self._begun = 0.0
        gc.callbacks.append(self._note)

    def _note(self, phase: str, _: dict[str, int]) -> None:
        now = self._clock()
        if phase == "start":
            self._begun = now
        else:
            self.seconds += now - self._begun
            self.longest = max(self.longest, now - self._begun)


def _kind(step: list[Message], view: _View) -> Kind:
    if view.decision is not None:
        return "compact"
    return "user" if step[-1]["role"] == "user" else "plain"


def _summary(spent: list[tuple[Kind, float]], kinds: Sequence[Kind]) -> Report:
    size = max(1, len(spent) // 10)
    chosen = [seconds for kind, seconds in spent if kind in kinds]
    tenths = (spent[start : start + size] for start in range(0, size * 10, size))
    deciles = [_at([seconds for kind, seconds in tenth if kind in kinds], 0.5) for tenth in tenths]
    return {
        "steps": len(chosen),
        **{f"p{share}_ms": _at(chosen, share / 100) for share in (50, 95, 99)},
        "max_ms": _at(chosen, 1),
        "deciles_ms": deciles,
        "last_to_first": _ratio(deciles[-1], deciles[0]),
    }


def _at(seconds: list[float], share: float) -> float | None:
    """The value in milliseconds that this share of a list does not exceed."""
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * share))] * 1000 if seconds else None


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def resident() -> float:
    """Megabytes of memory in use now; where the system does not say, the most so far."""
    status = Path("/proc/self/status")
    if not status.exists():
        # Bytes on macOS, which has no such file.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return int(status.read_text().partition("VmRSS:")[2].split()[0]) / 1024


def _progress(text: str) -> None:
    print(f"\r{text}   ", end="", file=sys.stderr, flush=True)


def cold_compile(messages: int, budget: int, clock: Clock) -> Report:
    """One history that nothing has seen before: taken in and compiled."""
    history = _history(messages)
    warm(budget)
    session = _session(budget)
    begun = clock()
    session.extend(history)
    taken = clock()
    view = session.compile()
    done = clock()
    return {"seconds": done - begun, "extend_seconds": taken - begun, "tokens": view.tokens}


def tokenised(messages: int, _: int, clock: Clock) -> Report:
    """The same texts, each through the tokenizer once and nothing else."""
    texts = [text for message in _history(messages) for text in _texts(message)]
    tokenizer = Tokenizer.from_pretrained("o200k_base")
    loaded = clock()
    tokenizer.encode(WARM_WORD)
    begun = clock()
    tokens = sum(len(tokenizer.encode(text)) for text in texts)
    return {"seconds": clock() - begun, "tables_seconds": begun - loaded, "tokens": tokens}


def _history(messages: int) -> list[Message]:
    """What agents really said, where recorded logs are at hand; else generated text, on which tokenizers are faster."""
    root = data_root()
    if root is None:
        return [message for step in islice(conversation(), messages // 2) for message in step]
    recorded = (
        message for session in load_sessions(root) if session.source != "openai_chat" for message in session.messages
    )
    # Now and then a message is a whole book; left out, so that the number of messages and of tokens fit each other.
    fitting = (message for message in recorded if len(content_of(message)) < _BOOK)
    return list(islice(fitting, messages))


def _texts(message: Message) -> Iterator[str]:
    yield content_of(message)
    for item in calls_of(message):
        yield item["function"]["name"]
        yield item["function"]["arguments"]


def _cold(clock: str) -> Report:
    runs: dict[str, list[Report]] = {"cold": [], "tokenise": []}
    for repetition in range(REPETITIONS):
        # By turns, so that a machine that gets slower does so for both.
        for worker, reports in runs.items():
            reports.append(_spawned(worker, COLD_MESSAGES, COLD_BUDGET, clock))
        _progress(f"cold compile: {repetition + 1} of {REPETITIONS}")
    print(file=sys.stderr)
    seconds, tokenising = (median(report["seconds"] for report in reports) for reports in runs.values())
    tables = median(report["tables_seconds"] for report in runs["tokenise"])
    return {
        "messages": COLD_MESSAGES,
        "tokens": runs["tokenise"][0]["tokens"],
        "budget": COLD_BUDGET,
        "seconds": seconds,
        "extend_seconds": median(report["extend_seconds"] for report in runs["cold"]),
        "tokenise_seconds": tokenising,
        "ratio": seconds / tokenising,
        # In a process that has not tokenised before, both pay for the tables that the first word makes.
        "fresh_ratio": (seconds + tables) / (tokenising + tables),
    }


def _live_lines(report: Report) -> Iterator[str]:
    yield (
        f"live loop, budget {report['budget']}, {report['messages']} messages: {report['seconds']:.1f} s, "
        f"largest request {report['largest']} tokens, rendering p50 {report['render_p50_ms']:.2f} ms"
    )
    yield f"{'ms per step':<12}" + "".join(f"{name:>9}" for name in ("steps", "p50", "p95", "p99", "max", "d10/d1"))
    for kind in ("all", *KINDS):
        row = report[kind]
        numbers = [row[name] for name in ("p50_ms", "p95_ms", "p99_ms", "max_ms", "last_to_first")]
        yield f"{kind:<12}{row['steps']:>9}" + "".join(_cell(number) for number in numbers)
    for kind in ("all", *KINDS):
        yield f"{'p50 ' + kind:<12}" + "".join(_cell(number) for number in report[kind]["deciles_ms"])
    yield f"{'resident MB':<12}" + "".join(f"{size:>9.0f}" for size in report["resident_mb"])
    yield (
        f"memory growth of the second half to the first: {_cell(report['growth_ratio']).strip()}; "
        f"garbage collection {report['garbage_seconds']:.1f} s, longest pause {report['longest_garbage_ms']:.0f} ms"
    )


def _cell(number: float | None) -> str:
    return f"{number:>9.2f}" if number is not None else f"{'-':>9}"


def _cold_lines(report: Report) -> Iterator[str]:
    yield (
        f"cold compile, budget {report['budget']}, {report['messages']} messages, {report['tokens']} tokens: "
        f"{report['seconds']:.3f} s ({report['extend_seconds']:.3f} s to take in), median of {REPETITIONS}"
    )
    yield (
        f"tokenising once: {report['tokenise_seconds']:.3f} s; ratio {report['ratio']:.2f}, "
        f"in a fresh process {report['fresh_ratio']:.2f} (target <= 2)"
    )


_WORKERS = {"live": live_loop, "cold": cold_compile, "tokenise": tokenised}

if __name__ == "__main__":
    sys.exit(main())
