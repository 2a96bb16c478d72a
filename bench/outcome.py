"""Outcomes: what the benchmark measured, as plain frozen data that becomes JSON.

Each part (`replay`, `growth`, `engine`, `recall`) writes a file of its own, so that one can be measured again without
the others. Rows are kept by session, because intervals are taken over sessions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar

import msgspec

PROVIDERS: Final = ("anthropic", "openai", "gemini")
Family = Literal["foveate", "own", "peer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Where and how an outcome came about.

    Args:
        date: of the measurement, such as 2026-11-16.
        command: that does it again.
        commit: of the repository, with `+` behind it if something was not committed.
        versions: of Python, Foveate and what else bears on the numbers.
        machine: processor, number of cores, memory.
        seconds: how long it took.

    """

    date: str
    command: str
    commit: str
    versions: dict[str, str]
    machine: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Sums over the calls of one arm at one budget in one session.

    Args:
        calls: recorded calls; `sent` became a request, others were `refused` for the budget or `failed` with an error.
        unmeasured: calls at which an arm was given up for its time; they count in nothing else here.
        invalid: requests that a provider would reject; `broken` are those where the untouched history was valid.
        over: requests above 1.05 of the budget.
        tokens: of all requests; `prefix` of them were as in the request before, in whole messages.
        cost: of the input at each provider's prices and cache rules, in dollars, in the order of `PROVIDERS`.
        cached: tokens found in each provider's cache.
        raw_tokens: what the untouched history has at the calls that were sent; `raw_cost` what it costs.
        references: due at all calls; `kept`, `restorable`, `visible` count only in requests that are not over.
        judged_references: those due at requests not over.
        far, observed, modified: references last seen more than half a budget back; seen in tool output only; files that
            the session had changed by then. Each with those `_kept` and `_restorable`.
        judged: requests not over.
        recent: of those, requests that have the last three exchanges unchanged.
        users: for each judged request the share of user messages so far that it shows.
        first: judged requests that show the first user message.
        errors: open errors at judged requests; `errors_kept` of them are shown.
        seconds: what the arm took.

    """

    calls: int = 0
    sent: int = 0
    refused: int = 0
    failed: int = 0
    unmeasured: int = 0
    invalid: int = 0
    broken: int = 0
    over: int = 0
    tokens: int = 0
    prefix: int = 0
    cost: tuple[float, float, float] = (0.0, 0.0, 0.0)
    cached: tuple[int, int, int] = (0, 0, 0)
    raw_tokens: int = 0
    raw_cost: tuple[float, float, float] = (0.0, 0.0, 0.0)
    references: int = 0
    judged_references: int = 0
    kept: int = 0
    restorable: int = 0
    visible: int = 0
    far: int = 0
    far_kept: int = 0
    far_restorable: int = 0
    observed: int = 0
    observed_kept: int = 0
    observed_restorable: int = 0
    modified: int = 0
    modified_kept: int = 0
    modified_restorable: int = 0
    judged: int = 0
    recent: int = 0
    users: float = 0.0
    first: int = 0
    errors: int = 0
    errors_kept: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, parts: Iterable[Self]) -> Self:
        """The sum of several."""
        listed = list(parts)
        sums: dict[str, Any] = {}
        for one in fields(cls):
            values = [getattr(part, one.name) for part in listed]
            zero: Any = one.default
            is_each = isinstance(zero, tuple)
            sums[one.name] = tuple(map(sum, zip(zero, *values, strict=True))) if is_each else sum(values)
        return cls(**sums)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Milliseconds to make a request, over all calls of an arm at a budget."""

    p50: float
    p95: float
    longest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmInfo:
    """What took part: `peer` names the package of a peer, `call` says how it is called."""

    name: str
    family: Family
    peer: str = ""
    call: str = ""
    knows_budget: bool = True
    is_default: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerInfo:
    """A peer with the versions that ran; one that cannot run has a `reason` instead."""

    name: str
    versions: dict[str, str] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """One session that was replayed; `name` is a short hash, since logs are other people's."""

    name: str
    source: str
    messages: int
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All arms at one budget: `tallies` has for each arm one row for each of `sessions`.

    So many sessions were `left_out`: their instructions, tools and a message of the user are larger than the budget.
    """

    budget: int
    material: Literal["recorded", "generated"]
    split: str
    sessions: tuple[SessionInfo, ...]
    left_out: int = 0
    tallies: dict[str, tuple[Tally, ...]]
    times: dict[str, Times]
    problems: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """For each arm that went wrong, up to three examples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOutcome:
    """Requests, cost and fidelity of every arm; `duplicates` were files whose content is that of another."""

    stamp: Stamp
    arms: tuple[ArmInfo, ...]
    peers: tuple[PeerInfo, ...]
    runs: tuple[Run, ...]
    files: int = 0
    duplicates: int = 0
    left_out: tuple[str, ...] = ()
    prices: dict[str, str] = field(default_factory=dict)
    """For each of `PROVIDERS` the model whose prices and rules were used, with the numbers."""
    later: dict[str, Stamp] = field(default_factory=dict)
    """For each arm that was measured later than the others and added, the stamp of that measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthPoint:
    """One length: `cold` is the first request made of that many messages at once, p50 and p95 the steps after it."""

    messages: int
    tokens: int
    cold_ms: float
    p50_ms: float
    p95_ms: float
    megabytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthCurve:
    """How one arm takes longer histories; `stopped` says why the curve ends before the others."""

    arm: str
    family: Family
    points: tuple[GrowthPoint, ...]
    stopped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthOutcome:
    """Time and memory by length of the history, on generated messages; `live` is Foveate's loop message by message."""

    stamp: Stamp
    budget: int
    steps: int
    curves: tuple[GrowthCurve, ...]
    live: tuple[GrowthPoint, ...] = ()
    later: dict[str, Stamp] = field(default_factory=dict)
    """For each curve that was measured later than the others and added, the stamp of that measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRow:
    """One arm in one session on the real engine, and the simulation of the same requests.

    Args:
        prompt_tokens: of all requests, in the model's own tokens; `reused` came from the engine's cache.
        simulated: tokens that the simulated cache would have reused: the longest common prefix in whole messages.
        prompt_ms: time the engine took to read prompts.
        calls: requests that were read; at `refused` others the arm made none, or one that the window does not hold.

    """

    arm: str
    session: str
    calls: int
    prompt_tokens: int
    reused: int
    simulated: int
    prompt_ms: float
    over: int
    refused: int = 0
    stopped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOutcome:
    """Cache claims on hardware; `series` has tokens and milliseconds call by call, by arm and session."""

    stamp: Stamp
    model: str
    window: int
    budget: int
    sessions: tuple[SessionInfo, ...]
    rows: tuple[EngineRow, ...]
    series: dict[str, dict[str, tuple[tuple[int, int, float, int], ...]]] = field(default_factory=dict)
    """arm → session → for each call prompt tokens, reused tokens, milliseconds, simulated tokens; zeros if refused."""
    left_out: tuple[str, ...] = ()
    """Arms and sessions that nothing was measured of, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRow:
    """One way to find evidence at one budget: shares over the questions, with an interval over conversations."""

    method: str
    budget: int
    questions: int
    any: float
    all: float
    all_low: float
    all_high: float
    tokens: float
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallTable:
    """`name` is the material, `kinds` the recall of all evidence by kind of question and method at one budget."""

    name: str
    conversations: int
    questions: int
    rows: tuple[RecallRow, ...]
    kinds: dict[str, dict[str, float]] = field(default_factory=dict)
    kinds_budget: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallOutcome:
    """Whether what a later action or question needs is found within a budget; `methods` says how each is called."""

    stamp: Stamp
    tables: tuple[RecallTable, ...]
    methods: dict[str, str] = field(default_factory=dict)


Outcome = TypeVar("Outcome", ReplayOutcome, GrowthOutcome, EngineOutcome, RecallOutcome)


def saved(outcome: ReplayOutcome | GrowthOutcome | EngineOutcome | RecallOutcome, path: Path) -> None:
    """Write an outcome."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(outcome) + b"\n")


def loaded(path: Path, kind: type[Outcome]) -> Outcome | None:
    """Read an outcome; None if that part was not measured yet."""
    return msgspec.json.decode(path.read_bytes(), type=kind) if path.exists() else None
